"""Select the submissions that are to count for a team, or clear the selection."""

from datetime import datetime, timedelta

from app.actions.access import Caller
from app.actions.audit.record import record
from app.actions.challenges.change_recipe import parse_stored_recipe
from app.actions.submissions.read_submissions import SubmissionView, current_submission_view
from app.actions.submissions.submission_access import (
    changes_as_organizer,
    load_submission_to_change,
    lock_submission_row,
)
from app.errors import (
    InvalidRequest,
    NotSelectable,
    PhaseClosed,
    PhaseReleased,
    SelectionFull,
    SubmissionNotFinished,
)
from app.store import clock, locks
from app.store.queries import challenges, submissions
from app.store.session import ReadSession, WriteSession
from app.store.tables import Phase, Submission

LATE_CHOICE = timedelta(hours=24)
"""How long after its scores an entry may be selected that had none at the close."""


def select_submission(
    session: WriteSession, caller: Caller, submission_id: str, *, selected: bool, reason: str | None
) -> SubmissionView:
    """Select a submission to be ranked, or clear the selection; for members of its team, until the phase closes.

    A queued submission can be selected too: the time that scoring takes must not limit a team's choice. One that was
    not scored at the close can be selected until 24 hours after it is. Organizers may change the selection of a team
    until the final release; they give a reason. The audit trail has every change, because it concerns the whole team.

    Raises NotFound, PhaseClosed, PhaseReleased, SubmissionNotFinished, NotSelectable, SelectionFull, InvalidRequest.
    """
    submission, phase, organizer = load_submission_to_change(session, caller, submission_id)
    locks.team(session, phase.id, submission.team_id)
    lock_submission_row(session, submission_id)
    by_organizer = changes_as_organizer(session, caller, phase.challenge, submission)
    if not by_organizer:
        _require_choice_open(phase, submission, clock.now(session))
    if phase.released_at is not None:
        raise PhaseReleased
    if submission.status in {"rejected", "failed", "cancelled"}:
        raise SubmissionNotFinished(f"The submission is {submission.status}.")
    if selected != (submission.selected_at is not None):
        if selected:
            _require_selectable(session, phase, submission)
        if by_organizer:
            _require_reason(reason)
        action = "submission.select" if selected else "submission.unselect"
        changes = {"selected": (not selected, selected)}
        record(session, caller, action, challenge=phase.challenge, of=submission, changes=changes, reason=reason)
        submission.selected_at = clock.now(session) if selected else None
        session.flush()
    return current_submission_view(session, caller, submission.id, organizer=organizer)


def choices_open_until(session: ReadSession, phase: Phase) -> datetime | None:
    """Until when a team may still select an entry that was not scored at the close; None once nobody may."""
    if phase.closes_at is None or phase.released_at is not None:
        return None
    newest = submissions.last_scored_after(session, phase.id, phase.closes_at)
    until = None if newest is None else newest + LATE_CHOICE
    return until if until is not None and clock.now(session) < until else None


def _require_choice_open(phase: Phase, submission: Submission, now: datetime) -> None:
    """Raise PhaseClosed unless a team may still choose this submission."""
    if phase.closes_at is None or now < phase.closes_at:
        return
    settled_at = now if submission.status in {"queued", "running"} else submission.finished_at
    if settled_at is None or not phase.closes_at <= settled_at <= now < settled_at + LATE_CHOICE:
        raise PhaseClosed  # it had its scores at the close, or for a day
    if submission.submitted_at >= phase.closes_at:
        raise PhaseClosed


def _require_selectable(session: WriteSession, phase: Phase, submission: Submission) -> None:
    """Raise NotSelectable for an entry that cannot count, SelectionFull if the team has selected enough."""
    kinds = {
        "withdrawn": submission.withdrawn_at is not None,
        "disqualified": submission.disqualified_at is not None,
        "unofficial": submission.unofficial,
        "a test": submission.test,
        "a baseline": submission.baseline,
    }
    kind = next((name for name, applies in kinds.items() if applies), None)
    if kind is not None:
        raise NotSelectable(f"The submission is {kind}, so it cannot count.")
    recipe = challenges.active_recipe(session, phase)
    maximum = parse_stored_recipe(phase, recipe).selection_max
    if maximum is None:
        return
    others = submissions.selected_ids(session, phase.id, submission.team_id)
    if len(others) >= maximum:
        raise SelectionFull(f"The team has selected {len(others)} of at most {maximum}.", selected=others)


def _require_reason(reason: str | None) -> None:
    """Raise InvalidRequest unless an organizer says why the selection of a team is changed."""
    if not reason:
        errors = [{"pointer": "/reason", "detail": "an organizer who changes the selection of a team says why"}]
        raise InvalidRequest("Give the reason for changing the selection of a team.", errors=errors)
