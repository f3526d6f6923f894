"""The work list: claiming, settling and giving back score tasks, all writes fenced by the attempt number.

Leases and waits go by the steady clock. On SQLite a service owns its work list alone, so that its claims need no lease.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, func, or_, select, update
from sqlalchemy.dialects.postgresql import insert as postgresql_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert

from app.priorities import RESCORING, SUBMITTED
from app.store import clock
from app.store.changes import UNSEEN
from app.store.session import ReadSession, WriteSession
from app.store.tables import ScoreTask, Submission
from app.store.types import id_of


@dataclass(frozen=True, slots=True)
class Backlog:
    """The work that is not done yet; the age is that of the oldest new submission that could start now, 0 without one."""

    queued: int
    running: int
    oldest_seconds: float


def add(
    session: WriteSession,
    *,
    submission_id: str,
    gold_id: str,
    recipe_id: str,
    scorer_version: int,
    priority: int = SUBMITTED,
    status: str = "queued",
) -> str | None:
    """Put a task on the list; None when it is there already (the key decides, never the engine's locks)."""
    insert = sqlite_insert if session.get_bind().dialect.name == "sqlite" else postgresql_insert
    now = clock.steady(session)
    values: dict[str, Any] = {
        "id": id_of(now),
        "submission_id": submission_id,
        "gold_id": gold_id,
        "recipe_id": recipe_id,
        "scorer_version": scorer_version,
        "status": status,
        "priority": priority,
        "attempt": 0,
        "crashes": 0,
        "interruptions": 0,
        "created_at": now,
    }
    added = session.execute(insert(ScoreTask).values(values).on_conflict_do_nothing().returning(ScoreTask.id))
    return added.scalar_one_or_none()


def due(moment: datetime) -> ColumnElement[bool]:
    """Queued, and not to wait any longer."""
    ready = or_(ScoreTask.not_before.is_(None), ScoreTask.not_before <= moment)
    return (ScoreTask.status == "queued") & ready


def for_submissions(scorer_version: int, moment: datetime) -> ColumnElement[bool]:
    """Due at this moment, of this scorer version, and no scoring again."""
    return due(moment) & (ScoreTask.scorer_version == scorer_version) & (ScoreTask.priority < RESCORING)


def any_due(session: ReadSession, scorer_version: int, longer: timedelta = timedelta()) -> bool:
    """Whether a queued task of a new submission may start, and might have started so long ago."""
    moment = clock.steady(session) - longer
    query = select(ScoreTask.id).where(for_submissions(scorer_version, moment))
    if longer:  # only then: a row made before somebody set the clock back seems to be of a time to come
        query = query.where(ScoreTask.created_at <= moment)
    return session.scalar(query.limit(1)) is not None


def expired(session: WriteSession) -> list[ScoreTask]:
    """Running tasks whose worker gave no sign of life for as long as its lease lasted; locked for their return."""
    lost = (ScoreTask.status == "running") & (ScoreTask.lease_until < clock.steady(session))
    return list(session.scalars(select(ScoreTask).where(lost).with_for_update(skip_locked=True)))


def running(session: ReadSession) -> list[ScoreTask]:
    """All that is running; at the start of a service that is alone, what an earlier life of it left."""
    return list(session.scalars(select(ScoreTask).where(ScoreTask.status == "running")))


def backlog(session: ReadSession) -> Backlog:
    """How many tasks wait and run, and for how long the oldest due one has waited."""
    now = clock.steady(session)
    unfinished = ScoreTask.status.in_(("queued", "running"))
    counts = select(ScoreTask.status, func.count()).where(unfinished).group_by(ScoreTask.status)
    depth = {row[0]: row[1] for row in session.execute(counts)}
    oldest = session.scalar(select(func.min(ScoreTask.created_at)).where(due(now), ScoreTask.priority < RESCORING))
    age = 0.0 if oldest is None else max(0.0, (now - oldest).total_seconds())
    return Backlog(queued=depth.get("queued", 0), running=depth.get("running", 0), oldest_seconds=age)


def claim(session: WriteSession, scorer_version: int, count: int) -> list[tuple[str, int]]:
    """Take up to `count` due tasks of new submissions, the most urgent and oldest first; gives (task id, attempt)."""
    query = select(ScoreTask).where(for_submissions(scorer_version, clock.steady(session)))
    return _take(session, query.order_by(ScoreTask.priority, ScoreTask.id).limit(count), lease=None)


def claim_one(session: WriteSession, scorer_version: int, task_id: str, lease: timedelta) -> tuple[str, int] | None:
    """Take this task for as long as the lease lasts, unless it is not due or somebody else takes it now."""
    query = select(ScoreTask).where(ScoreTask.id == task_id, for_submissions(scorer_version, clock.steady(session)))
    return next(iter(_take(session, query.with_for_update(skip_locked=True), lease=lease)), None)


def _take(session: WriteSession, query: Select[ScoreTask], lease: timedelta | None) -> list[tuple[str, int]]:
    now = clock.now(session)
    taken = []
    for task in session.scalars(query):
        task.status = "running"
        task.attempt += 1
        task.started_at = now
        task.lease_until = None if lease is None else clock.steady(session) + lease
        session.execute(
            update(Submission)
            .where(Submission.id == task.submission_id, Submission.status == "queued")
            .values(status="running", started_at=now)
            .execution_options(**UNSEEN)
        )
        taken.append((task.id, task.attempt))
    return taken


def renew(session: WriteSession, claims: Iterable[tuple[str, int]], lease: timedelta) -> None:
    """Prolong the leases of what a worker is at; what it has lost in the meantime stays lost.

    A task that somebody holds is settled, given back or deleted just now: it is passed over, for one who waits for a
    task while holding others may wait for ever.
    """
    mine = [and_(ScoreTask.id == task_id, ScoreTask.attempt == attempt) for task_id, attempt in claims]
    if mine:
        held = select(ScoreTask).where(or_(*mine), ScoreTask.status == "running").with_for_update(skip_locked=True)
        until = clock.steady(session) + lease
        for task in session.scalars(held):
            task.lease_until = until


def hold_all(session: WriteSession, phase_ids: Collection[str]) -> None:
    """Hold every task of these phases, before any other row of theirs.

    Whoever works on a task holds it first and then reaches for its submission, gold and recipe; one who deleted those
    first and came to the task last would meet it halfway.
    """
    query = select(ScoreTask.id).join(Submission, Submission.id == ScoreTask.submission_id)
    held = query.where(Submission.phase_id.in_(phase_ids)).order_by(ScoreTask.id).with_for_update(of=ScoreTask)
    session.execute(held)


def owned(session: WriteSession, task_id: str, attempt: int) -> ScoreTask | None:
    """The task, if this attempt still owns it; locked, so that nobody takes it before the transaction ends."""
    query = select(ScoreTask).where(
        ScoreTask.id == task_id, ScoreTask.attempt == attempt, ScoreTask.status == "running"
    )
    return session.scalar(query.with_for_update())


def forget_waits(session: WriteSession) -> None:
    """Let every queued task start at once: after a restart its wait was measured by the clock of an earlier life."""
    session.execute(
        update(ScoreTask).where(ScoreTask.status == "queued", ScoreTask.not_before.is_not(None)).values(not_before=None)
    )


def forget_claims(session: WriteSession) -> int:
    """Queue what was running elsewhere when these rows were copied, and let all start at once; gives how many wait."""
    undone = ScoreTask.status.in_(("queued", "running"))
    fresh = {"status": "queued", "lease_until": None, "not_before": None}
    waiting = session.execute(update(ScoreTask).where(undone).values(fresh).returning(ScoreTask.id)).all()
    running = update(Submission).where(Submission.status == "running").values(status="queued")
    session.execute(running.execution_options(**UNSEEN))
    return len(waiting)
