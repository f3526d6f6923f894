"""Take a submission out of the ranking, for its team or for organizers, and let it take part again."""

from typing import Any

from app.actions.access import Caller, require_organizer
from app.actions.audit.record import changed_fields, record
from app.actions.submissions.read_submissions import SubmissionView, current_submission_view
from app.actions.submissions.submission_access import (
    changes_as_organizer,
    load_submission_to_change,
    load_visible_submission,
    lock_submission_row,
)
from app.errors import OnNoBoard, PhaseClosed
from app.store import clock
from app.store.session import ReadSession, WriteSession
from app.store.tables import Phase, Submission


def withdraw_submission(
    session: WriteSession, caller: Caller, submission_id: str, *, reason: str | None = None
) -> SubmissionView:
    """Withdraw a submission, for its team or as an organizer; raises OnNoBoard, PhaseClosed.

    It still counts as an entry, and its quota is not refunded. Once it is withdrawn, nothing changes. After the close a
    team cannot withdraw what counts, because it would choose, by the scores of others, which of its files does.
    """
    submission, phase, organizer = _lock_submission(session, caller, submission_id)
    if not changes_as_organizer(session, caller, phase.challenge, submission):
        is_closed = phase.closes_at is not None and clock.now(session) >= phase.closes_at
        if is_closed and submission.withdrawn_at is None and not submission.unofficial:
            raise PhaseClosed("The phase has closed, so the team cannot change which of its submissions counts.")
    if submission.withdrawn_at is None:
        _require_may_have_row(submission)
        changes = {"withdrawn_at": clock.now(session), "withdrawn_reason": reason}
        _change(session, caller, "submission.withdraw", submission, phase, changes)
    return current_submission_view(session, caller, submission.id, organizer=organizer)


def disqualify_submission(session: WriteSession, caller: Caller, submission_id: str, *, reason: str) -> SubmissionView:
    """Disqualify a submission, as an organizer; raises OnNoBoard. Once it is disqualified, nothing changes."""
    submission, phase, organizer = _lock_submission(session, caller, submission_id)
    require_organizer(session, caller, phase.challenge)
    if submission.disqualified_at is None:
        _require_may_have_row(submission)
        changes = {"disqualified_at": clock.now(session), "disqualified_reason": reason}
        _change(session, caller, "submission.disqualify", submission, phase, changes)
    return current_submission_view(session, caller, submission.id, organizer=organizer)


def reinstate_submission(session: WriteSession, caller: Caller, submission_id: str) -> SubmissionView:
    """Undo the withdrawal and the disqualification of a submission, as an organizer.

    Nothing changes if there is neither.
    """
    submission, phase, organizer = _lock_submission(session, caller, submission_id)
    require_organizer(session, caller, phase.challenge)
    if submission.withdrawn_at is not None or submission.disqualified_at is not None:
        names = ("withdrawn_at", "withdrawn_reason", "disqualified_at", "disqualified_reason")
        _change(session, caller, "submission.reinstate", submission, phase, dict.fromkeys(names))
    return current_submission_view(session, caller, submission.id, organizer=organizer)


def require_submission_organizer(session: ReadSession, caller: Caller, submission_id: str) -> None:
    """Raise NotFound or Forbidden unless the caller may decide on this submission."""
    _, phase, _ = load_visible_submission(session, caller, submission_id)
    require_organizer(session, caller, phase.challenge)


def _lock_submission(session: WriteSession, caller: Caller, submission_id: str) -> tuple[Submission, Phase, bool]:
    """A submission that the caller may see, locked, with its phase, and whether they see it as an organizer."""
    _, phase, organizer = load_submission_to_change(session, caller, submission_id)
    return lock_submission_row(session, submission_id), phase, organizer


def _require_may_have_row(submission: Submission) -> None:
    """Raise OnNoBoard for a submission that no board will ever show."""
    if submission.test:
        raise OnNoBoard("It is a test entry, which no board shows.")
    if submission.status in {"rejected", "failed", "cancelled"}:
        raise OnNoBoard(f"The submission is {submission.status}, so no board shows it.")


def _change(  # noqa: PLR0917 - called by the verbs above alone
    session: WriteSession,
    caller: Caller,
    action: str,
    submission: Submission,
    phase: Phase,
    changes: dict[str, Any],
) -> None:
    times = {name: value for name, value in changes.items() if name.endswith("_at")}
    changed = changed_fields(submission, times)
    # The audit trail keeps the reason that is stored beside the time.
    reason = next((value for name, value in changes.items() if name.endswith("_reason")), None)
    record(session, caller, action, challenge=phase.challenge, of=submission, changes=changed, reason=reason)
    for name, value in changes.items():
        setattr(submission, name, value)
    session.flush()
