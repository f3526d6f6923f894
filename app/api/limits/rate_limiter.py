"""Moving-window rate limits on the monotonic clock, so that setting the system clock back cannot extend a refusal."""

import threading
import time
from collections import deque
from typing import NamedTuple

from limits import RateLimitItem

PRUNE_THRESHOLD = 1000
"""Idle names are dropped once this many are stored, or twice as many as remained last time, to keep pruning cheap."""


class _WindowHits(NamedTuple):
    """The times of the hits within the window, oldest first, and the length of the window."""

    times: deque[float]
    seconds: int

    def drop_expired(self, now: float) -> None:
        while self.times and self.times[0] <= now - self.seconds:
            self.times.popleft()


class RateLimiter:
    """Moving windows, one per limit and names; safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._hits: dict[tuple[RateLimitItem, tuple[str, ...]], _WindowHits] = {}
        self._prune_threshold = PRUNE_THRESHOLD

    def hit(self, item: RateLimitItem, *names: str) -> bool:
        """Count one hit and return True, unless that would exceed the limit."""
        with self._lock:
            self._prune()
            times = self._recent_hits(item, names)
            if len(times) >= item.amount:
                return False
            self._hits[item, names] = _WindowHits(times, item.get_expiry())
            times.append(time.monotonic())
            return True

    def undo_hit(self, item: RateLimitItem, *names: str) -> None:
        """Remove the latest hit: what it counted did not happen."""
        with self._lock:
            if times := self._recent_hits(item, names):
                times.pop()

    def test(self, item: RateLimitItem, *names: str, cost: int = 1) -> bool:
        """Whether `cost` more hits would be within the limit."""
        with self._lock:
            return len(self._recent_hits(item, names)) + cost <= item.amount

    def seconds_until_allowed(self, item: RateLimitItem, *names: str) -> float:
        """Seconds until one more hit is within the limit."""
        with self._lock:
            times = self._recent_hits(item, names)
            if len(times) < item.amount:
                return 0.0
            return times[-item.amount] + item.get_expiry() - time.monotonic()

    def _recent_hits(self, item: RateLimitItem, names: tuple[str, ...]) -> deque[float]:
        hits = self._hits.get((item, names))
        if hits is None:
            return deque()
        hits.drop_expired(time.monotonic())
        return hits.times

    def _prune(self) -> None:
        if len(self._hits) < self._prune_threshold:
            return
        now = time.monotonic()
        for hits in self._hits.values():
            hits.drop_expired(now)
        self._hits = {key: hits for key, hits in self._hits.items() if hits.times}
        self._prune_threshold = max(PRUNE_THRESHOLD, 2 * len(self._hits))
