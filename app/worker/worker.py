"""The scoring worker: claims tasks, has children score them, settles, repeats; in the service or alone."""

import json
import os
import signal
import socket
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path
from threading import Event
from typing import Any

import structlog

from app.actions.operations.read_backlog import BacklogCollector
from app.actions.operations.sweep_files import OrphanFileSweeper
from app.actions.operations.worker_heartbeats import Heartbeat, record_heartbeat, remove_silent_workers, remove_worker
from app.actions.scoring_tasks.score_submission import (
    RetryLimits,
    WorkerContext,
    claim_next_task,
    claim_tasks,
    is_scoring_due,
    reconcile_queue,
    release_task,
    requeue_expired_leases,
    requeue_interrupted_tasks,
    score_submission,
)
from app.errors import AssayError
from app.files import FileStore
from app.formats import Limits
from app.queue import Queue, TaskClaim
from app.queue.local import LocalQueue
from app.runtime import logging_setup
from app.runtime.data_folder import PREPARED_GOLD_FOLDER, AddressInUse, open_file_store, own_process_folder
from app.runtime.health_server import HealthServer
from app.runtime.open_file_limit import raise_limit
from app.runtime.periodic_jobs import PeriodicJobs
from app.runtime.telemetry import Telemetry
from app.settings import Settings
from app.store.locks import try_maintenance
from app.store.migrate import require_head
from app.store.session import Database, connection_options, silence_timeout
from app.store.types import new_id
from app.worker.process_pool import ScoringProcessPool
from app.worker.rescorer import Rescorer

log = structlog.get_logger()

READER_PROCESSES = 3  # of dry runs, templates and reports
ORGANIZER_READERS = 1  # of these: for what organizers ask, so that participants never keep all of them busy
GOLD_PROCESSES = 1  # of gold alone, so that no participant can keep an organizer waiting
REAP_SECONDS = 2.0
RECONCILE_SECONDS = 5.0
SWEEP_SECONDS = 3600.0
MAX_CLAIM_TRIES = 20
CLAIM_RETRY_SECONDS = 0.05  # seconds; a claim takes some milliseconds
STUCK_TIMEOUT_SECONDS = 30.0  # without a claim while there is work and a free slot: then the engine is started again
FORGET_WORKER_AFTER = timedelta(minutes=10)  # after which a silent worker leaves the list

BYTES_PER_LABEL = 96
"""Memory that scoring may take for each label of a set: no file that was read may fail for want of it, which would tell
of the gold."""


def file_limits(settings: Settings) -> Limits:
    """How large a file may be."""
    return Limits(
        sets=settings.scoring_memory // BYTES_PER_LABEL,
        expanded_bytes=settings.max_expanded,
        records=settings.max_records,
        classes=settings.max_classes,
        text_length=settings.max_text_length,
        columns=settings.max_columns,
        nesting=settings.max_nesting,
    )


def create_process_pool(
    settings: Settings, count: int, work: Path | None = None, *, seconds: float | None = None
) -> ScoringProcessPool:
    """Children under the limits of the settings; those of one `work` folder share prepared gold there.

    What they are asked may take `seconds`, or as long as a scoring.
    """
    limits = asdict(file_limits(settings))
    del limits["cpu_share"]  # which is the program's own
    arguments = [
        *("--memory", str(settings.scoring_memory)),
        *("--cpu", str(settings.cpu_seconds)),
        *("--limits", json.dumps(limits)),
    ]
    if work is not None:
        folder = str((work / PREPARED_GOLD_FOLDER).resolve())  # children have a working folder of their own
        told = {"folder": folder, "limit": settings.prepared_gold, "free": settings.min_free}
        arguments += ["--prepared", json.dumps(told)]
    limits = {"seconds": seconds or settings.scoring_seconds, "stall_seconds": settings.stall_seconds}
    return ScoringProcessPool(count, arguments=arguments, **limits)


def reader_timeout(settings: Settings) -> float:
    """How long one dry run, template or report may take."""
    return min(settings.reading_seconds, settings.scoring_seconds)


def postgresql_queue(settings: Settings, claim: Callable[[], TaskClaim | None], slots: int) -> Queue:
    """The queue on PostgreSQL."""
    # A third of a second that SQLite is spared.
    from app.queue.procrastinate import ProcrastinateQueue, QueueConnection  # noqa: PLC0415
    from app.store.connection_timeouts import async_connection_with_timeout  # noqa: PLC0415

    line = QueueConnection(connection_options(settings), async_connection_with_timeout(silence_timeout(settings)))
    return ProcrastinateQueue(settings, line, claim, slots)


def enqueue_only_queue(settings: Settings) -> Queue:
    """The queue of a process that only enqueues, on PostgreSQL."""
    return postgresql_queue(settings, lambda: None, slots=1)


