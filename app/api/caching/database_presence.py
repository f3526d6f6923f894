"""Whether the database answers, found out once for all requests that depend on it."""

import asyncio
import time
from collections.abc import Callable

VALID_SECONDS = 0.2  # for which the result of a check is used again; what is hidden then may be shown as long


class DatabasePresence:
    """Checks whether the database answers, one check at a time. Belongs to the event loop."""

    def __init__(self, check: Callable[[], bool]) -> None:
        self._check = check
        self._task: asyncio.Task[bool] | None = None
        self._answers, self._valid_until = True, float("-inf")

    async def answers(self) -> bool:
        """Whether the database answers; the check of a silent database takes seconds."""
        if time.monotonic() < self._valid_until:
            return self._answers
        if self._task is None:
            self._task = asyncio.create_task(self._run_check())
        return await asyncio.shield(self._task)  # A client that disconnects must not cancel it for the others.

    async def _run_check(self) -> bool:
        try:
            # Not in a thread of the pool of requests, which may all be waiting for the database.
            self._answers = await asyncio.to_thread(self._check)
        finally:
            self._valid_until, self._task = time.monotonic() + VALID_SECONDS, None
        return self._answers
