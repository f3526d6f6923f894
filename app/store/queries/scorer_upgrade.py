"""Queries for a new scorer version: what still has to be scored with it, and what blocks its activation."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, Select, delete, exists, func, insert, select, update
from sqlalchemy.orm import aliased

from app.store import clock
from app.store.queries.score_provenance import ScoreProvenance
from app.store.session import ReadSession, WriteSession
from app.store.tables import Phase, Rerun, Score, ScoreTask, Submission
from app.store.types import id_at
from app.task_priorities import RESCORING_PRIORITY


def outdated_phases(session: ReadSession, scorer_version: int) -> list[Phase]:
    """Phases with an older active version."""
    return list(session.scalars(select(Phase).where(Phase.scorer_version < scorer_version).order_by(Phase.id)))


def submissions_without_task(
    session: ReadSession, phase_id: str, provenance: ScoreProvenance, limit: int
) -> list[tuple[str, str]]:
    """Submissions with their statuses, oldest first, that need a task of this provenance and have none."""
    task = exists().where(ScoreTask.submission_id == Submission.id, provenance.task_condition())
    query = select(Submission.id, Submission.status).where(
        Submission.phase_id == phase_id, Submission.status.in_(("queued", "running", "finished")), ~task
    )
    return [(row.id, row.status) for row in session.execute(query.order_by(Submission.id).limit(limit))]


def add_tasks(
    session: WriteSession, submission_ids: Sequence[str], provenance: ScoreProvenance, recipe_id: str
) -> None:
    """Rescoring tasks for these submissions; only the upgrade adds such tasks, so none can exist yet."""
    if not submission_ids:
        return
    now = clock.steady(session)
    shared = {"gold_id": provenance.gold_id, "recipe_id": recipe_id, "scorer_version": provenance.scorer_version}
    state = {"status": "queued", "priority": RESCORING_PRIORITY, "attempt": 0, "crashes": 0, "interruptions": 0}
    session.execute(
        insert(ScoreTask),
        [
            {"id": id_at(now + timedelta(microseconds=i)), "submission_id": submission_id, "created_at": now}
            | shared
            | state
            for i, submission_id in enumerate(submission_ids)
        ],
    )


def drop_other_queued(session: WriteSession, phase_id: str, provenance: ScoreProvenance) -> None:
    """Delete the queued tasks of a phase that would score by other gold, another recipe or another scorer version."""
    of_phase = ScoreTask.submission_id.in_(select(Submission.id).where(Submission.phase_id == phase_id))
    other = (ScoreTask.status == "queued") & ScoreTask.rerun_id.is_(None) & ~provenance.task_condition()
    session.execute(delete(ScoreTask).where(of_phase, other), execution_options={"synchronize_session": False})


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
    options = {"synchronize_session": False}
    tasks = update(ScoreTask).where(_superseded(scorer_version))
    tasks = tasks.values(status="cancelled", finished_at=now, not_before=None)
    session.execute(tasks, execution_options=options)
    orders = update(Rerun).where(Rerun.finished_at.is_(None), Rerun.scorer_version < scorer_version)
    session.execute(orders.values(cancelled_at=now, finished_at=now), execution_options=options)


def unscored_submissions(phase_id: str, provenance: ScoreProvenance) -> Select[str]:
    """Finished submissions without scores of this provenance, those that the board marks included."""
    scored = exists().where(Score.submission_id == Submission.id, provenance.score_condition())
    return select(Submission.id).where(
        Submission.phase_id == phase_id,
        Submission.status == "finished",
        ~scored,
    )


def has_unscored(session: ReadSession, phase_id: str, provenance: ScoreProvenance) -> bool:
    """Whether the board would lose a row if this version were activated now."""
    return session.scalar(unscored_submissions(phase_id, provenance).limit(1)) is not None


def count_failed(session: ReadSession, phase_id: str, provenance: ScoreProvenance) -> int:
    """How many of those failed for good; they block the activation until they are scored after all."""
    query = select(func.count()).select_from(ScoreTask)
    unscored = ScoreTask.submission_id.in_(unscored_submissions(phase_id, provenance))
    return session.scalars(query.where(provenance.task_condition(), ScoreTask.status == "failed", unscored)).one()


def has_older_running(session: ReadSession, phase_id: str, scorer_version: int) -> bool:
    """Whether a first scoring by an older version is still running."""
    query = select(ScoreTask.id).join(Submission, Submission.id == ScoreTask.submission_id)
    older = (ScoreTask.status == "running") & (ScoreTask.scorer_version < scorer_version)
    unsettled = Submission.status.in_(("queued", "running"))
    return session.scalar(query.where(Submission.phase_id == phase_id, older, unsettled).limit(1)) is not None
