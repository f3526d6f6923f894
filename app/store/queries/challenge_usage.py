"""Queries for what challenges use: their owners, submissions and bytes."""

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import Select, func, select

from app.store.session import ReadSession
from app.store.tables import Challenge, Organizer, Phase, Submission, User


class Use(NamedTuple):
    """The submissions of a challenge, tests included, and the bytes of their files that are kept."""

    submissions: int
    bytes: int


def every_challenge() -> Select[Challenge]:
    """All challenges, with drafts and archived ones."""
    return select(Challenge)


def use_by_challenge(session: ReadSession, challenge_ids: Sequence[str]) -> dict[str, Use]:
    """The use of each of these challenges that has submissions, by id."""
    kept = func.coalesce(func.sum(Submission.size).filter(Submission.file_removed_at.is_(None)), 0)
    query = (
        select(Phase.challenge_id, func.count(Submission.id), kept)
        .join(Phase, Phase.id == Submission.phase_id)
        .where(Phase.challenge_id.in_(challenge_ids))
        .group_by(Phase.challenge_id)
    )
    return {challenge: Use(count, int(size)) for challenge, count, size in session.execute(query)}


def owners_by_challenge(session: ReadSession, challenge_ids: Sequence[str]) -> dict[str, list[User]]:
    """The owners of each of these challenges, by id, oldest account first."""
    query = (
        select(Organizer.challenge_id, User)
        .join(User, User.id == Organizer.user_id)
        .where(Organizer.challenge_id.in_(challenge_ids), Organizer.role == "owner", Organizer.removed_at.is_(None))
        .order_by(Organizer.challenge_id, User.id)
    )
    owners: dict[str, list[User]] = {}
    for challenge, user in session.execute(query):
        owners.setdefault(challenge, []).append(user)
    return owners
