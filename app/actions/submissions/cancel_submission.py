"""Cancel a submission, for its team or an organizer, or all submissions of a member who is barred."""

from collections.abc import Sequence

from app.actions.access import Caller
from app.actions.audit.record import record
from app.actions.submissions.read_submissions import SubmissionView, current_submission_view
from app.actions.submissions.submission_access import (
    changes_as_organizer,
    load_submission_to_change,
    lock_submission_row,
)
from app.errors import Conflict, PhaseClosed
from app.store import board_invalidation, clock, notifications
from app.store.queries import quota, submissions, tasks
from app.store.session import WriteSession
from app.store.tables import Phase, Registration, ScoreTask, Submission

CANCELLED_FAILURE = {"code": "cancelled", "detail": "It was cancelled before it was scored."}
CANCELLED_BY_ORGANIZER_FAILURE = {"code": "cancelled", "detail": "An organizer cancelled it before it was scored."}
CANCELLED_BY_ORGANIZER = "cancelled_organizer"
"""The reason in the quota ledger where an organizer, not the team, cancelled it."""
BARRED_FAILURE = {"code": "barred", "detail": "The organizers barred its sender before it was scored."}


class NotCancellable(Conflict):
    """Only a queued submission can be cancelled."""

    code = "not_cancellable"
    remedy = "Check its status: a submission that is being scored ends without further action."


def cancel_submission(
    session: WriteSession, caller: Caller, submission_id: str, *, reason: str | None = None
) -> SubmissionView:
    """Cancel a submission and refund its quota; raises NotCancellable, PhaseClosed.

    Its team may cancel it while it is queued. Once it is being scored, cancelling would make that work free of charge,
    and the next submission would run at the same time. A cancelled one counts as invalid, so that files cannot be sent
    and cancelled without limit. After the close the team may not cancel, because it could choose, by the scores of
    others, which of its files counts. Organizers may cancel until it is settled; its scores are then never stored.
    """
    submission, phase, organizer = load_submission_to_change(session, caller, submission_id)
    by_organizer = changes_as_organizer(session, caller, phase.challenge, submission)
    unfinished = tasks.lock_unfinished(session, [submission_id])
    lock_submission_row(session, submission_id)
    if submission.status not in {"queued", "running", "cancelled"}:
        raise NotCancellable(f"The submission is {submission.status}.")
    if submission.status == "running" and not by_organizer:
        raise NotCancellable("The submission is being scored.")
    if submission.status != "cancelled":
        if not by_organizer and phase.closes_at is not None and clock.now(session) >= phase.closes_at:
            raise PhaseClosed("The phase has closed, so the team cannot cancel its submissions.")
        _record(session, caller, submission, submission.status, reason)
        ledger = CANCELLED_BY_ORGANIZER if by_organizer else quota.CANCELLED
        failure = CANCELLED_BY_ORGANIZER_FAILURE if by_organizer else CANCELLED_FAILURE
        explained = failure if reason is None else {**failure, "reason": reason}
        _cancel_unsettled(session, unfinished, [submission_id], explained, ledger)
        session.refresh(submission)
    return current_submission_view(session, caller, submission.id, organizer=organizer)


def cancel_member_submissions(session: WriteSession, caller: Caller, registration: Registration) -> list[str]:
    """Cancel all unsettled submissions that this user sent as a participant, in any team; returns their ids.

    The caller holds the lock on the challenge, so that no submission is added meanwhile.
    """
    submission_ids = submissions.unsettled_ids(session, registration.challenge_id, registration.user_id)
    unfinished = tasks.lock_unfinished(session, submission_ids)
    cancelled = _cancel_unsettled(session, unfinished, submission_ids, BARRED_FAILURE, BARRED_FAILURE["code"])
    for submission_id in cancelled:
        _record(session, caller, session.get_one(Submission, submission_id))
    return cancelled


def _record(
    session: WriteSession, caller: Caller, submission: Submission, before: str = "queued", reason: str | None = None
) -> None:
    challenge = session.get_one(Phase, submission.phase_id).challenge
    changes = {"status": (before, "cancelled")}
    record(session, caller, "submission.cancel", challenge=challenge, of=submission, changes=changes, reason=reason)


def _cancel_unsettled(
    session: WriteSession, unfinished: Sequence[ScoreTask], ids: Sequence[str], reason: dict[str, str], ledger: str
) -> list[str]:
    """Cancel tasks, then submissions; returns the ids of those that had not been settled meanwhile.

    Tasks come first, as in every transaction that locks both, so that no two can deadlock. `reason` is stored in the
    submissions, `ledger` is the reason in the quota ledger.
    """
    now = clock.now(session)
    for task in unfinished:
        tasks.cancel(session, task, now)
    phase_ids = {submission_id: submissions.cancel(session, submission_id, now, reason) for submission_id in ids}
    cancelled = {submission_id: phase_id for submission_id, phase_id in phase_ids.items() if phase_id is not None}
    board_invalidation.invalidate(session, *map(board_invalidation.waiting_tag, cancelled.values()))
    for submission_id in cancelled:
        quota.settle(session, submission_id, ledger)
        notifications.notify_settled(session, submission_id)
    return list(cancelled)
