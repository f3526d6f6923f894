"""Queries for the files that challenges offer."""

from sqlalchemy import func, select

from app.store.session import ReadSession
from app.store.tables import ChallengeFile


def of_challenge(session: ReadSession, challenge_id: str) -> list[ChallengeFile]:
    """All files of a challenge, by name."""
    query = select(ChallengeFile).where(ChallengeFile.challenge_id == challenge_id)
    return sorted(session.scalars(query), key=lambda row: row.name)


def by_name(session: ReadSession, challenge_id: str, name: str) -> ChallengeFile | None:
    """The file of this name."""
    named = (ChallengeFile.challenge_id == challenge_id, ChallengeFile.name == name)
    return session.scalar(select(ChallengeFile).where(*named))


def count(session: ReadSession, challenge_id: str) -> int:
    """How many files a challenge has."""
    query = select(func.count()).select_from(ChallengeFile).where(ChallengeFile.challenge_id == challenge_id)
    return session.scalar(query) or 0
