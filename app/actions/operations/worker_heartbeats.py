"""Keep the list of workers: who shares the work list, and when each last gave a sign of life."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta

from app.queue import Claim
from app.store import clock
from app.store.queries import tasks, workers
from app.store.session import WriteSession


@dataclass(frozen=True, slots=True)
class Sign:
    """What a worker says of itself."""

    worker_id: str
    name: str
    slots: int
    claims: Collection[Claim]
    """What it is at."""
    idle: float | None
    """Seconds since it took a task; None before its first."""


def give_sign(session: WriteSession, sign: Sign, lease: timedelta) -> None:
    """Note that this worker lives, and prolong the leases of what it is at."""
    tasks.renew(session, [(claim.task_id, claim.attempt) for claim in sign.claims], lease)
    now = clock.steady(session)
    claimed_at = None if sign.idle is None else now - timedelta(seconds=sign.idle)
    workers.seen(session, sign.worker_id, name=sign.name, slots=sign.slots, now=now, claimed_at=claimed_at)


def sign_off(session: WriteSession, worker_id: str) -> None:
    """A worker that ends in order leaves the list."""
    workers.remove(session, worker_id)


def forget_silent(session: WriteSession, silent: timedelta) -> None:
    """Remove those that were not heard of for so long."""
    workers.remove_silent(session, clock.steady(session) - silent)
