"""Counts what somebody did within the last so many seconds, by this process's own counter: no clock can be set back on it."""

import threading
import time
from collections import deque
from typing import NamedTuple

from limits import RateLimitItem

TIDY = 1000  # names known before those who have long done nothing are forgotten; then twice as many as are left


class _Hits(NamedTuple):
    """When somebody did it, the oldest first, of as long ago as counts."""

    moments: deque[float]
    seconds: int


class Windows:
    """Moving windows, one per limit and name; for many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[tuple[RateLimitItem, tuple[str, ...]], _Hits] = {}
        self._tidy = TIDY

    def hit(self, item: RateLimitItem, *names: str) -> bool:
        """Count one, unless that would pass the limit."""
        with self._lock:
            self._forget_old()
            moments = self._recent(item, names)
            if len(moments) >= item.amount:
                return False
            self._known[item, names] = _Hits(moments, item.get_expiry())
            moments.append(time.monotonic())
            return True

    def take_back(self, item: RateLimitItem, *names: str) -> None:
        """Forget the latest one that was counted: it did not come to be."""
        with self._lock:
            moments = self._recent(item, names)
            if moments:
                moments.pop()

    def test(self, item: RateLimitItem, *names: str, cost: int = 1) -> bool:
        """Whether so many more would be within the limit."""
        with self._lock:
            return len(self._recent(item, names)) + cost <= item.amount

    def seconds_left(self, item: RateLimitItem, *names: str) -> float:
        """How long until there is room for one more."""
        with self._lock:
            moments = self._recent(item, names)
            if len(moments) < item.amount:
                return 0.0
            return moments[-item.amount] + item.get_expiry() - time.monotonic()

    def _recent(self, item: RateLimitItem, names: tuple[str, ...]) -> deque[float]:
        known = self._known.get((item, names))
        if known is None:
            return deque()
        _drop(known, time.monotonic())
        return known.moments

    def _forget_old(self) -> None:
        if len(self._known) < self._tidy:
            return
        now = time.monotonic()
        for known in self._known.values():
            _drop(known, now)
        self._known = {key: known for key, known in self._known.items() if known.moments}
        self._tidy = max(TIDY, 2 * len(self._known))


def _drop(known: _Hits, now: float) -> None:
    """Forget what no longer counts."""
    while known.moments and known.moments[0] <= now - known.seconds:
        known.moments.popleft()
