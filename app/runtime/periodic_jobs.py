"""Calls repeated at an interval, each in a thread of its own, until the process ends."""

import threading
import time
from collections.abc import Callable
from threading import Event

import structlog

from app.errors import Unavailable

log = structlog.get_logger()

MAX_CAUSE_LENGTH = 300  # characters of a driver's message


class PeriodicJobs:
    """The threads of one service; a call that fails is logged and repeated at its next time."""

    def __init__(self) -> None:
        self.stop = Event()
        self._threads: list[threading.Thread] = []

    def every(self, seconds: float, call: Callable[[], object]) -> None:
        """Call now and then every `seconds`."""
        self.run(lambda: self._repeat(seconds, call), call.__name__.strip("_"))

    def run(self, call: Callable[[], None], name: str) -> None:
        """Call once, in a thread; the call has to return when `stop` is set."""
        thread = threading.Thread(target=call, name=name, daemon=True)  # so that a failed start can exit
        self._threads.append(thread)
        thread.start()

    def _repeat(self, seconds: float, call: Callable[[], object]) -> None:
        while not self.stop.is_set():
            try:
                call()
            except Unavailable as fault:  # usually temporary: one line instead of a traceback each time
                log.warning("round_failed", round=call.__name__.strip("_"), reason=fault.detail, cause=_cause(fault))
            except Exception:
                log.exception("round_failed", round=call.__name__.strip("_"))
            self.stop.wait(seconds)

    def join(self, seconds: float | None = None) -> None:
        """Wait for the threads to end, at most `seconds` in total."""
        deadline = None if seconds is None else time.monotonic() + seconds
        for thread in self._threads:
            thread.join(None if deadline is None else max(0.0, deadline - time.monotonic()))


def _cause(fault: Unavailable) -> str | None:
    """The message of the driver, on one line."""
    message = " ".join(str(getattr(fault.__cause__, "orig", fault.__cause__) or "").split())
    return message[:MAX_CAUSE_LENGTH] or None
