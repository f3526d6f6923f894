"""The work list of analyses: intervals of single scores, and comparisons of the rows of boards.

As with score tasks, each claim increments `attempt`, and later writes name their attempt. Rows of one submission are
locked in the same order as those of its score tasks: a task before its submission.
"""

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, delete, exists, func, or_, select, update
from sqlalchemy.dialects.postgresql import insert as postgresql_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert

from app.store import clock
from app.store.analysis_tables import BOARD_KINDS, INTERVALS
from app.store.queries.id_lists import is_among
from app.store.session import ReadSession, WriteSession
from app.store.tables import AnalysisTask, BoardChange, Phase, Submission
from app.store.types import id_at, new_id, utcnow

_ADD = {
    "sqlite": sqlite_insert(AnalysisTask.__table__).on_conflict_do_nothing(index_elements=["key"]),
    "postgresql": postgresql_insert(AnalysisTask.__table__).on_conflict_do_nothing(index_elements=["key"]),
}
_NO_SYNC = {"synchronize_session": False}


def interval_key(key: Mapping[str, Any]) -> str:
    """What identifies the intervals of a score: its submission, gold, recipe and scorer version."""
    names = ("submission_id", "gold_id", "recipe_id", "scorer_version")
    return _hash(INTERVALS, *(str(key[name]) for name in names))


def board_key(phase_id: str, kind: str, split: str, metric: str) -> str:
    """What identifies the comparison of the rows of a board."""
    return _hash(kind, phase_id, split, metric)


