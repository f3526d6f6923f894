"""A share of the CPU time that a program has for a file, for steps of a library that nothing else can bound."""

import signal
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

Item = TypeVar("Item")

_LEAST = 1e-4
"""Seconds; a timer set to zero would never end anything."""


class CpuShare:
    """CPU seconds that some steps may take together, in a program whose CPU time is limited (ITIMER_PROF).

    The signal of that timer ends the program, whatever it is doing, once the steps have taken their share. In a program
    without this timer, such as the command line, nothing is limited.
    """

    def __init__(self, seconds: float | None) -> None:
        self._left = seconds

    @contextmanager
    def step(self) -> Iterator[None]:
        """What is done within counts."""
        timed = signal.getitimer(signal.ITIMER_PROF)[0] if hasattr(signal, "getitimer") else 0
        if not timed or self._left is None:
            yield
            return
        if self._left <= 0:  # of steps that are shorter than a tick of the kernel's clock, its timer may see none
            signal.raise_signal(signal.SIGPROF)
        began = time.process_time()
        signal.setitimer(signal.ITIMER_PROF, max(_LEAST, min(timed, self._left)))
        try:
            yield
        finally:
            spent = time.process_time() - began
            self._left -= spent
            signal.setitimer(signal.ITIMER_PROF, max(_LEAST, timed - spent))

    def each(self, items: Iterable[Item]) -> Iterator[Item]:
        """The items; that each is made counts, and what is done with it does not."""
        iterator = iter(items)
        while True:
            with self.step():
                item = next(iterator, None)
            if item is None:
                return
            yield item
