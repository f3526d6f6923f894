"""Keep the list of workers: who shares the work list, and when each last gave a sign of life."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta

from app.queue import TaskClaim
from app.store import clock
from app.store.queries import tasks, workers
from app.store.session import WriteSession


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """What a worker says of itself."""

    worker_id: str
    name: str
    slots: int
    claims: Collection[TaskClaim]
    """What it is at."""
    idle_seconds: float | None
    """Seconds since it took a task; None before its first."""


def record_heartbeat(session: WriteSession, sign: Heartbeat, lease: timedelta) -> None:
    """Note that this worker lives, and prolong the leases of what it is at."""
    tasks.renew_leases(session, [(claim.task_id, claim.attempt) for claim in sign.claims], lease)
    now = clock.steady(session)
    claimed_at = None if sign.idle_seconds is None else now - timedelta(seconds=sign.idle_seconds)
    workers.record_heartbeat(session, sign.worker_id, name=sign.name, slots=sign.slots, now=now, claimed_at=claimed_at)


def remove_worker(session: WriteSession, worker_id: str) -> None:
    """A worker that ends in order leaves the list."""
    workers.remove(session, worker_id)


def remove_silent_workers(session: WriteSession, silent: timedelta) -> None:
    """Remove those that were not heard of for so long."""
    workers.remove_expired(session, clock.steady(session) - silent)
