"""Read submissions: their status, problems and scores, limited to what the reader may see."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Select

from app.actions.access import (
    Caller,
    can_organize,
    can_read,
    effective_role,
    is_organizer,
    load_visible_phase,
    require_approved_status,
    require_scope,
)
from app.actions.audit.record import record
from app.actions.submissions.admission import has_limits, team_balance
from app.actions.submissions.board_scores import describe_selection
from app.actions.submissions.check_quota import QuotaBalance
from app.actions.submissions.ladder_board import counting_for_reader
from app.actions.submissions.ladder_feedback import LadderFeedback, ladder_feedback
from app.actions.submissions.released_ranks import NO_RANKS, ReleasedRanks, released_ranks
from app.actions.submissions.score_visibility import ScoreView, current_split
from app.actions.submissions.submission_access import (
    can_read_as_organizer,
    load_visible_submission,
    may_read_as_former_member,
    require_file_reader,
)
from app.actions.uncertainty.show_intervals import with_intervals
from app.errors import FileDeleted, NoTeam, NotFound, NotRegistered, RegistrationPending
from app.scoring.declaration.recipe import disclosed_digits
from app.store import clock
from app.store.queries import (
    memberships,
    paging,
    queue_positions,
    scoring_pace,
    submission_details,
    submissions,
    teams,
)
from app.store.queries.phase_for_user import PhaseContext
from app.store.queries.submission_details import SubmissionDetails
from app.store.queries.submissions import EVERY_SUBMISSION, SubmissionFilter
from app.store.session import ReadSession, WriteSession
from app.store.tables import Phase, Submission
from app.store.types import format_timestamp
from app.task_priorities import RESCORING_PRIORITY

__all__ = [
    "EVERY_SUBMISSION",
    "SubmissionFilter",
    "SubmissionView",
    "current_submission_view",
    "list_submissions",
    "load_downloadable_submission",
    "own_team_id",
    "queue_places",
    "read_finished",
    "read_submission",
    "read_submission_status",
    "record_download",
    "submission_view",
    "submission_views",
    "views_for_sender",
]


@dataclass(frozen=True, slots=True)
class LastRescoring:
    """The last time that a submission was scored again."""

    status: str
    scorer_version: int
    compared_at: datetime | None
    difference: dict[str, Any] | None
    failure: dict[str, Any] | None


class QueuePlace(NamedTuple):
    """The position of a submission in the queue, from 1, and the expected time of its final status, if it is known."""

    position: int | None
    eta: datetime | None


NOT_QUEUED = QueuePlace(None, None)


@dataclass(frozen=True, slots=True)
class SubmissionView:
    """A submission as its reader sees it; the object belongs to no session."""

    submission: Submission
    is_file_visible: (
        bool  # whether format and problems of the file are shown; not to a team for whom an organizer sent it
    )
    challenge: str
    phase: str
    queue_position: int | None
    eta: datetime | None  # when the final status is expected
    scores: dict[str, dict[str, Any]]
    splits: dict[str, dict[str, dict[str, Any]]] | None  # all of them, for organizers only
    public_scores: dict[str, dict[str, Any]] | None  # after the final release, beside the private ones
    split: str | None
    gold_version: int | None
    recipe_version: int | None
    organizer: bool
    selection: Mapping[str, Any]  # which submission of a team counts
    scored: bool  # whether there are current scores, even if this reader may not see them
    knows_choice: bool  # whether this reader may know which submission of the team counts
    counts: bool | None = None  # whether it is that submission; only in lists
    ranks: ReleasedRanks = NO_RANKS  # after the final release
    ladder: LadderFeedback | None = None  # while feedback is limited, for everybody but organizers
    rerun: LastRescoring | None = None  # for organizers only
    balance: QuotaBalance | None = None  # of the sender's team, only in the reply to a submission

    @property
    def total(self) -> dict[str, int]:
        """Problems in the file, counted by code."""
        return {
            code: count for code, count in self.submission.problem_totals.items() if code != submissions.TOTALS_AT_LEAST
        }

    @property
    def at_least(self) -> bool:
        """Whether the counts are lower bounds, because reading stopped before the end of the file."""
        return submissions.TOTALS_AT_LEAST in self.submission.problem_totals


def read_submission(session: ReadSession, caller: Caller, submission_id: str) -> SubmissionView:
    """One submission; raises NotFound unless the caller's team owns it or the caller organizes the challenge.

    Raises RegistrationPending, and InsufficientScope for a token that may not read.
    """
    view = read_submission_status(session, caller, submission_id)
    require_scope(caller, "read")
    return _with_ranks(session, [view])[0]


def load_downloadable_submission(session: ReadSession, caller: Caller, submission_id: str) -> tuple[Submission, bool]:
    """The submission whose file is to be sent, and whether that is recorded.

    An organizer's download of the work of a team is recorded. Raises NotFound, FileDeleted, and what
    require_file_reader raises.
    """
    submission, _, organizer = load_visible_submission(session, caller, submission_id)
    require_scope(caller, "read")
    require_file_reader(session, caller, submission, organizer=organizer)
    if submission.file_removed_at is not None:
        moment = format_timestamp(submission.file_removed_at)
        raise FileDeleted(
            f"The file of this {submission.status} submission was deleted at {moment}; such files are kept for some days.",
            deleted_at=moment,
        )
    return submission, is_download_recorded(submission, organizer=organizer)


def is_download_recorded(submission: Submission, *, organizer: bool) -> bool:
    """Whether it is recorded that this reader gets the file: an organizer who gets the work of a team."""
    return organizer and not (submission.baseline or submission.test or submission.on_behalf)


def record_download(session: WriteSession, caller: Caller, submission: Submission) -> None:
    """Record that an organizer downloaded the file of a team."""
    phase = session.get_one(Phase, submission.phase_id)
    record(session, caller, "submission.download", challenge=phase.challenge, of=submission)


def read_submission_status(
    session: ReadSession, caller: Caller, submission_id: str, *, balance: bool = False
) -> SubmissionView:
    """One submission for its sender; a token without the scope to read gets no scores; raises NotFound.

    With `balance`, also what remains of the quota of its team.
    """
    details_by_id = submission_details.load_submission_details(session, [submission_id], caller.user_id)
    if caller.user_id is None or submission_id not in details_by_id:
        raise NotFound
    details = details_by_id[submission_id]
    view = _view_for_sender(session, caller, details)
    return _with_balance(session, view, details.context) if balance else view


def read_finished(session: ReadSession, caller: Caller, submission_id: str) -> SubmissionView | None:
    """The same, with the balance, for a submission that is finished; None for any other; raises NotFound.

    It takes one statement, and one more for the balance where the phase has limits.
    """
    details = submission_details.load_finished(session, submission_id, caller.user_id)
    return (
        None if details is None else _with_balance(session, _view_for_sender(session, caller, details), details.context)
    )


def _with_counting(session: ReadSession, views: list[SubmissionView]) -> list[SubmissionView]:
    """Submissions of one phase that say whether they count for their teams now."""
    teams = {view.submission.team_id for view in views if view.knows_choice and view.submission.status == "finished"}
    phase_id, organizer = (views[0].submission.phase_id, views[0].organizer) if views else ("", False)
    counting = counting_for_reader(session, phase_id, teams, organizer=organizer) if teams else set()
    return [replace(view, counts=view.submission.id in counting) if view.knows_choice else view for view in views]


def _with_ranks(session: ReadSession, views: list[SubmissionView]) -> list[SubmissionView]:
    """Submissions of one phase with their ranks, once the private scores are released."""
    if not views or views[0].split != "private":
        return views
    ranks = released_ranks(session, views[0].submission.phase_id, organizer=views[0].organizer)
    return [replace(view, ranks=ranks.get(view.submission.id, view.ranks)) for view in views]


def _with_balance(session: ReadSession, view: SubmissionView, context: PhaseContext) -> SubmissionView:
    if view.organizer or not has_limits(context):
        return view
    return replace(view, balance=team_balance(session, context, view.submission.team_id, clock.now(session))[1])


def _view_for_sender(session: ReadSession, caller: Caller, details: SubmissionDetails) -> SubmissionView:
    context = details.context
    own = context.team_id == details.submission.team_id and context.registration != "pending"
    if not (own or (can_organize(caller) and effective_role(caller, context.role) is not None)):
        own = may_read_as_former_member(session, caller, details.submission, context.registration)
    organizer = can_read_as_organizer(caller, effective_role(caller, context.role), own=own)
    return submission_view(session, caller, details, organizer=organizer)


def current_submission_view(
    session: ReadSession, caller: Caller, submission_id: str, *, organizer: bool
) -> SubmissionView:
    """A submission that the caller may see, in its state within this transaction."""
    details = submission_details.load_submission_details(session, [submission_id], caller.user_id)
    return submission_view(session, caller, details[submission_id], organizer=organizer)


def views_for_sender(session: ReadSession, caller: Caller, rows: Sequence[Submission]) -> dict[str, SubmissionView]:
    """By id, those of these submissions that the caller sent and may still see, with the scores that they may see."""
    views = {}
    for phase_id in {row.phase_id for row in rows}:
        ids = [row.id for row in rows if row.phase_id == phase_id]
        for key, details in submission_details.load_submission_details(session, ids, caller.user_id).items():
            with suppress(NotFound, RegistrationPending):
                views[key] = _view_for_sender(session, caller, details)
    return views


def submission_view(
    session: ReadSession, caller: Caller, details: SubmissionDetails, *, organizer: bool
) -> SubmissionView:
    """The submission with the scores that this reader may see."""
    return submission_views(session, caller, [details], organizer=organizer)[0]


def submission_views(
    session: ReadSession, caller: Caller, submissions_details: Sequence[SubmissionDetails], *, organizer: bool
) -> list[SubmissionView]:
    """Submissions with the scores that this reader may see; the queue is counted once for all of them."""
    waiting = {each.task.id: each.submission.id for each in submissions_details if each.task and _is_waiting(each)}
    places = queue_places(session, waiting)
    recipe = submissions_details[0].context.recipe if submissions_details else {}
    view = ScoreView(organizer=organizer, digits=None if organizer else disclosed_digits(recipe))
    told = ladder_feedback(session, submissions_details, view)
    return [
        _submission_view(caller, each, places.get(each.submission.id, NOT_QUEUED), view, told.get(each.submission.id))
        for each in submissions_details
    ]


def _submission_view(
    caller: Caller, details: SubmissionDetails, place: QueuePlace, view: ScoreView, told: LadderFeedback | None
) -> SubmissionView:
    submission, context, organizer = details.submission, details.context, view.organizer
    split = None
    if context.has_splits is not None:
        split = current_split(has_splits=context.has_splits, released=context.released_at)
    shown = {each: view.metrics(metrics) for each, metrics in details.scores.items()}
    if told is not None:
        shown = {split or "": told.scores}
    elif organizer or "intervals" in context.reports:
        known = details.intervals
        shown = {each: with_intervals(values, known.get(each, {}), view.digits) for each, values in shown.items()}
    allowed = organizer or (can_read(caller) and "scores" in context.reports)
    rule = context.recipe.get("selection", "best")
    # The rules that compare values give away which is greater; a former member must not learn of later submissions.
    own = can_read(caller) and context.team_id == submission.team_id
    return SubmissionView(
        submission=submission,
        is_file_visible=organizer or not submission.on_behalf,
        challenge=context.challenge,
        phase=context.phase,
        queue_position=place.position,
        eta=place.eta,
        scores=shown.get(split or "", {}) if allowed else {},
        public_scores=shown.get("public") if allowed and split == "private" else None,
        splits=shown if organizer else None,
        split=split,
        gold_version=context.gold_version,
        recipe_version=context.recipe_version,
        organizer=organizer,
        scored=bool(details.scores),
        knows_choice=organizer or (own and (allowed or rule == "latest")),
        rerun=_last_rescoring(details) if organizer else None,
        ladder=told if told is None or allowed else told.without_outputs(),
        selection=describe_selection(
            rule,
            context.recipe.get("selection_max"),
            context.recipe.get("tie_breakers", ()),
        ),
    )


def queue_places(session: ReadSession, waiting: Mapping[str, str]) -> dict[str, QueuePlace]:
    """By submission id: the places of those that wait for their first scoring, given the submission of each task."""
    positions = queue_positions.queue_positions(session, waiting.keys())
    if not positions:
        return {}
    pace = scoring_pace.recent(session)
    return {
        waiting[task_id]: QueuePlace(position, None if pace is None else pace.eta(position))
        for task_id, position in positions.items()
    }


def _is_waiting(details: SubmissionDetails) -> bool:
    """Whether the newest task waits in the fair order; a rescoring task does not, it only compares values."""
    task = details.task
    is_first_scoring = task is not None and task.status == "queued" and task.priority < RESCORING_PRIORITY
    return is_first_scoring and details.submission.status in {"queued", "running"}


def _last_rescoring(details: SubmissionDetails) -> LastRescoring | None:
    """The state or result of the newest rescoring; None if the submission was never scored again."""
    task, status = details.task, details.submission.status
    if task is None or status in {"queued", "running"}:
        return None
    rescored = task.compared_at is not None or task.status in {"queued", "running"}
    if not (rescored or (task.status == "failed" and status == "finished")):
        return None
    return LastRescoring(task.status, task.scorer_version, task.compared_at, task.difference, task.failure)


def list_submissions(
    session: ReadSession,
    caller: Caller,
    slug: str,
    phase_slug: str,
    *,
    wanted: SubmissionFilter = EVERY_SUBMISSION,
    limit: int,
    cursor: str | None,
) -> tuple[list[SubmissionView], str | None]:
    """The submissions of the caller's team, and those of former teams while the caller was in them, newest first.

    Organizers see all. The filter narrows what the caller may see.
    """
    phase = load_visible_phase(session, caller, slug, phase_slug)
    user_id = require_scope(caller, "read")
    organizer = is_organizer(session, caller, phase.challenge)
    query = submissions.phase_submissions(phase.id) if organizer else _readable_submissions(session, phase, user_id)
    query = submissions.narrowed(query, phase.challenge_id, wanted)
    rows, next_cursor = paging.page(session, query, Submission, limit=limit, cursor=cursor)
    details = submission_details.load_submission_details(session, [row.id for row in rows], caller.user_id)
    views = submission_views(session, caller, [details[row.id] for row in rows], organizer=organizer)
    return _with_ranks(session, _with_counting(session, views)), next_cursor


def _readable_submissions(session: ReadSession, phase: Phase, user_id: str) -> Select[Submission]:
    registration = teams.registration_of(session, phase.challenge_id, user_id)
    if registration is None:
        raise NotRegistered
    if registration.status == "pending":
        raise RegistrationPending
    stays = memberships.former_stays(session, phase.challenge_id, user_id, registration.team_id)
    if registration.team_id is None and not stays:
        require_approved_status(registration.status, registration.reason)
        raise NoTeam
    return submissions.phase_submissions(phase.id, registration.team_id, stays)


def own_team_id(session: ReadSession, caller: Caller, phase: Phase) -> str:
    """The id of the caller's team; raises NotRegistered, RegistrationPending, NoTeam.

    A barred team keeps access to what it submitted.
    """
    registration = teams.registration_of(session, phase.challenge_id, require_scope(caller, "read"))
    if registration is None or registration.status == "ended":
        raise NotRegistered
    if registration.status == "pending":
        raise RegistrationPending
    if registration.team_id is None:
        raise NoTeam
    return registration.team_id
