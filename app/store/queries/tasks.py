"""The work list: claiming, settling and giving back score tasks, all writes fenced by the attempt number.

Leases and waits go by the steady clock. On SQLite a service owns its work list alone, so that its claims need no lease.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import BindParameter, ColumnElement, and_, bindparam, func, or_, select, update
from sqlalchemy.dialects.postgresql import insert as postgresql_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert
from sqlalchemy.orm import lazyload

from app.store import clock
from app.store.board_invalidation import NO_BOARD_CHANGE
from app.store.queries import fair_scheduling
from app.store.queries.fair_scheduling import Lane
from app.store.session import ReadSession, WriteSession
from app.store.tables import GoldVersion, Phase, Recipe, ScoreTask, Submission
from app.store.types import id_at
from app.task_priorities import RESCORING_PRIORITY, SUBMISSION_PRIORITY

_ADD = {
    "sqlite": sqlite_insert(ScoreTask.__table__).on_conflict_do_nothing().returning(ScoreTask.__table__.c.id),
    "postgresql": postgresql_insert(ScoreTask.__table__).on_conflict_do_nothing().returning(ScoreTask.__table__.c.id),
}
_CLAIMED_QUERY = (
    select(Submission, GoldVersion, Phase, Recipe)
    .select_from(ScoreTask)
    .join(Submission, Submission.id == ScoreTask.submission_id)
    .join(GoldVersion, GoldVersion.id == ScoreTask.gold_id)
    .join(Phase, Phase.id == Submission.phase_id)
    .join(Recipe, Recipe.id == ScoreTask.recipe_id)
    .where(ScoreTask.id == bindparam("task_id"), ScoreTask.attempt == bindparam("attempt"))
    .where(ScoreTask.status == "running")
    .options(lazyload(Submission.team))
)


def due_condition(moment: "datetime | BindParameter[datetime]") -> ColumnElement[bool]:
    """Queued, and not to wait any longer."""
    ready = or_(ScoreTask.not_before.is_(None), ScoreTask.not_before <= moment)
    return (ScoreTask.status == "queued") & ready


def due_submission_condition(
    scorer_version: "int | BindParameter[int]", moment: "datetime | BindParameter[datetime]"
) -> ColumnElement[bool]:
    """Due at this moment, of this scorer version, and no scoring again."""
    return (
        due_condition(moment) & (ScoreTask.scorer_version == scorer_version) & (ScoreTask.priority < RESCORING_PRIORITY)
    )


_SCORER: BindParameter[int] = bindparam("scorer", type_=ScoreTask.scorer_version.type)
_MOMENT: BindParameter[datetime] = bindparam("moment", type_=ScoreTask.not_before.type)
_STARTED: BindParameter[datetime] = bindparam("now", type_=ScoreTask.started_at.type)
_DUE = due_submission_condition(_SCORER, _MOMENT)
_ANY_DUE = select(ScoreTask.id).where(_DUE).limit(1)
_ANY_DUE_SINCE = _ANY_DUE.where(ScoreTask.created_at <= _MOMENT)
_START = (
    update(ScoreTask.__table__)
    .where(ScoreTask.id == bindparam("task"))
    .values(
        status="running",
        attempt=ScoreTask.attempt + 1,
        served_turn=ScoreTask.turn,
        started_at=_STARTED,
        lease_until=bindparam("until", type_=ScoreTask.lease_until.type),
    )
)
_SHOW_STARTED = (
    update(Submission.__table__)
    .where(Submission.id == bindparam("submission"), Submission.status == "queued")
    .values(status="running", started_at=_STARTED, attempt=Submission.attempt + bindparam("tries"))
)
_FINISH = (
    update(ScoreTask.__table__)
    .where(ScoreTask.id == bindparam("task"), ScoreTask.attempt == bindparam("fence"))
    .where(ScoreTask.status == "running")
    .values(status="done", finished_at=bindparam("now", type_=ScoreTask.finished_at.type), lease_until=None)
    .returning(*(ScoreTask.__table__.c[name] for name in ("submission_id", "gold_id", "recipe_id", "scorer_version")))
)


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
    priority: int = SUBMISSION_PRIORITY,
    status: str = "queued",
    lane: Lane | None = None,
    moment: datetime | None = None,
) -> str | None:
    """Put a task on the list; None when it is there already (the key decides, never the engine's locks).

    The `lane` is that of the submission unless it is said; `moment` is the steady one, where the caller has read it.
    """
    lane = lane or fair_scheduling.lane_of(session, submission_id)
    place = fair_scheduling.take_turn(session, lane)
    now = moment or clock.steady(session)
    task_id = id_at(now)
    values: dict[str, Any] = {
        "id": task_id,
        "ticket": task_id,
        "submission_id": submission_id,
        "gold_id": gold_id,
        "recipe_id": recipe_id,
        "scorer_version": scorer_version,
        "status": status,
        "priority": priority,
        "lane": lane.name,
        "sublane": lane.part,
        **place._asdict(),
        "attempt": 0,
        "crashes": 0,
        "interruptions": 0,
        "created_at": now,
    }
    added = session.connection().execute(_ADD[session.get_bind().dialect.name], values)
    return added.scalar_one_or_none()


def has_due(session: ReadSession, scorer_version: int, longer: timedelta = timedelta()) -> bool:
    """Whether a queued task of a new submission may start, and might have started so long ago."""
    moment = clock.steady(session) - longer
    # Their age only then: a row made before somebody set the clock back seems to be of a time to come.
    query = _ANY_DUE_SINCE if longer else _ANY_DUE
    return session.connection().execute(query, {"moment": moment, "scorer": scorer_version}).first() is not None


def lock_expired(session: WriteSession) -> list[ScoreTask]:
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
    oldest = session.scalar(
        select(func.min(ScoreTask.created_at)).where(due_condition(now), ScoreTask.priority < RESCORING_PRIORITY)
    )
    age = 0.0 if oldest is None else max(0.0, (now - oldest).total_seconds())
    return Backlog(queued=depth.get("queued", 0), running=depth.get("running", 0), oldest_seconds=age)


def claim(session: WriteSession, scorer_version: int, count: int) -> list[tuple[str, int]]:
    """Take up to `count` due tasks of new submissions, as their turns come; gives (task id, attempt)."""
    taken: list[tuple[str, int]] = []
    while len(taken) < count and (one := claim_next(session, scorer_version, lease=None)) is not None:
        taken.append(one)
    return taken


def claim_next(session: WriteSession, scorer_version: int, lease: timedelta | None) -> tuple[str, int] | None:
    """Take the due task whose turn it is for as long as the lease lasts; None where there is none."""
    moment, connection = clock.read(session), session.connection()
    chosen = fair_scheduling.choose_task(session, scorer_version, moment.steady)
    if chosen is None:
        return None
    fair_scheduling.swap_turns(session, chosen)
    until = None if lease is None else moment.steady + lease
    task = chosen.task
    connection.execute(_START, {"task": task.id, "now": moment.now, "until": until})
    # What an organizer has scored once more is no attempt of its team's; the first try of what they enter is one.
    tries = 0 if fair_scheduling.is_in_organizers_lane(task) and task.attempt else 1
    connection.execute(_SHOW_STARTED, {"submission": task.submission_id, "now": moment.now, "tries": tries})
    return task.id, task.attempt + 1


def renew_leases(session: WriteSession, claims: Iterable[tuple[str, int]], lease: timedelta) -> None:
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


def lock_phase_tasks(session: WriteSession, phase_ids: Collection[str]) -> None:
    """Hold every task of these phases, before any other row of theirs.

    Whoever works on a task holds it first and then reaches for its submission, gold and recipe; one who deleted those
    first and came to the task last would meet it halfway.
    """
    query = select(ScoreTask.id).join(Submission, Submission.id == ScoreTask.submission_id)
    held = query.where(Submission.phase_id.in_(phase_ids)).order_by(ScoreTask.id).with_for_update(of=ScoreTask)
    session.execute(held)


def lock_unfinished(session: WriteSession, submission_ids: Collection[str]) -> list[ScoreTask]:
    """The queued and running tasks of these submissions, locked."""
    unfinished = ScoreTask.submission_id.in_(submission_ids) & ScoreTask.status.in_(("queued", "running"))
    query = select(ScoreTask).where(unfinished).order_by(ScoreTask.id).with_for_update()
    return list(session.scalars(query.execution_options(populate_existing=True)))


def cancel(session: WriteSession, task: ScoreTask, now: datetime) -> None:
    """A task that is held is not to be done; who works on it owns it no longer, and stores nothing."""
    waited = task.status == "queued" and task.priority < RESCORING_PRIORITY
    task.status, task.finished_at, task.lease_until, task.not_before = "cancelled", now, None, None
    session.flush()
    if waited:
        session.refresh(task, ["turn", "ticket"])  # another that left a moment ago may have moved it up
        fair_scheduling.release_turn(session, task)


def lock_owned(session: WriteSession, task_id: str, attempt: int) -> ScoreTask | None:
    """The task, if this attempt still owns it; locked, so that nobody takes it before the transaction ends."""
    query = select(ScoreTask).where(
        ScoreTask.id == task_id, ScoreTask.attempt == attempt, ScoreTask.status == "running"
    )
    return session.scalar(query.with_for_update())


def has_newer_waiting(session: ReadSession, task: ScoreTask) -> bool:
    """Whether a newer scorer version has still to say what becomes of the submission."""
    newer = (ScoreTask.submission_id == task.submission_id) & (ScoreTask.scorer_version > task.scorer_version)
    undone = newer & ScoreTask.status.in_(("queued", "running"))
    return session.scalar(select(ScoreTask.id).where(undone).limit(1)) is not None


def finish(session: WriteSession, task_id: str, attempt: int, now: datetime) -> dict[str, Any] | None:
    """The task is done; gives the key that its scores carry, None where this attempt does not own it."""
    names = {"task": task_id, "fence": attempt, "now": now}
    row = session.connection().execute(_FINISH, names).mappings().one_or_none()
    return None if row is None else {**row}


def fail(session: WriteSession, task_id: str, now: datetime, failure: dict[str, str]) -> None:
    """A task that this transaction has ended failed after all."""
    ended = update(ScoreTask).where(ScoreTask.id == task_id)
    session.execute(ended.values(status="failed", finished_at=now, lease_until=None, failure=failure))


def load_claimed(
    session: ReadSession, task_id: str, attempt: int
) -> tuple[Submission, GoldVersion, Phase, Recipe] | None:
    """What this attempt works with, if it still owns the task."""
    row = session.execute(_CLAIMED_QUERY, {"task_id": task_id, "attempt": attempt}).one_or_none()
    return None if row is None else (row[0], row[1], row[2], row[3])


def clear_delays(session: WriteSession) -> None:
    """Let every queued task start at once: after a restart its wait was measured by the clock of an earlier life."""
    session.execute(
        update(ScoreTask).where(ScoreTask.status == "queued", ScoreTask.not_before.is_not(None)).values(not_before=None)
    )


def requeue_unfinished(session: WriteSession) -> int:
    """Queue what was running elsewhere when these rows were copied, and let all start at once; gives how many wait."""
    undone = ScoreTask.status.in_(("queued", "running"))
    fresh = {"status": "queued", "lease_until": None, "not_before": None}
    waiting = session.execute(update(ScoreTask).where(undone).values(fresh).returning(ScoreTask.id)).all()
    running = update(Submission).where(Submission.status == "running").values(status="queued")
    session.execute(running.execution_options(**NO_BOARD_CHANGE))
    return len(waiting)
