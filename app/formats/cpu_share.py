"""Steps of a library that nothing bounds but the CPU time that they take."""

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import TypeVar

Item = TypeVar("Item")


class CpuShare:
    """CPU time that some steps may take together; here, and on the command line, as much as they like.

    The program that reads files for the service limits it (app.worker.cpu_limit): formats know no clock.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def step(self) -> AbstractContextManager[None]:
        """What is done within counts."""
        return nullcontext()

    def each(self, items: Iterable[Item]) -> Iterator[Item]:
        """The items; that each is made counts, and what is done with it does not."""
        iterator = iter(items)
        while True:
            with self.step():
                item = next(iterator, None)
            if item is None:
                return
            yield item
