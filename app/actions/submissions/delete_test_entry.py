"""Delete a test entry of organizers, with its file and its scores."""

from app.actions.access import Caller, load_visible_submission, lock_challenge, require_organizer
from app.actions.audit.record import record
from app.errors import NotATestEntry, NotFound
from app.store import clock
from app.store.queries import rescoring_tasks, tasks
from app.store.queries.rescoring_tasks import RescoringResult
from app.store.session import WriteSession
from app.store.tables import Submission


def delete_test_entry(session: WriteSession, caller: Caller, submission_id: str) -> str:
    """Delete a test entry; returns the key of its file, which the caller deletes. Raises NotATestEntry.

    Its tasks are locked before the submission, in the order that workers lock them.
    """
    submission, phase, _ = load_visible_submission(session, caller, submission_id)
    lock_challenge(session, phase.challenge)
    require_organizer(session, caller, phase.challenge)
    if not submission.test:
        raise NotATestEntry
    now = clock.now(session)
    unfinished = tasks.lock_unfinished(session, [submission_id])
    for task in unfinished:
        tasks.cancel(session, task, now)
    rescoring_tasks.add_to_progress(session, [RescoringResult(task.rerun_id) for task in unfinished], now)
    row_lock = {"of": Submission}
    locked = session.get(Submission, submission_id, populate_existing=True, with_for_update=row_lock)
    if locked is None:
        raise NotFound  # deleted while this transaction waited for the lock
    record(session, caller, "submission.delete", challenge=phase.challenge, of=locked)
    session.delete(locked)
    session.flush()
    return locked.file_key
