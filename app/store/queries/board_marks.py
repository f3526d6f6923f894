"""Which submissions and teams a leaderboard shows with a mark instead of a rank."""

from typing import Any, Literal

from sqlalchemy import ColumnElement, and_, case, exists, func, literal_column, not_, null, or_, select, union_all
from sqlalchemy.orm import aliased

from app.store.session import ReadSession
from app.store.tables import Phase, Registration, Submission, Team, User

Mark = Literal["withdrawn", "disqualified", "barred", "unofficial"]

IS_OFF_BOARD = or_(Submission.withdrawn_at.is_not(None), Submission.disqualified_at.is_not(None))
"""Whether a submission was taken out of the ranking, in the words of the partial index `ix_submissions_off_board`."""

SUBMISSION_MARK: ColumnElement[Any] = case(
    (Submission.disqualified_at.is_not(None), "disqualified"),
    (Submission.withdrawn_at.is_not(None), "withdrawn"),
    (Submission.unofficial, "unofficial"),
    else_=null(),
)
"""The mark of a submission, or null; what organizers decided comes before what its team did."""

_DISQUALIFIED: ColumnElement[Any] = literal_column("'disqualified'")
# Literal: a parameter would keep both databases from the partial index on this value.
_BARRED: ColumnElement[str] = literal_column("'barred'")


def marked_teams(session: ReadSession, challenge_id: str) -> dict[str, Mark]:
    """The marks of all teams that are disqualified, or whose members are all barred, by id.

    A team that everybody left has those as members who are bound to it, so that nobody leaves to avoid the mark. A
    deleted account is no member beside a barred one.
    """
    decided = select(Team.id, _DISQUALIFIED).where(Team.challenge_id == challenge_id, Team.disqualified_at.is_not(None))
    other = aliased(Registration)
    team = func.coalesce(Registration.team_id, Registration.bound_team_id)
    has_left = Registration.team_id.is_(None) & (other.bound_team_id == Registration.bound_team_id)
    has_others = exists().where(
        other.challenge_id == Registration.challenge_id,
        or_(other.team_id == team, has_left),
        other.status.in_(("approved", "pending")),
        exists().where(User.id == other.user_id, User.deleted_at.is_(None)),
    )
    all_barred = select(team, _BARRED).where(
        and_(Registration.challenge_id == challenge_id, Registration.status == _BARRED),
        team.is_not(None),
        not_(has_others),
    )
    marks: dict[str, Mark] = {}
    for team_id, mark in session.execute(union_all(decided, all_barred)):
        if marks.get(team_id) != "disqualified":
            marks[team_id] = mark
    return marks


def count_off_board(session: ReadSession, challenge_id: str) -> int:
    """How many submissions of a challenge were withdrawn or disqualified."""
    phases = select(Phase.id).where(Phase.challenge_id == challenge_id)
    query = select(func.count()).select_from(Submission).where(Submission.phase_id.in_(phases), IS_OFF_BOARD)
    return session.scalars(query).one()
