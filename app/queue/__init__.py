"""The contract of a queue: it wakes and distributes; the work list itself is the table of score tasks."""

from collections.abc import Callable
from dataclasses import dataclass
from threading import Event
from typing import Protocol

from sqlalchemy.orm import Session


@dataclass(frozen=True, slots=True)
class Claim:
    """A task taken by a worker; `attempt` is the fence that its writes must match."""

    task_id: str
    attempt: int


Work = Callable[[Claim], None]


class Queue(Protocol):
    """Tells workers that there is something to do."""

    def enqueue(self, session: Session, task_id: str) -> None:
        """Make the task known to workers once this session's transaction has committed, and only then."""

    def run(self, work: Work, stop: Event) -> None:
        """Claim tasks and hand them to `work`, in as many threads as there are slots, until `stop` is set."""

    def wake(self) -> None:
        """Look for tasks now."""
