"""Queries for the scores that a board of other versions needs: which are missing, which are there, which failed."""

from collections.abc import Sequence
from datetime import timedelta

from sqlalchemy import ColumnElement, Select, exists, func, insert, select, update

from app.store import clock
from app.store.queries.score_provenance import ScoreProvenance
from app.store.session import ReadSession, WriteSession
from app.store.tables import Score, ScoreTask, Submission
from app.store.types import id_at
from app.task_priorities import RESCORING_PRIORITY

_QUIET = {"synchronize_session": False}


def _finished(phase_id: str) -> ColumnElement[bool]:
    return (Submission.phase_id == phase_id) & (Submission.status == "finished")


def unscored(phase_id: str, provenance: ScoreProvenance) -> Select[str]:
    """Finished submissions without scores of this provenance, those that the board marks included."""
    scored = exists().where(Score.submission_id == Submission.id, provenance.score_condition())
    return select(Submission.id).where(_finished(phase_id), ~scored)


def without_task(session: ReadSession, phase_id: str, provenance: ScoreProvenance, limit: int) -> list[str]:
    """The oldest of these that have no task either, or a cancelled one."""
    live = exists().where(
        ScoreTask.submission_id == Submission.id, provenance.task_condition(), ScoreTask.status != "cancelled"
    )
    return list(session.scalars(unscored(phase_id, provenance).where(~live).order_by(Submission.id).limit(limit)))


def add_tasks(
    session: WriteSession, submission_ids: Sequence[str], provenance: ScoreProvenance, recipe_id: str
) -> None:
    """Rescoring tasks for these submissions; a cancelled task is queued again."""
    if not submission_ids:
        return
    state = {"status": "queued", "priority": RESCORING_PRIORITY, "crashes": 0, "interruptions": 0}
    cancelled = (ScoreTask.status == "cancelled") & ScoreTask.submission_id.in_(submission_ids)
    again = update(ScoreTask).where(cancelled, provenance.task_condition(), ScoreTask.recipe_id == recipe_id)
    again = again.values(**state, finished_at=None, failure=None).returning(ScoreTask.submission_id)
    known = set(session.scalars(again.execution_options(**_QUIET)))
    now = clock.steady(session)
    shared = {"gold_id": provenance.gold_id, "recipe_id": recipe_id, "scorer_version": provenance.scorer_version}
    added = [
        {"id": id_at(now + timedelta(microseconds=i)), "submission_id": submission_id, "created_at": now, "attempt": 0}
        | shared
        | state
        for i, submission_id in enumerate(submission_ids)
        if submission_id not in known
    ]
    if added:
        session.execute(insert(ScoreTask), added)


def counts(session: ReadSession, phase_id: str, provenance: ScoreProvenance) -> tuple[int, int]:
    """How many finished submissions the phase has, and how many of them have no scores of this provenance."""
    total = session.scalars(select(func.count()).select_from(Submission).where(_finished(phase_id))).one()
    lacking = select(func.count()).select_from(unscored(phase_id, provenance).subquery())
    return total, session.scalars(lacking).one()


def failed_tasks(session: ReadSession, phase_id: str, provenance: ScoreProvenance) -> list[ScoreTask]:
    """The tasks that failed for good and so leave a finished submission without scores, the oldest submission first."""
    failed = provenance.task_condition() & (ScoreTask.status == "failed")
    query = select(ScoreTask).where(failed, ScoreTask.submission_id.in_(unscored(phase_id, provenance)))
    return list(session.scalars(query.order_by(ScoreTask.submission_id)))
