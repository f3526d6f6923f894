"""The work list: claiming, settling and giving back score tasks, all writes fenced by the attempt number."""

from datetime import datetime, timedelta
from typing import Any, cast

from sqlalchemy import ColumnElement, CursorResult, or_, select, update
from sqlalchemy.dialects.postgresql import insert as postgresql_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert

from app.store.session import ReadSession, WriteSession
from app.store.tables import ScoreTask, Submission
from app.store.types import new_id, utcnow


def add(
    session: WriteSession, *, submission_id: str, gold_id: str, recipe_id: str, scorer_version: int, priority: int = 0
) -> str | None:
    """Put a task on the list; None when it is there already (the key decides, never the engine's locks)."""
    insert = sqlite_insert if session.get_bind().dialect.name == "sqlite" else postgresql_insert
    values: dict[str, Any] = {
        "id": new_id(),
        "submission_id": submission_id,
        "gold_id": gold_id,
        "recipe_id": recipe_id,
        "scorer_version": scorer_version,
        "status": "queued",
        "priority": priority,
        "attempt": 0,
        "crashes": 0,
        "interruptions": 0,
        "created_at": utcnow(),
    }
    added = session.execute(insert(ScoreTask).values(values).on_conflict_do_nothing().returning(ScoreTask.id))
    return added.scalar_one_or_none()


def any_due(session: ReadSession, now: datetime) -> bool:
    """Whether a queued task may start at this moment, or a running one has outlived its lease."""
    return session.scalar(select(ScoreTask.id).where(_due(now) | _expired(now)).limit(1)) is not None


def expired(session: ReadSession, now: datetime) -> list[ScoreTask]:
    """Running tasks whose worker was lost: it would have settled them before the lease ended."""
    return list(session.scalars(select(ScoreTask).where(_expired(now))))


def _expired(now: datetime) -> ColumnElement[bool]:
    return (ScoreTask.status == "running") & (ScoreTask.lease_until < now)


def _due(now: datetime) -> ColumnElement[bool]:
    ready = or_(ScoreTask.not_before.is_(None), ScoreTask.not_before <= now)
    return (ScoreTask.status == "queued") & ready


def claim(session: WriteSession, count: int, *, now: datetime, lease: timedelta) -> list[tuple[str, int]]:
    """Take up to `count` due tasks, the most urgent and oldest first; gives (task id, attempt)."""
    due = (
        select(ScoreTask)
        .where(_due(now))
        .order_by(ScoreTask.priority, ScoreTask.id)
        .limit(count)
        .with_for_update(skip_locked=True)
    )
    taken = []
    for task in session.scalars(due):
        task.status = "running"
        task.attempt += 1
        task.started_at = now
        task.lease_until = now + lease
        session.execute(
            update(Submission)
            .where(Submission.id == task.submission_id, Submission.status == "queued")
            .values(status="running", started_at=now)
        )
        taken.append((task.id, task.attempt))
    return taken


def fenced(session: WriteSession, task_id: str, attempt: int, **values: object) -> bool:
    """Change a running task if this attempt still owns it; False means that somebody else does now."""
    result = session.execute(
        update(ScoreTask)
        .where(ScoreTask.id == task_id, ScoreTask.attempt == attempt, ScoreTask.status == "running")
        .values(**values)
        .execution_options(synchronize_session=False)
    )
    return cast("CursorResult[Any]", result).rowcount == 1


def interrupted(session: ReadSession) -> list[ScoreTask]:
    """Tasks left running by an earlier life of the service."""
    return list(session.scalars(select(ScoreTask).where(ScoreTask.status == "running")))
