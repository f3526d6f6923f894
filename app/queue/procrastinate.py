"""The queue for several machines: Procrastinate on the same PostgreSQL, so that jobs are part of our transactions.

A job only wakes one worker, which then claims the next task in fair order; there are as many jobs as waiting tasks.
The table of score tasks decides which task is next, how often it may fail, and when a silent worker has lost it. A job
names the task that it was created for, but any job may lead to any task.
"""

import asyncio
import gc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from threading import Event
from typing import Any

import structlog
from procrastinate import App, JobContext, PsycopgConnector, SyncPsycopgConnector
from procrastinate.exceptions import ConnectorException
from procrastinate.jobs import Status
from psycopg import AsyncConnection, OperationalError
from sqlalchemy import text
from sqlalchemy.engine import make_url
from sqlalchemy.orm import Session

from app.errors import DatabaseUnavailable
from app.queue import TaskClaim, TaskHandler
from app.scoring import SCORER_VERSION
from app.settings import Settings
from app.task_priorities import WAITING_CONDITION

log = structlog.get_logger()

QUEUE_NAME = "scoring"
TASK_NAME = "score"
POLL_SECONDS = 1.0  # for jobs that become due by time; new ones wake the worker at once
STOP_POLL_SECONDS = 0.1
SHUTDOWN_GRACE_SECONDS = 1.0  # for the engine's jobs to end; their scoring goes on in the slots without it
SHUTDOWN_TIMEOUT_SECONDS = 5.0  # for the whole end of the engine, with its last statements to the database
RESTART_DELAY_SECONDS = 1.0
MAX_ORPHANED_TASKS = 1000  # enqueued again per call

# Only jobs in `todo` are counted. A job that was handed out proves nothing: its worker may have failed to claim a task
# while the database was unavailable, and lives on without coming back to it. A surplus job does no harm.
ORPHANED_TASKS_QUERY = text(
    f"""
    WITH due AS (
        SELECT id, priority, turn FROM score_tasks
        WHERE {WAITING_CONDITION} AND scorer_version = :version AND (not_before IS NULL OR not_before <= clock_timestamp())
    ), job AS (
        SELECT count(*) AS count FROM procrastinate_jobs
        WHERE status = 'todo' AND queue_name = :queue AND (scheduled_at IS NULL OR scheduled_at <= clock_timestamp())
    )
    SELECT id FROM due ORDER BY priority, turn, id
    LIMIT least(:max_tasks, greatest(0, (SELECT count(*) FROM due) - (SELECT count FROM job)))
    """  # noqa: S608 - a constant
)
# Deletes jobs in `todo` for workers of another scorer version, once their task has ended or was deleted, and jobs that
# were handed out long ago, whatever happened to the engine that took them. SKIP LOCKED passes over jobs that a worker
# is fetching or finishing at this moment.
DELETE_FINISHED_JOBS = text(
    """
    DELETE FROM procrastinate_jobs WHERE id IN (
        SELECT job.id FROM procrastinate_jobs AS job LEFT JOIN score_tasks AS task ON task.id = job.args ->> 'task_id'
        WHERE job.task_name = :name AND (
            job.status = 'todo' AND job.queue_name <> :queue
                AND (task.id IS NULL OR task.finished_at < clock_timestamp() - make_interval(secs => :silent))
            OR job.status <> 'todo' AND NOT EXISTS (
                SELECT 1 FROM procrastinate_events AS event
                WHERE event.job_id = job.id AND event.at > clock_timestamp() - interval '1 hour'  -- its worker may still be running it
            )
        )
        FOR UPDATE OF job SKIP LOCKED
    )
    """
)
DELETE_JOBS = "DELETE FROM procrastinate_jobs WHERE id = ANY(%(ids)s::bigint[])"


@dataclass(frozen=True, slots=True)
class QueueConnection:
    """How the engine opens its connections."""

    connect_args: dict[str, Any]
    connection_class: type[AsyncConnection[Any]]


