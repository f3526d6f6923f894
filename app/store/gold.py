"""Queries for gold versions."""

from sqlalchemy import func, select

from app.store.session import ReadSession
from app.store.tables import GoldVersion


def active(session: ReadSession, phase_id: str) -> GoldVersion | None:
    """The gold in force."""
    return session.scalar(select(GoldVersion).where(GoldVersion.phase_id == phase_id, GoldVersion.status == "active"))


def versions(session: ReadSession, phase_id: str) -> list[GoldVersion]:
    """All versions, newest first."""
    return list(
        session.scalars(
            select(GoldVersion).where(GoldVersion.phase_id == phase_id).order_by(GoldVersion.version.desc())
        )
    )


def by_version(session: ReadSession, phase_id: str, version: int) -> GoldVersion | None:
    """One version."""
    return session.scalar(select(GoldVersion).where(GoldVersion.phase_id == phase_id, GoldVersion.version == version))


def next_version(session: ReadSession, phase_id: str) -> int:
    """The number of the next upload."""
    last = session.scalar(select(func.max(GoldVersion.version)).where(GoldVersion.phase_id == phase_id))
    return 1 if last is None else last + 1
