"""Memory for request bodies that are still arriving: slow ones, and some that are read before authentication."""

import resource
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from app.api.limits.reader_queue import TooManyWaiting

MAX_TOTAL_BYTES = 256 << 20
"""Bytes of all bodies together."""
_OPEN_FILES_PER_BODY = 2
"""The number of files that the process may open, per body that it receives."""


class BodyMemoryLimiter:
    """Counts the bodies of each address block and the bytes they occupy. Use it from the event loop only.

    While memory lasts, an address block may use any amount. Once it is used up, each block that is sending may use an
    equal share, so that one sender cannot lock out the others.
    """

    def __init__(self, max_bytes: int = MAX_TOTAL_BYTES) -> None:
        files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        self._max_bytes = max_bytes
        self._max_bodies = files // _OPEN_FILES_PER_BODY if files > 0 else 1 << 30
        self._bytes_of_block: Counter[str] = Counter()
        self._bodies_of_block: Counter[str] = Counter()
        self._total_bytes = 0

    @contextmanager
    def admit_body(self, block: str) -> Iterator[Callable[[int], bool]]:
        """Admit a body of this address block while the context lasts; raises TooManyWaiting.

        Yields a function that records how many bytes the body occupies now. It returns False if that is too many.
        """
        bodies = self._bodies_of_block
        if bodies.total() >= self._max_bodies and bodies[block] >= self._max_bodies // len(bodies):
            raise body_memory_error()
        size = 0

        def resize(new_size: int) -> bool:
            nonlocal size
            self._bytes_of_block[block] += new_size - size
            self._total_bytes += new_size - size
            size = new_size
            share = self._max_bytes // len(bodies)
            return self._total_bytes <= self._max_bytes or self._bytes_of_block[block] <= share

        bodies[block] += 1
        try:
            yield resize
        finally:
            resize(0)
            bodies[block] -= 1
            if not bodies[block]:
                del bodies[block], self._bytes_of_block[block]


def body_memory_error() -> TooManyWaiting:
    """The refusal of a body for which there is no memory, or of one body too many."""
    return TooManyWaiting(
        "Too many request bodies from your address are being received; there is no memory for this one.",
        headers={"Retry-After": "5", "Connection": "close"},
    )
