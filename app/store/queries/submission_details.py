"""Submissions with all that a reader of them is shown, each list in two statements: the rows, and their scores in force."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from sqlalchemy import BindParameter, Select, and_, bindparam, func, select
from sqlalchemy.orm.attributes import InstrumentedAttribute

from app.store.session import ReadSession
from app.store.tables import (
    Challenge,
    GoldVersion,
    Organizer,
    Phase,
    Recipe,
    Registration,
    Score,
    ScoreTask,
    Submission,
    Team,
)


@dataclass(frozen=True, slots=True)
class SubmissionContext:
    """What stands around a submission: its phase, the gold and recipe in force, its newest task, the reader's part."""

    challenge: str
    phase_id: str
    phase: str
    reports: list[str]
    released_at: datetime | None
    scorer_version: int
    gold_id: str | None
    gold_version: int | None
    has_splits: bool | None
    recipe_version: int
    recipe: dict[str, Any]
    fingerprint: str
    team: str
    role: str | None
    registration: str | None
    registered_team: str | None
    task_id: str | None
    task_status: str | None
    task_priority: int | None
    task_scorer_version: int | None
    compared_at: datetime | None
    difference: dict[str, Any] | None
    task_failure: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class SubmissionDetails:
    """A submission, what stands around it, and by split the values of its scores in force."""

    submission: Submission
    context: SubmissionContext
    scores: dict[str, dict[str, Any]]


_CONTEXT_COLUMNS: dict[str, InstrumentedAttribute[Any]] = {
    "challenge": Challenge.slug,
    "phase_id": Phase.id,
    "phase": Phase.slug,
    "reports": Phase.reports,
    "released_at": Phase.released_at,
    "scorer_version": Phase.scorer_version,
    "gold_id": GoldVersion.id,
    "gold_version": GoldVersion.version,
    "has_splits": GoldVersion.has_splits,
    "recipe_version": Recipe.version,
    "recipe": Recipe.body,
    "fingerprint": Recipe.fingerprint,
    "team": Team.name,
    "role": Organizer.role,
    "registration": Registration.status,
    "registered_team": Registration.team_id,
    "task_id": ScoreTask.id,
    "task_status": ScoreTask.status,
    "task_priority": ScoreTask.priority,
    "task_scorer_version": ScoreTask.scorer_version,
    "compared_at": ScoreTask.compared_at,
    "difference": ScoreTask.difference,
    "task_failure": ScoreTask.failure,
}
_SUBMISSION_COLUMNS = tuple(Submission.__table__.c)
_SUBMISSION_COLUMN_NAMES = tuple(column.name for column in _SUBMISSION_COLUMNS)
_IDS: BindParameter[str] = bindparam("ids", expanding=True)


def _details_query() -> Select[Any]:
    user: BindParameter[str] = bindparam("user_id")
    newest = ScoreTask.__table__.alias()
    task = select(func.max(newest.c.id)).where(newest.c.submission_id == Submission.id).scalar_subquery()
    around = [
        _CONTEXT_COLUMNS[field.name].__clause_element__().label(f"_{field.name}") for field in fields(SubmissionContext)
    ]
    return (
        select(*_SUBMISSION_COLUMNS, *around)
        .select_from(Submission.__table__)
        .join(Phase.__table__, Phase.id == Submission.phase_id)
        .join(Challenge.__table__, Challenge.id == Phase.challenge_id)
        .join(Team.__table__, Team.id == Submission.team_id)
        .join(Recipe.__table__, and_(Recipe.challenge_id == Challenge.id, Recipe.status == "active"))
        .outerjoin(GoldVersion.__table__, and_(GoldVersion.phase_id == Phase.id, GoldVersion.status == "active"))
        .outerjoin(Organizer.__table__, and_(Organizer.challenge_id == Challenge.id, Organizer.user_id == user))
        .outerjoin(
            Registration.__table__, and_(Registration.challenge_id == Challenge.id, Registration.user_id == user)
        )
        .outerjoin(ScoreTask.__table__, ScoreTask.id == task)
        .where(Submission.id.in_(_IDS))
    )


def _scores_query() -> Select[Any]:
    """In force: of the active gold, of recipes that compute the same, of the scorer version in force."""
    scores, recipes = Score.__table__, Recipe.__table__
    return (
        select(scores.c.submission_id, scores.c.split, scores.c.metrics)
        .join(recipes, recipes.c.id == scores.c.recipe_id)
        .where(
            scores.c.submission_id.in_(_IDS),
            scores.c.gold_id == bindparam("gold_id"),
            scores.c.scorer_version == bindparam("scorer_version"),
            recipes.c.fingerprint == bindparam("fingerprint"),
        )
        .order_by(scores.c.id)
    )


# Built once, and of tables rather than objects: whoever waits for scores asks them at the end of every wait.
_DETAILS_QUERY, _SCORES_QUERY = _details_query(), _scores_query()


def load_submission_details(
    session: ReadSession, ids: Sequence[str], user_id: str | None
) -> dict[str, SubmissionDetails]:
    """Submissions of one phase by id, as they stand for this user; those that there are."""
    rows = session.connection().execute(_DETAILS_QUERY, {"ids": ids, "user_id": user_id}).all()
    stood = {row[0]: (row, SubmissionContext(*row[len(_SUBMISSION_COLUMN_NAMES) :])) for row in rows}
    found = {name: (_detached_submission(row, around.team), around) for name, (row, around) in stood.items()}
    finished = [name for name, (submission, _) in found.items() if submission.status == "finished"]
    scores: dict[str, dict[str, Any]] = {name: {} for name in found}
    if finished and found[finished[0]][1].gold_id is not None:
        around = found[finished[0]][1]
        wanted = {name: getattr(around, name) for name in ("gold_id", "fingerprint", "scorer_version")}
        for name, split, metrics in session.connection().execute(_SCORES_QUERY, wanted | {"ids": finished}):
            scores[name][split] = metrics
    return {name: SubmissionDetails(submission, around, scores[name]) for name, (submission, around) in found.items()}


def _detached_submission(row: Any, team: str) -> Submission:
    """The row as an object outside the session, with the name of its team."""
    made = Submission(**dict(zip(_SUBMISSION_COLUMN_NAMES, row, strict=False)))
    made.team = Team(id=made.team_id, name=team)
    return made
