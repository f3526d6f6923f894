"""Queries for scoring again: several tasks of one gold and recipe are claimed, and settled, together."""

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
    return (
        due_condition(moment)
        & (ScoreTask.scorer_version == scorer_version)
        & (ScoreTask.priority >= RESCORING_PRIORITY)
    )


def has_due(session: ReadSession, scorer_version: int) -> bool:
    """Whether something is to be scored again now."""
    return (
        session.scalar(select(ScoreTask.id).where(_due_condition(scorer_version, clock.steady(session))).limit(1))
        is not None
    )


def claim(
    session: WriteSession, scorer_version: int, *, most: int, most_bytes: int, lease: timedelta | None
) -> list[tuple[ScoreTask, Submission]]:
    """Take some due tasks of one gold and one recipe, together no larger than so many bytes, or one larger one."""
    moment = clock.steady(session)
    waiting = _due_condition(scorer_version, moment)
    in_line = (ScoreTask.priority, ScoreTask.id)
    first = session.execute(
        select(ScoreTask.gold_id, ScoreTask.recipe_id).where(waiting).order_by(*in_line).limit(1)
    ).one_or_none()
    if first is None:
        return []
    alike = (ScoreTask.gold_id == first.gold_id) & (ScoreTask.recipe_id == first.recipe_id)
    query = (
        select(ScoreTask, Submission)
        .join(Submission, Submission.id == ScoreTask.submission_id)
        .where(waiting, alike)
        .order_by(*in_line)
        .limit(most)
        .options(lazyload(Submission.team))
        .with_for_update(of=ScoreTask, skip_locked=True)
    )
    taken: list[tuple[ScoreTask, Submission]] = []
    size = 0
    for task, submission in session.execute(query):
        size += submission.size
        if taken and size > most_bytes:
            break
        taken.append((task, submission))
    _start(session, [task for task, _ in taken], None if lease is None else moment + lease)
    return taken


def _start(session: WriteSession, taken: Sequence[ScoreTask], until: datetime | None) -> None:
    values = {"status": "running", "started_at": clock.now(session), "lease_until": until}
    _update_tasks(session, [task.id for task in taken], **values, attempt=ScoreTask.attempt + 1)
    for task in taken:  # as they are stored now: what a commit leaves to be read again would be read one by one
        session.expunge(task)
        task.attempt += 1


def lock_owned(session: WriteSession, claims: Iterable[tuple[str, int]]) -> dict[str, ScoreTask]:
    """Those of these claims that still own their tasks, locked, by the id of the task."""
    attempts = dict(claims)
    mine = (ScoreTask.id.in_(attempts)) & (ScoreTask.status == "running")
    held = session.scalars(select(ScoreTask).where(mine).order_by(ScoreTask.id).with_for_update())
    return {task.id: task for task in held if task.attempt == attempts[task.id]}


def stored_scores(session: ReadSession, like: Collection[ScoreTask]) -> dict[str, list[Score]]:
    """The scores that were stored under the keys of these tasks of one gold and one recipe, by submission."""
    found: dict[str, list[Score]] = {}
    for one in list(like)[:1]:
        key = (Score.gold_id == one.gold_id) & (Score.recipe_id == one.recipe_id)
        key &= Score.scorer_version == one.scorer_version
        mine = Score.submission_id.in_([task.submission_id for task in like])
        for score in session.scalars(select(Score).where(key, mine)):
            found.setdefault(score.submission_id, []).append(score)
    return found


def mark_done(session: WriteSession, ids: Sequence[str], now: datetime) -> None:
    """These came out as they are stored, or for the first time."""
    _update_tasks(
        session, ids, status="done", finished_at=now, compared_at=now, lease_until=None, difference=None, failure=None
    )


def release(session: WriteSession, claims: Iterable[tuple[str, int]]) -> None:
    """Give back what was not begun; that is no interruption."""
    _update_tasks(session, list(lock_owned(session, claims)), status="queued", lease_until=None)


def _update_tasks(session: WriteSession, ids: Sequence[str], **values: object) -> None:
    if ids:
        changed = update(ScoreTask).where(ScoreTask.id.in_(ids)).values(**values)
        session.execute(changed, execution_options={"synchronize_session": False})


# ---- orders to score a phase again


@dataclass(frozen=True, slots=True)
class RescoringResult:
    """What became of one task."""

    rerun_id: str | None
    failed: bool = False
    different: bool = False


