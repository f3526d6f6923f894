"""The scoring worker, in the service or alone: claims tasks, has them scored, and stores the results."""

import os
import signal
import socket
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import structlog

from app.actions.imports.run_import import Importer
from app.actions.operations.forget_keys import ExpiredKeys
from app.actions.operations.read_backlog import BacklogCollector
from app.actions.operations.remove_unscored_files import UnscoredFiles
from app.actions.operations.sweep_files import OrphanFileSweeper
from app.actions.operations.worker_heartbeats import Heartbeat, record_heartbeat, remove_silent_workers, remove_worker
from app.actions.receipts.issue_missing import MissingReceipts
from app.actions.receipts.issue_receipts import ReceiptIssuer
from app.actions.receipts.signing_keys import ReceiptKeyFile
from app.actions.scoring_tasks import score_submission
from app.actions.scoring_tasks.claim_tasks import ClaimedTask, claim_tasks, is_scoring_due
from app.actions.scoring_tasks.settle_in_groups import GroupSettlement
from app.actions.transparency.log_key import sequences_here
from app.errors import AssayError
from app.files import FileStore
from app.formats.memory_needs import describe_largest_file
from app.queue import MayContinue, TaskClaim, WorkerQueue
from app.queue.local import LocalQueue
from app.runtime import logging_setup
from app.runtime.data_folder import AddressInUse, open_file_store, own_process_folder
from app.runtime.health_server import HealthServer
from app.runtime.open_file_limit import raise_limit
from app.runtime.periodic_jobs import PeriodicJobs
from app.runtime.single_flight import SingleFlight
from app.runtime.telemetry import Telemetry
from app.settings import Settings
from app.store.clock import ClockReading
from app.store.locks import try_maintenance
from app.store.migrate import require_head
from app.store.session import Database, WriteSession, connection_options, silence_timeout
from app.store.types import new_id
from app.worker.analyst import Analyst
from app.worker.previewer import PREVIEW_SECONDS, Previewer
from app.worker.process_settings import create_process_pool
from app.worker.rescorer import Rescorer
from app.worker.sequencer import Sequencer

log = structlog.get_logger()

READER_PROCESSES = 3  # for dry runs, templates and reports
ORGANIZER_READERS = 1  # of these, reserved for organizers, so that participants never occupy all of them
GOLD_PROCESSES = 1  # for gold alone, so that no participant can delay an organizer
REAP_SECONDS = 2.0
RECONCILE_SECONDS = 5.0
SWITCH_SECONDS = 0.5  # a switch follows its last score after that long
COMPLETE_SECONDS = 30.0
IMPORT_SECONDS = 1.0
SWEEP_SECONDS = 3600.0
CLEAN_UP_SECONDS = 600.0  # long enough for a download to open its file, see UnscoredFiles
MAX_CLAIM_TRIES = 20
CLAIM_RETRY_SECONDS = 0.05  # a claim takes some milliseconds
STUCK_TIMEOUT_SECONDS = 30.0  # without a claim, while a task is due and a slot is free; then the queue is restarted
HEALTH_TIMEOUT_SECONDS = 2.0  # of a health check, which is repeated every few seconds
FORGET_WORKER_AFTER = timedelta(minutes=10)  # of silence, after which a worker is removed from the list


def postgresql_queue(settings: Settings, claim: Callable[[], TaskClaim | None], slots: int) -> WorkerQueue:
    """The queue on PostgreSQL."""
    # Imported here because it takes a third of a second, which an installation on SQLite need not spend.
    from app.queue.procrastinate import ProcrastinateQueue, QueueConnection  # noqa: PLC0415
    from app.store.connection_timeouts import async_connection_with_timeout  # noqa: PLC0415

    connect = async_connection_with_timeout(silence_timeout(settings))
    return ProcrastinateQueue(settings, QueueConnection(connection_options(settings), connect), claim, slots)


def create_telemetry(settings: Settings, db: Database) -> Telemetry:
    """The metrics of this process, and those that the database reports alike to all processes."""
    figures = Telemetry()
    figures.registry.register(BacklogCollector(db, timedelta(seconds=settings.lease_seconds)))
    return figures


SettledCallback = Callable[[str], None]


