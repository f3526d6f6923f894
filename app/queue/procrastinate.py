"""The queue of several machines: Procrastinate on the same PostgreSQL, so that a job joins our transaction.

A job wakes one worker, which then claims the task whose turn it is; there are as many jobs as tasks that wait. Which task
that is, how often it may fail and when a silent worker has lost it is decided by the table of score tasks. The task that
a job names is the one it was made for, no more.
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
POLL_SECONDS = 1.0  # a net for jobs that become due by time; new ones wake the worker at once
STOP_POLL_SECONDS = 0.1
SHUTDOWN_GRACE_SECONDS = (
    1.0  # that an engine waits for its jobs; their scoring goes on in the slots, and settles without it
)
SHUTDOWN_TIMEOUT_SECONDS = 5.0  # that it may take to end, its goodbye to the database included
RESTART_DELAY_SECONDS = 1.0  # before the engine is started again
MAX_ORPHANED_TASKS = 1000  # enqueued again at a time

# A job that waits will be handed out. One that was handed out is no promise: whoever took it may have failed to claim
# a task while the database was away, live on, and never come back to it. A job too many does no harm.
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
    LIMIT least(:most, greatest(0, (SELECT count(*) FROM due) - (SELECT count FROM job)))
    """  # noqa: S608 - a constant
)
# Jobs that wait for workers of another scorer version, once what they were made for has ended or is deleted; and those
# that were handed out long ago, whatever became of the engine that took them.
DELETE_FINISHED_JOBS = text(
    """
    DELETE FROM procrastinate_jobs WHERE id IN (
        SELECT job.id FROM procrastinate_jobs AS job LEFT JOIN score_tasks AS task ON task.id = job.args ->> 'task_id'
        WHERE job.task_name = :name AND (
            job.status = 'todo' AND job.queue_name <> :queue
                AND (task.id IS NULL OR task.finished_at < clock_timestamp() - make_interval(secs => :silent))
            OR job.status <> 'todo' AND NOT EXISTS (
                SELECT 1 FROM procrastinate_events AS event
                WHERE event.job_id = job.id AND event.at > clock_timestamp() - interval '1 hour'  -- it may be at work
            )
        )
        FOR UPDATE OF job SKIP LOCKED
    )
    """
)
DELETE_JOBS = "DELETE FROM procrastinate_jobs WHERE id = ANY(%(ids)s::bigint[])"


@dataclass(frozen=True, slots=True)
class QueueConnection:
    """How the engine's connections are made."""

    connect_args: dict[str, Any]
    kind: type[AsyncConnection[Any]]


