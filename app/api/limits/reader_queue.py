"""Admits callers to the reader children in turns, one request of each at a time; a child is kept for organizers."""

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from typing import NamedTuple
from weakref import WeakValueDictionary

from app.errors import TooMany
from app.scoring_processes import Children

MOST_WAITING = 10  # requests of one caller, with the one that is read


class TooManyWaiting(TooMany):
    """Too many files of yours are being read, wait to be read, or are under way."""

    code = "too_many_waiting"
    remedy = "Wait for the answers to your other requests, then send this one again."


class Line(NamedTuple):
    """The requests of a caller, and apart from them those that he or she makes as an organizer."""

    caller: str
    organizer: bool


class Place:
    """The place of one request in the line of its caller."""

    def __init__(self, turns: "Turns", line: Line) -> None:
        self._turns = turns
        self.line = line
        self.has_turn = False
        self.told: asyncio.Future[None] | None = None  # set while it waits for its turn

    async def turn(self) -> None:
        """Wait until a child is free and it is this request's turn; no thread and no session waits with it."""
        if not self._turns.take(self):
            self.told = asyncio.get_running_loop().create_future()
            self._turns.wait(self)
            await self.told


class Turns:
    """Shares out `count` children, `kept` of them to organizers alone; all methods are called in the event loop.

    A caller whose request has ended goes behind all other callers, so each of these waits for at most one request of
    that caller per child.
    """

    def __init__(self, count: int, kept: int = 0, most: int = MOST_WAITING) -> None:
        self._free = count
        self._kept = kept
        self._most = most
        self._places: dict[Line, int] = {}
        self._served: set[Line] = set()
        self._waiting: OrderedDict[Line, deque[Place]] = OrderedDict()

    @contextmanager
    def place(self, caller: str, *, organizer: bool = False) -> Iterator[Place]:
        """A place in the line of this caller while the block lasts, with its turn if it got one; raises TooManyWaiting.

        `organizer`: who asks organizes the challenge that it is about.
        """
        line = Line(caller, organizer)
        if self._places.get(line, 0) >= self._most:
            raise TooManyWaiting(
                f"{self._most} files of yours are being read or wait to be read; nothing was stored.",
                headers={"Retry-After": "5"},
            )
        self._places[line] = self._places.get(line, 0) + 1
        place = Place(self, line)
        try:
            yield place
        finally:
            self._leave(place)

    def take(self, place: Place) -> bool:
        """Give a place its turn at once if nobody has to wait before it."""
        if place.line in self._waiting or not self._may_begin(place.line):
            return False
        self._give(place)
        return True

    def wait(self, place: Place) -> None:
        """Put a place at the end of the line of its caller."""
        self._waiting.setdefault(place.line, deque()).append(place)

    def _may_begin(self, line: Line) -> bool:
        return line not in self._served and self._free > (0 if line.organizer else self._kept)

    def _give(self, place: Place) -> None:
        self._free -= 1
        self._served.add(place.line)
        place.has_turn = True

    def _leave(self, place: Place) -> None:
        line = place.line
        self._places[line] -= 1
        if not self._places[line]:
            del self._places[line]
        if place.has_turn:
            self._free += 1
            self._served.discard(line)
            if line in self._waiting:
                self._waiting.move_to_end(line)
            self._serve_next()
        elif line in self._waiting:
            with suppress(ValueError):  # one that never waited
                self._waiting[line].remove(place)
            self._forget_empty(line)

    def _serve_next(self) -> None:
        while (line := next(filter(self._may_begin, self._waiting), None)) is not None:
            place = self._waiting[line].popleft()
            self._forget_empty(line)
            self._give(place)
            if place.told is not None and not place.told.done():  # else whoever waited was cancelled, and leaves
                place.told.set_result(None)

    def _forget_empty(self, line: Line) -> None:
        if not self._waiting[line]:
            del self._waiting[line]


class OneByOne:
    """One after the other of each caller, and of all: whoever comes waits for one of each that is here, not for all."""

    def __init__(self) -> None:
        self._all = asyncio.Lock()
        self._of_caller: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def of(self, caller: str) -> AsyncIterator[None]:
        """The block has its turn."""
        own = self._of_caller.setdefault(caller, asyncio.Lock())
        async with own, self._all:
            yield


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
