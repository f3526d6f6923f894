"""The interface of a queue: it wakes and distributes work; the work list itself is the table of score tasks."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from threading import Event
from typing import Protocol

from sqlalchemy.orm import Session

from app.scoring import SCORER_VERSION


@dataclass(frozen=True, slots=True)
class TaskClaim:
    """A task claimed by a worker; `attempt` is the fencing token that every later write must match."""

    task_id: str
    attempt: int


TaskHandler = Callable[[TaskClaim], None]


class Queue(Protocol):
    """Wakes workers when there is work."""

    def enqueue(
        self,
        session: Session,
        task_id: str,
        *,
        priority: int = 0,
        not_before: datetime | None = None,
        again: bool = False,
        scorer_version: int = SCORER_VERSION,
    ) -> None:
        """Wake a worker when this session's transaction commits, not if it rolls back, and not before `not_before`.

        The worker then claims the next task of the work list, which may be another one. Among waiting jobs the smaller
        priority goes first; among equal ones, those enqueued `again`. Only workers of this scorer version are woken.
        """

    def run(self, work: TaskHandler, stop: Event) -> None:
        """Claim tasks and pass them to `work`, in one thread per slot, until `stop` is set."""

    def wake(self) -> None:
        """Check at once for tasks, and whether to stop."""

    def restart(self) -> None:
        """Restart the engine inside `run`, if there is one: it may be waiting on a dead connection."""

    def find_orphaned_tasks(self, session: Session) -> list[str]:
        """Ids of queued tasks that no job will wake a worker for; the reconciler enqueues them again."""

    def delete_finished_jobs(self, session: Session) -> None:
        """Delete leftover jobs of finished tasks, for which the queue could not record the end in time."""
