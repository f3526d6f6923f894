"""Limits the CPU time of each stage of a program: the kernel ends the program in a stage that exceeds it.

The signal has its default action, so it ends the program at once, even within native code that runs no Python.
"""

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager

from app.formats.content.library_cpu_budget import CpuBudget

_MIN_TIMER_SECONDS = 1e-4
"""Seconds; setting a timer to zero would switch it off."""


class CpuTimer:
    """Ends the program with SIGPROF in a stage that takes more CPU time than `seconds`."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = 0.0
        signal.signal(signal.SIGPROF, signal.SIG_DFL)

    def begin(self) -> None:
        """Begin a stage."""
        self._end = time.process_time() + self.seconds
        self.set()

    def end(self) -> None:
        """End the last stage."""
        signal.setitimer(signal.ITIMER_PROF, 0)

    def set(self, seconds: float = float("inf")) -> None:
        """End the program after this much CPU time, or when the stage has none left; at once if it has none now.

        The remaining time is computed from the process clock each time, because the kernel's timer may not count steps
        that are shorter than a tick of its own clock.
        """
        remaining = min(seconds, self._end - time.process_time())
        if remaining <= 0:
            signal.raise_signal(signal.SIGPROF)
        signal.setitimer(signal.ITIMER_PROF, max(_MIN_TIMER_SECONDS, remaining))

    def budget(self, seconds: float) -> CpuBudget:
        """A part of the CPU time of a stage, for some of its steps."""
        return _TimedCpuBudget(seconds, self)


class _TimedCpuBudget(CpuBudget):
    """Steps that end the program when they exceed their budget."""

    def __init__(self, seconds: float, timer: CpuTimer) -> None:
        super().__init__(seconds)
        self._timer = timer

    @contextmanager
    def step(self) -> Iterator[None]:
        """Count the CPU time of the block."""
        start = time.process_time()
        self._timer.set(self.seconds)
        try:
            yield
        finally:
            self.seconds -= time.process_time() - start
            self._timer.set()
