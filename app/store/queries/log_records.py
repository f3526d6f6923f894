"""Queries for the records of the transparency log."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import func, insert, or_, select, union_all, update

from app.store.session import ReadSession, WriteSession
from app.store.tables import AuditEntry, BoardSwitch, FrozenBoard, GoldVersion, LogRecord, Phase

CHALLENGE_KINDS = ("gold", "switch", "release", "frozen_board")
"""The kinds of records that everybody who sees a challenge may read."""
_ADD = insert(LogRecord.__table__)


def add(session: WriteSession, rows: Sequence[Mapping[str, Any]]) -> None:
    """Store records, by their columns."""
    if rows:
        session.connection().execute(_ADD, [*map(dict, rows)])


def is_any_waiting(session: ReadSession) -> bool:
    """Whether a record has no position yet."""
    return session.scalar(select(LogRecord.id).where(LogRecord.position.is_(None)).limit(1)) is not None


def count_waiting(session: ReadSession) -> int:
    """How many records have no position yet."""
    return session.scalar(select(func.count()).where(LogRecord.position.is_(None))) or 0


def oldest_waiting(session: ReadSession) -> LogRecord | None:
    """The record without a position that was stored first."""
    return session.scalar(select(LogRecord).where(LogRecord.position.is_(None)).order_by(LogRecord.id).limit(1))


class WaitingRecord(NamedTuple):
    """A record that gets its position now."""

    id: str
    entry: str


def waiting(session: ReadSession, limit: int, *, first: str | None = None) -> list[WaitingRecord]:
    """Records without a position in the order of their ids; before all others those about the object `first`.

    Ids are made before the commit, so one with a smaller id than those that have positions may still appear.
    """
    query = select(LogRecord.id, LogRecord.entry).where(LogRecord.position.is_(None)).limit(limit)
    order = [LogRecord.id] if first is None else [(LogRecord.object_id == first).desc(), LogRecord.id]
    return [WaitingRecord(*row) for row in session.execute(query.order_by(*order))]


def set_positions(session: WriteSession, origin_id: str, first: int, ids: Sequence[str]) -> None:
    """Give records the positions from `first` on."""
    rows = [{"id": each, "origin_id": origin_id, "position": first + place} for place, each in enumerate(ids)]
    session.execute(update(LogRecord), rows)


def clear_positions(session: WriteSession, origin_id: str, first: int) -> None:
    """Take back the positions from `first` on, which no checkpoint covers."""
    beyond = update(LogRecord).where(LogRecord.origin_id == origin_id, LogRecord.position >= first)
    session.execute(beyond.values(origin_id=None, position=None))


def end_position(session: ReadSession, origin_id: str) -> int:
    """The position behind the last record of a log."""
    last = session.scalar(select(func.max(LogRecord.position)).where(LogRecord.origin_id == origin_id))
    return 0 if last is None else last + 1


def entries(session: ReadSession, origin_id: str, first: int, end: int) -> list[bytes]:
    """The entries at the positions from `first` to before `end`."""
    within = (LogRecord.origin_id == origin_id, LogRecord.position >= first, LogRecord.position < end)
    found = session.scalars(select(LogRecord.entry).where(*within).order_by(LogRecord.position))
    return [bytes.fromhex(each) for each in found]


def of_object(session: ReadSession, object_id: str, kind: str) -> LogRecord | None:
    """The record of this kind about an object."""
    found = select(LogRecord).where(LogRecord.object_id == object_id, LogRecord.kind == kind)
    return session.scalar(found.order_by(LogRecord.id).limit(1))


def of_challenge(session: ReadSession, challenge_id: str) -> list[LogRecord]:
    """The records about gold, switches, releases and frozen boards of a challenge, newest first."""
    phases = select(Phase.id).where(Phase.challenge_id == challenge_id)
    tables = (GoldVersion, BoardSwitch, FrozenBoard)
    objects = union_all(phases, *(select(table.id).where(table.phase_id.in_(phases)) for table in tables))
    found = select(LogRecord).where(LogRecord.kind.in_(CHALLENGE_KINDS), LogRecord.object_id.in_(objects))
    return list(session.scalars(found.order_by(LogRecord.id.desc())))


def positions(session: ReadSession, object_ids: Iterable[str], kind: str) -> dict[str, int | None]:
    """The positions of records by the ids of their objects; None while they wait."""
    query = select(LogRecord.object_id, LogRecord.position)
    found = session.execute(query.where(LogRecord.object_id.in_(list(object_ids)), LogRecord.kind == kind))
    return {row[0]: row[1] for row in found if row[0] is not None}


def erase_of_person(session: WriteSession, user_id: str) -> None:
    """Delete salt and record of what this person did, and of what was done to them; the entries stay."""
    acts = select(AuditEntry.id).where(or_(AuditEntry.actor_id == user_id, AuditEntry.user_id == user_id))
    erased = update(LogRecord).where(LogRecord.object_id.in_(acts), LogRecord.kind == "audit")
    session.execute(erased.values(salt=None, record=None), execution_options={"synchronize_session": False})