def create_telemetry(settings: Settings, db: Database) -> Telemetry:
    """Those of this process, and beside them those that all processes share."""
    figures = Telemetry()
    figures.registry.register(BacklogCollector(db, timedelta(seconds=settings.lease_seconds)))
    return figures


class Worker:
    """Lives in threads of its process, its scoring in child programs."""

    def __init__(
        self,
        settings: Settings,
        db: Database,
        files: FileStore,
        work: Path,
        *,
        settled: Callable[[str], None],
        figures: Telemetry,
    ) -> None:
        self._settings = settings
        self._db = db
        # A connection of its own: a sign must not wait in line with work that stands still, or others take that work.
        self._heartbeat_db = db if db.sqlite else Database(settings.model_copy(update={"database_pool": 1}))
        self._settled = settled
        self._lease = timedelta(seconds=settings.lease_seconds)
        self._id = new_id()
        self._name = f"{socket.gethostname()}:{os.getpid()}"
        self._jobs = PeriodicJobs()
        self._heartbeat_jobs = PeriodicJobs()  # go on while the work at hand is brought to its end
        self._active_claims: dict[TaskClaim, float] = {}  # what it is at, since when by its own counter
        self._claimed = False
        self._last_claim = time.monotonic()
        self._engine_started = time.monotonic()
        self._last_heartbeat = time.monotonic()
        self._reap_from = 0.0
        self._unsettled: deque[TaskClaim] = deque()
        self.children = create_process_pool(settings, settings.workers, work)
        self.queue = (
            LocalQueue(self._claim, slots=settings.workers)
            if db.sqlite
            else postgresql_queue(settings, self._claim_next, slots=settings.workers)
        )
        caps = RetryLimits(crashes=settings.crash_cap, interruptions=settings.interruption_cap)
        self._bench = WorkerContext(db, files, self.children, self.queue, caps, figures)
        lease = None if db.sqlite else self._lease
        self._rescorer = Rescorer(self._bench, settings.workers, lease, self._unsettled.append)
        self._sweeper = OrphanFileSweeper(db, files)

    def start(self) -> None:
        """Work in the background; on SQLite what an earlier life left running is given back first."""
        self.children.warm_up()
        if self._db.sqlite:
            with self._db.write() as session:
                left = requeue_interrupted_tasks(session, self._bench)
            if left:
                log.warning("interrupted_tasks_requeued", count=left)
            self._sweeper.sweep_at_start()
        else:
            self._heartbeat_jobs.every(self._settings.heartbeat_seconds, self._give_sign)
            self._jobs.every(REAP_SECONDS, self._reap)
            self._jobs.every(RECONCILE_SECONDS, self._reconcile)
            self._jobs.every(RECONCILE_SECONDS, self._watch)
        self._jobs.every(SWEEP_SECONDS, self._sweep)
        self._jobs.every(RECONCILE_SECONDS, self._rescorer.raise_scorer)
        self._jobs.run(lambda: self.queue.run(self._work, self._jobs.stop), "scheduler")
        self._jobs.run(lambda: self._rescorer.run(self._jobs.stop), "rescorer")

    def stop(self) -> None:
        """Claim nothing more, let the work at hand finish within its time, then end the children."""
        self._jobs.stop.set()
        self.queue.wake()
        self._rescorer.end()
        self._jobs.join(self._settings.drain_seconds)
        self.children.close()
        self._jobs.join()
        self._heartbeat_jobs.stop.set()
        self._heartbeat_jobs.join()
        if not self._db.sqlite:
            with suppress(AssayError), self._heartbeat_db.write() as session:  # the others would notice a little later
                remove_worker(session, self._id)
            self._heartbeat_db.close()

    def fault(self) -> str | None:
        """Why this worker does not live as it should, None if it does; the database is asked."""
        if self._db.sqlite:
            return None
        silent = time.monotonic() - self._last_heartbeat
        if silent > self._settings.lease_seconds:
            return f"It could not give a sign of life for {silent:.0f} s."
        # Longer than the watch needs to start the engine again: only what that does not mend is a fault.
        return (
            "There is work, and it takes none." if self._is_stuck(self._last_claim, 2 * STUCK_TIMEOUT_SECONDS) else None
        )

    def _is_stuck(self, since: float, seconds: float) -> bool:
        """Whether tasks wait, a slot is free, and yet nothing was claimed for so long."""
        if len(self._active_claims) >= self._settings.workers or time.monotonic() - since < seconds:
            return False
        with self._db.read() as session:
            return is_scoring_due(session, longer=timedelta(seconds=seconds))

    # ---- claiming and working, in the threads of the queue

    def _claim(self, count: int) -> list[TaskClaim]:
        self._give_back_unsettled()
        with self._db.read() as session:
            if not is_scoring_due(session):  # an idle service writes nothing
                return []
        with self._db.write(promised=False) as session:  # one that a power cut undoes is claimed again
            return claim_tasks(session, count)

    def _claim_next(self) -> TaskClaim | None:
        for _ in range(MAX_CLAIM_TRIES):
            with self._db.write() as session:
                claim = claim_next_task(session, lease=self._lease)
                passed_over = claim is None and is_scoring_due(session)
            if not passed_over:
                break
            # Another worker's claim holds two tasks while they exchange turns; this slot was woken for the other one.
            time.sleep(CLAIM_RETRY_SECONDS)
        self._last_claim = time.monotonic()
        self._claimed = True
        return claim

    def _work(self, claim: TaskClaim) -> None:
        structlog.contextvars.clear_contextvars()  # of what this thread worked on before
        structlog.contextvars.bind_contextvars(task=claim.task_id, attempt=claim.attempt)
        self._active_claims[claim] = time.monotonic()
        try:
            with self._rescorer.slots.submission_slot():
                submission_id = score_submission(self._bench, claim)
        except Exception:
            # The database or the disk went away: the task is given back by the first round that reaches them again.
            self._unsettled.append(claim)
            raise
        finally:
            del self._active_claims[claim]
        log.info("task_done", settled=submission_id is not None)
        if submission_id is not None:
            self._settled(submission_id)

    # ---- rounds

    def _give_back_unsettled(self) -> None:
        while self._unsettled:
            with self._db.write() as session:
                failed = release_task(session, self._bench, self._unsettled[0])
            self._unsettled.popleft()
            if failed is not None:
                self._settled(failed)

    def _give_sign(self) -> None:
        idle = time.monotonic() - self._last_claim if self._claimed else None
        sign = Heartbeat(
            self._id,
            self._name,
            self._settings.workers,
            claims=[*self._active_claims, *self._rescorer.active_claims()],
            idle_seconds=idle,
        )
        with self._heartbeat_db.write() as session:
            record_heartbeat(session, sign, self._lease)
        if time.monotonic() - self._last_heartbeat > self._settings.lease_seconds:
            self._reap_from = time.monotonic() + 2 * self._settings.heartbeat_seconds
        self._last_heartbeat = time.monotonic()

    def _reap(self) -> None:
        """Not where this worker was silent itself: the database was away for all, and they come back one by one."""
        self._give_back_unsettled()
        now = time.monotonic()
        if now < self._reap_from or now - self._last_heartbeat > self._settings.lease_seconds:
            return
        with self._db.write() as session:
            lost = requeue_expired_leases(session, self._bench) if try_maintenance(session) else []
        if lost:
            log.warning("tasks_of_silent_workers_requeued", tasks=lost)

    def _reconcile(self) -> None:
        with self._db.write() as session:
            if not try_maintenance(session):
                return
            count = reconcile_queue(session, self._bench)
            remove_silent_workers(session, FORGET_WORKER_AFTER)
        if count:
            log.warning("tasks_enqueued_again", count=count)

    def _watch(self) -> None:
        """An engine on a line that died in silence hears of nothing; it does not find out by itself."""
        if self._is_stuck(max(self._last_claim, self._engine_started), STUCK_TIMEOUT_SECONDS):
            log.error("queue_engine_stuck")
            self._engine_started = time.monotonic()
            self.queue.restart()

    def _sweep(self) -> None:
        self._sweeper.sweep()


