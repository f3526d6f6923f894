"""The work list: claiming, settling and requeueing score tasks.

Every claim increments the task's `attempt`. Every later write names its attempt and has no effect if another claim has
followed: a worker that was paused beyond its lease cannot overwrite the result of its successor. Leases and delays use
the steady clock. On SQLite a single service owns its work list, so its claims need no lease.

Rows are locked in one order everywhere, to prevent deadlocks: a task, then its submission, then rows that refer to it.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import BindParameter, ColumnElement, and_, bindparam, func, or_, select, update
from sqlalchemy.dialects.postgresql import insert as postgresql_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert

from app.store import clock
from app.store.board_invalidation import NO_BOARD_CHANGE
from app.store.clock import ClockReading
from app.store.queries import analysis_tasks, fair_scheduling
from app.store.queries.fair_scheduling import Lane, TaskTurn
from app.store.session import ReadSession, WriteSession
from app.store.tables import ScoreTask, Submission
from app.store.types import id_at
from app.task_priorities import RESCORING_PRIORITY, SUBMISSION_PRIORITY

_ADD = {
    "sqlite": sqlite_insert(ScoreTask.__table__).on_conflict_do_nothing().returning(ScoreTask.__table__.c.id),
    "postgresql": postgresql_insert(ScoreTask.__table__).on_conflict_do_nothing().returning(ScoreTask.__table__.c.id),
}


def due_condition(moment: "datetime | BindParameter[datetime]") -> ColumnElement[bool]:
    """Queued, and not delayed any longer."""
    ready = or_(ScoreTask.not_before.is_(None), ScoreTask.not_before <= moment)
    return (ScoreTask.status == "queued") & ready


def due_submission_condition(
    scorer_version: "int | BindParameter[int]", moment: "datetime | BindParameter[datetime]"
) -> ColumnElement[bool]:
    """Due at this moment, of this scorer version, and not a rescoring task."""
    first_scoring = ScoreTask.priority < RESCORING_PRIORITY
    return due_condition(moment) & (ScoreTask.scorer_version == scorer_version) & first_scoring


_SCORER: BindParameter[int] = bindparam("scorer", type_=ScoreTask.scorer_version.type)
_MOMENT: BindParameter[datetime] = bindparam("moment", type_=ScoreTask.not_before.type)
_DUE = due_submission_condition(_SCORER, _MOMENT)
_ANY_DUE = select(ScoreTask.id).where(_DUE).limit(1)
_NEXT_DUE = select(ScoreTask.id).where(_DUE).order_by(ScoreTask.priority, ScoreTask.turn, ScoreTask.ticket).limit(1)
_ANY_DUE_SINCE = _ANY_DUE.where(ScoreTask.created_at <= _MOMENT)
_LOCK_TASKS = select(ScoreTask.id).where(ScoreTask.id.in_(bindparam("tasks", expanding=True)))
_LOCK_TASKS = _LOCK_TASKS.order_by(ScoreTask.id).with_for_update()
_LOADED = ("submission_id", "file_key", "format", "encoding", "layout", "submitted_at")
_LOADED_OF_GOLD = ("recipe_id", "gold_id", "gold_status", "gold_activated_at")
_LOADED_OF_SWITCHES = ("pending_switch", "last_switch")
_SCORE_KEY = ("submission_id", "gold_id", "recipe_id", "scorer_version")
_FINISH = (
    update(ScoreTask.__table__)
    .where(ScoreTask.id == bindparam("task"), ScoreTask.attempt == bindparam("fence"))
    .where(ScoreTask.status == "running")
    .values(status="done", finished_at=bindparam("now", type_=ScoreTask.finished_at.type), lease_until=None)
    .returning(*(ScoreTask.__table__.c[name] for name in _SCORE_KEY))
)


@dataclass(frozen=True, slots=True)
class Backlog:
    """Unfinished work; `oldest_seconds` is the age of the oldest new submission that could start now, 0 without one.

    `waiting` is the part of `queued` that is not rescoring.
    """

    queued: int
    waiting: int
    running: int
    oldest_seconds: float


def add(
    session: WriteSession,
    *,
    submission_id: str,
    gold_id: str,
    recipe_id: str,
    scorer_version: int,
    priority: int = SUBMISSION_PRIORITY,
    status: str = "queued",
    lane: Lane | None = None,
) -> str | None:
    """Add a task; returns None if it exists already, which the unique key decides and no lock.

    `lane` defaults to that of the submission.
    """
    lane = lane or fair_scheduling.lane_of(session, submission_id)
    turn = fair_scheduling.take_turn(session, lane)
    now = clock.steady(session)
    key = {"submission_id": submission_id, "gold_id": gold_id, "recipe_id": recipe_id, "scorer_version": scorer_version}
    values = new_values(key, lane, turn, now) | {"status": status, "priority": priority}
    added = session.connection().execute(_ADD[session.get_bind().dialect.name], values)
    return added.scalar_one_or_none()


def new_values(key: Mapping[str, Any], lane: Lane, turn: TaskTurn, now: datetime) -> dict[str, Any]:
    """The row of a new task of a submission: `key` holds its submission, gold, recipe and scorer version."""
    task_id = id_at(now)
    return {
        **key,
        "id": task_id,
        "ticket": task_id,
        "status": "queued",
        "priority": SUBMISSION_PRIORITY,
        "lane": lane.name,
        "sublane": lane.sublane,
        **turn._asdict(),
        "attempt": 0,
        "crashes": 0,
        "interruptions": 0,
        "created_at": now,
    }


def has_due(session: ReadSession, scorer_version: int, longer: timedelta = timedelta()) -> bool:
    """Whether a task of a new submission is due, and has been for at least `longer`."""
    moment = clock.steady(session) - longer
    # The age is compared only if needed: after the clock was set back, older rows seem to be from the future.
    query = _ANY_DUE_SINCE if longer else _ANY_DUE
    return session.connection().execute(query, {"moment": moment, "scorer": scorer_version}).first() is not None


def next_due(session: ReadSession, scorer_version: int) -> str | None:
    """The due task of a new submission that has the smallest turn, None if there is none."""
    parameters = {"moment": clock.steady(session), "scorer": scorer_version}
    task_id: str | None = session.connection().execute(_NEXT_DUE, parameters).scalar_one_or_none()
    return task_id


def lock_expired(session: WriteSession) -> list[ScoreTask]:
    """Running tasks with an expired lease, locked to be requeued; tasks locked by another transaction are skipped."""
    expired = (ScoreTask.status == "running") & (ScoreTask.lease_until < clock.steady(session))
    return list(session.scalars(select(ScoreTask).where(expired).with_for_update(skip_locked=True)))


def running(session: ReadSession) -> list[ScoreTask]:
    """All running tasks; when a single service starts, those that its previous process left."""
    return list(session.scalars(select(ScoreTask).where(ScoreTask.status == "running")))


def backlog(session: ReadSession) -> Backlog:
    """The numbers of queued and running tasks, and the wait of the oldest due one."""
    now = clock.steady(session)
    unfinished = ScoreTask.status.in_(("queued", "running"))
    waits = (ScoreTask.status == "queued") & (ScoreTask.priority < RESCORING_PRIORITY)
    counts = select(ScoreTask.status, func.count(), func.count().filter(waits)).where(unfinished)
    depth = {status: (count, waiting) for status, count, waiting in session.execute(counts.group_by(ScoreTask.status))}
    oldest = session.scalar(
        select(func.min(ScoreTask.created_at)).where(due_condition(now), ScoreTask.priority < RESCORING_PRIORITY)
    )
    age = 0.0 if oldest is None else max(0.0, (now - oldest).total_seconds())
    (queued, waiting), (running, _) = depth.get("queued", (0, 0)), depth.get("running", (0, 0))
    return Backlog(queued=queued, waiting=waiting, running=running, oldest_seconds=age)


@dataclass(frozen=True, slots=True)
class Claimed:
    """A claim with the columns that scoring needs of the task, its submission and its gold."""

    task_id: str
    attempt: int
    submission_id: str
    recipe_id: str
    gold_id: str
    gold_status: str
    gold_activated_at: datetime | None
    file_key: str
    format: str
    encoding: str
    layout: str
    submitted_at: datetime
    pending_switch: str | None
    """The pending switch of the board of the phase."""
    last_switch: str | None
    """The last switch that was done; older phases have none."""
    started_at: datetime
    more: bool
    """Whether another task is due after this claim."""


def claim(
    session: WriteSession, scorer_version: int, moment: ClockReading, count: int, lease: timedelta | None
) -> list[Claimed]:
    """Claim up to `count` due tasks of new submissions in fair order, for the duration of the lease if there is one.

    `moment` comes from `fair_scheduling.prepare_claims`.
    """
    claims: list[Claimed] = []
    while len(claims) < count:
        task = fair_scheduling.start_next(session, scorer_version, moment, lease)
        if task is None:
            break
        loaded = {name: getattr(task, name) for name in (*_LOADED, *_LOADED_OF_GOLD, *_LOADED_OF_SWITCHES)}
        claims.append(
            Claimed(task.id, task.attempt + 1, started_at=moment.now, more=task.following is not None, **loaded)
        )
    return claims


def renew_leases(session: WriteSession, claims: Iterable[tuple[str, int]], lease: timedelta) -> None:
    """Extend the leases of tasks that a worker still owns.

    Locked tasks are skipped: another transaction is settling, requeueing or deleting them. Waiting for one task while
    holding others could deadlock.
    """
    owned = [and_(ScoreTask.id == task_id, ScoreTask.attempt == attempt) for task_id, attempt in claims]
    if owned:
        query = select(ScoreTask).where(or_(*owned), ScoreTask.status == "running").with_for_update(skip_locked=True)
        lease_until = clock.steady(session) + lease
        for task in session.scalars(query):
            task.lease_until = lease_until


def lock_phase_tasks(session: WriteSession, phase_ids: Sequence[str]) -> None:
    """Lock every task of these phases, before any other row of theirs.

    A worker locks a task and then its submission, gold and recipe. A deletion that locked those first and the task last
    would deadlock with it.
    """
    query = select(ScoreTask.id).join(Submission, Submission.id == ScoreTask.submission_id)
    of_phases = query.where(Submission.phase_id.in_(phase_ids)).order_by(ScoreTask.id)
    session.execute(of_phases.with_for_update(of=ScoreTask))
    analysis_tasks.lock_of_phases(session, phase_ids)


def lock_unfinished(session: WriteSession, submission_ids: Collection[str]) -> list[ScoreTask]:
    """The queued and running tasks of these submissions, locked and read again."""
    unfinished = ScoreTask.submission_id.in_(submission_ids) & ScoreTask.status.in_(("queued", "running"))
    query = select(ScoreTask).where(unfinished).order_by(ScoreTask.id).with_for_update()
    return list(session.scalars(query.execution_options(populate_existing=True)))


def cancel(session: WriteSession, task: ScoreTask, now: datetime) -> None:
    """Cancel a locked task; a worker that runs it no longer owns it, so its result is discarded.

    If the task was queued, its turn passes to another task of its lane.
    """
    was_queued = task.status == "queued" and task.priority < RESCORING_PRIORITY
    task.status, task.finished_at, task.lease_until, task.not_before = "cancelled", now, None, None
    session.flush()
    if was_queued:
        session.refresh(task, ["turn", "ticket"])  # a task cancelled just before may have passed its turn to this one
        fair_scheduling.release_turn(session, task)


def lock_owned(session: WriteSession, task_id: str, attempt: int) -> ScoreTask | None:
    """The task if this attempt still owns it, locked so that no other claim intervenes before the transaction ends."""
    owned = (ScoreTask.id == task_id) & (ScoreTask.attempt == attempt) & (ScoreTask.status == "running")
    return session.scalar(select(ScoreTask).where(owned).with_for_update())


def has_newer_waiting(session: ReadSession, task: ScoreTask) -> bool:
    """Whether a task of a newer scorer version is unfinished, which then decides about the submission."""
    newer = (ScoreTask.submission_id == task.submission_id) & (ScoreTask.scorer_version > task.scorer_version)
    unfinished = newer & ScoreTask.status.in_(("queued", "running"))
    return session.scalar(select(ScoreTask.id).where(unfinished).limit(1)) is not None


def finish(session: WriteSession, fences: Sequence[tuple[str, int]], now: datetime) -> dict[str, dict[str, Any]]:
    """Mark tasks as done, fenced by their attempts; returns the keys of their scores by task id.

    A task that its attempt has lost is left out. Several are locked in the order of their ids first, as everywhere.
    """
    connection = session.connection()
    if len(fences) > 1:
        connection.execute(_LOCK_TASKS, {"tasks": [task_id for task_id, _ in fences]})
    keys: dict[str, dict[str, Any]] = {}
    for task_id, attempt in fences:
        fenced = {"task": task_id, "fence": attempt, "now": now}
        row = connection.execute(_FINISH, fenced).mappings().one_or_none()
        if row is not None:
            keys[task_id] = {**row}
    return keys


def fail(session: WriteSession, task_id: str, now: datetime, failure: dict[str, str]) -> None:
    """Mark a task as failed that this transaction has already finished."""
    statement = update(ScoreTask).where(ScoreTask.id == task_id)
    session.execute(statement.values(status="failed", finished_at=now, lease_until=None, failure=failure))


def clear_delays(session: WriteSession) -> None:
    """Make every queued task due: after a restart, delays measured with the previous process's clock mean nothing."""
    delayed = (ScoreTask.status == "queued") & ScoreTask.not_before.is_not(None)
    session.execute(update(ScoreTask).where(delayed).values(not_before=None))


def requeue_unfinished(session: WriteSession) -> int:
    """Requeue the unfinished tasks of a restored backup, without delays; returns how many score tasks are queued."""
    unfinished = update(ScoreTask).where(ScoreTask.status.in_(("queued", "running")))
    requeued = unfinished.values(status="queued", lease_until=None, not_before=None).returning(ScoreTask.id)
    count = len(session.execute(requeued).all())
    submissions = update(Submission).where(Submission.status == "running").values(status="queued")
    session.execute(submissions.execution_options(**NO_BOARD_CHANGE))
    analysis_tasks.requeue_unfinished(session)
    return count
