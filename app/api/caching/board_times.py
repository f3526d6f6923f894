"""Measures how long boards take to build, and how old each cached one was when it was built again."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from functools import wraps

from app.api.caching.board_cache import MAX_AGE_SECONDS, MAX_BOARDS, CacheKey
from app.api.caching.cached_reply import CachedReply
from app.runtime.telemetry import Telemetry


class BoardTimes:
    """The times of the boards of this process; safe from any thread. No label names a board."""

    def __init__(self, figures: Telemetry, clock: Callable[[], float] = time.monotonic) -> None:
        self._figures = figures
        self._clock = clock
        self._lock = threading.Lock()
        self._began: OrderedDict[CacheKey, float] = OrderedDict()

    def measured(self, key: CacheKey, render: Callable[[], CachedReply]) -> Callable[[], CachedReply]:
        """The same function, which also measures each build of the board."""

        @wraps(render)
        def build() -> CachedReply:
            began = self._clock()
            entry = render()
            ended = self._clock()
            self._figures.board_build_seconds.observe(ended - began)
            if entry.expires_at <= ended:  # never cached, so it has no age, and anybody can invent such keys
                return entry
            with self._lock:
                before = self._began.pop(key, None)
                self._began[key] = began
                while len(self._began) > MAX_BOARDS:
                    self._began.popitem(last=False)
            if before is not None:  # older than that, it was no longer shown
                self._figures.board_age_seconds.observe(min(began - before, MAX_AGE_SECONDS))
            return entry

        return build
