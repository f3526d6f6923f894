"""Delete a test entry of organizers, with its file and its scores."""

from app.actions.access import Caller, require_organizer
from app.actions.audit.record import record
from app.actions.submissions.submission_access import load_submission_to_change, lock_submission_row
from app.errors import NotATestEntry
from app.store import clock
from app.store.queries import analysis_tasks, rescoring_tasks, tasks
from app.store.queries.rescoring_tasks import RescoringResult
from app.store.session import WriteSession


def delete_test_entry(session: WriteSession, caller: Caller, submission_id: str) -> str:
    """Delete a test entry; returns the key of its file, which the caller deletes. Raises NotATestEntry.

    Its tasks are locked before the submission, in the order that workers lock them.
    """
    submission, phase, _ = load_submission_to_change(session, caller, submission_id)
    require_organizer(session, caller, phase.challenge)
    if not submission.test:
        raise NotATestEntry
    now = clock.now(session)
    unfinished = tasks.lock_unfinished(session, [submission_id])
    for task in unfinished:
        tasks.cancel(session, task, now)
    rescoring_tasks.add_to_progress(session, [RescoringResult(task.rerun_id) for task in unfinished], now)
    analysis_tasks.lock_of_submissions(session, [submission_id])
    lock_submission_row(session, submission_id)
    record(session, caller, "submission.delete", challenge=phase.challenge, of=submission)
    session.delete(submission)
    session.flush()
    return submission.file_key
