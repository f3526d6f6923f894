"""The embedded queue: a committed task row is the job; one scheduler thread claims rows for free slots."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from threading import Event

import structlog
from sqlalchemy import event
from sqlalchemy.orm import Session

from app.queue import TaskClaim, TaskHandler
from app.scoring import SCORER_VERSION

log = structlog.get_logger()

POLL_SECONDS = 1.0  # for tasks that become due by time; new ones wake the scheduler at once


class LocalQueue:
    """The queue of a single process; `claim` takes up to n tasks in a transaction of its own."""

    def __init__(self, claim: Callable[[int], list[TaskClaim]], slots: int) -> None:
        self._claim = claim
        self._slots = slots
        self._free = slots
        self._lock = threading.Lock()
        self._wake_event = Event()

    def enqueue(
        self,
        session: Session,
        task_id: str,  # noqa: ARG002 - the row itself is the job
        *,
        priority: int = 0,  # noqa: ARG002
        not_before: datetime | None = None,  # noqa: ARG002
        again: bool = False,  # noqa: ARG002
        scorer_version: int = SCORER_VERSION,  # noqa: ARG002
    ) -> None:
        """Wake the scheduler after this session's transaction has committed."""
        event.listen(session, "after_commit", lambda _session: self.wake(), once=True)

    def restart(self) -> None:
        """Do nothing: there is no engine."""

    def find_orphaned_tasks(self, session: Session) -> list[str]:  # noqa: ARG002
        """Return nothing: the scheduler reads every queued row."""
        return []

    def delete_finished_jobs(self, session: Session) -> None:
        """Do nothing: there are no jobs besides the rows."""

    def wake(self) -> None:
        """Check for tasks now."""
        self._wake_event.set()

    def run(self, work: TaskHandler, stop: Event) -> None:
        """Claim and distribute tasks until `stop` is set; then wait for the running ones."""
        with ThreadPoolExecutor(self._slots, thread_name_prefix="slot") as slots:
            while not stop.is_set():
                self._wake_event.clear()  # before claiming, so that a task committed meanwhile wakes the next round
                for claim in self._claim_for_free_slots():
                    slots.submit(self._run_in_slot, work, claim)
                self._wake_event.wait(POLL_SECONDS)

    def _claim_for_free_slots(self) -> list[TaskClaim]:
        with self._lock:
            free = self._free
        if not free:
            return []
        try:
            claims = self._claim(free)
        except Exception:
            # The database may be unavailable for a while; the next round tries again.
            log.exception("claim_failed")
            return []
        with self._lock:
            self._free -= len(claims)
        return claims

    def _run_in_slot(self, work: TaskHandler, claim: TaskClaim) -> None:
        try:
            work(claim)
        except Exception:
            log.exception("task_failed", task=claim.task_id, attempt=claim.attempt)
        finally:
            with self._lock:
                self._free += 1
            self.wake()
