"""The list of workers that share the tasks of a database, with the last heartbeat of each."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta

from app.queue import TaskClaim
from app.store import clock
from app.store.queries import tasks, workers
from app.store.session import WriteSession


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """The state of a worker at a heartbeat."""

    worker_id: str
    name: str
    slots: int
    claims: Collection[TaskClaim]
    """The claims that it holds."""
    idle_seconds: float | None
    """Seconds since its last claim; None before its first."""


def record_heartbeat(session: WriteSession, heartbeat: Heartbeat, lease: timedelta) -> None:
    """Store the heartbeat, and renew the leases of the claims held.

    Renewal is fenced by the attempt number, so a lease that expired and was claimed by another worker is left alone.
    """
    tasks.renew_leases(session, [(claim.task_id, claim.attempt) for claim in heartbeat.claims], lease)
    now = clock.steady(session)
    claimed_at = None if heartbeat.idle_seconds is None else now - timedelta(seconds=heartbeat.idle_seconds)
    workers.record_heartbeat(
        session, heartbeat.worker_id, name=heartbeat.name, slots=heartbeat.slots, now=now, claimed_at=claimed_at
    )


def remove_worker(session: WriteSession, worker_id: str) -> None:
    """Remove a worker that shuts down from the list."""
    workers.remove(session, worker_id)


def remove_silent_workers(session: WriteSession, silent: timedelta) -> None:
    """Remove workers without a heartbeat for so long."""
    workers.remove_expired(session, clock.steady(session) - silent)
