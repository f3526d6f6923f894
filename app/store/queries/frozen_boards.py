"""Queries for frozen boards."""

from collections.abc import Collection

from sqlalchemy import func, select

from app.store.session import ReadSession
from app.store.tables import AnalysisTask, FrozenBoard, LogCheckpoint, LogOrigin, LogRecord


def of_phase(session: ReadSession, phase_id: str) -> list[FrozenBoard]:
    """All frozen boards of a phase, newest first."""
    query = select(FrozenBoard).where(FrozenBoard.phase_id == phase_id)
    return list(session.scalars(query.order_by(FrozenBoard.number.desc())))


def newest(session: ReadSession, phase_id: str) -> FrozenBoard | None:
    """The frozen board that supersedes all others of its phase."""
    query = select(FrozenBoard).where(FrozenBoard.phase_id == phase_id)
    return session.scalar(query.order_by(FrozenBoard.number.desc()).limit(1))


def find(session: ReadSession, phase_id: str, *, number: int | None = None, sha256: str = "") -> FrozenBoard | None:
    """The frozen board with this number, or the newest one with this hash."""
    wanted = FrozenBoard.sha256 == sha256 if number is None else FrozenBoard.number == number
    query = select(FrozenBoard).where(FrozenBoard.phase_id == phase_id, wanted)
    return session.scalar(query.order_by(FrozenBoard.number.desc()).limit(1))


def newest_checkpoint(session: ReadSession) -> str | None:
    """The newest signed tree head of the log of this installation."""
    query = select(LogCheckpoint.note).join(LogOrigin, LogOrigin.id == LogCheckpoint.origin_id)
    return session.scalar(query.where(LogOrigin.ended_at.is_(None)).order_by(LogCheckpoint.size.desc()).limit(1))


def log_record(session: ReadSession, frozen_id: str) -> tuple[LogRecord, str | None] | None:
    """The log's record of a freeze, and the name of its log once it has a position."""
    query = select(LogRecord, LogOrigin.name).outerjoin(LogOrigin, LogOrigin.id == LogRecord.origin_id)
    found = session.execute(query.where(LogRecord.object_id == frozen_id).order_by(LogRecord.id).limit(1)).first()
    return None if found is None else (found[0], found[1])


def count_pending_intervals(session: ReadSession, gold_id: str, recipe_ids: Collection[str], scorer: int) -> int:
    """How many submissions still wait for their intervals by these versions."""
    task = AnalysisTask
    query = (
        select(func.count())
        .select_from(task)
        .where(
            task.kind == "intervals",
            task.gold_id == gold_id,
            task.recipe_id.in_(recipe_ids),
            task.scorer_version == scorer,
            task.status.in_(("queued", "running")),
        )
    )
    return session.scalars(query).one()
