"""Queries for rescoring: tasks of one gold and one recipe are claimed and settled in groups."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, func, select, update
from sqlalchemy.orm import lazyload

from app.store import clock
from app.store.queries.score_provenance import ScoreProvenance
from app.store.queries.tasks import due_condition
from app.store.session import ReadSession, WriteSession
from app.store.tables import Rerun, Score, ScoreTask, Submission
from app.task_priorities import RESCORING_PRIORITY

LockedTasks = Sequence[tuple[ScoreTask, Submission]]


def _due_condition(scorer_version: int, moment: datetime) -> ColumnElement[bool]:
    rescoring = ScoreTask.priority >= RESCORING_PRIORITY
    return due_condition(moment) & (ScoreTask.scorer_version == scorer_version) & rescoring


def has_due(session: ReadSession, scorer_version: int) -> bool:
    """Whether a rescoring task is due."""
    due = _due_condition(scorer_version, clock.steady(session))
    return session.scalar(select(ScoreTask.id).where(due).limit(1)) is not None


def claim(
    session: WriteSession, scorer_version: int, *, max_tasks: int, max_bytes: int, lease: timedelta | None
) -> list[tuple[ScoreTask, Submission]]:
    """Claim some due tasks of one gold and one recipe, with at most `max_bytes` of files, or a single larger one.

    SKIP LOCKED passes over tasks that another worker is claiming. Rows beyond `max_bytes` are locked too, but only
    until this transaction ends.
    """
    moment = clock.steady(session)
    due = _due_condition(scorer_version, moment)
    order = (ScoreTask.priority, ScoreTask.id)
    first_key = select(ScoreTask.gold_id, ScoreTask.recipe_id).where(due).order_by(*order).limit(1)
    first = session.execute(first_key).one_or_none()
    if first is None:
        return []
    same_key = (ScoreTask.gold_id == first.gold_id) & (ScoreTask.recipe_id == first.recipe_id)
    query = (
        select(ScoreTask, Submission)
        .join(Submission, Submission.id == ScoreTask.submission_id)
        .where(due, same_key)
        .order_by(*order)
        .limit(max_tasks)
        .options(lazyload(Submission.team))
        .with_for_update(of=ScoreTask, skip_locked=True)
    )
    claimed: list[tuple[ScoreTask, Submission]] = []
    size = 0
    for task, submission in session.execute(query):
        size += submission.size
        if claimed and size > max_bytes:
            break
        claimed.append((task, submission))
    _start(session, [task for task, _ in claimed], None if lease is None else moment + lease)
    return claimed


def _start(session: WriteSession, tasks: Sequence[ScoreTask], lease_until: datetime | None) -> None:
    values = {"status": "running", "started_at": clock.now(session), "lease_until": lease_until}
    _update_tasks(session, [task.id for task in tasks], **values, attempt=ScoreTask.attempt + 1)
    for task in tasks:  # detached with the new attempt, or the session would read them again one by one
        session.expunge(task)
        task.attempt += 1


def lock_owned(session: WriteSession, claims: Iterable[tuple[str, int]]) -> dict[str, ScoreTask]:
    """The tasks that these claims still own, locked, by id. Locking in the order of ids prevents deadlocks."""
    attempts = dict(claims)
    running = (ScoreTask.id.in_(attempts)) & (ScoreTask.status == "running")
    locked = session.scalars(select(ScoreTask).where(running).order_by(ScoreTask.id).with_for_update())
    # The fence: another attempt means that the lease expired and another worker claimed the task.
    return {task.id: task for task in locked if task.attempt == attempts[task.id]}


def stored_scores(session: ReadSession, tasks: Collection[ScoreTask]) -> dict[str, list[Score]]:
    """The scores stored under the keys of these tasks, which share gold and recipe, by submission."""
    scores: dict[str, list[Score]] = {}
    for first in list(tasks)[:1]:
        key = (Score.gold_id == first.gold_id) & (Score.recipe_id == first.recipe_id)
        key &= Score.scorer_version == first.scorer_version
        of_tasks = Score.submission_id.in_([task.submission_id for task in tasks])
        for score in session.scalars(select(Score).where(key, of_tasks)):
            scores.setdefault(score.submission_id, []).append(score)
    return scores


def mark_done(session: WriteSession, ids: Sequence[str], now: datetime) -> None:
    """Mark tasks as done whose values equal the stored ones, or were stored for the first time."""
    _update_tasks(
        session, ids, status="done", finished_at=now, compared_at=now, lease_until=None, difference=None, failure=None
    )


def release(session: WriteSession, claims: Iterable[tuple[str, int]]) -> None:
    """Requeue tasks that were claimed but not started; this does not count as an interruption."""
    _update_tasks(session, list(lock_owned(session, claims)), status="queued", lease_until=None)


def _update_tasks(session: WriteSession, ids: Sequence[str], **values: object) -> None:
    if ids:
        changed = update(ScoreTask).where(ScoreTask.id.in_(ids)).values(**values)
        session.execute(changed, execution_options={"synchronize_session": False})


# ---- rescoring orders of a phase


@dataclass(frozen=True, slots=True)
class RescoringResult:
    """The result of one task."""

    rerun_id: str | None
    failed: bool = False
    different: bool = False


def add_to_progress(session: WriteSession, settled: Iterable[RescoringResult], now: datetime) -> None:
    """Add the tasks settled in this transaction to the counters of their orders; the last task finishes its order.

    Orders are locked in the order of their ids and read again, because other workers count on the same rows.
    """
    sums: dict[str, Counter[str]] = {}
    for result in settled:
        if result.rerun_id is not None:
            counts = sums.setdefault(result.rerun_id, Counter())
            counts["failed" if result.failed else "done"] += 1
            counts["different"] += result.different
    for rerun_id in sorted(sums):
        row = session.get(Rerun, rerun_id, with_for_update=True, populate_existing=True)
        if row is None or row.cancelled_at is not None:
            continue
        for name, count in sums[rerun_id].items():
            setattr(row, name, getattr(row, name) + count)
        if row.done + row.failed >= row.total:
            row.finished_at = now
    session.flush()


def newest_order(session: ReadSession, phase_id: str) -> Rerun | None:
    """The newest order of the phase."""
    return session.scalar(select(Rerun).where(Rerun.phase_id == phase_id).order_by(Rerun.id.desc()).limit(1))


def last_finished_order(session: ReadSession, phase_id: str) -> Rerun | None:
    """The newest order that finished, without being cancelled, and rescored something."""
    finished = Rerun.finished_at.is_not(None) & Rerun.cancelled_at.is_(None) & (Rerun.done > 0)
    return session.scalar(select(Rerun).where(Rerun.phase_id == phase_id, finished).order_by(Rerun.id.desc()).limit(1))


def _rescorable_condition(phase_id: str, provenance: ScoreProvenance) -> ColumnElement[bool]:
    """The settled tasks with this provenance of the phase's finished submissions."""
    finished = select(Submission.id).where(Submission.phase_id == phase_id, Submission.status == "finished")
    settled = ScoreTask.status.in_(("done", "failed"))
    return provenance.task_condition() & settled & ScoreTask.submission_id.in_(finished)


