"""Former boards and rank histories are computed from all attempts of a phase: few of them at once."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from app.errors import Unavailable

MAX_AT_ONCE = 1
"""The service answers everything else meanwhile, in other threads of the same interpreter."""
MAX_WAITING = 8
"""They occupy threads that other requests need."""


class FormerBoardsBusy(Unavailable):
    """Too many former boards or histories are being computed at this moment."""

    code = "former_boards_busy"
    remedy = "Repeat the request after the time in Retry-After."


class FormerBoardLimiter:
    """Lets requests compute one after the other, and refuses those that would have to wait long."""

    def __init__(self) -> None:
        self._turn = threading.BoundedSemaphore(MAX_AT_ONCE)
        self._admitted = threading.BoundedSemaphore(MAX_AT_ONCE + MAX_WAITING)

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait for a turn, and keep it while the block computes; raises FormerBoardsBusy."""
        if not self._admitted.acquire(blocking=False):
            raise FormerBoardsBusy
        try:
            with self._turn:
                yield
        finally:
            self._admitted.release()
