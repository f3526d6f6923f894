"""Whose turn it is: queues that are served one after the other, so that a long one delays only those who stand in it."""

import heapq
import time
from collections import Counter, OrderedDict
from collections.abc import Callable
from itertools import count
from typing import Generic, NamedTuple, TypeVar

PRUNE_THRESHOLD = 1000  # queues whose next start is remembered before those that passed are forgotten

Item = TypeVar("Item")


class FairQueuePosition(NamedTuple):
    """Where an item stands: in a queue; its source has turns within that; the least seconds between two starts."""

    queue: tuple[str, ...]
    source: str
    min_interval: float = 0.0
    preferred: bool = False  # such queues together get every second turn


class _RoundRobinQueue(Generic[Item]):
    """Items of one queue, the sources in turn: the first of each, then the second of each, and so on."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, str, Item]] = []
        self._next_rank: Counter[str] = Counter()  # ranks given to a source; what was served lies behind
        self._served_rank = 0

    def __len__(self) -> int:
        return len(self._heap)

    def put(self, item: Item, source: str, number: int) -> None:
        rank = max(self._next_rank[source], self._served_rank)
        self._next_rank[source] = rank + 1
        heapq.heappush(self._heap, (rank, number, source, item))

    def peek(self) -> Item:
        return self._heap[0][3]

    def pop(self) -> Item:
        rank, _, _, item = heapq.heappop(self._heap)
        self._served_rank = rank
        return item

    def drop_last(self) -> Item:
        """Take out the one that would have come last."""
        last = max(range(len(self._heap)), key=lambda place: self._heap[place][:2])
        _, _, source, item = self._heap.pop(last)
        self._next_rank[source] -= 1
        heapq.heapify(self._heap)
        return item


class FairQueue(Generic[Item]):
    """Items in queues; for one thread.

    `place` says where an item belongs now: it is asked anew before an item is taken, and may send it elsewhere.
    `ready` says whether it may start now.
    """

    def __init__(
        self,
        place: Callable[[Item], FairQueuePosition],
        ready: Callable[[Item], bool],
        *,
        most: int,
        most_of_one: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """At most `most` items wait, `most_of_one` of them in one queue."""
        self._position_of, self._may_start, self._clock = place, ready, clock
        self._limit, self._limit_per_queue = most, most_of_one
        self._lanes: dict[bool, OrderedDict[tuple[str, ...], _RoundRobinQueue[Item]]] = {
            preferred: OrderedDict() for preferred in (True, False)
        }
        self._preferred_next = True  # at the next turn
        self._next_start: dict[tuple[str, ...], float] = {}
        self._taken_at = clock()  # by which time `take` decided which queues have to wait
        self._sequence = count()
        self._waiting = 0

    def put(self, item: Item) -> Item | None:
        """Add an item; gives the one that has to go, this one or the last of the longest queue, where all is full."""
        place = self._position_of(item)
        queue = self._lanes[place.preferred].get(place.queue)
        if queue is not None and len(queue) >= self._limit_per_queue:
            return item
        self._add(item, place)
        if self._waiting <= self._limit:
            return None
        return self._drop_from_longest()

    def take(self) -> Item | None:
        """The next item that may start now."""
        while True:
            moved, self._taken_at = False, self._clock()
            for preferred in (self._preferred_next, not self._preferred_next):
                item, moved_here = self._take_from_lane(preferred)
                if item is not None:
                    self._preferred_next = not preferred
                    return item
                moved = moved or moved_here
            if not moved:
                return None

    def seconds_until_allowed(self) -> float | None:
        """How long after the last `take` a queue that it left to its pace may start; None if it left none to that.

        Counted from the very reading of the clock by which `take` left it: by a later one it might wait no longer, and
        whoever waits in it would be neither taken nor waited for.
        """
        queues = [name for lane in self._lanes.values() for name in lane]
        starts = [self._next_start[name] for name in queues if name in self._next_start]
        return min((start - self._taken_at for start in starts if start > self._taken_at), default=None)

    def _add(self, item: Item, place: FairQueuePosition) -> None:
        lane = self._lanes[place.preferred]
        lane.setdefault(place.queue, _RoundRobinQueue()).put(item, place.source, next(self._sequence))
        self._waiting += 1

    def _take_from_lane(self, preferred: bool) -> tuple[Item | None, bool]:
        """The next item of one lane, and whether one was sent elsewhere on the way."""
        lane, now, moved = self._lanes[preferred], self._taken_at, False
        for name in list(lane):
            queue = lane[name]
            if self._next_start.get(name, now) > now:
                continue
            item = queue.peek()
            place = self._position_of(item)
            away = (place.queue, place.preferred) != (name, preferred)
            if not away and not self._may_start(item):
                continue
            self._waiting -= 1
            queue.pop()
            lane.move_to_end(name)
            if not queue:
                del lane[name]
            if not away:
                self._set_next_start(name, place.min_interval, now)
                return item, moved
            self._add(item, place)
            moved = True
        return None, moved

    def _set_next_start(self, name: tuple[str, ...], pace: float, now: float) -> None:
        if pace:
            self._next_start[name] = now + pace
        if len(self._next_start) > PRUNE_THRESHOLD:
            self._next_start = {each: start for each, start in self._next_start.items() if start > now}

    def _drop_from_longest(self) -> Item:
        lane, name = max(
            ((lane, name) for lane in self._lanes.values() for name in lane), key=lambda each: len(each[0][each[1]])
        )
        queue = lane[name]
        item = queue.drop_last()
        if not queue:
            del lane[name]
        self._waiting -= 1
        return item