class Worker:
    """Runs in threads of its process; scoring runs in scoring processes."""

    def __init__(
        self,
        settings: Settings,
        db: Database,
        files: FileStore,
        work: Path,
        *,
        on_settled: SettledCallback,
        figures: Telemetry,
    ) -> None:
        """`on_settled` is called with the id of each submission whose status became final."""
        self._settings = settings
        self._db = db
        # A connection of its own: a heartbeat that waited behind stalled work would let the leases of that work expire.
        self._heartbeat_db = db if db.sqlite else Database(settings.model_copy(update={"database_pool": 1}))
        self._on_settled = on_settled
        self._lease = timedelta(seconds=settings.lease_seconds)
        self._id = new_id()
        self._name = f"{socket.gethostname()}:{os.getpid()}"
        self._jobs = PeriodicJobs()
        self._heartbeat_jobs = PeriodicJobs()  # apart, because they go on while the current work is finished
        self._active_claims: dict[TaskClaim, float] = {}  # with their start by the monotonic clock
        self._claimed = False
        self._last_claim = time.monotonic()
        self._engine_started = time.monotonic()
        self._last_heartbeat = time.monotonic()
        self._reap_from = 0.0
        self._unsettled: deque[TaskClaim] = deque()
        slots = settings.workers
        self.processes = create_process_pool(settings, slots, work)
        self.queue: WorkerQueue = LocalQueue(self._claim, slots)
        if not db.sqlite:
            self.queue = postgresql_queue(settings, self._claim_next, slots)
        caps = score_submission.RetryLimits(crashes=settings.crash_cap, interruptions=settings.interruption_cap)
        self._receipt_keys = ReceiptKeyFile(settings)
        issuer = ReceiptIssuer(self._receipt_keys)
        self._context = score_submission.WorkerContext(db, files, self.processes, self.queue, caps, figures, issuer)
        self._settlement = GroupSettlement(self._context, self._claim_in, self._unsettled.append)
        self._rescorer = Rescorer(self._context, slots, None if db.sqlite else self._lease, self._unsettled.append)
        self._previewer = Previewer(self._context, self._rescorer.wake, lambda: self._rescorer.slots.ended)
        self._analyst = Analyst(settings, self._context, self._rescorer.slots, work)
        self._importer = Importer(
            self._context, work, self._rescorer.slots.wait_for_free_slot, scoring_seconds=settings.scoring_seconds
        )
        self._sweeper = OrphanFileSweeper(db, files)
        self._sequencer = Sequencer(settings, db)
        self._missing_receipts = MissingReceipts(self._context, issuer, self._rescorer.slots.wait_for_free_slot)

    def start(self) -> None:
        """Work in the background.

        On SQLite, tasks that an earlier run of the service left running are requeued first.
        """
        self.processes.warm_up()
        with self._db.write() as session:
            self._receipt_keys.registered(session)
        if self._db.sqlite:
            self._analyst.requeue_interrupted()
            self._importer.requeue_interrupted()
            with self._db.write() as session:
                count = score_submission.requeue_interrupted_tasks(session, self._context)
            if count:
                log.warning("interrupted_tasks_requeued", count=count)
            self._sweeper.sweep_at_start()
        else:
            self._heartbeat_jobs.every(self._settings.heartbeat_seconds, self._send_heartbeat)
            self._jobs.every(REAP_SECONDS, self._reap)
            self._jobs.every(RECONCILE_SECONDS, self._reconcile)
            self._jobs.every(RECONCILE_SECONDS, self._watch)
            self._jobs.every(COMPLETE_SECONDS, self._rescorer.complete_boards)
        self._jobs.every(SWEEP_SECONDS, self._sweeper.sweep)
        self._jobs.every(CLEAN_UP_SECONDS, ExpiredKeys(self._db).forget_keys)
        self._jobs.every(CLEAN_UP_SECONDS, UnscoredFiles(self._db, self._context.files, self._settings).remove_unscored)
        pace = self._settings.background_pace
        self._jobs.every(pace * RECONCILE_SECONDS, self._rescorer.raise_scorer)
        self._jobs.every(pace * SWITCH_SECONDS, self._rescorer.switch_boards)
        if sequences_here(self._settings):
            self._sequencer.start(self._jobs)
        self._jobs.every(SWEEP_SECONDS, self._missing_receipts.issue_missing)
        self._jobs.every(pace * PREVIEW_SECONDS, self._previewer.advance)
        self._jobs.every(pace * IMPORT_SECONDS, self._importer.import_waiting)
        self._jobs.run(lambda: self.queue.run(self._work, self._jobs.stop), "scheduler")
        self._jobs.run(lambda: self._rescorer.run(self._jobs.stop), "rescorer")
        self._jobs.run(lambda: self._analyst.run(self._jobs.stop), "analyst")

    def stop(self) -> None:
        """Claim nothing more, let the current work finish within the drain time, then end the scoring processes."""
        self._jobs.stop.set()
        self.queue.wake()
        self._rescorer.end()
        self._analyst.end()
        self._jobs.join(self._settings.drain_seconds)
        self.processes.close()
        self._jobs.join()
        self._heartbeat_jobs.stop.set()
        self._heartbeat_jobs.join()
        if not self._db.sqlite:
            # Best effort: without it, other workers notice the silence a little later.
            with suppress(AssayError), self._heartbeat_db.write() as session:
                remove_worker(session, self._id)
            self._heartbeat_db.close()

    def fault(self, db: Database) -> str | None:
        """What is wrong with this worker, None if nothing is; raises DatabaseUnavailable if `db` does not answer."""
        if db.sqlite:
            return None
        db.ping()
        silent = time.monotonic() - self._last_heartbeat
        if silent > self._settings.lease_seconds:
            return f"The worker could not record a heartbeat for {silent:.0f} s."
        # Twice the timeout of `_watch`, which restarts the queue: only what a restart does not fix is a fault.
        stuck = self._is_stuck(db, self._last_claim, 2 * STUCK_TIMEOUT_SECONDS)
        return "Tasks are due, but the worker claims none." if stuck else None

    def _is_stuck(self, db: Database, since: float, seconds: float) -> bool:
        """Whether tasks are due and a slot is free, and yet nothing was claimed for so many seconds."""
        if len(self._active_claims) >= self._settings.workers or time.monotonic() - since < seconds:
            return False
        with db.read() as session:
            return is_scoring_due(session, longer=timedelta(seconds=seconds))

    # ---- claiming and working, in the threads of the queue

    def _claim(self, count: int, woken: bool) -> list[ClaimedTask]:
        self._release_unsettled()
        if not woken:
            with self._db.read() as session:
                if not is_scoring_due(session):  # an idle service writes nothing
                    return []
        with self._db.write(durable=False) as session:  # a claim that a power failure undoes is simply made again
            return self._claim_in(session, count)

    def _claim_next(self) -> ClaimedTask | None:
        for _ in range(MAX_CLAIM_TRIES):
            with self._db.write() as session:
                claims = self._claim_in(session, 1)
                passed_over = not claims and is_scoring_due(session)
            if not passed_over:
                break
            # The claim of another worker locks two tasks while they exchange turns. The job that woke this slot may
            # stand for the other task, and no further job would come for it, so retry until that claim has committed.
            time.sleep(CLAIM_RETRY_SECONDS)
        return claims[0] if claims else None

    def _claim_in(self, session: WriteSession, count: int, moment: ClockReading | None = None) -> list[ClaimedTask]:
        self._last_claim = time.monotonic()
        self._claimed = True
        lease = None if self._db.sqlite else self._lease
        return claim_tasks(session, self.queue, count, lease=lease, moment=moment)

    def _work(self, claim: ClaimedTask, may_continue: MayContinue) -> ClaimedTask | None:
        structlog.contextvars.clear_contextvars()  # of the task that this thread worked on before
        context = {"task": claim.task_id, "attempt": claim.attempt, "submission": claim.job.submission_id}
        structlog.contextvars.bind_contextvars(**context)
        if claim.waited is not None:
            self._context.figures.queued_seconds.observe(claim.waited.total_seconds())
        self._active_claims[claim] = time.monotonic()
        try:
            with self._rescorer.slots.submission_slot():
                outcome = score_submission.compute_task_outcome(self._context, claim.job)
                settlement = self._settlement.settle(claim, outcome, may_continue)
        except Exception:
            # The database or the disk failed: the next periodic job that can reach them releases the task.
            self._unsettled.append(claim)
            raise
        finally:
            del self._active_claims[claim]
        log.info("task_done", settled=settlement.submission_id is not None)
        if settlement.submission_id is not None:
            self._on_settled(settlement.submission_id)
        return settlement.next_claim

    # ---- periodic jobs

    def _release_unsettled(self) -> None:
        while self._unsettled:
            with self._db.write() as session:
                submission_id = score_submission.release_task(session, self._context, self._unsettled[0])
            self._unsettled.popleft()  # only after the commit: a claim is not lost if the database fails again
            if submission_id is not None:
                self._on_settled(submission_id)

    def _send_heartbeat(self) -> None:
        """Record a heartbeat, which renews the leases of the claims held."""
        idle = time.monotonic() - self._last_claim if self._claimed else None
        claims = [*self._active_claims, *self._rescorer.active_claims()]
        with self._heartbeat_db.write() as session:
            self._analyst.renew_lease(session)
            heartbeat = Heartbeat(self._id, self._name, self._settings.workers, claims=claims, idle_seconds=idle)
            record_heartbeat(session, heartbeat, self._lease)
        if time.monotonic() - self._last_heartbeat > self._settings.lease_seconds:
            self._reap_from = time.monotonic() + 2 * self._settings.heartbeat_seconds
        self._last_heartbeat = time.monotonic()

    def _reap(self) -> None:
        """Requeue tasks whose lease expired.

        Not while this worker itself was silent, nor for two heartbeats after that: then the database was probably
        unreachable for all workers, and the others need that time to renew their leases.
        """
        self._release_unsettled()
        now = time.monotonic()
        if now < self._reap_from or now - self._last_heartbeat > self._settings.lease_seconds:
            return
        with self._db.write() as session:
            if not try_maintenance(session):  # another worker is at it
                return
            task_ids = score_submission.requeue_expired_leases(session, self._context)
            self._analyst.requeue_expired(session)
        if task_ids:
            log.warning("tasks_of_silent_workers_requeued", tasks=task_ids)

    def _reconcile(self) -> None:
        with self._db.write() as session:
            if not try_maintenance(session):  # another worker is at it
                return
            was_lost = score_submission.reconcile_queue(session, self._context)
            remove_silent_workers(session, FORGET_WORKER_AFTER)
        if was_lost:
            log.warning("task_enqueued_again")

    def _watch(self) -> None:
        """Restart a stuck queue: one whose connection died silently gets no notices, and cannot detect that itself."""
        if self._is_stuck(self._db, max(self._last_claim, self._engine_started), STUCK_TIMEOUT_SECONDS):
            log.error("queue_engine_stuck")
            self._engine_started = time.monotonic()
            self.queue.restart()


