"""Score finished submissions again, several at a time: what is stored stays, and what differs from it raises an alarm.

Tasks of one gold and one recipe are claimed together and settled together, each still fenced by its own attempt: a
worker that dies loses the time it spent, and what another one settled meanwhile is not settled twice.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import structlog

from app.actions.scoring_tasks.score_submission import (
    Bench,
    Job,
    Outcome,
    once_committed,
    outcome_of,
    refused,
    try_again,
)
from app.actions.scoring_tasks.scoring_request import named_gold
from app.queue import Claim
from app.scoring import SCORER_VERSION
from app.store import clock
from app.store.queries import rescoring_tasks
from app.store.queries.rescoring_tasks import Settled
from app.store.session import ReadSession, WriteSession
from app.store.tables import GoldVersion, Phase, Recipe, Score, ScoreTask

log = structlog.get_logger()

MOST = 32  # tasks of one group
MOST_BYTES = 4 * 1024 * 1024  # of their files together, as stored: a group is to take a moment, not minutes
SETTLE_SECONDS = 1.0  # after which what is done of a group is settled, and the rest goes on
MOST_SHOWN = 20  # differing values of one submission that are kept


@dataclass(frozen=True, slots=True)
class Group:
    """Claimed tasks of one gold and one recipe, with all that scoring them needs."""

    jobs: Mapping[Claim, Job]

    @property
    def name(self) -> Claim:
        """The claim by which a queue knows the group."""
        return next(iter(self.jobs))


def rescoring_waits(session: ReadSession) -> bool:
    """Whether something is to be scored again now."""
    return rescoring_tasks.any_waits(session, SCORER_VERSION)


def claim_group(session: WriteSession, lease: timedelta | None) -> Group | None:
    """Take the next tasks that belong together; None when there are none."""
    taken = rescoring_tasks.claim(session, SCORER_VERSION, most=MOST, most_bytes=MOST_BYTES, lease=lease)
    if not taken:
        return None
    first, submission = taken[0]
    gold, recipe = session.get_one(GoldVersion, first.gold_id), session.get_one(Recipe, first.recipe_id)
    named = named_gold(gold, session.get_one(Phase, submission.phase_id).challenge)
    return Group({Claim(task.id, task.attempt): Job(row, named, recipe) for task, row in taken})


def rescore(bench: Bench, group: Group, turn: Callable[[], bool], settled: Callable[[Iterable[Claim]], None]) -> None:
    """Score a group; `turn` waits until the next may be scored, and says whether it shall be.

    `settled` is told what is no longer held. What is left when the turns end is given back.
    """
    left, ready, since = dict(group.jobs), {}, time.monotonic()
    for claim, job in group.jobs.items():
        if not turn():
            break
        ready[claim] = outcome_of(bench, job)
        del left[claim]
        if time.monotonic() - since > SETTLE_SECONDS:
            _settle(bench, ready)
            settled(ready)
            ready, since = {}, time.monotonic()
    _settle(bench, ready)
    if left:
        with bench.db.write() as session:
            rescoring_tasks.release(session, [(claim.task_id, claim.attempt) for claim in left])


def _settle(bench: Bench, ready: Mapping[Claim, Outcome]) -> None:
    if ready:
        with bench.db.write() as session:
            settle(session, bench, ready)


def settle(session: WriteSession, bench: Bench, ready: Mapping[Claim, Outcome]) -> None:
    """What came of these tasks of one gold and recipe, in this one transaction."""
    held = rescoring_tasks.hold(session, [(claim.task_id, claim.attempt) for claim in ready])
    mine = {held[claim.task_id]: outcome for claim, outcome in ready.items() if claim.task_id in held}
    answers = {task: outcome.answer for task, outcome in mine.items() if outcome.answer is not None}
    stored = rescoring_tasks.stored(session, answers.keys())
    now = clock.now(session)
    ends = [_end(session, task, answer, stored.get(task.submission_id, []), now) for task, answer in answers.items()]
    same = [task.id for task, end in zip(answers, ends, strict=True) if not (end.failed or end.different)]
    session.flush()
    rescoring_tasks.done(session, same, now)
    for claim, outcome in ready.items():
        if outcome.answer is None:
            try_again(session, bench, claim, outcome)
    rescoring_tasks.count(session, ends, now)
    once_committed(session, partial(bench.figures.rescored, len(ends), sum(end.different for end in ends)))
    log.info("rescored", count=len(ends))


def _end(
    session: WriteSession, task: ScoreTask, answer: Mapping[str, Any], stored: Sequence[Score], now: datetime
) -> Settled:
    """Compare with what is stored, or store what is new; only a task that is not simply done is changed here."""
    if not stored and answer["valid"]:
        names = ("submission_id", "gold_id", "recipe_id", "scorer_version")
        key = {name: getattr(task, name) for name in names}
        session.add_all(Score(split=split, metrics=values, **key) for split, values in answer["scores"].items())
        return Settled(task.rerun_id)
    if not stored:
        task.status, task.finished_at, task.lease_until, task.failure = "failed", now, None, refused(answer)
        once_committed(
            session, partial(log.error, "rescoring_failed", submission=task.submission_id, failure=task.failure)
        )
        return Settled(task.rerun_id, failed=True)
    found = difference(stored, answer)
    if found is None:
        return Settled(task.rerun_id)
    task.status, task.finished_at, task.compared_at, task.lease_until = "done", now, now, None
    task.failure, task.difference = None, found
    said = {"submission": task.submission_id, "scorer_version": task.scorer_version}
    once_committed(session, partial(log.error, "score_differs", **said, **found))
    return Settled(task.rerun_id, different=True)


def difference(stored: Sequence[Score], answer: Mapping[str, Any]) -> dict[str, Any] | None:
    """How computed values differ from those stored, to the last bit; None where they do not."""
    if not answer["valid"]:
        return {"count": len(stored), "values": [], "refused": answer["total"]}
    before = {(row.split, name): value for row in stored for name, value in row.metrics.items()}
    after = {(split, name): value for split, values in answer["scores"].items() for name, value in values.items()}
    values = [
        {"split": split, "metric": name, "stored": was, "computed": is_now}
        for split, name in sorted(before.keys() | after.keys())
        if not _same(was := _number(before, split, name), is_now := _number(after, split, name))
    ]
    return {"count": len(values), "values": values[:MOST_SHOWN], "refused": {}} if values else None


def _number(values: Mapping[tuple[str, str], Mapping[str, Any]], split: str, name: str) -> Any:
    return values.get((split, name), {}).get("value")


def _same(stored: Any, computed: Any) -> bool:
    """Equal to the last bit, the sign of zero included."""
    return type(stored) is type(computed) and repr(stored) == repr(computed)
