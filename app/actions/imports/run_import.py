"""Import the archives that wait: a worker checks one at a time, and stores it in one transaction or not at all."""

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import structlog

from app import scoring_processes
from app.actions.access import Caller
from app.actions.imports.check_archive import CHECKING, ImportInterrupted, staged_phase
from app.actions.imports.staged_phase import StagedPhase
from app.actions.imports.store_phase import store_phase
from app.actions.scoring_tasks.score_submission import WorkerContext
from app.archives.open_archive import Archive, open_archive
from app.errors import AssayError, CommitUncertain, Unavailable
from app.store import clock
from app.store.queries import imports
from app.store.session import WriteSession
from app.store.tables import PhaseImport, User

log = structlog.get_logger()

MIN_LEASE_SECONDS = 60.0
RENEW_SECONDS = 1.0
MAX_ATTEMPTS = 10
INTERRUPTED = "The import was interrupted {} times; look into the log of the worker, then send the archive again."
_FAULT = {
    "code": "internal_error",
    "detail": "The import failed through a fault of the service.",
    "remedy": "The log of the worker shows it; report it with the version of the program.",
}
_TEMPORARY = (
    scoring_processes.ScoringProcessesClosed,
    scoring_processes.ScoringProcessNotStarted,
    scoring_processes.ScoringProcessesBusy,
)


@dataclass(frozen=True, slots=True)
class ClaimedImport:
    """An import that this worker holds; every later write names the attempt."""

    id: str
    attempt: int
    file_key: str


class ImportLost(Exception):
    """Another worker has this import, or it has ended."""


class Importer:
    """Runs the imports that wait, one at a time, while new submissions leave a slot free."""

    def __init__(
        self, context: WorkerContext, work: Path, wait_for_turn: Callable[[], bool], *, scoring_seconds: float
    ) -> None:
        """`wait_for_turn` waits until the next file may be scored, and returns False once the worker is to end.

        `scoring_seconds` is the longest time that one file takes, which the lease of an import outlasts.
        """
        self._context, self._work, self._wait_for_turn = context, work, wait_for_turn
        self._lease = timedelta(seconds=max(MIN_LEASE_SECONDS, 2 * scoring_seconds))

    def requeue_interrupted(self) -> None:
        """At the start of the only service: what an earlier run left begins again."""
        with self._context.db.write() as session:
            imports.requeue_running(session)

    def import_waiting(self) -> None:
        """A periodic job: run every import that waits."""
        while (claim := self._claim()) is not None:
            self._run(claim)

    def _claim(self) -> ClaimedImport | None:
        with self._context.db.read() as session:
            waiting = imports.next_waiting(session)
        if waiting is None:
            return None
        with self._context.db.write() as session:
            row = imports.lock(session, waiting)
            if row is None or imports.next_waiting(session) != waiting or row.file_key is None:
                return None  # another worker has it
            row.attempt += 1
            if row.attempt > MAX_ATTEMPTS:
                _fail(session, row, {"code": "interrupted", "detail": INTERRUPTED.format(row.attempt)})
                return None
            row.status, row.stage, row.done = "running", CHECKING, 0
            row.lease_until = clock.steady(session) + self._lease
            return ClaimedImport(row.id, row.attempt, row.file_key)

    def _run(self, claim: ClaimedImport) -> None:
        log.info("import_started", id=claim.id, attempt=claim.attempt)
        try:
            self._import(claim)
        except ImportLost:
            log.warning("import_lost", id=claim.id)
            return
        except (ImportInterrupted, CommitUncertain, *_TEMPORARY) as fault:
            log.warning("import_interrupted", id=claim.id, reason=type(fault).__name__)
            self._release(claim)
            return
        except Unavailable as fault:
            self._release(claim, fault)
            raise
        except (AssayError, scoring_processes.ScoringProcessError, FileNotFoundError) as error:
            self._end(claim, _failure(error))
        except Exception:
            self._end(claim, _FAULT)
            self._delete_archive(claim)
            raise
        self._delete_archive(claim)

    def _import(self, claim: ClaimedImport) -> None:
        context, progress = self._context, _Progress(self._context, claim, self._wait_for_turn, self._lease)
        with context.db.read() as session:
            now = clock.now(session)
        with context.files.local_path(claim.file_key) as path, open_archive(path) as archive:
            uses: dict[str, Any] = {"files": context.files, "processes": context.processes, "work": self._work}
            with staged_phase(archive, now=now, go_on=progress, **uses) as staged:
                self._store(claim, staged, archive)

    def _store(self, claim: ClaimedImport, staged: StagedPhase, archive: Archive) -> None:
        with self._context.db.write() as session:
            row = _owned(session, claim)
            user = session.get(User, row.requested_by)
            if user is None:
                raise ImportLost
            scopes = frozenset({"organize", "admin"})
            caller = Caller(user.id, admin=user.admin, scopes=scopes, reason=row.reason)
            phase = store_phase(session, caller, row, staged, archive, receipts=self._context.receipts)
            stored = phase.id
        log.info("import_done", id=claim.id, phase=stored, submissions=staged.submission_count)

    def _release(self, claim: ClaimedImport, fault: AssayError | None = None) -> None:
        """Let a worker begin again; counted, so that it ends at some time."""
        with suppress(Unavailable, ImportLost), self._context.db.write() as session:
            row = _owned(session, claim)
            if row.attempt >= MAX_ATTEMPTS:
                detail = INTERRUPTED.format(row.attempt) if fault is None else fault.detail
                _fail(session, row, {"code": "interrupted" if fault is None else fault.code, "detail": detail})
            else:
                row.status, row.stage, row.lease_until = "queued", "", None

    def _end(self, claim: ClaimedImport, failure: dict[str, Any]) -> None:
        log.warning("import_failed", id=claim.id, **failure)
        with suppress(ImportLost), self._context.db.write() as session:
            _fail(session, _owned(session, claim), failure)

    def _delete_archive(self, claim: ClaimedImport) -> None:
        """An import that has ended needs its archive no more; the sweep deletes the file if the store is away."""
        with self._context.db.write() as session:
            row = imports.lock(session, claim.id)
            if row is None or row.status not in {"done", "failed"}:
                return
            row.file_key = None
        with suppress(Unavailable):
            self._context.files.delete(claim.file_key)


