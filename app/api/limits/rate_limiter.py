"""Counts what somebody did within the last so many seconds, by this process's own counter: no clock can be set back on it."""

import threading
import time
from collections import deque
from typing import NamedTuple

from limits import RateLimitItem

PRUNE_THRESHOLD = (
    1000  # names known before those who have long done nothing are forgotten; then twice as many as are left
)


class _WindowHits(NamedTuple):
    """When somebody did it, the oldest first, of as long ago as counts."""

    moments: deque[float]
    seconds: int


class RateLimiter:
    """Moving windows, one per limit and name; for many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._hits: dict[tuple[RateLimitItem, tuple[str, ...]], _WindowHits] = {}
        self._prune_threshold = PRUNE_THRESHOLD

    def hit(self, item: RateLimitItem, *names: str) -> bool:
        """Count one, unless that would pass the limit."""
        with self._lock:
            self._prune()
            moments = self._recent_hits(item, names)
            if len(moments) >= item.amount:
                return False
            self._hits[item, names] = _WindowHits(moments, item.get_expiry())
            moments.append(time.monotonic())
            return True

    def undo_hit(self, item: RateLimitItem, *names: str) -> None:
        """Forget the latest one that was counted: it did not come to be."""
        with self._lock:
            moments = self._recent_hits(item, names)
            if moments:
                moments.pop()

    def test(self, item: RateLimitItem, *names: str, cost: int = 1) -> bool:
        """Whether so many more would be within the limit."""
        with self._lock:
            return len(self._recent_hits(item, names)) + cost <= item.amount

    def seconds_until_allowed(self, item: RateLimitItem, *names: str) -> float:
        """How long until there is room for one more."""
        with self._lock:
            moments = self._recent_hits(item, names)
            if len(moments) < item.amount:
                return 0.0
            return moments[-item.amount] + item.get_expiry() - time.monotonic()

    def _recent_hits(self, item: RateLimitItem, names: tuple[str, ...]) -> deque[float]:
        known = self._hits.get((item, names))
        if known is None:
            return deque()
        _drop_expired(known, time.monotonic())
        return known.moments

    def _prune(self) -> None:
        if len(self._hits) < self._prune_threshold:
            return
        now = time.monotonic()
        for known in self._hits.values():
            _drop_expired(known, now)
        self._hits = {key: known for key, known in self._hits.items() if known.moments}
        self._prune_threshold = max(PRUNE_THRESHOLD, 2 * len(self._hits))


def _drop_expired(known: _WindowHits, now: float) -> None:
    """Forget what no longer counts."""
    while known.moments and known.moments[0] <= now - known.seconds:
        known.moments.popleft()
