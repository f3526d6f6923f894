"""Rescore finished submissions in groups: stored scores are never changed, and a difference is logged as an error.

Tasks of one gold and one recipe are claimed together and settled together. Each task is still fenced by its own attempt
number: if a worker dies, only its time is lost, and a task that another worker settled meanwhile is not settled twice.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import structlog

from app.actions.challenges.upload_gold import stored_file_kind
from app.actions.receipts.issue_receipts import NewScores
from app.actions.scoring_tasks import score_submission
from app.actions.scoring_tasks.claim_tasks import LoadedTask
from app.actions.scoring_tasks.scoring_request import gold_reference
from app.queue import TaskClaim
from app.scoring import SCORER_VERSION
from app.scoring_processes.messages import FileResult
from app.store import clock
from app.store.queries import analysis_tasks, rescoring_tasks
from app.store.queries.rescoring_tasks import RescoringResult
from app.store.session import ReadSession, WriteSession
from app.store.tables import GoldVersion, Recipe, Score, ScoreTask

log = structlog.get_logger()

MAX_GROUP_TASKS = 32  # tasks of one group
MAX_GROUP_BYTES = 4 * 1024 * 1024  # of stored files together, so that a group takes moments, not minutes
SETTLE_INTERVAL_SECONDS = 1.0  # after which the finished tasks of a group are settled, before the others go on
MAX_STORED_DIFFERENCES = 20  # differing values stored for one submission


Outcomes = Mapping[TaskClaim, score_submission.TaskOutcome]


@dataclass(frozen=True, slots=True)
class RescoringGroup:
    """Claimed tasks of one gold and one recipe, with everything that scoring them needs."""

    jobs: Mapping[TaskClaim, LoadedTask]

    @property
    def name(self) -> TaskClaim:
        """The claim that identifies the group in a queue."""
        return next(iter(self.jobs))


def is_rescoring_due(session: ReadSession) -> bool:
    """Whether any rescoring task is due."""
    return rescoring_tasks.has_due(session, SCORER_VERSION)


def claim_rescoring_group(session: WriteSession, lease: timedelta | None) -> RescoringGroup | None:
    """Claim the next tasks of one gold and one recipe; None if none is due."""
    caps = {"max_tasks": MAX_GROUP_TASKS, "max_bytes": MAX_GROUP_BYTES}
    claimed = rescoring_tasks.claim(session, SCORER_VERSION, **caps, lease=lease)
    if not claimed:
        return None
    first = claimed[0][0]
    gold, recipe = session.get_one(GoldVersion, first.gold_id), session.get_one(Recipe, first.recipe_id)
    reference = gold_reference(gold)
    return RescoringGroup(
        {
            TaskClaim(task.id, task.attempt): LoadedTask(
                row.id, row.file_key, stored_file_kind(row), reference, recipe.body, accepted=True
            )
            for task, row in claimed
        }
    )


Settled = Callable[[Iterable[TaskClaim]], None]


def rescore_group(
    context: score_submission.WorkerContext,
    group: RescoringGroup,
    wait_for_turn: Callable[[], bool],
    on_settled: Settled,
) -> None:
    """Rescore a group, one file at a time.

    `wait_for_turn` waits until the next file may be scored, and returns False once rescoring is to end; the tasks that
    are left are then released. `on_settled` is called with the claims that have been settled, so that their leases end.
    """
    remaining_jobs, outcomes, last_settled = dict(group.jobs), {}, time.monotonic()
    for claim, job in group.jobs.items():
        if not wait_for_turn():
            break
        outcomes[claim] = score_submission.compute_task_outcome(context, job)
        del remaining_jobs[claim]
        if time.monotonic() - last_settled > SETTLE_INTERVAL_SECONDS:
            _settle(context, outcomes)
            on_settled(outcomes)
            outcomes, last_settled = {}, time.monotonic()
    _settle(context, outcomes)
    if remaining_jobs:
        with context.db.write() as session:
            rescoring_tasks.release(session, [(claim.task_id, claim.attempt) for claim in remaining_jobs])


def _settle(context: score_submission.WorkerContext, outcomes: Outcomes) -> None:
    if outcomes:
        with context.db.write() as session:
            settle_rescored_tasks(session, context, outcomes)


def settle_rescored_tasks(session: WriteSession, context: score_submission.WorkerContext, outcomes: Outcomes) -> None:
    """Settle these tasks of one gold and recipe in this transaction.

    Tasks whose attempt is no longer current are skipped: another worker has claimed them. Tasks without a result are
    requeued or failed, like those of new submissions.
    """
    owned = rescoring_tasks.lock_owned(session, [(claim.task_id, claim.attempt) for claim in outcomes])
    owned_outcomes = {owned[claim.task_id]: outcome for claim, outcome in outcomes.items() if claim.task_id in owned}
    results = {task: outcome.result for task, outcome in owned_outcomes.items() if outcome.result is not None}
    stored = rescoring_tasks.stored_scores(session, results.keys())
    now, added = clock.now(session), list[NewScores]()
    ends = [
        _settle_rescored_task(session, task, result, stored.get(task.submission_id, []), added, now=now)
        for task, result in results.items()
    ]
    if context.receipts is not None:
        context.receipts.issue(session, added, now)
    unchanged = [task.id for task, end in zip(results, ends, strict=True) if not (end.failed or end.different)]
    session.flush()
    rescoring_tasks.mark_done(session, unchanged, now)
    for claim, outcome in outcomes.items():
        if outcome.result is None:
            score_submission.retry_task(session, context, claim, outcome)
    rescoring_tasks.add_to_progress(session, ends, now)
    count = partial(context.figures.count_rescored, len(ends), sum(end.different for end in ends))
    score_submission.after_commit(session, count)
    log.info("rescored", count=len(ends))


def _settle_rescored_task(
    session: WriteSession,
    task: ScoreTask,
    result: FileResult,
    stored: Sequence[Score],
    added: list[NewScores],
    *,
    now: datetime,
) -> RescoringResult:
    """Compare with the stored scores, or store the first ones, which go to `added`.

    Tasks that are simply done are updated by the caller.
    """
    if not stored and result.valid:
        names = ("submission_id", "gold_id", "recipe_id", "scorer_version")
        key = {name: getattr(task, name) for name in names}
        empty = result.empty_by_split
        session.add_all(
            Score(split=split, metrics=values, empty_predictions=empty.get(split, 0), created_at=now, **key)
            for split, values in result.scores.items()
        )
        added.append(NewScores(key, result.scores, result.content_sha256, now))
        analysis_tasks.add_intervals(session, key)
        return RescoringResult(task.rerun_id)
    if not stored:
        task.status, task.finished_at, task.lease_until = "failed", now, None
        task.failure = score_submission.refused_again_failure(result)
        event = partial(log.error, "rescoring_failed", submission=task.submission_id, failure=task.failure)
        score_submission.after_commit(session, event)
        return RescoringResult(task.rerun_id, failed=True)
    difference = score_difference(stored, result)
    if difference is None:
        return RescoringResult(task.rerun_id)
    task.status, task.finished_at, task.compared_at, task.lease_until = "done", now, now, None
    task.failure, task.difference = None, difference
    scored = {"submission": task.submission_id, "scorer_version": task.scorer_version}
    score_submission.after_commit(session, partial(log.error, "score_differs", **scored, **difference))
    return RescoringResult(task.rerun_id, different=True)


def score_difference(stored: Sequence[Score], result: FileResult) -> dict[str, Any] | None:
    """How computed values differ from the stored ones, compared to the last bit; None if they do not."""
    if not result.valid:
        return {"count": len(stored), "values": [], "refused": result.total}
    before = {(row.split, name): value for row in stored for name, value in row.metrics.items()}
    after = {(split, name): value for split, values in result.scores.items() for name, value in values.items()}
    values = [
        {"split": split, "metric": name, "stored": was, "computed": is_now}
        for split, name in sorted(before.keys() | after.keys())
        if not _is_bit_identical(was := _metric_value(before, split, name), is_now := _metric_value(after, split, name))
    ]
    return {"count": len(values), "values": values[:MAX_STORED_DIFFERENCES], "refused": {}} if values else None


def _metric_value(values: Mapping[tuple[str, str], Mapping[str, Any]], split: str, name: str) -> Any:
    return values.get((split, name), {}).get("value")


def _is_bit_identical(stored: Any, computed: Any) -> bool:
    """Equal to the last bit, the sign of zero included."""
    return type(stored) is type(computed) and repr(stored) == repr(computed)
