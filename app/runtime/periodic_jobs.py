"""Calls made again and again, each in a thread of its own, until the end."""

import threading
import time
from collections.abc import Callable
from threading import Event

import structlog

from app.errors import Unavailable

log = structlog.get_logger()

MAX_CAUSE_LENGTH = 300  # characters of what a driver said


class PeriodicJobs:
    """The threads of one service; a call that fails is logged and made again when its time comes."""

    def __init__(self) -> None:
        self.stop = Event()
        self._threads: list[threading.Thread] = []

    def every(self, seconds: float, call: Callable[[], None]) -> None:
        """Make the call now and then every so many seconds."""
        self.run(lambda: self._repeat(seconds, call), call.__name__.strip("_"))

    def run(self, call: Callable[[], None], name: str) -> None:
        """Make the call once, in a thread; it ends by itself when `stop` is set."""
        thread = threading.Thread(target=call, name=name, daemon=True)  # a start that fails is not held up
        self._threads.append(thread)
        thread.start()

    def _repeat(self, seconds: float, call: Callable[[], None]) -> None:
        while not self.stop.is_set():
            try:
                call()
            except Unavailable as away:  # for a while, as a rule: a line, not a page each time
                log.warning("round_failed", round=call.__name__.strip("_"), reason=away.detail, cause=_cause(away))
            except Exception:
                log.exception("round_failed", round=call.__name__.strip("_"))
            self.stop.wait(seconds)

    def join(self, seconds: float | None = None) -> None:
        """Wait for the threads to end, for so many seconds at most."""
        deadline = None if seconds is None else time.monotonic() + seconds
        for thread in self._threads:
            thread.join(None if deadline is None else max(0.0, deadline - time.monotonic()))


def _cause(away: Unavailable) -> str | None:
    """The driver's own words, on one line."""
    said = " ".join(str(getattr(away.__cause__, "orig", away.__cause__) or "").split())
    return said[:MAX_CAUSE_LENGTH] or None
