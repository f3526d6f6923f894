"""The CPU time that a program has for each stage of its work: the kernel ends it in one that takes more.

By a signal that ends the program at once, also within a library that never looks at anything else.
"""

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager

from app.formats.cpu_share import CpuShare

_MIN_TIMER_SECONDS = 1e-4
"""Seconds; a timer that is set to zero never ends anything."""


class CpuTimer:
    """Ends the program with SIGPROF in a stage that takes more CPU time than `seconds`."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = 0.0
        signal.signal(signal.SIGPROF, signal.SIG_DFL)

    def begin(self) -> None:
        """A stage."""
        self._end = time.process_time() + self.seconds
        self.set()

    def end(self) -> None:
        """The last stage has ended."""
        signal.setitimer(signal.ITIMER_PROF, 0)

    def set(self, seconds: float = float("inf")) -> None:
        """End the program after so much of the time that is left; at once where none is.

        The kernel may not see steps that are shorter than a tick of its clock.
        """
        left = min(seconds, self._end - time.process_time())
        if left <= 0:
            signal.raise_signal(signal.SIGPROF)
        signal.setitimer(signal.ITIMER_PROF, max(_MIN_TIMER_SECONDS, left))

    def share(self, seconds: float) -> CpuShare:
        """A share of the time of a stage for some of its steps."""
        return _TimedCpuShare(seconds, self)


class _TimedCpuShare(CpuShare):
    """Steps that end the program when they have taken their share."""

    def __init__(self, seconds: float, timer: CpuTimer) -> None:
        super().__init__(seconds)
        self._timer = timer

    @contextmanager
    def step(self) -> Iterator[None]:
        """What is done within counts."""
        began = time.process_time()
        self._timer.set(self.seconds)
        try:
            yield
        finally:
            self.seconds -= time.process_time() - began
            self._timer.set()
