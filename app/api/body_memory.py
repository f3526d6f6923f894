"""The memory that bodies take while they come: as slowly as their senders like, and before anybody is asked who they are."""

import resource
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from app.api.turns import TooManyWaiting

MOST = 256 << 20
"""Bytes of all bodies together."""
_OF_FILES = 2
"""One of so many open files may be the connection of a body that has not come yet."""


class BodyMemory:
    """Counts what the bodies of each address block hold; of the event loop alone.

    A block may hold anything as long as there is room. Where there is none, each that sends may hold an equal share. A
    body takes its share of the files that the program may open, too: the smallest is not nothing.
    """

    def __init__(self, most: int = MOST) -> None:
        files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        self._most, self._all = most, 0
        self._least = most * _OF_FILES // files if files > 0 else 0
        self._held: Counter[str] = Counter()

    @contextmanager
    def body(self, block: str) -> Iterator[Callable[[int], None]]:
        """A body of this block: what is given says how many bytes it holds now, and raises TooManyWaiting."""
        own = 0

        def holds(size: int) -> None:
            nonlocal own
            size = max(size, self._least)
            more, own = size - own, size
            self._held[block] += more
            self._all += more
            if more > 0 and self._all > self._most and self._held[block] > self._most // len(self._held):
                raise TooManyWaiting(
                    "Bodies of unfinished requests from your address take all the room that there is for them.",
                    headers={"Retry-After": "5", "Connection": "close"},
                )

        try:
            holds(0)
            yield holds
        finally:
            self._held[block] -= own
            self._all -= own
            if not self._held[block]:
                del self._held[block]
