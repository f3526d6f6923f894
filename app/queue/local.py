"""The embedded queue: a committed task row is the job; one scheduler thread claims rows for free slots."""

import threading
from collections.abc import Callable, Sequence
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


ClaimTasks = Callable[[int, bool], Sequence[TaskClaim]]
"""Claims up to n tasks in a transaction of its own; the second argument tells whether something was enqueued."""


class LocalQueue:
    """The queue of a single process."""

    def __init__(self, claim: ClaimTasks, slots: int) -> None:
        self._claim = claim
        self._slots = slots
        self._free = slots
        self._lock = threading.Lock()
        self._wakes = 0
        self._wake_event = Event()

    def enqueue(
        self,
        session: Session,
        task_id: str,  # noqa: ARG002 - the row itself is the job
        *,
        not_before: datetime | None = None,  # noqa: ARG002
        scorer_version: int = SCORER_VERSION,  # noqa: ARG002
    ) -> None:
        """Wake the scheduler after this session's transaction has committed."""
        event.listen(session, "after_commit", lambda _session: self.wake(), once=True)

    def restart(self) -> None:
        """Do nothing: there is no engine."""

    def find_orphaned_task(self, session: Session) -> None:
        """Return None: the scheduler reads every queued row."""

    def delete_finished_jobs(self, session: Session) -> None:
        """Do nothing: there are no jobs besides the rows."""

    def wake(self) -> None:
        """Check for tasks now."""
        with self._lock:
            self._wakes += 1
        self._wake_event.set()

    def run(self, work: TaskHandler, stop: Event) -> None:
        """Claim and distribute tasks until `stop` is set; then wait for the running ones."""
        with ThreadPoolExecutor(self._slots, thread_name_prefix="slot") as slots:
            woken = False
            while not stop.is_set():
                self._wake_event.clear()  # before claiming, so that a task committed meanwhile wakes the next round
                for claim in self._claim_for_free_slots(woken):
                    slots.submit(self._run_in_slot, work, claim, stop)
                woken = self._wake_event.wait(POLL_SECONDS)

    def _claim_for_free_slots(self, woken: bool) -> Sequence[TaskClaim]:
        with self._lock:
            free = self._free
        if not free:
            return []
        try:
            claims = self._claim(free, woken)
        except Exception:
            # The database may be unavailable for a while; the next round tries again.
            log.exception("claim_failed")
            return []
        with self._lock:
            self._free -= len(claims)
        return claims

    def _run_in_slot(self, work: TaskHandler, first: TaskClaim, stop: Event) -> None:
        """Work on a task and on those that are claimed with its end; wake the scheduler if it may have missed one.

        It passes over this slot while it is taken. What is enqueued before the slot looks for another task is found by
        the slot itself; only what is enqueued after that needs the scheduler.
        """
        claim: TaskClaim | None = first
        wakes_seen: int | None = None

        def may_continue() -> bool:
            nonlocal wakes_seen
            wakes_seen = self._wakes
            return not stop.is_set()

        try:
            while claim is not None:
                wakes_seen = None
                claim = work(claim, may_continue)
        except Exception:
            log.exception("task_failed", task=first.task_id, attempt=first.attempt)
            wakes_seen = None
        finally:
            with self._lock:
                self._free += 1
                may_have_missed = self._wakes != wakes_seen
            if may_have_missed:
                self._wake_event.set()
