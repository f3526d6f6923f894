"""What former boards are computed from: attempts with their values, acts that changed what counts, and switches."""

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, and_, exists, func, or_, select

from app.scoring.standings import ValueKey
from app.store.queries.board_versions import BoardVersion
from app.store.queries.score_provenance import ScoreProvenance
from app.store.session import ReadSession
from app.store.tables import (
    AuditEntry,
    BoardSwitch,
    GoldVersion,
    Phase,
    RankedValue,
    Recipe,
    Registration,
    Score,
    Submission,
    Team,
    User,
)
from app.store.types import EPOCH

Values = dict[str, dict[tuple[str, str], ValueKey]]
"""Ranking keys by submission, then by split and metric."""

SUBMISSION_ACTS = ("withdraw", "disqualify", "reinstate", "select", "unselect")
_ACTIONS = (*(f"submission.{verb}" for verb in SUBMISSION_ACTS), "team.disqualify", "team.reinstate")


class Attempt(NamedTuple):
    """A finished submission, with what its columns say about it now."""

    submission: str
    team: str
    team_name: str
    baseline: bool
    unofficial: bool
    method: str
    submitted_at: datetime
    selected_at: datetime | None
    withdrawn_at: datetime | None
    disqualified_at: datetime | None
    team_disqualified_at: datetime | None


class Act(NamedTuple):
    """An act that changed what counts: object and verb, such as `submission.withdraw` or `team.bar`."""

    at: datetime
    action: str
    object_id: str
    """Of the submission, or of the team."""
    reason: str | None = None


class SwitchDone(NamedTuple):
    """A switch that was done, and the versions that are in force since then."""

    number: int
    at: datetime
    version: BoardVersion
    reason: str


def switches_done(session: ReadSession, phase_id: str) -> list[SwitchDone]:
    """The switches of a phase that were done, oldest first."""
    query = (
        select(BoardSwitch, GoldVersion, Recipe)
        .join(GoldVersion, GoldVersion.id == BoardSwitch.to_gold_id)
        .join(Recipe, Recipe.id == BoardSwitch.to_recipe_id)
        .where(BoardSwitch.phase_id == phase_id, BoardSwitch.status == "done")
        .order_by(BoardSwitch.number)
    )
    return [
        SwitchDone(row.number, row.switched_at or EPOCH, BoardVersion(gold, recipe, row.to_scorer_version), row.reason)
        for row, gold, recipe in session.execute(query).all()
    ]


_IS_ATTEMPT = and_(Submission.status == "finished", Submission.test.is_(False))


def count_attempts(session: ReadSession, phase_id: str) -> int:
    """How many finished submissions a phase has, apart from test entries."""
    query = select(func.count()).select_from(Submission).where(Submission.phase_id == phase_id, _IS_ATTEMPT)
    return session.scalars(query).one()


def attempts(session: ReadSession, phase_id: str, until: datetime | None) -> list[Attempt]:
    """The finished submissions of a phase that were accepted up to a time, in the order of acceptance."""
    columns = (
        *(Submission.id, Submission.team_id, Team.name, Submission.baseline, Submission.unofficial, Submission.method),
        *(Submission.submitted_at, Submission.selected_at, Submission.withdrawn_at, Submission.disqualified_at),
        Team.disqualified_at,
    )
    query = select(*columns).join(Team, Team.id == Submission.team_id)
    query = query.where(Submission.phase_id == phase_id, _IS_ATTEMPT, _up_to(until))
    rows: Iterable[Any] = session.connection().execute(query.order_by(Submission.submitted_at, Submission.id))
    return [Attempt._make([*row[:3], bool(row[3]), bool(row[4]), *row[5:]]) for row in rows]


def count_unscored(
    session: ReadSession, phase_id: str, provenance: ScoreProvenance, until: datetime | None = None
) -> int:
    """How many finished submissions up to a time have no scores of this provenance, so that the board lacks them."""
    scored = exists().where(Score.submission_id == Submission.id, provenance.score_condition())
    query = select(func.count()).select_from(Submission)
    return session.scalars(query.where(Submission.phase_id == phase_id, _IS_ATTEMPT, _up_to(until), ~scored)).one()


