"""Queries for the list of workers that share a work list."""

from datetime import datetime, timedelta

from sqlalchemy import delete, func, select

from app.store import clock
from app.store.session import ReadSession, WriteSession
from app.store.tables import WorkerRow


def record_heartbeat(
    session: WriteSession, worker_id: str, *, name: str, slots: int, now: datetime, claimed_at: datetime | None
) -> None:
    """Record a heartbeat; a worker that was removed as dead is added again."""
    row = session.get(WorkerRow, worker_id)
    if row is None:
        row = WorkerRow(id=worker_id, name=name, slots=slots, started_at=now)
        session.add(row)
    row.heartbeat_at = now
    row.claimed_at = claimed_at


def all_workers(session: ReadSession) -> list[WorkerRow]:
    """All workers on the list, oldest first."""
    return list(session.scalars(select(WorkerRow).order_by(WorkerRow.started_at, WorkerRow.id)))


def count_alive(session: ReadSession, silent: timedelta) -> int:
    """The number of workers with a heartbeat within `silent`."""
    query = select(func.count()).select_from(WorkerRow)
    return session.scalars(query.where(WorkerRow.heartbeat_at > clock.steady(session) - silent)).one()


def slots(session: ReadSession) -> int:
    """The number of tasks that all listed workers can run together; 0 for an empty list."""
    return session.scalars(select(func.coalesce(func.sum(WorkerRow.slots), 0))).one()


def remove(session: WriteSession, worker_id: str) -> None:
    """Remove a worker from the list."""
    session.execute(delete(WorkerRow).where(WorkerRow.id == worker_id))


def remove_all(session: WriteSession) -> None:
    """Remove all workers from the list."""
    session.execute(delete(WorkerRow))


def remove_expired(session: WriteSession, before: datetime) -> None:
    """Remove the workers whose last heartbeat is older."""
    session.execute(delete(WorkerRow).where(WorkerRow.heartbeat_at < before))