class PostgresqlRequired(AssayError):
    """A worker of its own needs PostgreSQL; on SQLite 'assay serve' scores by itself."""

    code = "not_shared"
    remedy = "Set ASSAY_DATABASE_URL=postgresql+psycopg://…, or use 'assay serve'."


def serve(settings: Settings) -> None:
    """Score until SIGINT or SIGTERM, beside any number of others; raises NotShared, FolderNotShared, AddressTaken, SchemaBehind."""
    os.umask(0o077)
    raise_limit()
    logging_setup.configure(settings, "worker")
    if not settings.on_postgresql:
        raise PostgresqlRequired
    end = Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda _number, _frame: end.set())
    with own_process_folder(settings) as work:
        db = Database(settings)
        require_head(db.engine())
        figures = create_telemetry(settings, db)
        worker = Worker(settings, db, open_file_store(settings, work), work, settled=lambda _: None, figures=figures)
        with _health_server(settings, worker, figures):
            worker.start()
            log.info("worker_started", slots=settings.workers)
            end.wait()
            worker.stop()
        db.close()
    log.info("worker_ended")


@contextmanager
def _health_server(settings: Settings, worker: Worker, figures: Telemetry) -> Iterator[None]:
    """Answer /healthz and /metrics for this worker while the block lasts, where a port is set for that."""
    if not settings.worker_port:
        yield
        return

    def healthy() -> tuple[bool, dict[str, Any]]:
        fault = worker.fault()
        return fault is None, {"status": "ok" if fault is None else fault}

    try:
        server = HealthServer(settings.host, settings.worker_port, figures.registry, healthy)
    except OSError as refused:
        raise AddressInUse(settings.host, settings.worker_port, refused) from refused
    try:
        yield
    finally:
        server.close()