class ProcrastinateQueue:
    """Enqueues in the caller's transaction; a worker's process also runs it, claiming task by task."""

    def __init__(
        self, settings: Settings, line: QueueConnection, claim: Callable[[], TaskClaim | None], slots: int
    ) -> None:
        url = make_url(settings.database).set(drivername="postgresql")
        self._conninfo = url.render_as_string(hide_password=False)
        self._connection = line
        self._heartbeat = settings.heartbeat_seconds
        self._silent = settings.lease_seconds
        self._claim = claim
        self._slots = slots
        self._again = Event()
        self._version_parameters = {"version": SCORER_VERSION, "queue": _queue_name(SCORER_VERSION)}
        self._enqueue_app = _create_app(SyncPsycopgConnector())  # never opened: jobs travel on the caller's connection
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
        """A job in this session's transaction; its notice reaches the workers when that commits."""
        session.flush()
        connection = session.connection().connection.dbapi_connection
        job = self._enqueue_app.configure_task(
            TASK_NAME,
            queue=_queue_name(scorer_version),
            connection=connection,
            priority=again - 2 * priority,
            schedule_at=not_before,
        )
        try:
            job.defer(task_id=task_id)
        except ConnectorException as wrapped:
            if isinstance(wrapped.__cause__, OperationalError):
                raise DatabaseUnavailable from wrapped
            raise

    def find_orphaned_tasks(self, session: Session) -> list[str]:
        """As many of the queued tasks that are due as there are fewer jobs that wait."""
        return list(session.scalars(ORPHANED_TASKS_QUERY, {"most": MAX_ORPHANED_TASKS} | self._version_parameters))

    def delete_finished_jobs(self, session: Session) -> None:
        """Delete jobs that nobody will end any more."""
        session.execute(
            DELETE_FINISHED_JOBS,
            {"name": TASK_NAME, "silent": self._silent, "queue": self._version_parameters["queue"]},
        )

    def wake(self) -> None:
        """Nothing to do: the engine is told by the database, and looks for the end by itself."""

    def restart(self) -> None:
        """End the engine; `run` starts another."""
        self._again.set()

    def run(self, work: TaskHandler, stop: Event) -> None:
        """Run the engine until `stop` is set; whenever it ends before that, it is started again.

        It ends by itself when the database restarts, and then reports success.
        """
        with ThreadPoolExecutor(self._slots, thread_name_prefix="slot") as slots:
            while not stop.is_set():
                self._again.clear()
                try:
                    asyncio.run(self._run_engine_until_stopped(work, stop, slots))
                except Exception:
                    log.exception("queue_engine_failed")
                gc.collect()  # closes lines that were cut off while they logged in; the server would hold them for a minute
                if not stop.wait(RESTART_DELAY_SECONDS):
                    log.warning("queue_engine_restarted")

    async def _run_engine_until_stopped(self, work: TaskHandler, stop: Event, slots: ThreadPoolExecutor) -> None:
        """One life of the engine; it is left behind if it does not end, for a line that has died does not answer."""
        engine = asyncio.create_task(self._run_engine(work, stop, slots))
        while not (stop.is_set() or self._again.is_set() or engine.done()):
            await asyncio.wait({engine}, timeout=STOP_POLL_SECONDS)
        engine.cancel()  # it stops fetching, and waits for the jobs at hand
        await asyncio.wait({engine}, timeout=SHUTDOWN_TIMEOUT_SECONDS)
        if engine.done() and not engine.cancelled():
            engine.result()

    async def _run_engine(self, work: TaskHandler, stop: Event, slots: ThreadPoolExecutor) -> None:
        pool: dict[str, Any] = {"min_size": 1, "max_size": 4, "timeout": 5.0, "reconnect_timeout": 5.0}
        pool |= {
            "conninfo": self._conninfo,
            "kwargs": self._connection.connect_args,
            "connection_class": self._connection.kind,
        }
        app = _create_app(PsycopgConnector(**pool))
        loop = asyncio.get_running_loop()

        line = _queue_name(SCORER_VERSION)
        ended: set[int] = set()

        @app.task(name=TASK_NAME, queue=line, pass_context=True)
        async def score(context: JobContext, task_id: str) -> None:
            try:
                await loop.run_in_executor(slots, self._take, work, stop, task_id)
            finally:
                assert context.job.id is not None
                ended.add(context.job.id)

        async with app.open_async():
            tidying = asyncio.create_task(self._delete_stale_jobs(app, ended))
            try:
                await app.run_worker_async(
                    queues=[line],
                    concurrency=self._slots,
                    fetch_job_polling_interval=POLL_SECONDS,
                    update_heartbeat_interval=self._heartbeat,
                    stalled_worker_timeout=self._silent,
                    shutdown_graceful_timeout=SHUTDOWN_GRACE_SECONDS,
                    delete_jobs="always",  # our own tables keep the history; a large table of jobs slows fetching
                    install_signal_handlers=False,
                )
            finally:
                tidying.cancel()

    def _take(self, work: TaskHandler, stop: Event, task_id: str) -> None:
        """In a slot, woken by the job of a task: claim the one whose turn it is, if there is any."""
        if stop.is_set():
            return  # the reconciler gives it another job
        try:
            claim = self._claim()
            if claim is not None:
                work(claim)
        except Exception:
            log.exception("task_failed", woken_for=task_id)

    async def _delete_stale_jobs(self, app: App, ended: set[int]) -> None:
        """Remove jobs whose end was never noted: those of workers that went silent, and those of this engine's `ended` work.

        The engine notes an end once. If the database is away at that moment, the job stays in the hands of a worker that
        lives. It has a round's time to note an end before this does.
        """
        overdue: set[int] = set()
        while True:
            await asyncio.sleep(self._silent)
            try:
                if overdue:
                    await app.connector.execute_query_async(DELETE_JOBS, ids=[*overdue])
                overdue = ended.copy()
                ended.clear()
                stalled = await app.job_manager.get_stalled_jobs(seconds_since_heartbeat=2 * self._silent)
                for job in stalled:
                    with suppress(ConnectorException):  # another worker was quicker
                        await app.job_manager.finish_job(job, status=Status.FAILED, delete_job=True)
            except Exception:
                log.exception("queue_tidying_failed")


def _queue_name(scorer_version: int) -> str:
    """The engine's queue for tasks of this scorer version: a worker of another one would take jobs in vain."""
    return f"{QUEUE_NAME}-{scorer_version}"


def _create_app(connector: PsycopgConnector | SyncPsycopgConnector) -> App:
    return App(connector=connector)


def _unused(task_id: str) -> None:
    """What a process that only enqueues never runs."""
    raise AssertionError(task_id)
