"""Whether the database answers, found out once for all requests that depend on it."""

import asyncio
import time
from collections.abc import Callable

VALID_SECONDS = 0.2  # for which an answer is used again
MAX_OVERLAP_SECONDS = 10.0  # after an absence for which requests need not wait for the next check


class DatabasePresence:
    """Checks whether the database answers, one check at a time. Belongs to the event loop.

    A check of a silent database takes seconds. While it was away a moment ago, requests do not wait for the check that
    is running: it would end at once if the database answered again.
    """

    def __init__(self, check: Callable[[], bool]) -> None:
        self._check = check
        self._task: asyncio.Task[None] | None = None
        self._answers, self._checked_at = True, float("-inf")

    async def answers(self) -> bool:
        """Whether the database answers now, or did at the last check, at most a moment ago."""
        age = time.monotonic() - self._checked_at
        if self._task is None and age >= VALID_SECONDS:
            self._task = asyncio.create_task(self._run_check())
        if self._task is not None and (self._answers or age >= MAX_OVERLAP_SECONDS):
            await asyncio.shield(self._task)  # A client that disconnects must not cancel it for the others.
        return self._answers

    async def _run_check(self) -> None:
        try:
            # Not in a thread of the pool of requests, which may all be waiting for the database.
            self._answers = await asyncio.to_thread(self._check)
        finally:
            self._checked_at, self._task = time.monotonic(), None
