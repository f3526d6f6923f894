"""Queries for teams and registrations."""

from sqlalchemy import Select, func, select

from app.names import name_key
from app.store.session import ReadSession
from app.store.tables import Registration, Team


def by_name(session: ReadSession, challenge_id: str, name: str) -> Team | None:
    """The team that bears this name or one that reads the same."""
    return session.scalar(select(Team).where(Team.challenge_id == challenge_id, Team.name_key == name_key(name)))


def teams_of(challenge_id: str) -> Select[Team]:
    """All teams of a challenge."""
    return select(Team).where(Team.challenge_id == challenge_id)


def registration_of(session: ReadSession, challenge_id: str, user_id: str) -> Registration | None:
    """A user's registration in a challenge."""
    return session.scalar(
        select(Registration).where(Registration.challenge_id == challenge_id, Registration.user_id == user_id)
    )


def registrations_of(challenge_id: str, user_id: str | None = None) -> Select[Registration]:
    """Registrations of a challenge, of one user only if said."""
    query = select(Registration).where(Registration.challenge_id == challenge_id)
    return query if user_id is None else query.where(Registration.user_id == user_id)


def number_of(session: ReadSession, challenge_id: str) -> int:
    """How many teams a challenge has."""
    return session.scalars(select(func.count(Team.id)).where(Team.challenge_id == challenge_id)).one()
