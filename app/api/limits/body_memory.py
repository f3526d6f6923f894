"""The room of bodies that have not ended: as slow as their senders like, and some before anybody is asked who they are."""

import resource
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from app.api.limits.reader_queue import TooManyWaiting

MAX_TOTAL_BYTES = 256 << 20
"""Bytes of all bodies together."""
_OPEN_FILES_PER_BODY = 2
"""One of so many open files may be the connection of such a body."""


class BodyMemoryLimiter:
    """Counts the bodies of each address block and what they hold; of the event loop alone.

    A block may have anything as long as there is room. Where there is none, each that sends may have an equal share.
    """

    def __init__(self, most: int = MAX_TOTAL_BYTES) -> None:
        files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        self._limit = most
        self._max_bodies = files // _OPEN_FILES_PER_BODY if files > 0 else 1 << 30
        self._bytes_of_block: Counter[str] = Counter()
        self._bodies_of_block: Counter[str] = Counter()
        self._total_bytes = 0

    @contextmanager
    def admit_body(self, block: str) -> Iterator[Callable[[int], bool]]:
        """A body of this block. What is given takes how many bytes it holds now, and says whether there is room for more.

        Raises TooManyWaiting.
        """
        if self._bodies_of_block.total() >= self._max_bodies and self._bodies_of_block[
            block
        ] >= self._max_bodies // len(self._bodies_of_block):
            raise body_memory_error()
        own = 0

        def holds(size: int) -> bool:
            nonlocal own
            more, own = size - own, size
            self._bytes_of_block[block] += more
            self._total_bytes += more
            return self._total_bytes <= self._limit or self._bytes_of_block[block] <= self._limit // len(
                self._bodies_of_block
            )

        self._bodies_of_block[block] += 1
        try:
            yield holds
        finally:
            self._total_bytes -= own
            self._bytes_of_block[block] -= own
            self._bodies_of_block[block] -= 1
            if not self._bodies_of_block[block]:
                del self._bodies_of_block[block], self._bytes_of_block[block]


def body_memory_error() -> TooManyWaiting:
    """What is said to whoever sends more bodies, or more of them, than there is room for."""
    return TooManyWaiting(
        "There is no room for more that comes from your address: too much is under way.",
        headers={"Retry-After": "5", "Connection": "close"},
    )
