"""Queries for merges of teams: proposals, and the rows that move to the team that stays."""

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import func, or_, select, update
from sqlalchemy.orm import load_only

from app.store.session import ReadSession, WriteSession
from app.store.tables import QuotaEntry, QuotaGrant, Registration, Submission, Team, TeamMerge

_MERGED_COLUMNS = (
    Submission.team_id,
    Submission.sent_team_id,
    Submission.phase_id,
    Submission.status,
    Submission.selected_at,
)


class Proposal(NamedTuple):
    """An open proposal with the names of both teams."""

    merge: TeamMerge
    team_name: str
    other_name: str


def open_proposals(session: ReadSession, team_ids: Sequence[str]) -> list[Proposal]:
    """The open proposals from and to these teams, oldest first."""
    first, second, ids = Team.__table__.alias(), Team.__table__.alias(), list(team_ids)
    query = (
        select(TeamMerge, first.c.name, second.c.name)
        .join(first, first.c.id == TeamMerge.team_id)
        .join(second, second.c.id == TeamMerge.other_team_id)
        .where(or_(TeamMerge.team_id.in_(ids), TeamMerge.other_team_id.in_(ids)))
        .where(TeamMerge.agreed_at.is_(None), TeamMerge.withdrawn_at.is_(None))
        .order_by(TeamMerge.id)
    )
    return [Proposal(*row) for row in session.execute(query)]


def lock_submissions_of(session: WriteSession, team_id: str, *, selected: bool = False) -> list[Submission]:
    """The submissions of a team, locked in the order of their ids and read again: a worker may settle some meanwhile.

    With `selected`, only those that are. Only the columns that a merge needs are read: a team may have thousands of
    rejected files with their problems.
    """
    query = select(Submission).options(load_only(*_MERGED_COLUMNS))
    query = query.where(Submission.team_id == team_id).order_by(Submission.id)
    if selected:
        query = query.where(Submission.selected_at.is_not(None))
    locked = query.with_for_update(of=Submission, key_share=True)
    return list(session.scalars(locked.execution_options(populate_existing=True)))


def move_rows(session: WriteSession, from_team: str, to_team: str) -> None:
    """Give quota, grants, former members' ties and former names of a team to another.

    The submissions are locked, so no worker adds entries to the ledger meanwhile.
    """
    for table in (QuotaEntry, QuotaGrant):
        session.execute(update(table).where(table.team_id == from_team).values(team_id=to_team))
    challenge = select(Team.challenge_id).where(Team.id == from_team).scalar_subquery()
    bound = (Registration.challenge_id == challenge) & (Registration.bound_team_id == from_team)
    for registration in session.scalars(select(Registration).where(bound)):
        registration.bound_team_id = to_team
    merged = (Team.challenge_id == challenge) & (Team.merged_into_id == from_team)
    for team in session.scalars(select(Team).where(merged)):
        team.merged_into_id = to_team


def charged(session: ReadSession, phase_id: str, team_ids: Sequence[str]) -> int:
    """How many submissions of these teams count against the limits of a phase, in total."""
    of_teams = (QuotaEntry.phase_id == phase_id) & QuotaEntry.team_id.in_(list(team_ids))
    kinds = dict(session.execute(select(QuotaEntry.kind, func.count()).where(of_teams).group_by(QuotaEntry.kind)).all())
    return int(kinds.get("reserve", 0)) - int(kinds.get("refund", 0))


def granted(session: ReadSession, phase_id: str, team_ids: Sequence[str]) -> dict[str, int]:
    """What these teams were granted in a phase, together, by the name of the limit."""
    sums = select(func.coalesce(func.sum(QuotaGrant.per_day), 0), func.coalesce(func.sum(QuotaGrant.total), 0))
    row = session.execute(sums.where(QuotaGrant.phase_id == phase_id, QuotaGrant.team_id.in_(list(team_ids)))).one()
    return {"per_day": int(row[0]), "total": int(row[1])}
