"""Queries for a raised scorer version: what still has to be scored by it, and what keeps it from being put in force."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, Select, exists, func, insert, select, update
from sqlalchemy.orm import aliased

from app.store import clock
from app.store.queries.score_provenance import ScoreProvenance
from app.store.session import ReadSession, WriteSession
from app.store.tables import Phase, Rerun, Score, ScoreTask, Submission
from app.store.types import id_at
from app.task_priorities import RESCORING_PRIORITY


def outdated_phases(session: ReadSession, scorer_version: int) -> list[Phase]:
    """Phases in force at an older version."""
    return list(session.scalars(select(Phase).where(Phase.scorer_version < scorer_version).order_by(Phase.id)))


def submissions_without_task(
    session: ReadSession, phase_id: str, origin: ScoreProvenance, most: int
) -> list[tuple[str, str]]:
    """Submissions, with their statuses, that have or may get scores and no task of this origin, the oldest first."""
    task = exists().where(ScoreTask.submission_id == Submission.id, origin.task_condition())
    query = select(Submission.id, Submission.status).where(
        Submission.phase_id == phase_id, Submission.status.in_(("queued", "running", "finished")), ~task
    )
    return [(row.id, row.status) for row in session.execute(query.order_by(Submission.id).limit(most))]


def add_tasks(session: WriteSession, submission_ids: Sequence[str], origin: ScoreProvenance, recipe_id: str) -> None:
    """Tasks to score these again; nobody else adds any meanwhile."""
    if not submission_ids:
        return
    now = clock.steady(session)
    same = {"gold_id": origin.gold_id, "recipe_id": recipe_id, "scorer_version": origin.scorer_version}
    state = {"status": "queued", "priority": RESCORING_PRIORITY, "attempt": 0, "crashes": 0, "interruptions": 0}
    session.execute(
        insert(ScoreTask),
        [
            {"id": id_at(now + timedelta(microseconds=place)), "submission_id": each, "created_at": now} | same | state
            for place, each in enumerate(submission_ids)
        ],
    )


def _superseded(scorer_version: int) -> ColumnElement[bool]:
    """Queued, of an older version, where there is a task of this one for the submission."""
    newer = aliased(ScoreTask)
    there = exists().where(newer.submission_id == ScoreTask.submission_id, newer.scorer_version == scorer_version)
    return (ScoreTask.status == "queued") & (ScoreTask.scorer_version < scorer_version) & there


def has_superseded(session: ReadSession, scorer_version: int) -> bool:
    """Whether tasks wait that nobody need do."""
    return session.scalar(select(ScoreTask.id).where(_superseded(scorer_version)).limit(1)) is not None


def cancel_superseded(session: WriteSession, scorer_version: int, now: datetime) -> None:
    """Cancel the tasks that a newer version has taken over, and the orders that they belonged to."""
    gone = {"status": "cancelled", "finished_at": now, "not_before": None}
    quiet = {"synchronize_session": False}
    session.execute(update(ScoreTask).where(_superseded(scorer_version)).values(**gone), execution_options=quiet)
    open_ones = Rerun.finished_at.is_(None) & (Rerun.scorer_version < scorer_version)
    over = update(Rerun).where(open_ones).values(cancelled_at=now, finished_at=now)
    session.execute(over, execution_options=quiet)


def unscored_submissions(phase_id: str, origin: ScoreProvenance) -> Select[str]:
    """Counted submissions, finished and neither withdrawn nor disqualified, without scores of this origin."""
    scored = exists().where(Score.submission_id == Submission.id, origin.score_condition())
    return select(Submission.id).where(
        Submission.phase_id == phase_id,
        Submission.status == "finished",
        Submission.withdrawn_at.is_(None),
        Submission.disqualified_at.is_(None),
        ~scored,
    )


def has_unscored(session: ReadSession, phase_id: str, origin: ScoreProvenance) -> bool:
    """Whether a row of the board would be lost by the switch."""
    return session.scalar(unscored_submissions(phase_id, origin).limit(1)) is not None


def count_failed(session: ReadSession, phase_id: str, origin: ScoreProvenance) -> int:
    """How many of those failed for good, which withholds the switch until they are scored after all."""
    query = select(func.count()).select_from(ScoreTask)
    wanting = ScoreTask.submission_id.in_(unscored_submissions(phase_id, origin))
    return session.scalars(query.where(origin.task_condition(), ScoreTask.status == "failed", wanting)).one()


def has_older_running(session: ReadSession, phase_id: str, scorer_version: int) -> bool:
    """Whether a first scoring by an older version is still at work."""
    query = select(ScoreTask.id).join(Submission, Submission.id == ScoreTask.submission_id)
    older = (ScoreTask.status == "running") & (ScoreTask.scorer_version < scorer_version)
    open_ones = Submission.status.in_(("queued", "running"))
    return session.scalar(query.where(Submission.phase_id == phase_id, older, open_ones).limit(1)) is not None
