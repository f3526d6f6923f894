"""The interface of a queue: it wakes and distributes work; the work list itself is the table of score tasks."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from threading import Event
from typing import Any, Protocol

from sqlalchemy.orm import Session

from app.scoring import SCORER_VERSION


@dataclass(frozen=True, slots=True)
class TaskClaim:
    """A task claimed by a worker; `attempt` is the fencing token that every later write must match."""

    task_id: str
    attempt: int


MayContinue = Callable[[], bool]
"""Whether a slot may go on with another task; called when the work on one has ended."""

TaskHandler = Callable[[Any, MayContinue], TaskClaim | None]
"""Works on a claimed task; returns the claim to go on with, None if there is none or the slot may not go on."""


class Queue(Protocol):
    """Wakes workers, in this process or in others."""

    def enqueue(
        self,
        session: Session,
        task_id: str,
        *,
        not_before: datetime | None = None,
        scorer_version: int = SCORER_VERSION,
    ) -> None:
        """Wake a worker when this session's transaction commits, not if it rolls back, and not before `not_before`.

        The worker then claims the next task of the work list, which may be another one, and goes on until nothing is
        due. Only workers of this scorer version are woken.
        """

    def find_orphaned_task(self, session: Session) -> str | None:
        """The next due task, if nothing will wake a worker for it although none works: it is to be enqueued again."""

    def delete_finished_jobs(self, session: Session) -> None:
        """Delete leftover jobs of finished tasks, for which the queue could not record the end in time."""


class WorkerQueue(Queue, Protocol):
    """Also distributes the work to the slots of this process."""

    def run(self, work: TaskHandler, stop: Event) -> None:
        """Claim tasks and pass them to `work`, in one thread per slot, until `stop` is set."""

    def wake(self) -> None:
        """Check at once for tasks, and whether to stop."""

    def restart(self) -> None:
        """Restart the engine inside `run`, if there is one: it may be waiting on a dead connection."""
