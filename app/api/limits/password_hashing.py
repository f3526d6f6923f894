"""Passwords are hashed on as many threads as there are cores; whoever waits for a turn holds no thread and no session."""

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

from app.actions.accounts.passwords import PasswordVerification
from app.api.limits.fair_queue import FairQueue, FairQueuePosition
from app.api.limits.request_limits import FailedLogins
from app.errors import AssayError, TooManyRequests, Unavailable

MAX_WAITING = 10_000  # attempts that wait
MAX_WAITING_PER_QUEUE = 1000  # of them in one queue: a large class that begins at the same moment
SLOWED_INTERVAL_SECONDS = 0.25  # seconds between two checks of a queue that is slowed down


class HashingTicket(Protocol):
    """What a task has to do with its queue; called by the event loop's thread alone."""

    def queue_position(self) -> FairQueuePosition:
        """Where it stands now."""

    def can_begin(self) -> bool:
        """Whether it may begin now."""

    def begin(self) -> None:
        """It begins; raises TooMany where it may not."""

    def end(self, result: Any) -> None:
        """It has ended; with None if it failed."""


@dataclass(frozen=True)
class SignUpTicket:
    """A hash for a new account: in the queue of its address block."""

    block: str

    def queue_position(self) -> FairQueuePosition:
        """Where it stands."""
        return FairQueuePosition(("address", self.block), "sign-up")

    def can_begin(self) -> bool:
        """It always is."""
        return True

    def begin(self) -> None:
        """Nothing to note."""

    def end(self, result: Any) -> None:
        """Nothing to note."""


@dataclass
class LoginTicket:
    """A password to check, for an account from an address block; `known` where that succeeded before."""

    failures: FailedLogins
    account: str
    block: str
    known: bool
    rate_limit_error: TooManyRequests | None = field(
        default=None, init=False
    )  # why a wrong password is answered with another refusal

    def queue_position(self) -> FairQueuePosition:
        """Where it stands now: failures send it to a queue that all attempts on the account, or of the block, share."""
        if self.known and self.failures.refusal(self.account, self.block) is None:
            return FairQueuePosition(("known", self.block), self.account, preferred=True)
        own = ("address", self.block)
        if self.failures.is_block_slowed(self.block):
            return FairQueuePosition(own, self.account, SLOWED_INTERVAL_SECONDS)
        if self.failures.is_account_slowed(self.account):
            return FairQueuePosition(("account", self.account), self.block, SLOWED_INTERVAL_SECONDS)
        return FairQueuePosition(own, self.account)

    def can_begin(self) -> bool:
        """Attempts under way may all fail: no more begin than may still fail, so that many at once gain nothing."""
        return not self.failures.must_wait_for_running(self.account, self.block)

    def refuse_early(self) -> None:
        """Spare a refused attempt the queue; raises TooMany."""
        over = self.failures.refusal(self.account, self.block)
        if over is not None and not self.known:
            raise over

    def begin(self) -> None:
        """It begins; raises TooMany where the block may not try this account now."""
        self.rate_limit_error = self.failures.refusal(self.account, self.block)
        if self.rate_limit_error is not None and not self.known:
            raise self.rate_limit_error
        self.failures.begin(self.account, self.block)

    def end(self, result: Any) -> None:
        """Count it if the password was wrong."""
        self.failures.end(
            self.account, self.block, failed=isinstance(result, PasswordVerification) and not result.right
        )


@dataclass(eq=False)
class _Task:
    ticket: HashingTicket
    work: Callable[[], Any]
    done: "asyncio.Future[Any]"


def available_cpu_count() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class HashingPool:
    """Runs what hashes passwords, one task a core, in fair turns; used from one event loop."""

    def __init__(self, width: int | None = None) -> None:
        self._width = width or available_cpu_count()
        self._threads = ThreadPoolExecutor(self._width, thread_name_prefix="hashing")
        self._running = 0
        self._timer: asyncio.TimerHandle | None = None
        self._queue: FairQueue[_Task] = FairQueue(
            lambda task: task.ticket.queue_position(),
            lambda task: task.done.done() or task.ticket.can_begin(),
            most=MAX_WAITING,
            most_of_one=MAX_WAITING_PER_QUEUE,
        )

    async def run(self, ticket: HashingTicket, work: Callable[[], Any]) -> Any:
        """What the work gives, at its turn; raises TooMany, and Unavailable when far too many wait."""
        task = _Task(ticket, work, asyncio.get_running_loop().create_future())
        dropped = self._queue.put(task)
        if dropped is not None and not dropped.done.done():
            dropped.done.set_exception(
                Unavailable("Too many people sign up or log in at this moment.", headers={"Retry-After": "10"})
            )
        self._start_waiting()
        return await task.done  # cancelled, it is passed over at its turn

    def close(self) -> None:
        """Let what runs end, and nothing more begin."""
        self._threads.shutdown(cancel_futures=True)

    def _start_waiting(self) -> None:
        """Begin what may."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while self._running < self._width and (task := self._queue.take()) is not None:
            if task.done.done():
                continue
            try:
                task.ticket.begin()
            except AssayError as refused:
                task.done.set_exception(refused)
                continue
            self._running += 1
            at_work = asyncio.get_running_loop().run_in_executor(self._threads, task.work)
            at_work.add_done_callback(partial(self._on_task_done, task))
        if self._running < self._width and (seconds := self._queue.seconds_until_allowed()) is not None:
            self._timer = asyncio.get_running_loop().call_later(seconds, self._start_waiting)

    def _on_task_done(self, task: _Task, at_work: "asyncio.Future[Any]") -> None:
        self._running -= 1
        fault = None if at_work.cancelled() else at_work.exception()
        result = None if at_work.cancelled() or fault is not None else at_work.result()
        task.ticket.end(result)
        if not task.done.done():
            if at_work.cancelled():
                task.done.cancel()
            elif fault is not None:
                task.done.set_exception(fault)
            else:
                task.done.set_result(result)
        self._start_waiting()
