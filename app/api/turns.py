"""Admits callers to the reader children: one request of each caller at a time, and callers take turns."""

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from app.children import Children
from app.errors import TooMany

MOST_WAITING = 10  # requests of one caller, with the one that is read


class TooManyWaiting(TooMany):
    """Too many files of yours are being read, wait to be read, or are under way."""

    code = "too_many_waiting"
    remedy = "Wait for the answers to your other requests, then send this one again."


class Place:
    """The place of one request in the line of its caller."""

    def __init__(self, turns: "Turns", caller: str) -> None:
        self._turns = turns
        self.caller = caller
        self.has_turn = False
        self.told: asyncio.Future[None] | None = None  # set while it waits for its turn

    async def turn(self) -> None:
        """Wait until a child is free and it is this request's turn; no thread and no session waits with it."""
        if not self._turns.take(self):
            self.told = asyncio.get_running_loop().create_future()
            self._turns.wait(self)
            await self.told


class Turns:
    """Shares out `count` children; all methods are called in the event loop.

    A caller whose request has ended goes behind all other callers, so each of these waits for at most one request of
    that caller per child.
    """

    def __init__(self, count: int, most: int = MOST_WAITING) -> None:
        self._free = count
        self._most = most
        self._places: dict[str, int] = {}
        self._served: set[str] = set()
        self._waiting: OrderedDict[str, deque[Place]] = OrderedDict()

    @contextmanager
    def place(self, caller: str) -> Iterator[Place]:
        """A place in the line of this caller while the block lasts, with its turn if it got one; raises TooManyWaiting."""
        if self._places.get(caller, 0) >= self._most:
            raise TooManyWaiting(
                f"{self._most} files of yours are being read or wait to be read; nothing was stored.",
                headers={"Retry-After": "5"},
            )
        self._places[caller] = self._places.get(caller, 0) + 1
        place = Place(self, caller)
        try:
            yield place
        finally:
            self._leave(place)

    def take(self, place: Place) -> bool:
        """Give a place its turn at once if nobody has to wait before it."""
        if self._free == 0 or place.caller in self._served or place.caller in self._waiting:
            return False
        self._give(place)
        return True

    def wait(self, place: Place) -> None:
        """Put a place at the end of the line of its caller."""
        self._waiting.setdefault(place.caller, deque()).append(place)

    def _give(self, place: Place) -> None:
        self._free -= 1
        self._served.add(place.caller)
        place.has_turn = True

    def _leave(self, place: Place) -> None:
        caller = place.caller
        self._places[caller] -= 1
        if not self._places[caller]:
            del self._places[caller]
        if place.has_turn:
            self._free += 1
            self._served.discard(caller)
            if caller in self._waiting:
                self._waiting.move_to_end(caller)
            self._serve_next()
        elif caller in self._waiting:
            with suppress(ValueError):  # one that never waited
                self._waiting[caller].remove(place)
            self._forget_empty(caller)

    def _serve_next(self) -> None:
        while self._free:
            caller = next((each for each in self._waiting if each not in self._served), None)
            if caller is None:
                return
            place = self._waiting[caller].popleft()
            self._forget_empty(caller)
            self._give(place)
            if place.told is not None and not place.told.done():  # else whoever waited was cancelled, and leaves
                place.told.set_result(None)

    def _forget_empty(self, caller: str) -> None:
        if not self._waiting[caller]:
            del self._waiting[caller]


class LargeUploads:
    """Counts the large files that callers are sending: each takes room on the disk, and may come as slowly as it likes."""

    def __init__(self, most: int = MOST_WAITING) -> None:
        self._most = most
        self._under_way: Counter[str] = Counter()

    @contextmanager
    def of(self, caller: str) -> Iterator[None]:
        """While the block lasts one more of this caller's is under way; raises TooManyWaiting."""
        if self._under_way[caller] >= self._most:
            detail = f"{self._most} large files of yours are under way; nothing of this one was stored."
            raise TooManyWaiting(detail, headers={"Retry-After": "5"})
        self._under_way[caller] += 1
        try:
            yield
        finally:
            self._under_way[caller] -= 1
            if not self._under_way[caller]:
                del self._under_way[caller]


@dataclass(frozen=True, slots=True)
class Readers:
    """Children that read files while callers wait, and the turns in which they may be asked."""

    children: Children
    turns: Turns
