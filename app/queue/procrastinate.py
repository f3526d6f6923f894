"""The queue for several machines: Procrastinate on the same PostgreSQL, so that jobs are part of our transactions.

A job only wakes one worker, which then claims tasks in fair order until none is due (app.queue.jobs). The table of
score tasks decides which task is next, how often it may fail, and when a silent worker has lost it. A job names the
task that it was created for, but any job may lead to any task.
"""

import asyncio
import gc
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from threading import Event
from typing import Any

import structlog
from procrastinate import App, JobContext, PsycopgConnector
from procrastinate.exceptions import ConnectorException
from procrastinate.jobs import Status
from psycopg import AsyncConnection
from sqlalchemy.engine import make_url

from app.database_outage import DATABASE_OUTAGE
from app.queue import TaskClaim, TaskHandler
from app.queue.jobs import TASK_NAME, JobTable, queue_name
from app.scoring import SCORER_VERSION
from app.settings import Settings

log = structlog.get_logger()

POLL_SECONDS = 1.0  # for jobs that become due by time; new ones wake the worker at once
STOP_POLL_SECONDS = 0.1
SHUTDOWN_GRACE_SECONDS = 1.0  # for the engine's jobs to end; their scoring goes on in the slots without it
SHUTDOWN_TIMEOUT_SECONDS = 5.0  # for the whole end of the engine, with its last statements to the database
RESTART_DELAY_SECONDS = 1.0
MAX_JOB_SECONDS = 60.0  # after which a slot goes on with another job; jobs handed out for an hour are deleted
DELETE_JOBS = "DELETE FROM procrastinate_jobs WHERE id = ANY(%(ids)s::bigint[])"


@dataclass(frozen=True, slots=True)
class QueueConnection:
    """How the engine opens its connections."""

    connect_args: dict[str, Any]
    connection_class: type[AsyncConnection[Any]]


class ProcrastinateQueue(JobTable):
    """Enqueues in the caller's transaction, runs the engine, and claims tasks in a slot for each job."""

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
                if not stop.wait(RESTART_DELAY_SECONDS) and not DATABASE_OUTAGE.hold_back("queue_engine_restarted"):
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
        pool["configure"] = _commit_each_statement
        app = App(connector=PsycopgConnector(conninfo=self._conninfo, **pool))
        loop = asyncio.get_running_loop()
        queue = queue_name(SCORER_VERSION)
        ended: set[int] = set()

        @app.task(name=TASK_NAME, queue=queue, pass_context=True)
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
                    queues=[queue],
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
        """In a slot, woken by the job of `task_id`: work on tasks in fair order until none is due."""
        deadline = time.monotonic() + MAX_JOB_SECONDS
        try:
            # If `stop` is set, the reconciler enqueues the task again.
            claim = None if stop.is_set() else self._claim()
            while claim is not None:
                claim = work(claim, lambda: not stop.is_set() and time.monotonic() < deadline)
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


async def _commit_each_statement(connection: AsyncConnection[Any]) -> None:
    """Spare the round trips of a transaction: each statement of the engine is a unit of work."""
    await connection.set_autocommit(True)
