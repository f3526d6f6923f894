"""A limit on the CPU time of library calls that nothing else limits."""

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import TypeVar

Item = TypeVar("Item")


class CpuBudget:
    """The CPU time that some steps may take together; unlimited here and on the command line.

    The process that reads files for the service limits it (app.worker.cpu_limit), as formats have no access to a clock.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def step(self) -> AbstractContextManager[None]:
        """A context whose CPU time counts."""
        return nullcontext()

    def iterate(self, items: Iterable[Item]) -> Iterator[Item]:
        """Yield the items; the time to produce them counts, the time to process them does not."""
        iterator = iter(items)
        while True:
            with self.step():
                item = next(iterator, None)
            if item is None:
                return
            yield item
