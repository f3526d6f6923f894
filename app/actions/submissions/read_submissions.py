"""Read submissions: their status, problems and scores, limited to what the reader may see."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from app.actions.access import (
    Caller,
    can_edit,
    can_read,
    can_read_as_organizer,
    effective_role,
    is_organizer,
    load_visible_phase,
    load_visible_submission,
    require_approved_registration,
    require_scope,
)
from app.actions.submissions.score_visibility import ScoreView, current_split
from app.errors import Forbidden, NotFound, NotRegistered, PhaseClosed, RegistrationPending, SubmissionNotFinished
from app.scoring.declaration.recipe import disclosed_digits
from app.store import clock, locks
from app.store.queries import paging, queue_positions, scoring_pace, submission_details, submissions, teams
from app.store.queries.submission_details import SubmissionDetails
from app.store.session import ReadSession, WriteSession
from app.store.tables import Phase, Submission
from app.task_priorities import RESCORING_PRIORITY


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
    split: str | None
    gold_version: int | None
    recipe_version: int | None
    organizer: bool
    scored: bool  # whether there are current scores, even if this reader may not see them
    rerun: LastRescoring | None = None  # for organizers only

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

    Raises InsufficientScope for a token that may not read.
    """
    view = read_submission_status(session, caller, submission_id)
    require_scope(caller, "read")
    return view


def load_downloadable_submission(session: ReadSession, caller: Caller, submission_id: str) -> Submission:
    """The submission whose file is to be sent; raises NotFound, and Forbidden for a file that an organizer sent."""
    submission, _, organizer = load_visible_submission(session, caller, submission_id)
    require_scope(caller, "read")
    if submission.on_behalf and not organizer:
        raise Forbidden(
            "An organizer sent this file on behalf of the team; it is for organizers alone.",
            remedy="Ask the organizers for it.",
        )
    return submission


def read_submission_status(session: ReadSession, caller: Caller, submission_id: str) -> SubmissionView:
    """One submission for its sender; a token without the scope to read gets no scores; raises NotFound."""
    details_by_id = submission_details.load_submission_details(session, [submission_id], caller.user_id)
    if caller.user_id is None or submission_id not in details_by_id:
        raise NotFound
    return _view_for_sender(session, caller, details_by_id[submission_id])


def read_finished(session: ReadSession, caller: Caller, submission_id: str) -> SubmissionView | None:
    """The same by one statement for a submission that is finished; None for any other; raises NotFound."""
    details = submission_details.load_finished(session, submission_id, caller.user_id)
    return None if details is None else _view_for_sender(session, caller, details)


def _view_for_sender(session: ReadSession, caller: Caller, details: SubmissionDetails) -> SubmissionView:
    context = details.context
    own = context.team_id == details.submission.team_id and context.registration != "pending"
    organizer = can_read_as_organizer(caller, effective_role(caller, context.role), own=own)
    return submission_view(session, caller, details, organizer=organizer)


def current_submission_view(
    session: ReadSession, caller: Caller, submission_id: str, *, organizer: bool
) -> SubmissionView:
    """A submission that the caller may see, in its state within this transaction."""
    details = submission_details.load_submission_details(session, [submission_id], caller.user_id)
    return submission_view(session, caller, details[submission_id], organizer=organizer)


def submission_view(
    session: ReadSession, caller: Caller, details: SubmissionDetails, *, organizer: bool
) -> SubmissionView:
    """The submission with the scores that this reader may see."""
    return submission_views(session, caller, [details], organizer=organizer)[0]


def submission_views(
    session: ReadSession, caller: Caller, submissions_details: Sequence[SubmissionDetails], *, organizer: bool
) -> list[SubmissionView]:
    """Submissions with the scores that this reader may see; the queue is counted once for all of them."""
    places = _queue_places(session, submissions_details)
    return [
        _submission_view(caller, details, places.get(details.submission.id, NOT_QUEUED), organizer=organizer)
        for details in submissions_details
    ]