class ProcrastinateQueue:
    """Enqueues in the caller's transaction; in a worker it also runs the engine and claims one task per job."""

    def __init__(
        self, settings: Settings, connection: QueueConnection, claim: Callable[[], TaskClaim | None], slots: int
    ) -> None:
        url = make_url(settings.database).set(drivername="postgresql")
        self._conninfo = url.render_as_string(hide_password=False)
        self._connection = connection
        self._heartbeat_seconds = settings.heartbeat_seconds
        self._lease_seconds = settings.lease_seconds
        self._claim = claim
        self._slots = slots
        self._restart = Event()
        self._version_parameters = {"version": SCORER_VERSION, "queue": _queue_name(SCORER_VERSION)}
        self._enqueue_app = App(
            connector=SyncPsycopgConnector()
        )  # never opened: it inserts jobs on the caller's connection
        self._enqueue_app.task(name=TASK_NAME)(_unused)

    def enqueue(
        self,
        session: Session,
        task_id: str,
        *,
        priority: int = 0,
        not_before: datetime | None = None,
        again: bool = False,
        scorer_version: int = SCORER_VERSION,
    ) -> None:
        """Insert a job in this session's transaction; its NOTIFY reaches the workers when that commits."""
        session.flush()  # the job goes around the session, after the rows that it depends on
        connection = session.connection().connection.dbapi_connection
        job = self._enqueue_app.configure_task(
            TASK_NAME,
            queue=_queue_name(scorer_version),
            connection=connection,
            priority=again - 2 * priority,  # the engine takes the largest first; `again` decides among equal ones
            schedule_at=not_before,
        )
        try:
            job.defer(task_id=task_id)
        except ConnectorException as wrapped:
            if isinstance(wrapped.__cause__, OperationalError):
                raise DatabaseUnavailable from wrapped
            raise

    def find_orphaned_tasks(self, session: Session) -> list[str]:
        """Due queued tasks, as many as there are more of them than waiting jobs."""
        return list(session.scalars(ORPHANED_TASKS_QUERY, {"max_tasks": MAX_ORPHANED_TASKS} | self._version_parameters))

    def delete_finished_jobs(self, session: Session) -> None:
        """Delete jobs that no worker will finish."""
        session.execute(
            DELETE_FINISHED_JOBS,
            {"name": TASK_NAME, "silent": self._lease_seconds, "queue": self._version_parameters["queue"]},
        )

    def wake(self) -> None:
        """Do nothing: PostgreSQL notifies the engine, and the engine polls `stop`."""

    def restart(self) -> None:
        """End the engine; `run` starts a new one."""
        self._restart.set()

    def run(self, work: TaskHandler, stop: Event) -> None:
        """Run the engine until `stop` is set, and start it again whenever it ends earlier.

        It also ends, without an error, when the database restarts.
        """
        with ThreadPoolExecutor(self._slots, thread_name_prefix="slot") as slots:
            while not stop.is_set():
                self._restart.clear()
                try:
                    asyncio.run(self._run_engine_until_stopped(work, stop, slots))
                except Exception:
                    log.exception("queue_engine_failed")
                gc.collect()  # closes connections aborted during login, which the server would hold for a minute
                if not stop.wait(RESTART_DELAY_SECONDS):
                    log.warning("queue_engine_restarted")

    async def _run_engine_until_stopped(self, work: TaskHandler, stop: Event, slots: ThreadPoolExecutor) -> None:
        """One run of the engine; abandoned if it does not end in time, because a dead connection never answers."""
        engine = asyncio.create_task(self._run_engine(work, stop, slots))
        while not (stop.is_set() or self._restart.is_set() or engine.done()):
            await asyncio.wait({engine}, timeout=STOP_POLL_SECONDS)
        engine.cancel()  # it stops fetching, and waits for its running jobs
        await asyncio.wait({engine}, timeout=SHUTDOWN_TIMEOUT_SECONDS)
        if engine.done() and not engine.cancelled():
            engine.result()

    async def _run_engine(self, work: TaskHandler, stop: Event, slots: ThreadPoolExecutor) -> None:
        pool: dict[str, Any] = {"min_size": 1, "max_size": 4, "timeout": 5.0, "reconnect_timeout": 5.0}
        pool |= {"kwargs": self._connection.connect_args, "connection_class": self._connection.connection_class}
        app = App(connector=PsycopgConnector(conninfo=self._conninfo, **pool))
        loop = asyncio.get_running_loop()
        queue_name = _queue_name(SCORER_VERSION)
        ended: set[int] = set()

        @app.task(name=TASK_NAME, queue=queue_name, pass_context=True)
        async def score(context: JobContext, task_id: str) -> None:
            try:
                await loop.run_in_executor(slots, self._claim_and_work, work, stop, task_id)
            finally:
                assert context.job.id is not None
                ended.add(context.job.id)

        async with app.open_async():
            cleanup = asyncio.create_task(self._delete_stale_jobs(app, ended))
            try:
                await app.run_worker_async(
                    queues=[queue_name],
                    concurrency=self._slots,
                    fetch_job_polling_interval=POLL_SECONDS,
                    update_heartbeat_interval=self._heartbeat_seconds,
                    stalled_worker_timeout=self._lease_seconds,
                    shutdown_graceful_timeout=SHUTDOWN_GRACE_SECONDS,
                    delete_jobs="always",  # our tables hold the history; a large table of jobs slows fetching
                    install_signal_handlers=False,
                )
            finally:
                cleanup.cancel()

    def _claim_and_work(self, work: TaskHandler, stop: Event, task_id: str) -> None:
        """In a slot, woken by the job of `task_id`: claim the next task in fair order, if there is one."""
        if stop.is_set():
            return  # the reconciler enqueues the task again
        try:
            claim = self._claim()
            if claim is not None:
                work(claim)
        except Exception:
            log.exception("task_failed", woken_for=task_id)

    async def _delete_stale_jobs(self, app: App, ended: set[int]) -> None:
        """Delete jobs whose end was never recorded: those of silent workers, and those of this engine's `ended` work.

        The engine records an end once. If the database is unavailable at that moment, the job stays assigned to a live
        worker. The engine gets one round to record an end before this deletes the job.
        """
        overdue: set[int] = set()
        while True:
            await asyncio.sleep(self._lease_seconds)
            try:
                if overdue:
                    await app.connector.execute_query_async(DELETE_JOBS, ids=[*overdue])
                overdue = ended.copy()
                ended.clear()
                stalled = await app.job_manager.get_stalled_jobs(seconds_since_heartbeat=2 * self._lease_seconds)
                for job in stalled:
                    with suppress(ConnectorException):  # another worker deleted it first
                        await app.job_manager.finish_job(job, status=Status.FAILED, delete_job=True)
            except Exception:
                log.exception("queue_tidying_failed")


def _queue_name(scorer_version: int) -> str:
    """The engine's queue for tasks of this scorer version: a worker of another version would take the jobs in vain."""
    return f"{QUEUE_NAME}-{scorer_version}"


def _unused(task_id: str) -> None:
    """The task of a process that only enqueues; never called."""
    raise AssertionError(task_id)
