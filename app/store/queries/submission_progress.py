"""How far submissions have come: status, attempt and the task that waits for a worker."""

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import func, select

from app.store.session import ReadSession
from app.store.tables import ScoreTask, Submission
from app.task_priorities import RESCORING_PRIORITY


class ProgressRow(NamedTuple):
    """One submission; `waiting_task` is None unless it waits for its first scoring."""

    id: str
    status: str
    attempt: int
    waiting_task: str | None


def load_progress(session: ReadSession, ids: Sequence[str]) -> list[ProgressRow]:
    """The progress of submissions; ids without a row are left out."""
    task = ScoreTask.__table__.c
    waiting = (
        select(func.max(task.id))
        .where(task.submission_id == Submission.id, task.status == "queued", task.priority < RESCORING_PRIORITY)
        .scalar_subquery()
    )
    query = select(Submission.id, Submission.status, Submission.attempt, waiting).where(Submission.id.in_(ids))
    return [ProgressRow(*row) for row in session.execute(query)]