class PostgresqlRequired(AssayError):
    """A separate worker needs PostgreSQL. On SQLite, 'assay serve' scores by itself."""

    code = "not_shared"
    remedy = "Set ASSAY_DATABASE_URL=postgresql+psycopg://…, or use 'assay serve'."


def serve(settings: Settings) -> None:
    """Score until SIGINT or SIGTERM, alongside any number of other workers.

    Raises PostgresqlRequired, AddressInUse, and what opening the data folder and checking the schema raise.
    """
    os.umask(0o077)
    raise_limit()
    logging_setup.configure(settings, "worker")
    if not settings.on_postgresql:
        raise PostgresqlRequired
    # Not an Event: its `set` waits for a lock that `wait`, which the signal interrupts, may hold at that moment.
    end = SimpleQueue[int]()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, _frame: end.put(number))
    with own_process_folder(settings) as work:
        db = Database(settings)
        require_head(db.engine())
        monitoring_db = db.for_monitoring(settings)
        figures = create_telemetry(settings, monitoring_db)
        worker = Worker(settings, db, open_file_store(settings, work), work, on_settled=lambda _: None, figures=figures)
        with _health_server(settings, partial(worker.fault, monitoring_db), figures):
            worker.start()
            log.info(
                "worker_started",
                slots=settings.workers,
                largest_file=describe_largest_file(settings.max_records, settings.scoring_memory),
            )
            end.get()
            worker.stop()
        db.close()
        monitoring_db.close()
    log.info("worker_ended")


@contextmanager
def _health_server(settings: Settings, find_fault: Callable[[], str | None], figures: Telemetry) -> Iterator[None]:
    """Serve /healthz and /metrics for this worker while the block runs, if a port is configured for them."""
    fault_check = SingleFlight(find_fault)
    if not settings.worker_port:
        yield
        return

    def healthy() -> tuple[bool, dict[str, Any]]:
        try:
            fault = fault_check.begin().result(HEALTH_TIMEOUT_SECONDS)
        except TimeoutError:
            fault = f"The database did not answer within {HEALTH_TIMEOUT_SECONDS:.0f} s."
        return fault is None, {"status": fault or "ok"}

    try:
        server = HealthServer(settings.host, settings.worker_port, figures.registry, healthy)
    except OSError as fault:
        raise AddressInUse(settings.host, settings.worker_port, fault) from fault
    try:
        yield
    finally:
        server.close()
