"""Read submissions: their state, problems and scores, as far as the reader may see them."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

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
from app.store.queries import fair_scheduling, paging, submission_details, submissions, teams
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


@dataclass(frozen=True, slots=True)
class SubmissionView:
    """A submission as its reader sees it; the object itself belongs to no session."""

    submission: Submission
    is_file_visible: (
        bool  # whether what its file is, and what is wrong with it, may be read: all but what an organizer sent
    )
    challenge: str
    phase: str
    queue_position: int | None
    scores: dict[str, dict[str, Any]]
    splits: dict[str, dict[str, dict[str, Any]]] | None  # organizers see every split
    split: str | None
    gold_version: int | None
    recipe_version: int | None
    organizer: bool
    scored: bool  # whether there are scores in force, whoever may read them
    rerun: LastRescoring | None = None  # organizers see it

    @property
    def total(self) -> dict[str, int]:
        """The problems of the file per code."""
        return {
            code: count for code, count in self.submission.problem_totals.items() if code != submissions.TOTALS_AT_LEAST
        }

    @property
    def at_least(self) -> bool:
        """Whether the file has so many problems at least, as reading stopped before its end."""
        return submissions.TOTALS_AT_LEAST in self.submission.problem_totals


def read_submission(session: ReadSession, caller: Caller, submission_id: str) -> SubmissionView:
    """One submission; raises NotFound unless the caller's team owns it or the caller organizes the challenge.

    Raises InsufficientScope for a token that may not read.
    """
    found = read_submission_status(session, caller, submission_id)
    require_scope(caller, "read")
    return found


def load_downloadable_submission(session: ReadSession, caller: Caller, submission_id: str) -> Submission:
    """The submission whose file is to be sent; raises NotFound, and Forbidden for one that an organizer sent for the team."""
    submission, _, organizer = load_visible_submission(session, caller, submission_id)
    require_scope(caller, "read")
    if submission.on_behalf and not organizer:
        raise Forbidden(
            "An organizer sent this file on behalf of the team; it is for organizers alone.",
            remedy="Ask the organizers for it.",
        )
    return submission


def read_submission_status(session: ReadSession, caller: Caller, submission_id: str) -> SubmissionView:
    """One submission for whoever sent it: with a token that may not read, without scores; raises NotFound."""
    found = submission_details.load_submission_details(session, [submission_id], caller.user_id)
    if caller.user_id is None or submission_id not in found:
        raise NotFound
    row = found[submission_id]
    around = row.context
    own = around.registered_team == row.submission.team_id and around.registration != "pending"
    return _submission_view(
        session, caller, row, organizer=can_read_as_organizer(caller, effective_role(caller, around.role), own=own)
    )


def current_submission_view(
    session: ReadSession, caller: Caller, submission_id: str, *, organizer: bool
) -> SubmissionView:
    """A submission that the caller may see, as it stands in this transaction."""
    return _submission_view(
        session,
        caller,
        submission_details.load_submission_details(session, [submission_id], caller.user_id)[submission_id],
        organizer=organizer,
    )


def _submission_view(
    session: ReadSession, caller: Caller, row: SubmissionDetails, *, organizer: bool
) -> SubmissionView:
    """The submission with the scores that this reader may see."""
    around = row.context
    shown = _visible_scores(row, organizer=organizer)
    split = (
        None if around.has_splits is None else current_split(has_splits=around.has_splits, released=around.released_at)
    )
    allowed = organizer or (can_read(caller) and "scores" in around.reports)
    return SubmissionView(
        submission=row.submission,
        is_file_visible=organizer or not row.submission.on_behalf,
        challenge=around.challenge,
        phase=around.phase,
        queue_position=_queue_position(session, row),
        scores=shown.get(split or "", {}) if allowed else {},
        splits=shown if organizer else None,
        split=split,
        gold_version=around.gold_version,
        recipe_version=around.recipe_version,
        organizer=organizer,
        scored=bool(row.scores),
        rerun=_last_rescoring(row) if organizer else None,
    )


def _queue_position(session: ReadSession, row: SubmissionDetails) -> int | None:
    """Where it stands in the line; what is done to a submission that has its status is to compare, and is in no line."""
    around = row.context
    if around.task_id is None or around.task_priority is None or around.task_status != "queued":
        return None
    if row.submission.status not in {"queued", "running"}:
        return None
    return (
        fair_scheduling.queue_position(session, around.task_id) if around.task_priority < RESCORING_PRIORITY else None
    )


def _last_rescoring(row: SubmissionDetails) -> LastRescoring | None:
    """What scoring it again came to, if that was done."""
    around, status = row.context, row.submission.status
    if around.task_status is None or status in {"queued", "running"}:
        return None
    again = around.compared_at is not None or around.task_status in {"queued", "running"}
    again |= around.task_status == "failed" and status == "finished"
    if not again:
        return None
    return LastRescoring(
        around.task_status, around.task_scorer_version or 0, around.compared_at, around.difference, around.task_failure
    )


def _visible_scores(row: SubmissionDetails, *, organizer: bool) -> dict[str, dict[str, dict[str, Any]]]:
    view = ScoreView(organizer=organizer, digits=None if organizer else disclosed_digits(row.context.recipe))
    return {split: view.metrics(metrics) for split, metrics in row.scores.items()}


def list_submissions(
    session: ReadSession, caller: Caller, slug: str, phase_slug: str, *, limit: int, cursor: str | None
) -> tuple[list[SubmissionView], str | None]:
    """A team's own submissions, newest first; organizers see all."""
    phase = load_visible_phase(session, caller, slug, phase_slug)
    require_scope(caller, "read")
    organizer = is_organizer(session, caller, phase.challenge)
    team_id = None if organizer else own_team_id(session, caller, phase)
    rows, later = paging.page(
        session, submissions.phase_submissions(phase.id, team_id), Submission, limit=limit, cursor=cursor
    )
    found = submission_details.load_submission_details(session, [row.id for row in rows], caller.user_id)
    return [_submission_view(session, caller, found[row.id], organizer=organizer) for row in rows], later


def own_team_id(session: ReadSession, caller: Caller, phase: Phase) -> str:
    """The id of the caller's team, barred or not: what it sent stays its own; raises NotRegistered, RegistrationPending."""
    registration = teams.registration_of(session, phase.challenge_id, require_scope(caller, "read"))
    if registration is None:
        raise NotRegistered
    if registration.status == "pending":
        raise RegistrationPending
    return registration.team_id


def select_final(session: WriteSession, caller: Caller, submission_id: str, *, selected: bool) -> SubmissionView:
    """Mark or unmark a submission as one that shall count; for members of its team, until the phase closes.

    One that is still in the queue may be chosen too: how long scoring takes must not decide what a team may choose.
    """
    submission, phase, organizer = load_visible_submission(session, caller, submission_id)
    locks.challenge(session, phase.challenge.slug, shared=True)
    if session.get(Phase, phase.id, populate_existing=True) is None:  # closed or deleted while this waited
        raise NotFound
    # It may have been settled since it was read: as it was then, no board would be told of the choice.
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
