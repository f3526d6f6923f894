"""The jobs of the queue engine on PostgreSQL, as far as our own transactions create, count and delete them.

A job only wakes one worker, which then claims tasks in fair order until none is due. So there are fewer jobs than
tasks, but as long as a task is due, a job waits or a slot is working:

- A transaction that queues a task inserts a job, or relies on a waiting one: it locks that job until it has committed,
  so that no worker can take the job before it can see the task.
- A transaction that claims tasks inserts a job if it leaves due tasks behind and no job waits.

The engine itself is in app.queue.procrastinate, which only workers load.
"""

from datetime import datetime

from sqlalchemy import DateTime, bindparam, text
from sqlalchemy.orm import Session

from app.scoring import SCORER_VERSION
from app.task_priorities import WAITING_CONDITION

QUEUE_PREFIX = "scoring"
TASK_NAME = "score"
_WAITING_JOB = """
    SELECT id FROM procrastinate_jobs
    WHERE status = 'todo' AND queue_name = :queue AND (scheduled_at IS NULL OR scheduled_at <= clock_timestamp())
"""
_NEW_JOB = """
    procrastinate_defer_jobs_v1(ARRAY[ROW(
        :queue, :task_name, 0, NULL, NULL, jsonb_build_object('task_id', CAST(:task_id AS text)), :not_before
    )::procrastinate_job_to_defer_v1])
"""
# The notification is the one that the engine sends for a new job. It is needed for a waiting job too: a worker that
# looked for jobs while this transaction held the lock passed over it. SKIP LOCKED: no sender waits for another one.
_WAKE = text(
    f"""
    WITH waiting AS MATERIALIZED ({_WAITING_JOB} ORDER BY priority DESC, id LIMIT 1 FOR UPDATE SKIP LOCKED),
    message AS (SELECT json_build_object('type', 'job_inserted', 'job_id', id)::text AS payload FROM waiting)
    SELECT CASE WHEN EXISTS (SELECT 1 FROM waiting)
        THEN (SELECT pg_notify('procrastinate_queue_v1#' || :queue, payload)::text FROM message)
        ELSE {_NEW_JOB}::text END
    """  # noqa: S608 - constants
).bindparams(not_before=None)
_WAKE_LATER = text(f"SELECT {_NEW_JOB}").bindparams(bindparam("not_before", type_=DateTime(timezone=True)))
_ORPHAN = text(
    f"""
    SELECT id FROM score_tasks
    WHERE {WAITING_CONDITION} AND scorer_version = :version AND (not_before IS NULL OR not_before <= clock_timestamp())
        AND NOT EXISTS ({_WAITING_JOB})
    ORDER BY priority, turn, ticket LIMIT 1
    """  # noqa: S608 - constants
)
# Deletes jobs in `todo` for workers of another scorer version that no task waits for, and jobs that were handed out
# long ago, whatever happened to the engine that took them. SKIP LOCKED passes over jobs that a worker is fetching or
# finishing at this moment, or that a transaction with a new task relies on.
_DELETE_FINISHED = text(
    f"""
    DELETE FROM procrastinate_jobs WHERE id IN (
        SELECT job.id FROM procrastinate_jobs AS job
        WHERE job.task_name = :task_name AND (
            job.status = 'todo' AND job.queue_name <> :queue AND NOT EXISTS (
                SELECT 1 FROM score_tasks
                WHERE {WAITING_CONDITION} AND :prefix || '-' || scorer_version = job.queue_name
            )
            OR job.status <> 'todo' AND NOT EXISTS (
                SELECT 1 FROM procrastinate_events AS event
                WHERE event.job_id = job.id AND event.at > clock_timestamp() - interval '1 hour'  -- its worker may still be running it
            )
        )
        FOR UPDATE OF job SKIP LOCKED
    )
    """  # noqa: S608 - constants
)


class JobTable:
    """Creates and deletes jobs in the transactions of a process, which need not be a worker."""

    def enqueue(
        self,
        session: Session,
        task_id: str,
        *,
        not_before: datetime | None = None,
        scorer_version: int = SCORER_VERSION,
    ) -> None:
        """Make sure that a worker is woken when this session's transaction commits, or once the task is due.

        The engine's notification reaches the workers when the transaction commits.
        """
        session.flush()  # the job goes around the session, after the rows that it depends on
        job = {"queue": queue_name(scorer_version), "task_name": TASK_NAME, "task_id": task_id}
        if not_before is None:
            session.connection().execute(_WAKE, job)
        else:
            session.connection().execute(_WAKE_LATER, job | {"not_before": not_before})

    def find_orphaned_task(self, session: Session) -> str | None:
        """The next due task, if no job waits; the reconciler and claims enqueue it again.

        A job that was handed out proves nothing: its worker may have failed to claim a task while the database was
        unavailable, and lives on without coming back to it. A surplus job does no harm.
        """
        found = {"version": SCORER_VERSION, "queue": queue_name(SCORER_VERSION)}
        task_id: str | None = session.connection().execute(_ORPHAN, found).scalar_one_or_none()
        return task_id

    def delete_finished_jobs(self, session: Session) -> None:
        """Delete jobs that no worker will finish."""
        names = {"task_name": TASK_NAME, "queue": queue_name(SCORER_VERSION), "prefix": QUEUE_PREFIX}
        session.connection().execute(_DELETE_FINISHED, names)


def queue_name(scorer_version: int) -> str:
    """The engine's queue for tasks of this scorer version: a worker of another version would take the jobs in vain."""
    return f"{QUEUE_PREFIX}-{scorer_version}"
