"""Queries for gold versions."""

from datetime import datetime

from sqlalchemy import func, select

from app.store.session import ReadSession
from app.store.tables import GoldVersion, Phase


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


def has_inferred_classes(session: ReadSession, challenge_id: str) -> bool:
    """Whether labels of gold that was put in force became the classes of the challenge, for nobody had declared any."""
    query = (
        select(GoldVersion.id).join(Phase, Phase.id == GoldVersion.phase_id).where(Phase.challenge_id == challenge_id)
    )
    named = query.where(GoldVersion.activated_at.is_not(None), GoldVersion.classes_declared.is_(False))
    return session.scalar(named.limit(1)) is not None


def has_opened(session: ReadSession, challenge_id: str, now: datetime) -> bool:
    """Whether a phase with gold in force has opened."""
    query = (
        select(GoldVersion.id).join(Phase, Phase.id == GoldVersion.phase_id).where(Phase.challenge_id == challenge_id)
    )
    begun = query.where(GoldVersion.status == "active", Phase.opens_at <= now)
    return session.scalar(begun.limit(1)) is not None


def next_version(session: ReadSession, phase_id: str) -> int:
    """The number of the next upload."""
    last = session.scalar(select(func.max(GoldVersion.version)).where(GoldVersion.phase_id == phase_id))
    return 1 if last is None else last + 1