def _submission_view(
    caller: Caller, details: SubmissionDetails, place: QueuePlace, *, organizer: bool
) -> SubmissionView:
    submission, context = details.submission, details.context
    score_view = ScoreView(organizer=organizer, digits=None if organizer else disclosed_digits(context.recipe))
    shown = {split: score_view.metrics(metrics) for split, metrics in details.scores.items()}
    split = None
    if context.has_splits is not None:
        split = current_split(has_splits=context.has_splits, released=context.released_at)
    allowed = organizer or (can_read(caller) and "scores" in context.reports)
    return SubmissionView(
        submission=submission,
        is_file_visible=organizer or not submission.on_behalf,
        challenge=context.challenge,
        phase=context.phase,
        queue_position=place.position,
        eta=place.eta,
        scores=shown.get(split or "", {}) if allowed else {},
        splits=shown if organizer else None,
        split=split,
        gold_version=context.gold_version,
        recipe_version=context.recipe_version,
        organizer=organizer,
        scored=bool(details.scores),
        rerun=_last_rescoring(details) if organizer else None,
    )


def _queue_places(session: ReadSession, rows: Iterable[SubmissionDetails]) -> dict[str, QueuePlace]:
    """By submission id: the places of those that wait for their first scoring."""
    waiting = {details.task.id: details.submission.id for details in rows if details.task and _is_waiting(details)}
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
    session: ReadSession, caller: Caller, slug: str, phase_slug: str, *, limit: int, cursor: str | None
) -> tuple[list[SubmissionView], str | None]:
    """A team's own submissions, newest first; organizers see all."""
    phase = load_visible_phase(session, caller, slug, phase_slug)
    require_scope(caller, "read")
    organizer = is_organizer(session, caller, phase.challenge)
    team_id = None if organizer else own_team_id(session, caller, phase)
    query = submissions.phase_submissions(phase.id, team_id)
    rows, next_cursor = paging.page(session, query, Submission, limit=limit, cursor=cursor)
    details = submission_details.load_submission_details(session, [row.id for row in rows], caller.user_id)
    return submission_views(session, caller, [details[row.id] for row in rows], organizer=organizer), next_cursor


def own_team_id(session: ReadSession, caller: Caller, phase: Phase) -> str:
    """The id of the caller's team; raises NotRegistered, RegistrationPending.

    A barred team keeps access to what it submitted.
    """
    registration = teams.registration_of(session, phase.challenge_id, require_scope(caller, "read"))
    if registration is None:
        raise NotRegistered
    if registration.status == "pending":
        raise RegistrationPending
    return registration.team_id


def select_final(session: WriteSession, caller: Caller, submission_id: str, *, selected: bool) -> SubmissionView:
    """Select a submission to be ranked, or clear the selection; for members of its team, until the phase closes.

    A queued submission can be selected too: the time that scoring takes must not limit a team's choice.
    """
    submission, phase, organizer = load_visible_submission(session, caller, submission_id)
    locks.challenge(session, phase.challenge.slug, shared=True)
    # While this waited for the lock, the phase may have been deleted or its window changed.
    if session.get(Phase, phase.id, populate_existing=True) is None:
        raise NotFound
    # A worker may have settled the submission since it was read. With the stale status the change would
    # invalidate no board, so the row is locked and read again.
    session.refresh(submission, with_for_update={"of": Submission, "key_share": True})
    require_scope(caller, "submit")
    if not can_edit(session, caller, phase.challenge):
        registration = require_approved_registration(session, caller, phase.challenge)
        if registration.team_id != submission.team_id:
            raise NotFound
        if phase.closes_at is not None and clock.now(session) >= phase.closes_at:
            raise PhaseClosed
    if submission.status in {"rejected", "failed", "cancelled"}:
        raise SubmissionNotFinished(f"The submission is {submission.status}.")
    submission.selected_at = (submission.selected_at or clock.now(session)) if selected else None
    session.flush()
    return current_submission_view(session, caller, submission.id, organizer=organizer)
