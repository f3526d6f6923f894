"""What an administrator sees of the whole site: what challenges use, and the queue with its workers."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from app.actions.access import Caller, require_administrator
from app.store import clock
from app.store.queries import challenge_usage, paging, scoring_pace, tasks, workers
from app.store.queries.challenge_usage import Use
from app.store.queries.tasks import Backlog
from app.store.session import ReadSession
from app.store.tables import Challenge, User, WorkerRow

ADMINISTRATORS_ONLY = "Only administrators may see how the site is used."
NO_USE = Use(0, 0)


@dataclass(frozen=True, slots=True)
class ChallengeUse:
    """A challenge with its owners and what it uses."""

    challenge: Challenge
    owners: list[User]
    use: Use


@dataclass(frozen=True, slots=True)
class QueueState:
    """The queue at a moment."""

    now: datetime
    backlog: Backlog
    mean_seconds: float | None
    """The mean duration of the latest scorings, to one digit; None before the first, and without a worker."""
    empty_at: datetime | None
    """When all submissions that wait now are expected to be scored; None if that is not known or none waits."""
    workers: list[WorkerRow]
    """On SQLite the service scores by itself, and the list is empty."""
    silent_since: datetime
    """Workers without a heartbeat since then count as dead."""


def list_usage(
    session: ReadSession, caller: Caller, *, limit: int, cursor: str | None
) -> tuple[list[ChallengeUse], str | None]:
    """All challenges, newest first, with drafts and archived ones; raises Forbidden."""
    require_administrator(caller, ADMINISTRATORS_ONLY)
    rows, following = paging.page(session, challenge_usage.every_challenge(), Challenge, limit=limit, cursor=cursor)
    ids = [row.id for row in rows]
    used, owners = challenge_usage.use_by_challenge(session, ids), challenge_usage.owners_by_challenge(session, ids)
    return [ChallengeUse(row, owners.get(row.id, []), used.get(row.id, NO_USE)) for row in rows], following


def read_queue(session: ReadSession, caller: Caller, *, silent: timedelta) -> QueueState:
    """The queue and the workers now; raises Forbidden."""
    require_administrator(caller, "Only administrators may see the queue and the workers.")
    now, backlog, pace = clock.now(session), tasks.backlog(session), scoring_pace.recent(session)
    empty_at = pace.eta(backlog.waiting) if pace is not None and backlog.waiting else None
    return QueueState(
        now=now,
        backlog=backlog,
        mean_seconds=None if pace is None else pace.mean_seconds,
        empty_at=empty_at,
        workers=workers.all_workers(session),
        silent_since=clock.steady(session) - silent,
    )
