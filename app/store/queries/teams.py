"""Queries for teams and registrations."""

from typing import Any, NamedTuple

from sqlalchemy import Select, bindparam, func, or_, select

from app.store.session import ReadSession
from app.store.tables import Challenge, Registration, Team, TeamMembership
from app.text.confusable_names import look_key, name_key

TEST_TEAM_NAME = "Test entries"
TEST_TEAM_KEY = ""
"""The name key of the team of a challenge that owns its test entries; no name that can be given has this key."""


class TeamReference(NamedTuple):
    """The id of a team and its name as it is shown."""

    id: str
    name: str


def _by_name() -> Select[Any]:
    named, kept = Team.__table__, Team.__table__.alias()
    return (
        select(func.coalesce(kept.c.id, named.c.id), func.coalesce(kept.c.name, named.c.name))
        .outerjoin(kept, kept.c.id == named.c.merged_into_id)
        .where(*(named.c[name] == bindparam(name) for name in ("challenge_id", "baseline", "name_key")))
    )


_BY_NAME = _by_name()


def by_name(session: ReadSession, challenge_id: str, name: str, *, baseline: bool = False) -> TeamReference | None:
    """The team with this name or one that reads the same; with `baseline`, the baseline with this name.

    The name of a team that was merged leads to the team that it is part of now.
    """
    return _by_key(session, challenge_id, name_key(name), baseline=baseline)


def by_id_or_name(session: ReadSession, challenge_id: str, text: str) -> Team | None:
    """The team, not a baseline, with this id or name; of one that was merged, the team that it is part of now.

    The id comes first, so that nobody gets what is meant for another team by taking its id as a name.
    """
    team = session.get(Team, text)
    if team is None or team.challenge_id != challenge_id:
        named = by_name(session, challenge_id, text)
        team = None if named is None else session.get_one(Team, named.id)
    if team is not None and team.merged_into_id is not None:
        team = session.get_one(Team, team.merged_into_id)
    return None if team is None or team.baseline else team


def of_tests(session: ReadSession, challenge_id: str) -> TeamReference | None:
    """The team that owns the test entries of a challenge, if there are any."""
    return _by_key(session, challenge_id, TEST_TEAM_KEY, baseline=True)


def _by_key(session: ReadSession, challenge_id: str, key: str, *, baseline: bool) -> TeamReference | None:
    parameters = {"challenge_id": challenge_id, "baseline": baseline, "name_key": key}
    row = session.connection().execute(_BY_NAME, parameters).first()
    return None if row is None else TeamReference(*row)


def find_confusable(session: ReadSession, challenge_id: str, name: str, *, but: str | None = None) -> Team | None:
    """A team, not a baseline and not the one with the id `but`, whose name reads or looks the same as this one."""
    same = or_(Team.name_key == name_key(name), Team.look_key == look_key(name))
    query = select(Team).where(Team.challenge_id == challenge_id, Team.baseline.is_(False), same)
    query = query if but is None else query.where(Team.id != but)
    return session.scalar(query.order_by(Team.id).limit(1))


def names_by_challenge(session: ReadSession) -> dict[str, list[str]]:
    """The names of all teams except baselines, oldest first, by the slug of the challenge."""
    query = select(Challenge.slug, Team.name).join(Team, Team.challenge_id == Challenge.id)
    names: dict[str, list[str]] = {}
    for slug, name in session.execute(query.where(Team.baseline.is_(False)).order_by(Challenge.slug, Team.id)):
        names.setdefault(slug, []).append(name)
    return names


def names_of(session: ReadSession, challenge_id: str) -> list[str]:
    """The names of the teams of a challenge, except baselines, oldest first."""
    query = teams_of(challenge_id).where(Team.baseline.is_(False)).order_by(Team.id)
    return list(session.scalars(query.with_only_columns(Team.name)))


def teams_of(challenge_id: str) -> Select[Team]:
    """All teams of a challenge but those that were merged into others, and the one of test entries."""
    listed = Team.merged_into_id.is_(None) & (Team.name_key != TEST_TEAM_KEY)
    return select(Team).where(Team.challenge_id == challenge_id, listed)


def registration_of(session: ReadSession, challenge_id: str, user_id: str) -> Registration | None:
    """A user's registration in a challenge, as it is now: what was read before a wait for a lock may be out of date."""
    query = select(Registration).where(Registration.challenge_id == challenge_id, Registration.user_id == user_id)
    return session.scalar(query.execution_options(populate_existing=True))


def registrations_of(challenge_id: str, user_id: str | None = None, status: str | None = None) -> Select[Registration]:
    """Registrations of a challenge, optionally of one user or with one status only."""
    query = select(Registration).where(Registration.challenge_id == challenge_id)
    query = query if user_id is None else query.where(Registration.user_id == user_id)
    return query if status is None else query.where(Registration.status == status)


def registrations_by(user_id: str) -> Select[Registration]:
    """The registrations of a user in all challenges."""
    return select(Registration).where(Registration.user_id == user_id)


def registrations_of_user(session: ReadSession, user_id: str) -> list[Registration]:
    """The registrations of a user in all challenges, oldest first."""
    return list(session.scalars(registrations_by(user_id).order_by(Registration.id)))


def stays_of_user(session: ReadSession, user_id: str) -> list[tuple[TeamMembership, Team]]:
    """When a user was in which teams, oldest first."""
    query = select(TeamMembership, Team).join(Team, Team.id == TeamMembership.team_id)
    rows = session.execute(query.where(TeamMembership.user_id == user_id).order_by(TeamMembership.id))
    return [(stay, team) for stay, team in rows]


def count_teams(session: ReadSession, challenge_id: str) -> int:
    """The number of teams of a challenge."""
    return session.scalars(select(func.count(Team.id)).where(Team.challenge_id == challenge_id)).one()
