"""Queries for announcements."""

from sqlalchemy import Select, select

from app.store.session import ReadSession
from app.store.tables import Announcement


def of_challenge(challenge_id: str) -> Select[Announcement]:
    """The announcements of a challenge."""
    return select(Announcement).where(Announcement.challenge_id == challenge_id)


def newest(session: ReadSession, challenge_id: str, limit: int) -> list[Announcement]:
    """The newest announcements of a challenge, the newest first."""
    return list(session.scalars(of_challenge(challenge_id).order_by(Announcement.id.desc()).limit(limit)))
