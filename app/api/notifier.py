"""Wakes requests that wait for a submission."""

import asyncio
import math
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from app.api.live.change_hub import ChangeHub, submission_topic


class Waiter(asyncio.Event):
    """An event that is set when a submission has settled. It belongs to the event loop that created it."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.get_running_loop()
        self.submission_id: str | None = None


class Notifier:
    """Notifies waiting requests that a submission has its final status.

    A waiting request holds no thread and no session. What it is notified of is also published to the live readers of
    pages, if there is a hub.
    """

    def __init__(self, changes: ChangeHub | None = None) -> None:
        self._changes = changes
        self._lock = threading.Lock()
        self._waiting: dict[str, list[Waiter]] = {}
        self.count = 0
        self.is_closed = False

    @contextmanager
    def listen(self, submission_id: str | None = None) -> Iterator[Waiter]:
        """A waiter that is notified while the context lasts; without a submission id, `subscribe` it later."""
        waiter = Waiter()
        if submission_id is not None:
            self.subscribe(waiter, submission_id)
        try:
            yield waiter
        finally:
            with self._lock:
                self._unsubscribe(waiter)

    def subscribe(self, waiter: Waiter, submission_id: str, max_waiters: float = math.inf) -> bool:
        """Wait for this submission, unless `max_waiters` wait already; returns whether it does. Safe from any thread.

        Subscribe before the submission is committed, so that no notification can be missed.
        """
        with self._lock:
            if self.count >= max_waiters:
                return False
            waiter.submission_id = submission_id
            self.count += 1
            self._waiting.setdefault(submission_id, []).append(waiter)
            return True

    def _unsubscribe(self, waiter: Waiter) -> None:
        if waiter.submission_id is None:
            return
        self.count -= 1
        waiters = self._waiting[waiter.submission_id]
        waiters.remove(waiter)
        if not waiters:
            del self._waiting[waiter.submission_id]

    def notify_settled(self, submission_id: str) -> None:
        """Wake the requests that wait for this submission: it has its final status. Safe from any thread."""
        with self._lock:
            waiters = list(self._waiting.get(submission_id, ()))
        self._wake(waiters)
        if self._changes is not None:
            self._changes.publish([submission_topic(submission_id)])

    def wake_all(self) -> None:
        """Wake all waiting requests, so that they read the status: notices may have been lost. Safe from any thread."""
        with self._lock:
            waiters = [waiter for waiting in self._waiting.values() for waiter in waiting]
        self._wake(waiters)

    def end_live_streams(self) -> None:
        """End the streams of live pages: the service is shutting down."""
        if self._changes is not None:
            self._changes.close()

    def close(self) -> None:
        """Answer all waiting requests with the current status: the service is shutting down."""
        self.end_live_streams()
        self.is_closed = True
        self.wake_all()

    @staticmethod
    def _wake(waiters: Iterable[Waiter]) -> None:
        for waiter in waiters:
            waiter.loop.call_soon_threadsafe(waiter.set)
