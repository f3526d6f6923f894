"""Submissions with their phase, newest task and scores, for one reader.

A list of any length takes three statements, a single finished submission one, which reads no intervals.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any

from sqlalchemy import BindParameter, Select, bindparam, exists, func, select

from app.store.queries.phase_for_user import RECIPE_FINGERPRINT, PhaseContext, columns_of, join_context
from app.store.session import ReadSession
from app.store.tables import Challenge, GoldVersion, Phase, Recipe, Score, ScoreInterval, ScoreTask, Submission, Team


@dataclass(frozen=True, slots=True)
class TaskState:
    """The newest task of a submission; each field names its column."""

    id: Annotated[str, ScoreTask.id]
    status: Annotated[str, ScoreTask.status]
    priority: Annotated[int, ScoreTask.priority]
    scorer_version: Annotated[int, ScoreTask.scorer_version]
    compared_at: Annotated[datetime | None, ScoreTask.compared_at] = None
    difference: Annotated[dict[str, Any] | None, ScoreTask.difference] = None
    failure: Annotated[dict[str, Any] | None, ScoreTask.failure] = None


@dataclass(frozen=True, slots=True)
class SubmissionDetails:
    """A submission outside any session, its phase, its newest task and the values of its current scores by split.

    `intervals` has those of the scores, by split and metric, as far as they have been computed and read.
    """

    submission: Submission
    context: PhaseContext
    task: TaskState | None
    scores: dict[str, dict[str, Any]]
    intervals: dict[str, dict[str, Any]] = field(default_factory=dict)


_SUBMISSION_COLUMNS = tuple(Submission.__table__.c)
_CONTEXT_COLUMNS, _TASK_COLUMNS = columns_of(PhaseContext), columns_of(TaskState)
_IDS: BindParameter[str] = bindparam("ids", expanding=True)


def _details_query() -> Select[Any]:
    # The team of the submission; the context holds the team of the reader.
    team, newest = Team.__table__.alias(), ScoreTask.__table__.alias()
    newest_task_id = select(func.max(newest.c.id)).where(newest.c.submission_id == Submission.id).scalar_subquery()
    query = (
        select(*_SUBMISSION_COLUMNS, *_CONTEXT_COLUMNS, *_TASK_COLUMNS, team.c.name)
        .select_from(Submission.__table__)
        .join(Phase.__table__, Phase.id == Submission.phase_id)
        .join(Challenge.__table__, Challenge.id == Phase.challenge_id)
        .join(team, team.c.id == Submission.team_id)
    )
    return (
        join_context(query)
        .outerjoin(ScoreTask.__table__, ScoreTask.id == newest_task_id)
        .where(Submission.id.in_(_IDS))
    )


def _scores_query() -> Select[Any]:
    """Current scores: of the active gold, of recipes that compute the same, of the phase's scorer version."""
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


def _intervals_query() -> Select[Any]:
    """The intervals of current scores."""
    intervals, recipes = ScoreInterval.__table__, Recipe.__table__
    return (
        select(intervals.c.submission_id, intervals.c.split, intervals.c.intervals)
        .join(recipes, recipes.c.id == intervals.c.recipe_id)
        .where(
            intervals.c.submission_id.in_(_IDS),
            intervals.c.gold_id == bindparam("gold_id"),
            intervals.c.scorer_version == bindparam("scorer_version"),
            recipes.c.fingerprint == bindparam("fingerprint"),
        )
        .order_by(intervals.c.id)
    )


def _finished_query(details: Select[Any]) -> Select[Any]:
    """The details with a row for each of the current scores, and one row if there are none."""
    scores, recipes = Score.__table__.alias(), Recipe.__table__.alias()
    # Not an outer join to a join of scores and recipes, for which SQLite would read all scores that there are.
    same_recipe = exists().where(recipes.c.id == scores.c.recipe_id, recipes.c.fingerprint == RECIPE_FINGERPRINT)
    current = (
        (scores.c.submission_id == Submission.id)
        & (scores.c.gold_id == GoldVersion.id)
        & (scores.c.scorer_version == Phase.scorer_version)
        & same_recipe
    )
    joined = details.outerjoin(scores, current)
    return joined.add_columns(scores.c.split, scores.c.metrics).order_by(scores.c.id)


# Built once, and from tables instead of mapped classes: each listing runs the first three, each request that waits for
# scores the fourth at its end.
_DETAILS_QUERY, _SCORES_QUERY, _INTERVALS_QUERY = _details_query(), _scores_query(), _intervals_query()
_FINISHED_QUERY = _finished_query(_DETAILS_QUERY)


def load_submission_details(
    session: ReadSession, ids: Sequence[str], user_id: str | None
) -> dict[str, SubmissionDetails]:
    """The details by submission id, for submissions of one phase; ids without a row are left out."""
    rows = session.connection().execute(_DETAILS_QUERY, {"ids": ids, "user_id": user_id})
    details = {row[0]: _details_from_row(row) for row in rows}
    finished = [each for each in details.values() if each.submission.status == "finished"]
    if finished and finished[0].context.gold_id is not None:
        context = finished[0].context  # the same phase, so the same gold, recipe and scorer version for all
        key = {name: getattr(context, name) for name in ("gold_id", "fingerprint", "scorer_version")}
        key["ids"] = [each.submission.id for each in finished]
        for submission_id, split, metrics in session.connection().execute(_SCORES_QUERY, key):
            details[submission_id].scores[split] = metrics
        for submission_id, split, intervals in session.connection().execute(_INTERVALS_QUERY, key):
            details[submission_id].intervals[split] = intervals
    return details


def load_finished(session: ReadSession, submission_id: str, user_id: str | None) -> SubmissionDetails | None:
    """The details of one submission with its scores, in one statement; None if it is not finished."""
    rows = session.connection().execute(_FINISHED_QUERY, {"ids": [submission_id], "user_id": user_id}).all()
    if not rows or rows[0].status != "finished":
        return None
    details = _details_from_row(rows[0][:-2])
    details.scores.update({row[-2]: row[-1] for row in rows if row[-2] is not None})
    return details


def _details_from_row(row: Any) -> SubmissionDetails:
    context_start = len(_SUBMISSION_COLUMNS)
    task_start = context_start + len(_CONTEXT_COLUMNS)
    submission = Submission(**{column.name: value for column, value in zip(_SUBMISSION_COLUMNS, row, strict=False)})
    submission.team = Team(id=submission.team_id, name=row[-1])
    task = TaskState(*row[task_start:-1])
    return SubmissionDetails(
        submission, PhaseContext(*row[context_start:task_start]), None if task.id is None else task, {}
    )