def count_rescorable(session: ReadSession, phase_id: str, provenance: ScoreProvenance) -> int:
    """How many tasks can be rescored now."""
    rescorable = _rescorable_condition(phase_id, provenance)
    return session.scalars(select(func.count()).select_from(ScoreTask).where(rescorable)).one()


def queue_order(session: WriteSession, rerun: Rerun, provenance: ScoreProvenance) -> int:
    """Queue all rescorable tasks for this order; returns how many."""
    values = {"status": "queued", "priority": RESCORING_PRIORITY, "crashes": 0, "interruptions": 0}
    cleared = dict.fromkeys(("not_before", "lease_until", "finished_at"))
    statement = update(ScoreTask).where(_rescorable_condition(rerun.phase_id, provenance))
    statement = statement.values(**values, **cleared, rerun_id=rerun.id).returning(ScoreTask.id)
    return len(session.execute(statement, execution_options={"synchronize_session": False}).all())


def withdraw_order(session: WriteSession, rerun_id: str, now: datetime) -> None:
    """Take back the tasks of this order that are still queued: each is done or failed again, without an order."""
    queued = update(ScoreTask).where(ScoreTask.rerun_id == rerun_id, ScoreTask.status == "queued")
    queued = queued.values(finished_at=now, not_before=None, rerun_id=None)
    options = {"synchronize_session": False}
    session.execute(queued.where(ScoreTask.failure.is_not(None)).values(status="failed"), execution_options=options)
    session.execute(queued.values(status="done"), execution_options=options)


def different(session: ReadSession, rerun_id: str, limit: int) -> list[tuple[ScoreTask, Submission]]:
    """Tasks done by this order whose values differ from the stored ones, the oldest submission first.

    A task that the order has not reached yet may still show an earlier difference; it is left out.
    """
    query = (
        select(ScoreTask, Submission)
        .join(Submission, Submission.id == ScoreTask.submission_id)
        .where(ScoreTask.difference.is_not(None), ScoreTask.rerun_id == rerun_id, ScoreTask.status == "done")
    )
    return [(task, submission) for task, submission in session.execute(query.order_by(Submission.id).limit(limit))]


def count_differing(session: ReadSession) -> int:
    """How many tasks gave values other than the stored ones when they were last rescored."""
    return session.scalars(select(func.count(ScoreTask.id)).where(ScoreTask.difference.is_not(None))).one()


def mean_scoring_seconds(session: ReadSession, phase_id: str, sample_size: int = 100) -> float | None:
    """The mean duration of the first scoring over the phase's newest submissions; None without any."""
    query = (
        select(Submission.started_at, Submission.finished_at)
        .where(Submission.phase_id == phase_id, Submission.status == "finished", Submission.started_at.is_not(None))
        .order_by(Submission.id.desc())
        .limit(sample_size)
    )
    seconds = [(end - start).total_seconds() for start, end in session.execute(query) if start and end]
    return sum(seconds) / len(seconds) if seconds else None