class _Progress:
    """Notes progress now and then, which renews the lease; called between any two pieces of work."""

    def __init__(
        self, context: WorkerContext, claim: ClaimedImport, wait_for_turn: Callable[[], bool], lease: timedelta
    ) -> None:
        self._context, self._claim, self._wait_for_turn, self._lease = context, claim, wait_for_turn, lease
        self._noted = 0.0
        self._stage = ""

    def __call__(self, stage: str, done: int) -> bool:
        """Whether the import goes on; raises ImportLost."""
        if not self._wait_for_turn():
            return False
        if stage != self._stage or time.monotonic() - self._noted >= RENEW_SECONDS:
            with self._context.db.write(durable=False) as session:
                until = clock.steady(session) + self._lease
                named: dict[str, Any] = {"stage": stage, "done": done, "lease_until": until}
                if not imports.renew(session, self._claim.id, self._claim.attempt, **named):
                    raise ImportLost
            self._stage, self._noted = stage, time.monotonic()
        return True


def _owned(session: WriteSession, claim: ClaimedImport) -> PhaseImport:
    row = imports.lock(session, claim.id)
    if row is None or row.status != "running" or row.attempt != claim.attempt:
        raise ImportLost
    return row


def _fail(session: WriteSession, row: PhaseImport, failure: dict[str, Any]) -> None:
    row.status, row.stage, row.lease_until, row.failure = "failed", "", None, failure
    row.finished_at = clock.now(session)


def _failure(error: Exception) -> dict[str, Any]:
    if isinstance(error, AssayError):
        return {"code": error.code, "detail": error.detail, "remedy": error.advice}
    if isinstance(error, scoring_processes.ScoringProcessError):
        detail = f"A file of the archive could not be scored: {str(error) or error.__doc__}"
        return {"code": error.code, "detail": detail, "remedy": "Raise the limits of scoring, then send it again."}
    remedy = "Send the archive again."
    return {"code": "file_lost", "detail": "A stored file of the import could not be read.", "remedy": remedy}
