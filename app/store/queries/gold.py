"""Queries for gold versions."""

from typing import NamedTuple

from sqlalchemy import bindparam, func, select

from app.store.session import ReadSession
from app.store.tables import GoldVersion, Phase


class GoldSize(NamedTuple):
    """What the size of useful predictions follows from; the columns of gold stored by older programs may be null."""

    instances: int
    void_instances: int | None
    longest_id: int | None
    classes: list[str]
    notes: list[str]


_SIZE_QUERY = select(*(GoldVersion.__table__.c[name] for name in GoldSize._fields)).where(
    GoldVersion.__table__.c.id == bindparam("gold_id")
)


def size_of(session: ReadSession, gold_id: str) -> GoldSize:
    """The size of a gold."""
    return GoldSize(*session.connection().execute(_SIZE_QUERY, {"gold_id": gold_id}).one())


def active(session: ReadSession, phase_id: str) -> GoldVersion | None:
    """The active gold."""
    return session.scalar(select(GoldVersion).where(GoldVersion.phase_id == phase_id, GoldVersion.status == "active"))


def versions(session: ReadSession, phase_id: str) -> list[GoldVersion]:
    """All versions, newest first."""
    query = select(GoldVersion).where(GoldVersion.phase_id == phase_id)
    return list(session.scalars(query.order_by(GoldVersion.version.desc())))


def by_version(session: ReadSession, phase_id: str, version: int) -> GoldVersion | None:
    """The gold with this version number."""
    return session.scalar(select(GoldVersion).where(GoldVersion.phase_id == phase_id, GoldVersion.version == version))


def next_version(session: ReadSession, phase: Phase) -> int:
    """The version number of the next upload, which no version had before."""
    last = session.scalar(select(func.max(GoldVersion.version)).where(GoldVersion.phase_id == phase.id))
    return max(last or 0, phase.deleted_gold_version) + 1
