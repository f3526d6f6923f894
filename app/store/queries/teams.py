"""Queries for teams and registrations."""

from typing import NamedTuple

from sqlalchemy import Select, bindparam, func, or_, select

from app.store.session import ReadSession
from app.store.tables import Challenge, Registration, Team
from app.text.confusable_names import look_key, name_key


class TeamReference(NamedTuple):
    """The id of a team and its name as it is shown."""

    id: str
    name: str


_BY_NAME = select(Team.__table__.c.id, Team.__table__.c.name).where(
    *(Team.__table__.c[name] == bindparam(name) for name in ("challenge_id", "baseline", "name_key"))
)


def by_name(session: ReadSession, challenge_id: str, name: str, *, baseline: bool = False) -> TeamReference | None:
    """The team with this name or one that reads the same; with `baseline`, the baseline with this name."""
    parameters = {"challenge_id": challenge_id, "baseline": baseline, "name_key": name_key(name)}
    row = session.connection().execute(_BY_NAME, parameters).first()
    return None if row is None else TeamReference(*row)


def find_confusable(session: ReadSession, challenge_id: str, name: str) -> Team | None:
    """A team, not a baseline, whose name reads or looks the same as this one."""
    same = or_(Team.name_key == name_key(name), Team.look_key == look_key(name))
    query = select(Team).where(Team.challenge_id == challenge_id, Team.baseline.is_(False), same)
    return session.scalar(query.order_by(Team.id).limit(1))


def names_by_challenge(session: ReadSession) -> dict[str, list[str]]:
    """The names of all teams except baselines, oldest first, by the slug of the challenge."""
    query = select(Challenge.slug, Team.name).join(Team, Team.challenge_id == Challenge.id)
    names: dict[str, list[str]] = {}
    for slug, name in session.execute(query.where(Team.baseline.is_(False)).order_by(Challenge.slug, Team.id)):
        names.setdefault(slug, []).append(name)
    return names


def teams_of(challenge_id: str) -> Select[Team]:
    """All teams of a challenge."""
    return select(Team).where(Team.challenge_id == challenge_id)


def registration_of(session: ReadSession, challenge_id: str, user_id: str) -> Registration | None:
    """A user's registration in a challenge."""
    return session.scalar(
        select(Registration).where(Registration.challenge_id == challenge_id, Registration.user_id == user_id)
    )


def registrations_of(challenge_id: str, user_id: str | None = None) -> Select[Registration]:
    """Registrations of a challenge, optionally of one user only."""
    query = select(Registration).where(Registration.challenge_id == challenge_id)
    return query if user_id is None else query.where(Registration.user_id == user_id)


def count_teams(session: ReadSession, challenge_id: str) -> int:
    """The number of teams of a challenge."""
    return session.scalars(select(func.count(Team.id)).where(Team.challenge_id == challenge_id)).one()
