"""Admits callers to the reader children in turns, one request of each at a time; a child is kept for organizers."""

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from typing import NamedTuple
from weakref import WeakValueDictionary

from app.errors import TooManyRequests
from app.scoring_processes import ScoringProcesses

MAX_PER_CALLER = 10  # requests of one caller, with the one that is read


class TooManyWaiting(TooManyRequests):
    """Too many files of yours are being read, wait to be read, or are under way."""

    code = "too_many_waiting"
    remedy = "Wait for the answers to your other requests, then send this one again."


class ReaderQueueLane(NamedTuple):
    """The requests of a caller, and apart from them those that he or she makes as an organizer."""

    caller: str
    organizer: bool


class ReaderQueuePosition:
    """The place of one request in the line of its caller."""

    def __init__(self, turns: "ReaderQueue", line: ReaderQueueLane) -> None:
        self._queue = turns
        self.lane = line
        self.has_turn = False
        self.turn_granted: asyncio.Future[None] | None = None  # set while it waits for its turn

    async def wait_for_turn(self) -> None:
        """Wait until a child is free and it is this request's turn; no thread and no session waits with it."""
        if not self._queue.try_begin(self):
            self.turn_granted = asyncio.get_running_loop().create_future()
            self._queue.append(self)
            await self.turn_granted


class ReaderQueue:
    """Shares out `count` children, `kept` of them to organizers alone; all methods are called in the event loop.

    A caller whose request has ended goes behind all other callers, so each of these waits for at most one request of
    that caller per child.
    """

    def __init__(self, count: int, kept: int = 0, most: int = MAX_PER_CALLER) -> None:
        self._free = count
        self._reserved = kept
        self._limit = most
        self._position_counts: dict[ReaderQueueLane, int] = {}
        self._served: set[ReaderQueueLane] = set()
        self._waiting: OrderedDict[ReaderQueueLane, deque[ReaderQueuePosition]] = OrderedDict()

    @contextmanager
    def enter(self, caller: str, *, organizer: bool = False) -> Iterator[ReaderQueuePosition]:
        """A place in the line of this caller while the block lasts, with its turn if it got one; raises TooManyWaiting.

        `organizer`: who asks organizes the challenge that it is about.
        """
        line = ReaderQueueLane(caller, organizer)
        if self._position_counts.get(line, 0) >= self._limit:
            raise TooManyWaiting(
                f"{self._limit} files of yours are being read or wait to be read; nothing was stored.",
                headers={"Retry-After": "5"},
            )
        self._position_counts[line] = self._position_counts.get(line, 0) + 1
        place = ReaderQueuePosition(self, line)
        try:
            yield place
        finally:
            self._leave(place)

    def try_begin(self, place: ReaderQueuePosition) -> bool:
        """Give a place its turn at once if nobody has to wait before it."""
        if place.lane in self._waiting or not self._can_begin(place.lane):
            return False
        self._grant_turn(place)
        return True

    def append(self, place: ReaderQueuePosition) -> None:
        """Put a place at the end of the line of its caller."""
        self._waiting.setdefault(place.lane, deque()).append(place)

    def _can_begin(self, line: ReaderQueueLane) -> bool:
        return line not in self._served and self._free > (0 if line.organizer else self._reserved)

    def _grant_turn(self, place: ReaderQueuePosition) -> None:
        self._free -= 1
        self._served.add(place.lane)
        place.has_turn = True

    def _leave(self, place: ReaderQueuePosition) -> None:
        line = place.lane
        self._position_counts[line] -= 1
        if not self._position_counts[line]:
            del self._position_counts[line]
        if place.has_turn:
            self._free += 1
            self._served.discard(line)
            if line in self._waiting:
                self._waiting.move_to_end(line)
            self._grant_next_turns()
        elif line in self._waiting:
            with suppress(ValueError):  # one that never waited
                self._waiting[line].remove(place)
            self._drop_empty_lane(line)

    def _grant_next_turns(self) -> None:
        while (line := next(filter(self._can_begin, self._waiting), None)) is not None:
            place = self._waiting[line].popleft()
            self._drop_empty_lane(line)
            self._grant_turn(place)
            if (
                place.turn_granted is not None and not place.turn_granted.done()
            ):  # else whoever waited was cancelled, and leaves
                place.turn_granted.set_result(None)

    def _drop_empty_lane(self, line: ReaderQueueLane) -> None:
        if not self._waiting[line]:
            del self._waiting[line]


class CallerFairLock:
    """One after the other of each caller, and of all: whoever comes waits for one of each that is here, not for all."""

    def __init__(self) -> None:
        self._shared_lock = asyncio.Lock()
        self._caller_locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def hold(self, caller: str) -> AsyncIterator[None]:
        """The block has its turn."""
        own = self._caller_locks.setdefault(caller, asyncio.Lock())
        async with own, self._shared_lock:
            yield


class LargeUploadLimiter:
    """Counts the large files that callers are sending: each takes room on the disk, and may come as slowly as it likes."""

    def __init__(self, most: int = MAX_PER_CALLER) -> None:
        self._limit = most
        self._under_way: Counter[str] = Counter()

    @contextmanager
    def admit(self, caller: str) -> Iterator[None]:
        """While the block lasts one more of this caller's is under way; raises TooManyWaiting."""
        if self._under_way[caller] >= self._limit:
            detail = f"{self._limit} large files of yours are under way; nothing of this one was stored."
            raise TooManyWaiting(detail, headers={"Retry-After": "5"})
        self._under_way[caller] += 1
        try:
            yield
        finally:
            self._under_way[caller] -= 1
            if not self._under_way[caller]:
                del self._under_way[caller]


@dataclass(frozen=True, slots=True)
class ReaderPool:
    """Children that read files while callers wait, and the turns in which they may be asked."""

    children: ScoringProcesses
    queue: ReaderQueue
