"""A fair queue of queues: they are served in turn, so that a long queue delays only the items in it."""

import heapq
import time
from collections import Counter, OrderedDict
from collections.abc import Callable
from itertools import count
from typing import Generic, NamedTuple, TypeVar

PRUNE_THRESHOLD = 1000  # Past start times are dropped once this many are stored.

Item = TypeVar("Item")


class FairQueuePosition(NamedTuple):
    """Where an item waits."""

    queue: tuple[str, ...]
    source: str  # The sources of one queue are served in turn.
    min_interval: float = 0.0  # The least seconds between two starts from this queue.
    preferred: bool = False  # All preferred queues together get every second start.


class _RoundRobinQueue(Generic[Item]):
    """The items of one queue, round robin over their sources: all first items, then all second items, and so on."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, str, Item]] = []  # rank, sequence number, source, item
        self._next_rank: Counter[str] = Counter()
        self._served_rank = 0  # A source that comes back starts here; it gains nothing for the rounds it missed.

    def __len__(self) -> int:
        return len(self._heap)

    def put(self, item: Item, source: str, number: int) -> None:
        rank = max(self._next_rank[source], self._served_rank)
        self._next_rank[source] = rank + 1
        heapq.heappush(self._heap, (rank, number, source, item))

    def peek(self) -> Item:
        return self._heap[0][3]

    def pop(self) -> Item:
        self._served_rank, _, _, item = heapq.heappop(self._heap)
        return item

    def drop_last(self) -> Item:
        """Remove the item that would be served last."""
        last = max(range(len(self._heap)), key=lambda index: self._heap[index][:2])
        _, _, source, item = self._heap.pop(last)
        self._next_rank[source] -= 1
        heapq.heapify(self._heap)
        return item


class FairQueue(Generic[Item]):
    """Items in queues that are served in turn. Use it from one thread only.

    `position_of` returns where an item belongs now. It is called again before an item is taken, and may move the item
    to another queue. `may_start` returns whether an item may start now.
    """

    def __init__(
        self,
        position_of: Callable[[Item], FairQueuePosition],
        may_start: Callable[[Item], bool],
        *,
        limit: int,
        limit_per_queue: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """At most `limit` items wait, and at most `limit_per_queue` of them in one queue."""
        self._position_of, self._may_start, self._clock = position_of, may_start, clock
        self._limit, self._limit_per_queue = limit, limit_per_queue
        self._lanes: dict[bool, OrderedDict[tuple[str, ...], _RoundRobinQueue[Item]]] = {
            preferred: OrderedDict() for preferred in (True, False)
        }
        self._preferred_next = True
        self._next_start: dict[tuple[str, ...], float] = {}
        self._taken_at = clock()  # the time of the last `take`, which decided which queues have to wait
        self._sequence = count()
        self._waiting = 0

    def put(self, item: Item) -> Item | None:
        """Add an item.

        Returns the item that has to go if there are too many: this one, or the last of the longest queue.
        """
        position = self._position_of(item)
        queue = self._lanes[position.preferred].get(position.queue)
        if queue is not None and len(queue) >= self._limit_per_queue:
            return item
        self._add(item, position)
        return None if self._waiting <= self._limit else self._drop_from_longest()

    def take(self) -> Item | None:
        """Take the next item that may start now."""
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
        """Seconds from the last `take` until a queue that it skipped for its `min_interval` may start, or None.

        They are counted from the clock reading of that `take`. By a later reading the queue might no longer have to
        wait; then nothing would take its item and nothing would wait for it.
        """
        queues = [name for lane in self._lanes.values() for name in lane]
        starts = [self._next_start[name] for name in queues if name in self._next_start]
        return min((start - self._taken_at for start in starts if start > self._taken_at), default=None)

    def _add(self, item: Item, position: FairQueuePosition) -> None:
        lane = self._lanes[position.preferred]
        lane.setdefault(position.queue, _RoundRobinQueue()).put(item, position.source, next(self._sequence))
        self._waiting += 1

    def _take_from_lane(self, preferred: bool) -> tuple[Item | None, bool]:
        """The next item of one lane, and whether an item was moved to another queue on the way."""
        lane, now, moved = self._lanes[preferred], self._taken_at, False
        for name in list(lane):
            queue = lane[name]
            if self._next_start.get(name, now) > now:
                continue
            item = queue.peek()
            position = self._position_of(item)
            stays = (position.queue, position.preferred) == (name, preferred)
            if stays and not self._may_start(item):
                continue
            self._waiting -= 1
            queue.pop()
            lane.move_to_end(name)
            if not queue:
                del lane[name]
            if stays:
                self._set_next_start(name, position.min_interval, now)
                return item, moved
            self._add(item, position)
            moved = True
        return None, moved

    def _set_next_start(self, name: tuple[str, ...], min_interval: float, now: float) -> None:
        if min_interval:
            self._next_start[name] = now + min_interval
        if len(self._next_start) > PRUNE_THRESHOLD:
            self._next_start = {queue: start for queue, start in self._next_start.items() if start > now}

    def _drop_from_longest(self) -> Item:
        queues = [(lane, name) for lane in self._lanes.values() for name in lane]
        lane, name = max(queues, key=lambda entry: len(entry[0][entry[1]]))
        queue = lane[name]
        item = queue.drop_last()
        if not queue:
            del lane[name]
        self._waiting -= 1
        return item
