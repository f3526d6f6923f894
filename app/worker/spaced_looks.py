"""Repeated looks at objects that wait: the more a look costs that finds nothing to do, the rarer it is."""

import time
from collections.abc import Callable, Iterable

import structlog

from app.errors import Unavailable

log = structlog.get_logger()

SHARE = 0.05
"""The share of the time that looks at one object may take which find nothing to do."""
SECONDS_AFTER_ERROR = 5.0


class SpacedLooks:
    """Says when an object may be looked at again; for one thread."""

    def __init__(self) -> None:
        self._next: dict[str, float] = {}

    def keep(self, names: Iterable[str]) -> None:
        """Forget all other objects."""
        kept = set(names)
        self._next = {name: at for name, at in self._next.items() if name in kept}

    def look(self, name: str, look: Callable[[], bool]) -> None:
        """Call `look`, which returns whether it found anything to do, if it is time for this object again.

        An error is logged, so that one object does not keep the others from being looked at. Only an unavailable
        database is raised, as it concerns all of them.
        """
        start = time.monotonic()
        if start < self._next.get(name, 0.0):
            return
        try:
            found = look()
        except Unavailable:
            raise
        except Exception:
            log.exception("look_failed", object=name)
            self._next[name] = time.monotonic() + SECONDS_AFTER_ERROR
            return
        end = time.monotonic()
        self._next[name] = end if found else end + (end - start) * (1 / SHARE - 1)
