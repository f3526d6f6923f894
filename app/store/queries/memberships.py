"""Queries for who is and was in which team."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, false, func, or_, select

from app.store.session import ReadSession, WriteSession
from app.store.tables import QuotaEntry, Registration, Submission, Team, TeamMembership, User

_LOCK: dict[str, Any] = {"of": Team, "key_share": True}  # submissions may refer to the team meanwhile


class Stay(NamedTuple):
    """One stay of a user in a team; `left_at` is None while it lasts."""

    team_id: str
    joined_at: datetime
    left_at: datetime | None


class Member(NamedTuple):
    """A present member of a team."""

    registration: Registration
    joined_at: datetime


def lock_team(session: WriteSession, team_id: str) -> Team | None:
    """The team, locked and read again; every change of its members and captain holds this lock."""
    query = select(Team).where(Team.id == team_id).with_for_update(**_LOCK)
    return session.scalar(query.execution_options(populate_existing=True))


def lock_teams_of(session: WriteSession, user_id: str, challenge_id: str | None = None) -> list[Team]:
    """The teams that a user is in, of all challenges or of one, locked in the order of their ids and read again."""
    of_user = select(Registration.team_id).where(Registration.user_id == user_id)
    query = select(Team).where(or_(Team.id.in_(of_user), Team.captain_id == user_id)).order_by(Team.id)
    if challenge_id is not None:
        query = query.where(Team.challenge_id == challenge_id)
    return list(session.scalars(query.with_for_update(**_LOCK).execution_options(populate_existing=True)))


def members_of(session: ReadSession, team_id: str) -> list[Member]:
    """The present members of a team, who is longest in it first."""
    return members_by_team(session, [team_id])[team_id]


def members_by_team(session: ReadSession, team_ids: Sequence[str]) -> dict[str, list[Member]]:
    """The same for several teams, by team id."""
    of_team = TeamMembership.team_id == Registration.team_id
    query = (
        select(Registration, TeamMembership)
        .join(TeamMembership, of_team & (TeamMembership.user_id == Registration.user_id))
        .where(Registration.team_id.in_(list(team_ids)), TeamMembership.left_at.is_(None))
        .order_by(TeamMembership.joined_at, TeamMembership.id)
        .execution_options(populate_existing=True)
    )
    found: dict[str, list[Member]] = {team_id: [] for team_id in team_ids}
    for registration, stay in session.execute(query):
        found[stay.team_id].append(Member(registration, stay.joined_at))
    return found


def count_members(session: ReadSession, team_id: str) -> int:
    """The number of users in a team, whatever the state of their registrations, without deleted accounts."""
    query = select(func.count(Registration.id)).join(User, User.id == Registration.user_id)
    return session.scalars(query.where(Registration.team_id == team_id, User.deleted_at.is_(None))).one()


def end_stay(session: WriteSession, team_id: str, user_id: str, now: datetime) -> None:
    """End the present stay of a user in a team."""
    mine = (TeamMembership.team_id == team_id) & (TeamMembership.user_id == user_id)
    for stay in session.scalars(select(TeamMembership).where(mine, TeamMembership.left_at.is_(None))):
        stay.left_at = now


def has_used_quota(session: ReadSession, team_id: str) -> bool:
    """Whether a submission of the team was charged, or is reserved and may still be."""
    refunded = select(QuotaEntry.submission_id).where(QuotaEntry.team_id == team_id, QuotaEntry.kind == "refund")
    kept = (QuotaEntry.team_id == team_id) & (QuotaEntry.kind == "reserve")
    query = select(QuotaEntry.id).where(kept, QuotaEntry.submission_id.not_in(refunded)).limit(1)
    return session.scalar(query) is not None


def was_member_when_sent(session: ReadSession, submission: Submission, user_id: str) -> bool:
    """Whether the user sent the submission, or was in the team that sent it at that time."""
    if submission.user_id == user_id:
        return True
    mine = (TeamMembership.team_id == (submission.sent_team_id or submission.team_id)) & (
        TeamMembership.user_id == user_id
    )
    ended_later = or_(TeamMembership.left_at.is_(None), TeamMembership.left_at > submission.submitted_at)
    during = (TeamMembership.joined_at <= submission.submitted_at) & ended_later
    return session.scalar(select(TeamMembership.id).where(mine, during).limit(1)) is not None


def former_stays(session: ReadSession, challenge_id: str, user_id: str, team_id: str | None) -> list[Stay]:
    """The stays of a user in teams of a challenge other than the present team `team_id`."""
    query = (
        select(TeamMembership.team_id, TeamMembership.joined_at, TeamMembership.left_at)
        .join(Team, Team.id == TeamMembership.team_id)
        .where(Team.challenge_id == challenge_id, TeamMembership.user_id == user_id)
        .order_by(TeamMembership.id)
    )
    return [stay for stay in (Stay(*row) for row in session.execute(query)) if stay.team_id != team_id]


def sent_during(stays: Sequence[Stay]) -> ColumnElement[bool]:
    """Whether a submission was sent by the team of one of these stays while it lasted."""
    sent_by = func.coalesce(Submission.sent_team_id, Submission.team_id)
    conditions = []
    for stay in stays:
        condition = (sent_by == stay.team_id) & (Submission.submitted_at >= stay.joined_at)
        conditions.append(condition if stay.left_at is None else condition & (Submission.submitted_at < stay.left_at))
    return or_(false(), *conditions)