def _hash(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def add_intervals(session: WriteSession, key: Mapping[str, Any]) -> None:
    """Queue the intervals of a score that this transaction stores; nothing if they are known or queued already."""
    columns = {name: key[name] for name in ("submission_id", "gold_id", "recipe_id", "scorer_version")}
    row = {"id": new_id(), "key": interval_key(key), "kind": INTERVALS, "status": "queued", "queued_at": utcnow()}
    session.connection().execute(_ADD[session.get_bind().dialect.name], row | columns)


def request_board(session: WriteSession, phase_id: str, kind: str, split: str, metric: str) -> None:
    """Have the rows of a board compared: queue its task, or let the running one be followed by another run.

    A task that ran a short time ago waits until its next start. One that failed for good gets new tries, because the
    board has changed.
    """
    key = board_key(phase_id, kind, split, metric)
    task = session.scalar(select(AnalysisTask).where(AnalysisTask.key == key).with_for_update())
    moment = clock.steady(session)
    if task is None:
        board = {"phase_id": phase_id, "kind": kind, "split": split, "metric": metric}
        row = {"id": id_at(moment), "key": key, "status": "queued", "queued_at": utcnow()}
        session.connection().execute(_ADD[session.get_bind().dialect.name], row | board)
    elif task.status == "running":
        task.again = True
    elif task.status != "queued":
        queue_again(task)


def queue_again(task: AnalysisTask) -> None:
    """Queue a locked task for another run, not before its next start."""
    task.status, task.again, task.queued_at = "queued", False, utcnow()
    task.crashes, task.interruptions, task.failure = 0, 0, None
    task.not_before, task.lease_until = task.next_start, None


def _due(scorer_version: int, moment: datetime, *, boards: bool) -> Select[AnalysisTask]:
    """The due tasks that a program with this scorer version can compute, the longest queued first."""
    ready = or_(AnalysisTask.not_before.is_(None), AnalysisTask.not_before <= moment)
    wanted: ColumnElement[bool] = and_(AnalysisTask.kind == INTERVALS, AnalysisTask.scorer_version == scorer_version)
    if boards:
        of_version = exists().where(Phase.id == AnalysisTask.phase_id, Phase.scorer_version == scorer_version)
        wanted = and_(AnalysisTask.kind.in_(BOARD_KINDS), of_version)
    query = select(AnalysisTask).where(AnalysisTask.status == "queued", ready, wanted)
    return query.order_by(AnalysisTask.queued_at, AnalysisTask.id)


def has_due(session: ReadSession, scorer_version: int) -> bool:
    """Whether any task is due."""
    moment = clock.steady(session)
    return any(
        session.scalars(_due(scorer_version, moment, boards=boards).limit(1)).first() is not None
        for boards in (False, True)
    )


def phases_with_due_boards(session: ReadSession, scorer_version: int) -> list[str]:
    """The phases with a board that is due to be compared, the longest queued first."""
    due = _due(scorer_version, clock.steady(session), boards=True).order_by(None).subquery()
    queued = func.min(due.c.queued_at)
    return list(session.scalars(select(due.c.phase_id).group_by(due.c.phase_id).order_by(queued, due.c.phase_id)))


def claim(
    session: WriteSession,
    scorer_version: int,
    phases: Sequence[str],
    *,
    boards_first: bool,
    lease: timedelta | None,
    interval: timedelta,
) -> AnalysisTask | None:
    """Claim the next due task, of boards the first one in the order of these phases.

    A board's next run starts `interval` after this one at the earliest.
    """
    moment = clock.steady(session)
    of_intervals = [_due(scorer_version, moment, boards=False)]
    of_boards = [_due(scorer_version, moment, boards=True).where(AnalysisTask.phase_id == phase) for phase in phases]
    for query in (*of_boards, *of_intervals) if boards_first else (*of_intervals, *of_boards):
        task = session.scalars(query.limit(1).with_for_update(skip_locked=True)).first()
        if task is not None:
            task.status, task.again, task.attempt = "running", False, task.attempt + 1
            task.not_before, task.next_start = None, None if task.kind == INTERVALS else moment + interval
            task.lease_until = None if lease is None else moment + lease
            session.flush()
            return task
    return None


def lock_owned(session: WriteSession, task_id: str, attempt: int) -> AnalysisTask | None:
    """The task if this attempt still owns it, locked."""
    owned = (AnalysisTask.id == task_id) & (AnalysisTask.attempt == attempt) & (AnalysisTask.status == "running")
    return session.scalar(select(AnalysisTask).where(owned).with_for_update())


def finish(session: WriteSession, task: AnalysisTask, failure: Mapping[str, str] | None = None) -> None:
    """End a locked task, as failed for good if there is a failure; one whose board has changed is queued again."""
    task.status, task.finished_at = ("done" if failure is None else "failed"), clock.now(session)
    task.lease_until, task.failure = None, None if failure is None else dict(failure)
    if task.again:
        queue_again(task)
    session.flush()


def delay(session: WriteSession, task: AnalysisTask, wait: timedelta) -> None:
    """Queue a locked task again that gave no result, after a wait."""
    task.status, task.lease_until, task.again = "queued", None, False
    task.not_before = clock.steady(session) + wait if wait else None
    session.flush()


def running(session: WriteSession) -> list[AnalysisTask]:
    """All running tasks; when a single service starts, those that its previous process left."""
    return list(session.scalars(select(AnalysisTask).where(AnalysisTask.status == "running")))


def lock_expired(session: WriteSession) -> list[AnalysisTask]:
    """Running tasks with an expired lease, locked; those that another transaction has locked are skipped."""
    expired = (AnalysisTask.status == "running") & (AnalysisTask.lease_until < clock.steady(session))
    return list(session.scalars(select(AnalysisTask).where(expired).with_for_update(skip_locked=True)))


def clear_delays(session: WriteSession) -> None:
    """Forget delays: after a restart, those measured with the previous process's clock mean nothing."""
    delayed = or_(AnalysisTask.not_before.is_not(None), AnalysisTask.next_start.is_not(None))
    cleared = update(AnalysisTask).where(delayed).values(not_before=None, next_start=None)
    session.execute(cleared, execution_options=_NO_SYNC)


def requeue_unfinished(session: WriteSession) -> None:
    """Requeue the running tasks of a restored backup, without delays."""
    unfinished = update(AnalysisTask).where(AnalysisTask.status == "running").values(status="queued", lease_until=None)
    session.execute(unfinished, execution_options=_NO_SYNC)
    clear_delays(session)


def renew_leases(session: WriteSession, claims: Iterable[tuple[str, int]], lease: timedelta) -> None:
    """Extend the leases of tasks that a worker still owns; locked ones are skipped, as with score tasks."""
    owned = [and_(AnalysisTask.id == task_id, AnalysisTask.attempt == attempt) for task_id, attempt in claims]
    if owned:
        query = select(AnalysisTask).where(or_(*owned), AnalysisTask.status == "running")
        lease_until = clock.steady(session) + lease
        for task in session.scalars(query.with_for_update(skip_locked=True)):
            task.lease_until = lease_until


def lock_of_submissions(session: WriteSession, submissions: Select[Any] | Collection[str]) -> None:
    """Lock the tasks of these submissions, before the submissions: a deletion removes both."""
    chosen = select(AnalysisTask.id).where(AnalysisTask.submission_id.in_(submissions))
    session.execute(chosen.order_by(AnalysisTask.id).with_for_update())


def lock_of_boards(session: WriteSession, phase_ids: Sequence[str]) -> None:
    """Lock the tasks of the boards of these phases in the order of their ids, before any of them is named singly."""
    of_boards = select(AnalysisTask.id).where(is_among(session, AnalysisTask.phase_id, phase_ids))
    session.execute(of_boards.order_by(AnalysisTask.id).with_for_update())


def lock_of_phases(session: WriteSession, phase_ids: Sequence[str]) -> None:
    """Lock all tasks of these phases, before any other row of theirs."""
    lock_of_boards(session, phase_ids)
    lock_of_submissions(session, select(Submission.id).where(Submission.phase_id.in_(phase_ids)))


def failures(session: ReadSession, keys: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Why tasks with these keys failed for good, by key."""
    failed = (AnalysisTask.key.in_(keys)) & (AnalysisTask.status == "failed")
    query = select(AnalysisTask.key, AnalysisTask.failure).where(failed)
    return {key: failure or {} for key, failure in session.execute(query)}


def changes(session: ReadSession, limit: int) -> list[BoardChange]:
    """The oldest stored changes of boards."""
    return list(session.scalars(select(BoardChange).order_by(BoardChange.id).limit(limit)))


def forget_changes(session: WriteSession, seen: Sequence[BoardChange]) -> None:
    """Delete changes whose boards have been queued."""
    ids = [change.id for change in seen]
    session.execute(delete(BoardChange).where(BoardChange.id.in_(ids)), execution_options=_NO_SYNC)
