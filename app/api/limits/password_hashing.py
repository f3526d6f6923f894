"""Hashes passwords on one thread per core, in fair order; waiting requests hold no thread and no database session."""

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

MAX_WAITING = 10_000
MAX_WAITING_PER_QUEUE = 1000  # enough for a large class that logs in at the same moment
SLOWED_INTERVAL_SECONDS = 0.25  # between two checks of a queue that is slowed down


class HashingTicket(Protocol):
    """How a hashing task queues, and what happens when it begins and ends; called by the event loop's thread only."""

    def queue_position(self) -> FairQueuePosition:
        """Where the task waits now."""

    def can_begin(self) -> bool:
        """Whether the task may begin now."""

    def begin(self) -> None:
        """Called before the work; raises TooManyRequests to refuse it."""

    def end(self, result: Any) -> None:
        """Called after the work with its result, None if it failed."""


@dataclass(frozen=True)
class SignUpTicket:
    """The hash of a new account's password; it waits in the queue of its address block."""

    block: str

    def queue_position(self) -> FairQueuePosition:
        """The queue of the address block."""
        return FairQueuePosition(("address", self.block), "sign-up")

    def can_begin(self) -> bool:
        """Always true."""
        return True

    def begin(self) -> None:
        """Do nothing: sign-ups are counted before."""

    def end(self, result: Any) -> None:
        """Do nothing."""


@dataclass
class LoginTicket:
    """The check of a password for an account from an address block; `known` if the block has logged in before."""

    failures: FailedLogins
    account: str
    block: str
    known: bool
    rate_limit_error: TooManyRequests | None = field(default=None, init=False)
    """The limit was reached when the check began. A wrong password is then answered with this error instead."""

    def queue_position(self) -> FairQueuePosition:
        """Where it waits now: failures move it to a slowed queue of all attempts on the account, or of the block."""
        if self.known and self.failures.refusal(self.account, self.block) is None:
            return FairQueuePosition(("known", self.block), self.account, preferred=True)
        own = ("address", self.block)
        if self.failures.is_block_slowed(self.block):
            return FairQueuePosition(own, self.account, SLOWED_INTERVAL_SECONDS)
        if self.failures.is_account_slowed(self.account):
            return FairQueuePosition(("account", self.account), self.block, SLOWED_INTERVAL_SECONDS)
        return FairQueuePosition(own, self.account)

    def can_begin(self) -> bool:
        """Whether the limit would hold even if all running attempts failed, so that concurrent guesses gain nothing."""
        return not self.failures.must_wait_for_running(self.account, self.block)

    def refuse_early(self) -> None:
        """Refuse an attempt before it queues; raises TooManyRequests."""
        error = self.failures.refusal(self.account, self.block)
        if error is not None and not self.known:
            raise error

    def begin(self) -> None:
        """Count the attempt as running; raises TooManyRequests if the block may not try this account now."""
        self.rate_limit_error = self.failures.refusal(self.account, self.block)
        if self.rate_limit_error is not None and not self.known:
            raise self.rate_limit_error
        self.failures.begin(self.account, self.block)

    def end(self, result: Any) -> None:
        """Count the attempt as failed if the password was wrong."""
        failed = isinstance(result, PasswordVerification) and not result.right
        self.failures.end(self.account, self.block, failed=failed)


@dataclass(eq=False)
class _Task:
    ticket: HashingTicket
    work: Callable[[], Any]
    done: "asyncio.Future[Any]"


def available_cpu_count() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class HashingPool:
    """Runs hashing tasks, one per core, in fair order. Use it from one event loop."""

    def __init__(self, width: int | None = None) -> None:
        self._width = width or available_cpu_count()
        self._threads = ThreadPoolExecutor(self._width, thread_name_prefix="hashing")
        self._running = 0
        self._timer: asyncio.TimerHandle | None = None
        self._queue: FairQueue[_Task] = FairQueue(
            lambda task: task.ticket.queue_position(),
            lambda task: task.done.done() or task.ticket.can_begin(),
            limit=MAX_WAITING,
            limit_per_queue=MAX_WAITING_PER_QUEUE,
        )

    async def run(self, ticket: HashingTicket, work: Callable[[], Any]) -> Any:
        """Run the work when its turn comes, and return its result.

        Raises TooManyRequests, and Unavailable if too many tasks wait.
        """
        task = _Task(ticket, work, asyncio.get_running_loop().create_future())
        dropped = self._queue.put(task)
        if dropped is not None and not dropped.done.done():
            error = Unavailable("Too many sign-ups and logins are waiting.", headers={"Retry-After": "10"})
            dropped.done.set_exception(error)
        self._start_waiting()
        return await task.done  # If the request is cancelled, its task is skipped when its turn comes.

    def close(self) -> None:
        """Finish the running tasks and start no more."""
        self._threads.shutdown(cancel_futures=True)

    def _start_waiting(self) -> None:
        """Start tasks while threads are free, and set a timer for a queue that has to wait."""
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
            work = asyncio.get_running_loop().run_in_executor(self._threads, task.work)
            work.add_done_callback(partial(self._on_task_done, task))
        if self._running < self._width and (seconds := self._queue.seconds_until_allowed()) is not None:
            self._timer = asyncio.get_running_loop().call_later(seconds, self._start_waiting)

    def _on_task_done(self, task: _Task, work: "asyncio.Future[Any]") -> None:
        self._running -= 1
        error = None if work.cancelled() else work.exception()
        result = None if work.cancelled() or error is not None else work.result()
        task.ticket.end(result)
        if task.done.done():
            pass  # The request was cancelled; its attempt still counts.
        elif work.cancelled():
            task.done.cancel()
        elif error is not None:
            task.done.set_exception(error)
        else:
            task.done.set_result(result)
        self._start_waiting()
