"""Admits requests to the reader processes in fair order: one per caller at a time, some processes for organizers."""

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from typing import NamedTuple
from weakref import WeakValueDictionary

from app.errors import TooManyRequests
from app.scoring_processes import ScoringProcesses

MAX_PER_CALLER = 10  # requests that wait or are being read


class TooManyWaiting(TooManyRequests):
    """Too many of your files are being read, waiting to be read, or still arriving."""

    code = "too_many_waiting"
    remedy = "Wait for the answers to your other requests, then send this one again."


class ReaderQueueLane(NamedTuple):
    """The requests of one caller. Those that a caller sends as an organizer have a lane of their own."""

    caller: str
    organizer: bool


class ReaderQueuePosition:
    """The position of one request in its lane."""

    def __init__(self, queue: "ReaderQueue", lane: ReaderQueueLane) -> None:
        self._queue = queue
        self.lane = lane
        self.has_turn = False
        self.turn_granted: asyncio.Future[None] | None = None  # set once it has to wait

    async def wait_for_turn(self) -> None:
        """Wait for this request's turn and a free process, without holding a thread or a database session."""
        if not self._queue.try_begin(self):
            self.turn_granted = asyncio.get_running_loop().create_future()
            self._queue.append(self)
            await self.turn_granted


class ReaderQueue:
    """Distributes `count` processes, of which `reserved` are for organizers only. Use it from the event loop only.

    A caller whose request has ended moves behind all other callers, so each of these waits for at most one request of
    that caller per process.
    """

    def __init__(self, count: int, reserved: int = 0, max_per_caller: int = MAX_PER_CALLER) -> None:
        self._free = count
        self._reserved = reserved
        self._limit = max_per_caller
        self._position_counts: dict[ReaderQueueLane, int] = {}
        self._served: set[ReaderQueueLane] = set()
        self._waiting: OrderedDict[ReaderQueueLane, deque[ReaderQueuePosition]] = OrderedDict()

    @contextmanager
    def enter(self, caller: str, *, organizer: bool = False) -> Iterator[ReaderQueuePosition]:
        """A position in the lane of this caller while the context lasts; leaving it frees the process.

        Raises TooManyWaiting.

        `organizer`: the caller organizes the challenge that the request is about.
        """
        lane = ReaderQueueLane(caller, organizer)
        if self._position_counts.get(lane, 0) >= self._limit:
            raise TooManyWaiting(
                f"{self._limit} of your files are being read or waiting to be read; nothing was stored.",
                headers={"Retry-After": "5"},
            )
        self._position_counts[lane] = self._position_counts.get(lane, 0) + 1
        position = ReaderQueuePosition(self, lane)
        try:
            yield position
        finally:
            self._leave(position)

    def try_begin(self, position: ReaderQueuePosition) -> bool:
        """Grant a position its turn at once, unless an earlier request of its lane waits or no process is free."""
        if position.lane in self._waiting or not self._can_begin(position.lane):
            return False
        self._grant_turn(position)
        return True

    def append(self, position: ReaderQueuePosition) -> None:
        """Add a position to the end of its lane."""
        self._waiting.setdefault(position.lane, deque()).append(position)

    def _can_begin(self, lane: ReaderQueueLane) -> bool:
        return lane not in self._served and self._free > (0 if lane.organizer else self._reserved)

    def _grant_turn(self, position: ReaderQueuePosition) -> None:
        self._free -= 1
        self._served.add(position.lane)
        position.has_turn = True

    def _leave(self, position: ReaderQueuePosition) -> None:
        lane = position.lane
        self._position_counts[lane] -= 1
        if not self._position_counts[lane]:
            del self._position_counts[lane]
        if position.has_turn:
            self._free += 1
            self._served.discard(lane)
            if lane in self._waiting:
                self._waiting.move_to_end(lane)
            self._grant_next_turns()
        elif lane in self._waiting:
            with suppress(ValueError):  # it never waited
                self._waiting[lane].remove(position)
            self._drop_empty_lane(lane)

    def _grant_next_turns(self) -> None:
        while (lane := next(filter(self._can_begin, self._waiting), None)) is not None:
            position = self._waiting[lane].popleft()
            self._drop_empty_lane(lane)
            self._grant_turn(position)
            # A future that is done belongs to a cancelled request, which leaves and frees the process itself.
            if position.turn_granted is not None and not position.turn_granted.done():
                position.turn_granted.set_result(None)

    def _drop_empty_lane(self, lane: ReaderQueueLane) -> None:
        if not self._waiting[lane]:
            del self._waiting[lane]


class CallerFairLock:
    """A lock that is fair between callers: a newcomer waits for at most one holder per other caller.

    Each caller has a lock of its own, and only the request that holds it competes for the shared one.
    """

    def __init__(self) -> None:
        self._shared_lock = asyncio.Lock()
        self._caller_locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def hold(self, caller: str) -> AsyncIterator[None]:
        """Hold the lock while the context lasts."""
        own = self._caller_locks.setdefault(caller, asyncio.Lock())
        async with own, self._shared_lock:
            yield


class LargeUploadLimiter:
    """Limits the large files that a caller sends at once: each occupies disk space for as long as its sender likes."""

    def __init__(self, limit: int = MAX_PER_CALLER) -> None:
        self._limit = limit
        self._active: Counter[str] = Counter()

    @contextmanager
    def admit(self, caller: str) -> Iterator[None]:
        """Count one more large upload of this caller while the context lasts; raises TooManyWaiting."""
        if self._active[caller] >= self._limit:
            detail = f"{self._limit} of your large files are still arriving; nothing of this one was stored."
            raise TooManyWaiting(detail, headers={"Retry-After": "5"})
        self._active[caller] += 1
        try:
            yield
        finally:
            self._active[caller] -= 1
            if not self._active[caller]:
                del self._active[caller]


@dataclass(frozen=True, slots=True)
class ReaderPool:
    """Scoring processes that read files while callers wait, and the queue for them."""

    processes: ScoringProcesses
    queue: ReaderQueue