def newest_attempt(session: ReadSession, phase_id: str, until: datetime) -> datetime | None:
    """The time of the newest finished submission up to a time."""
    query = select(func.max(Submission.submitted_at))
    return session.scalar(query.where(Submission.phase_id == phase_id, _IS_ATTEMPT, _up_to(until)))


def _up_to(until: datetime | None) -> ColumnElement[bool]:
    return Submission.submitted_at <= until if until is not None else Submission.id.is_not(None)


def ranking_values(
    session: ReadSession,
    phase_id: str,
    provenance: ScoreProvenance,
    *,
    splits: Collection[str],
    metrics: Collection[str],
) -> Values:
    """The ranking keys of all submissions of a phase; equivalent recipes agree."""
    value = RankedValue
    query = (
        select(Score.submission_id, Score.split, value.metric, value.undefined, value.ranking_key)
        .join(Submission, Submission.id == Score.submission_id)
        .join(value, and_(value.score_id == Score.id, value.metric.in_(sorted(metrics))))
        .where(Submission.phase_id == phase_id, provenance.score_condition(), Score.split.in_(sorted(splits)))
    )
    found: Values = {}
    rows: Iterable[Any] = session.connection().execute(query)
    for submission, split, metric, undefined, key in rows:
        found.setdefault(submission, {})[split, metric] = (bool(undefined), float(key))
    return found


def acts(session: ReadSession, phase: Phase) -> list[Act]:
    """What the audit trail knows of withdrawals, selections and disqualifications in a phase, oldest first."""
    entry = AuditEntry
    query = select(entry.at, entry.action, entry.object_id, entry.reason).where(
        entry.challenge_id == phase.challenge_id,
        entry.action.in_(_ACTIONS),
        or_(entry.phase_id == phase.id, entry.phase_id.is_(None)),
    )
    found = session.execute(query.order_by(entry.id)).all()
    return [Act(at, action, of, reason) for at, action, of, reason in found if of is not None]


class StatusChange(NamedTuple):
    """A change of the status of a registration."""

    at: datetime
    registration: str
    before: str | None
    after: str | None


def bar_changes(session: ReadSession, challenge_id: str) -> list[StatusChange]:
    """All changes of the status of registrations that were ever barred, oldest first."""
    entry = AuditEntry
    barred = select(entry.object_id).where(entry.challenge_id == challenge_id, entry.action == "registration.bar")
    query = select(entry.at, entry.object_id, entry.changes).where(
        entry.challenge_id == challenge_id, entry.object_type == "registration", entry.object_id.in_(barred)
    )
    found = session.execute(query.order_by(entry.id)).all()
    changes: list[tuple[datetime, str, Mapping[str, Any]]] = [
        (at, object_id, changed["status"]) for at, object_id, changed in found if object_id and "status" in changed
    ]
    return [StatusChange(at, of, change.get("from"), change.get("to")) for at, of, change in changes]


def members_by_team(session: ReadSession, challenge_id: str, of: Collection[str]) -> dict[str, dict[str, str]]:
    """The members of the teams that these registrations belong to: the status of each registration by its id.

    As for marks on boards: those who left are bound to their team, a deleted account is no member unless it is barred.
    """
    team = func.coalesce(Registration.team_id, Registration.bound_team_id)
    own = select(team).where(Registration.id.in_(list(of)), team.is_not(None))
    query = (
        select(team, Registration.id, Registration.status)
        .join(User, User.id == Registration.user_id)
        .where(
            Registration.challenge_id == challenge_id,
            team.in_(own),
            or_(Registration.status == "barred", User.deleted_at.is_(None)),
        )
    )
    found: dict[str, dict[str, str]] = {}
    for team_id, registration, status in session.execute(query):
        if status != "ended":
            found.setdefault(team_id, {})[registration] = status
    return found
