"""Queries for the scores that a board of other versions needs: which are missing, which are there, which failed."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, Select, delete, exists, func, select, update
from sqlalchemy.dialects.postgresql import insert as postgresql_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert
from sqlalchemy.orm import aliased

from app.store import clock
from app.store.queries.score_provenance import ScoreProvenance
from app.store.session import ReadSession, WriteSession
from app.store.tables import Phase, Rerun, Score, ScoreTask, Submission
from app.store.types import id_at
from app.task_priorities import RESCORING_PRIORITY

_ADD = {
    "sqlite": sqlite_insert(ScoreTask.__table__).on_conflict_do_nothing(),
    "postgresql": postgresql_insert(ScoreTask.__table__).on_conflict_do_nothing(),
}
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
    """Rescoring tasks for these submissions; a cancelled task is queued again, and any other one that exists stays."""
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
        session.connection().execute(_ADD[session.get_bind().dialect.name], added)


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


def requeue_failed(
    session: WriteSession, phase_id: str, provenance: ScoreProvenance, submission_id: str | None = None
) -> None:
    """Give the tasks that failed for good new tries: all of a phase, or that of one submission."""
    failed = provenance.task_condition() & (ScoreTask.status == "failed")
    if submission_id is not None:
        failed &= ScoreTask.submission_id == submission_id
    again = update(ScoreTask).where(failed, ScoreTask.submission_id.in_(unscored(phase_id, provenance)))
    state = {"status": "queued", "priority": RESCORING_PRIORITY, "crashes": 0, "interruptions": 0, "failure": None}
    session.execute(again.values(**state, finished_at=None, not_before=None), execution_options=_QUIET)


def cancel_tasks(session: WriteSession, phase_id: str, provenance: ScoreProvenance, now: datetime) -> None:
    """Cancel the rescoring tasks of this provenance that have no scores yet; what runs is discarded when it ends."""
    unfinished = ScoreTask.status.in_(("queued", "running")) & (ScoreTask.priority >= RESCORING_PRIORITY)
    tasks = select(ScoreTask.id).where(unfinished, provenance.task_condition())
    tasks = tasks.where(ScoreTask.submission_id.in_(unscored(phase_id, provenance)), ScoreTask.rerun_id.is_(None))
    ids = list(session.scalars(tasks.order_by(ScoreTask.id).with_for_update()))
    ended = {"status": "cancelled", "finished_at": now, "not_before": None, "lease_until": None}
    for start in range(0, len(ids), 500):
        some = update(ScoreTask).where(ScoreTask.id.in_(ids[start : start + 500]))
        session.execute(some.values(**ended), execution_options=_QUIET)


def unsettled_without_task(
    session: ReadSession, phase_id: str, scorer_version: int, limit: int
) -> list[tuple[str, str, str]]:
    """Queued and running submissions without a task of this scorer version, with gold and recipe of their first task."""
    newer, first = aliased(ScoreTask), aliased(ScoreTask)
    has_newer = exists().where(newer.submission_id == Submission.id, newer.scorer_version == scorer_version)
    earlier = exists().where(newer.submission_id == Submission.id, newer.id < first.id)
    query = select(Submission.id, first.gold_id, first.recipe_id).join(first, first.submission_id == Submission.id)
    unsettled = Submission.status.in_(("queued", "running")) & (Submission.phase_id == phase_id)
    query = query.where(unsettled, ~has_newer, ~earlier).order_by(Submission.id).limit(limit)
    return [(row[0], row[1], row[2]) for row in session.execute(query)]


def unsettled_without_provenance(session: ReadSession, phase_id: str, provenance: ScoreProvenance) -> list[str]:
    """Queued and running submissions without a task of this provenance."""
    task = exists().where(ScoreTask.submission_id == Submission.id, provenance.task_condition())
    unsettled = Submission.status.in_(("queued", "running")) & (Submission.phase_id == phase_id)
    return list(session.scalars(select(Submission.id).where(unsettled, ~task).order_by(Submission.id)))


def drop_other_queued(session: WriteSession, phase_id: str, provenance: ScoreProvenance) -> None:
    """Delete the queued tasks of a phase that would score by other gold, another recipe or another scorer version."""
    of_phase = ScoreTask.submission_id.in_(select(Submission.id).where(Submission.phase_id == phase_id))
    other = (ScoreTask.status == "queued") & ScoreTask.rerun_id.is_(None) & ~provenance.task_condition()
    session.execute(delete(ScoreTask).where(of_phase, other), execution_options=_QUIET)


# ---- tasks of an older scorer version


def _superseded(scorer_version: int) -> ColumnElement[bool]:
    """Queued tasks of an older version whose submission has a task of this version."""
    newer = aliased(ScoreTask)
    has_newer = exists().where(newer.submission_id == ScoreTask.submission_id, newer.scorer_version == scorer_version)
    return (ScoreTask.status == "queued") & (ScoreTask.scorer_version < scorer_version) & has_newer


def has_superseded(session: ReadSession, scorer_version: int) -> bool:
    """Whether tasks are queued that a newer version has superseded."""
    return session.scalar(select(ScoreTask.id).where(_superseded(scorer_version)).limit(1)) is not None


def cancel_superseded(session: WriteSession, scorer_version: int, now: datetime) -> None:
    """Cancel the superseded tasks, and the rescoring orders of older versions."""
    tasks = update(ScoreTask).where(_superseded(scorer_version))
    tasks = tasks.values(status="cancelled", finished_at=now, not_before=None)
    session.execute(tasks, execution_options=_QUIET)
    orders = update(Rerun).where(Rerun.finished_at.is_(None), Rerun.scorer_version < scorer_version)
    session.execute(orders.values(cancelled_at=now, finished_at=now), execution_options=_QUIET)


def outdated_phases(session: ReadSession, scorer_version: int) -> list[Phase]:
    """Phases with an older active version."""
    return list(session.scalars(select(Phase).where(Phase.scorer_version < scorer_version).order_by(Phase.id)))
