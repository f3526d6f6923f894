"""The room of bodies that have not ended: as slow as their senders like, and some before anybody is asked who they are."""

import resource
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from app.api.limits.reader_queue import TooManyWaiting

MOST = 256 << 20
"""Bytes of all bodies together."""
_OF_FILES = 2
"""One of so many open files may be the connection of such a body."""


class BodyMemory:
    """Counts the bodies of each address block and what they hold; of the event loop alone.

    A block may have anything as long as there is room. Where there is none, each that sends may have an equal share.
    """

    def __init__(self, most: int = MOST) -> None:
        files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        self._most = most
        self._most_bodies = files // _OF_FILES if files > 0 else 1 << 30
        self._held: Counter[str] = Counter()
        self._bodies: Counter[str] = Counter()
        self._all = 0

    @contextmanager
    def body(self, block: str) -> Iterator[Callable[[int], bool]]:
        """A body of this block. What is given takes how many bytes it holds now, and says whether there is room for more.

        Raises TooManyWaiting.
        """
        if self._bodies.total() >= self._most_bodies and self._bodies[block] >= self._most_bodies // len(self._bodies):
            raise no_room()
        own = 0

        def holds(size: int) -> bool:
            nonlocal own
            more, own = size - own, size
            self._held[block] += more
            self._all += more
            return self._all <= self._most or self._held[block] <= self._most // len(self._bodies)

        self._bodies[block] += 1
        try:
            yield holds
        finally:
            self._all -= own
            self._held[block] -= own
            self._bodies[block] -= 1
            if not self._bodies[block]:
                del self._bodies[block], self._held[block]


def no_room() -> TooManyWaiting:
    """What is said to whoever sends more bodies, or more of them, than there is room for."""
    return TooManyWaiting(
        "There is no room for more that comes from your address: too much is under way.",
        headers={"Retry-After": "5", "Connection": "close"},
    )
