"""Take submissions out of the queue: one that is given up, and all of a member who is barred."""

from collections.abc import Sequence

from app.actions.access import Caller, can_edit, load_visible_submission, require_approved_registration, require_scope
from app.actions.submissions.read_submissions import SubmissionView, current_submission_view
from app.errors import Conflict, NotFound, PhaseClosed
from app.store import board_invalidation, clock, locks, notifications
from app.store.queries import quota, submissions, tasks
from app.store.session import WriteSession
from app.store.tables import Phase, Registration, ScoreTask, Submission

CANCELLED_FAILURE = {"code": "cancelled", "detail": "It was cancelled before it was scored."}
CANCELLED_BY_ORGANIZER = "cancelled_by_organizer"
"""How the ledger of the quota calls it where its team did not cancel it."""
BARRED_FAILURE = {"code": "barred", "detail": "The organizers barred whoever sent it before it was scored."}


class NotCancellable(Conflict):
    """Only a submission that waits in the queue can be cancelled."""

    code = "not_cancellable"
    remedy = "Look at its status: one that is being scored ends by itself."


def cancel_submission(session: WriteSession, caller: Caller, submission_id: str) -> SubmissionView:
    """Take a submission out of the queue; what it took from the quota is given back. Raises NotCancellable, PhaseClosed.

    Its team may do so while it waits: once it is being scored, cancelling would make the work free of charge, and the
    next one would begin beside it. It counts as invalid, or files could be sent and cancelled for ever. After the close
    it may not, for that would choose by the scores of others which of its files stands. Organizers may until it is
    settled; its scores are then never stored.
    """
    submission, phase, organizer = load_visible_submission(session, caller, submission_id)
    locks.challenge(session, phase.challenge.slug, shared=True)
    if session.get(Phase, phase.id, populate_existing=True) is None:
        raise NotFound  # deleted while this waited
    require_scope(caller, "submit")
    by_organizer = can_edit(session, caller, phase.challenge)
    if (
        not by_organizer
        and require_approved_registration(session, caller, phase.challenge).team_id != submission.team_id
    ):
        raise NotFound
    held = tasks.lock_unfinished(session, [submission_id])
    session.refresh(submission, with_for_update={"of": Submission, "key_share": True})
    if submission.status not in {"queued", "running", "cancelled"}:
        raise NotCancellable(f"The submission is {submission.status}.")
    if submission.status == "running" and not by_organizer:
        raise NotCancellable("The submission is being scored.")
    if submission.status != "cancelled":
        if not by_organizer and phase.closes_at is not None and clock.now(session) >= phase.closes_at:
            raise PhaseClosed
        ledger = CANCELLED_BY_ORGANIZER if by_organizer else quota.CANCELLED
        _cancel_unsettled(session, held, [submission_id], CANCELLED_FAILURE, ledger)
        session.refresh(submission)
    return current_submission_view(session, caller, submission.id, organizer=organizer)


def cancel_member_submissions(session: WriteSession, registration: Registration) -> list[str]:
    """Take out all that this member has sent for the team and that is not settled; gives the ids of the submissions.

    The caller holds the challenge, so that nothing comes meanwhile.
    """
    sent = submissions.unsettled_ids(session, registration.team_id, registration.user_id)
    held = tasks.lock_unfinished(session, sent)
    return _cancel_unsettled(session, held, sent, BARRED_FAILURE, BARRED_FAILURE["code"])


def _cancel_unsettled(
    session: WriteSession, held: Sequence[ScoreTask], ids: Sequence[str], reason: dict[str, str], ledger: str
) -> list[str]:
    """Tasks before submissions, as everywhere; gives those that nobody settled in the meantime.

    `reason` is what submissions say of it, `ledger` what that of the quota says.
    """
    now = clock.now(session)
    for task in held:
        tasks.cancel(session, task, now)
    ended = {each: submissions.cancel(session, each, now, reason) for each in ids}
    gone = {each: phase_id for each, phase_id in ended.items() if phase_id is not None}
    board_invalidation.invalidate(session, *map(board_invalidation.waiting_tag, gone.values()))
    for submission_id in gone:
        quota.settle(session, submission_id, ledger)
        notifications.notify_settled(session, submission_id)
    return list(gone)
