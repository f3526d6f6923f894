"""The contract of a queue: it wakes and distributes; the work list itself is the table of score tasks."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from threading import Event
from typing import Protocol

from sqlalchemy.orm import Session

from app.scoring import SCORER_VERSION


@dataclass(frozen=True, slots=True)
class TaskClaim:
    """A task taken by a worker; `attempt` is the fence that its writes must match."""

    task_id: str
    attempt: int


TaskHandler = Callable[[TaskClaim], None]


class Queue(Protocol):
    """Tells workers that there is something to do."""

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
        """Wake a worker once this session's transaction has committed, and only then; not before `not_before`.

        Which task it then claims is told by the work list. Of jobs that wait, the smaller the priority the sooner, and
        of equal ones those that come `again` first. Workers of another scorer version are not woken.
        """

    def run(self, work: TaskHandler, stop: Event) -> None:
        """Claim tasks and hand them to `work`, in as many threads as there are slots, until `stop` is set."""

    def wake(self) -> None:
        """Look for tasks now, and look whether to stop."""

    def restart(self) -> None:
        """Start the engine that `run` runs again, if there is one: it may wait on a line that has died."""

    def find_orphaned_tasks(self, session: Session) -> list[str]:
        """Ids of as many queued tasks as nobody would be woken for: for the reconciler, which enqueues them again."""

    def delete_finished_jobs(self, session: Session) -> None:
        """Remove what is left of tasks that have ended, where the queue could not note it at the time."""