def add_to_progress(session: WriteSession, settled: Iterable[RescoringResult], now: datetime) -> None:
    """Add what settled in this transaction to the orders that it belongs to; the last one finishes its order."""
    sums: dict[str, Counter[str]] = {}
    for each in settled:
        if each.rerun_id is not None:
            own = sums.setdefault(each.rerun_id, Counter())
            own["failed" if each.failed else "done"] += 1
            own["different"] += each.different
    for rerun_id in sorted(sums):
        row = session.get(Rerun, rerun_id, with_for_update=True, populate_existing=True)
        if row is None or row.cancelled_at is not None:
            continue
        for name, more in sums[rerun_id].items():
            setattr(row, name, getattr(row, name) + more)
        if row.done + row.failed >= row.total:
            row.finished_at = now
    session.flush()


def newest_order(session: ReadSession, phase_id: str) -> Rerun | None:
    """The order given last."""
    return session.scalar(select(Rerun).where(Rerun.phase_id == phase_id).order_by(Rerun.id.desc()).limit(1))


def last_finished_order(session: ReadSession, phase_id: str) -> Rerun | None:
    """The last order that came to its end with something done."""
    whole = Rerun.finished_at.is_not(None) & Rerun.cancelled_at.is_(None) & (Rerun.done > 0)
    return session.scalar(select(Rerun).where(Rerun.phase_id == phase_id, whole).order_by(Rerun.id.desc()).limit(1))


def _rescorable_condition(phase_id: str, origin: ScoreProvenance) -> ColumnElement[bool]:
    """The settled tasks, of this origin, of the phase's finished submissions."""
    finished = select(Submission.id).where(Submission.phase_id == phase_id, Submission.status == "finished")
    settled = ScoreTask.status.in_(("done", "failed"))
    return origin.task_condition() & settled & ScoreTask.submission_id.in_(finished)


def count_rescorable(session: ReadSession, phase_id: str, origin: ScoreProvenance) -> int:
    """How many can be scored again now."""
    return session.scalars(
        select(func.count()).select_from(ScoreTask).where(_rescorable_condition(phase_id, origin))
    ).one()


def queue_order(session: WriteSession, rerun: Rerun, origin: ScoreProvenance) -> int:
    """Queue them all for this order; gives how many."""
    fresh = {"status": "queued", "priority": RESCORING_PRIORITY, "crashes": 0, "interruptions": 0}
    blank = dict.fromkeys(("not_before", "lease_until", "finished_at"))
    which = _rescorable_condition(rerun.phase_id, origin)
    changed = update(ScoreTask).where(which).values(**fresh, **blank, rerun_id=rerun.id).returning(ScoreTask.id)
    return len(session.execute(changed, execution_options={"synchronize_session": False}).all())


def withdraw_order(session: WriteSession, rerun_id: str, now: datetime) -> None:
    """Take back what is still queued for this order: it is again what it was, done or failed, and of no order."""
    mine = (ScoreTask.rerun_id == rerun_id) & (ScoreTask.status == "queued")
    before = {"finished_at": now, "not_before": None, "rerun_id": None}
    quiet = {"synchronize_session": False}
    failed = update(ScoreTask).where(mine, ScoreTask.failure.is_not(None)).values(status="failed", **before)
    session.execute(failed, execution_options=quiet)
    session.execute(update(ScoreTask).where(mine).values(status="done", **before), execution_options=quiet)


def different(session: ReadSession, rerun_id: str, most: int) -> list[tuple[ScoreTask, Submission]]:
    """Tasks done by this order whose values differ from those stored, the oldest submission first.

    One that is still to be done shows how it differed the time before.
    """
    query = (
        select(ScoreTask, Submission)
        .join(Submission, Submission.id == ScoreTask.submission_id)
        .where(ScoreTask.difference.is_not(None), ScoreTask.rerun_id == rerun_id, ScoreTask.status == "done")
    )
    return [(task, submission) for task, submission in session.execute(query.order_by(Submission.id).limit(most))]


def count_differing(session: ReadSession) -> int:
    """How many tasks gave other values than those stored when they were last computed again."""
    return session.scalars(select(func.count(ScoreTask.id)).where(ScoreTask.difference.is_not(None))).one()


def mean_scoring_seconds(session: ReadSession, phase_id: str, newest_of: int = 100) -> float | None:
    """What the first scoring of the phase's newest submissions took on average; None where there is none."""
    query = (
        select(Submission.started_at, Submission.finished_at)
        .where(Submission.phase_id == phase_id, Submission.status == "finished", Submission.started_at.is_not(None))
        .order_by(Submission.id.desc())
        .limit(newest_of)
    )
    took = [(end - start).total_seconds() for start, end in session.execute(query) if start and end]
    return sum(took) / len(took) if took else None
