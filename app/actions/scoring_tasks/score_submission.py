"""Score a claimed task: load it, have a child score it, and settle task, submission, scores and quota at once.

Every write is fenced by the attempt number: a worker that lost its task in the meantime changes nothing.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial

import structlog
from sqlalchemy import event

from app.actions.challenges.upload_gold import stored_file_kind
from app.actions.scoring_tasks.scoring_request import GoldReference, gold_reference, send_scoring_request
from app.errors import Unavailable
from app.files import FileStore
from app.pipeline import SourceFile
from app.queue import Queue, TaskClaim
from app.runtime.telemetry import Telemetry
from app.scoring import SCORER_VERSION
from app.scoring.declaration.metric_syntax import pluralize
from app.scoring_processes import (
    CpuLimitExceeded,
    ScoringProcessError,
    ScoringProcesses,
    ScoringProcessesClosed,
    ScoringProcessNotStarted,
)
from app.scoring_processes.messages import FileResult, ScorePredictions
from app.store import board_invalidation, clock, notifications
from app.store.queries import fair_scheduling, quota, rescoring_tasks, submissions, tasks
from app.store.session import Database, ReadSession, WriteSession
from app.store.tables import Recipe, ScoreTask, Submission
from app.task_priorities import RESCORING_PRIORITY

MAX_RETRY_DELAY = timedelta(minutes=5)
CRASHED = "crashed"
INTERRUPTED = "interrupted"
REFUSED_AGAIN = "refused_again"
FILE_LOST = "file_lost"  # its disk may come back, so it is tried again like an interruption
INTERRUPTION_DETAILS = {
    INTERRUPTED: "Scoring was interrupted {} times.",
    FILE_LOST: "Scoring was tried {} times; the last time a stored file could not be read.",
}

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class RetryLimits:
    """How often a task may crash, and be interrupted, before it fails for good."""

    crashes: int
    interruptions: int


@dataclass(frozen=True, slots=True)
class WorkerContext:
    """What a worker works with."""

    db: Database
    files: FileStore
    children: ScoringProcesses
    queue: Queue
    retry_limits: RetryLimits
    figures: Telemetry = field(default_factory=Telemetry)


@dataclass(frozen=True, slots=True)
class LoadedTask:
    """All that scoring one task needs, read in one snapshot."""

    submission: Submission
    gold: GoldReference
    recipe: Recipe


@dataclass(frozen=True, slots=True)
class TaskOutcome:
    """The outcome of one scoring: a result, or the reason why there is none."""

    result: FileResult | None = None
    crash: ScoringProcessError | None = None
    lost: str = INTERRUPTED


def is_scoring_due(session: ReadSession, *, longer: timedelta = timedelta()) -> bool:
    """Whether any task of a new submission is due, and has been for so long."""
    return tasks.has_due(session, SCORER_VERSION, longer)


def claim_tasks(session: WriteSession, count: int) -> list[TaskClaim]:
    """Take up to `count` due tasks of a work list that this process owns alone."""
    return [
        TaskClaim(task_id=task_id, attempt=attempt) for task_id, attempt in tasks.claim(session, SCORER_VERSION, count)
    ]


def claim_next_task(session: WriteSession, *, lease: timedelta) -> TaskClaim | None:
    """Take the task whose turn it is for as long as the lease lasts; None where none is due or others take them all."""
    taken = tasks.claim_next(session, SCORER_VERSION, lease)
    return None if taken is None else TaskClaim(*taken)


def score_submission(bench: WorkerContext, claim: TaskClaim) -> str | None:
    """Score one claimed task and settle it; gives the submission's id once its status is final, None otherwise."""
    with bench.db.read() as session:
        job = _load_task(session, claim)
    if job is None:
        return None
    structlog.contextvars.bind_contextvars(submission=job.submission.id)
    _observe_queue_wait(bench, job, claim)
    outcome = compute_task_outcome(bench, job)
    result = outcome.result
    with bench.db.write() as session:
        if result is None:
            return retry_task(session, bench, claim, outcome)
        settled = _settle_task(session, claim, result)
    if settled is not None:
        bench.figures.count_settlement("finished" if result.valid else "rejected", tuple(result.total))
    return settled


def compute_task_outcome(bench: WorkerContext, job: LoadedTask) -> TaskOutcome:
    """Have a child score this; nothing is stored."""
    try:
        return TaskOutcome(_send_score_request(bench, job))
    except (ScoringProcessesClosed, ScoringProcessNotStarted):
        return TaskOutcome()
    except ScoringProcessError as crash:
        return TaskOutcome(crash=crash)
    except (FileNotFoundError, Unavailable) as lost:
        log.warning("file_away", file=str(lost))
        return TaskOutcome(lost=FILE_LOST)


def retry_task(session: WriteSession, bench: WorkerContext, claim: TaskClaim, outcome: TaskOutcome) -> str | None:
    """Queue a task again that got no answer, or fail it; gives the submission's id when that made its status final."""
    if outcome.crash is not None:
        return _retry_crashed(session, bench, claim, outcome.crash)
    return release_task(session, bench, claim, outcome.lost)


def requeue_interrupted_tasks(session: WriteSession, bench: WorkerContext) -> int:
    """At the start of a service that owns its work list: give back what an earlier life of it left running.

    Returns how many tasks.
    """
    tasks.clear_delays(session)
    return len(_retry_all_interrupted(session, bench, tasks.running(session)))


def requeue_expired_leases(session: WriteSession, bench: WorkerContext) -> list[str]:
    """Give back the tasks of workers that went silent; returns the ids of the tasks."""
    lost = _retry_all_interrupted(session, bench, tasks.lock_expired(session))
    after_commit(session, partial(bench.figures.reaped.inc, len(lost)))
    return lost


def reconcile_queue(session: WriteSession, bench: WorkerContext) -> int:
    """Enqueue again as many queued tasks as there is no job for; returns how many."""
    bench.queue.delete_finished_jobs(session)
    lost = bench.queue.find_orphaned_tasks(session)
    for task_id in lost:
        bench.queue.enqueue(session, task_id, again=True)
    return len(lost)


def _retry_all_interrupted(session: WriteSession, bench: WorkerContext, left: Sequence[ScoreTask]) -> list[str]:
    for task in left:
        _retry_interrupted(session, bench, task)
    session.flush()
    return [task.id for task in left]


def release_task(session: WriteSession, bench: WorkerContext, claim: TaskClaim, why: str = INTERRUPTED) -> str | None:
    """Give back a task that could not be settled; gives the submission's id when that made its status final."""
    task = tasks.lock_owned(session, claim.task_id, claim.attempt)
    return None if task is None else _retry_interrupted(session, bench, task, why)


def _retry_interrupted(
    session: WriteSession, bench: WorkerContext, task: ScoreTask, why: str = INTERRUPTED
) -> str | None:
    """Count the interruption and queue the task again, a little later each time, or fail it at the cap."""
    task.interruptions += 1
    if task.interruptions > bench.retry_limits.interruptions:
        return _fail_task(session, bench, task, why, INTERRUPTION_DETAILS[why].format(task.interruptions))
    wait = timedelta(seconds=2 ** min(task.interruptions - 1, 8) - 1)
    _requeue_task(session, bench, task, min(wait, MAX_RETRY_DELAY))
    after_commit(session, partial(bench.figures.count_retry, why))
    return None


def _load_task(session: ReadSession, claim: TaskClaim) -> LoadedTask | None:
    row = tasks.load_claimed(session, claim.task_id, claim.attempt)
    if row is None:
        return None
    submission, gold, phase, recipe = row
    return LoadedTask(submission=submission, gold=gold_reference(gold, phase.challenge), recipe=recipe)


def _observe_queue_wait(bench: WorkerContext, job: LoadedTask, claim: TaskClaim) -> None:
    """Observe how long a submission waited for its first scoring; a later one says nothing of the queue."""
    started = job.submission.started_at
    if claim.attempt == 1 and job.submission.status == "running" and started is not None:
        bench.figures.queued_seconds.observe(max(0.0, (started - job.submission.submitted_at).total_seconds()))


def _send_score_request(bench: WorkerContext, job: LoadedTask) -> FileResult:
    with bench.files.local_path(job.submission.file_key) as path, bench.figures.scoring_seconds.time():
        predictions = SourceFile(path, stored_file_kind(job.submission))
        request = ScorePredictions(job.gold.source, predictions, job.recipe.body)
        reply = send_scoring_request(bench.db, bench.files, bench.children, job.gold, request)
    assert isinstance(reply, FileResult)
    return reply


def _settle_task(session: WriteSession, claim: TaskClaim, result: FileResult) -> str | None:
    """Scores, statuses and quota in this one transaction."""
    now = clock.now(session)
    task = tasks.finish(session, claim.task_id, claim.attempt, now)
    if task is None:
        return None
    marks = []
    if result.valid:
        submissions.add_scores(session, task, result.scores)
        marks.append(board_invalidation.scores_tag(task["gold_id"], task["scorer_version"]))
    status = "finished" if result.valid else "rejected"
    phase_id = submissions.set_final_status(session, task["submission_id"], status, now, result.to_dict())
    if phase_id is not None:
        tag = board_invalidation.phase_tag if result.valid else board_invalidation.waiting_tag
        marks.append(tag(phase_id))
    board_invalidation.invalidate(session, *marks)
    if phase_id is not None:
        return _settle_quota_and_notify(session, task["submission_id"], status)
    if not result.valid:  # an older scorer was quicker: what it said of the status stands
        tasks.fail(session, claim.task_id, now, refused_again_failure(result))
    return None


def refused_again_failure(result: FileResult) -> dict[str, str]:
    """Why scoring again failed that refuses a file which was accepted once: the submission keeps its scores and status."""
    found = ", ".join(f"{code}: {count}" for code, count in sorted(result.total.items()))
    return {"code": REFUSED_AGAIN, "detail": f"This scorer refuses a file that an earlier one scored ({found})."}


def _lock_submission(session: WriteSession, submission_id: str) -> Submission:
    """The submission, locked: its status changes once.

    Rows that refer to it may come meanwhile: another task of it, whose scores do, would wait for this lock while this one
    waits for those.
    """
    return session.get_one(Submission, submission_id, with_for_update={"of": Submission, "key_share": True})


def _finalize_submission(session: WriteSession, submission: Submission, task: ScoreTask, status: str) -> str:
    """Give a submission that was not scored the status that it keeps; whoever waits for it is told."""
    submission.status = status
    submission.finished_at = task.finished_at
    session.flush()
    board_invalidation.invalidate(session, board_invalidation.waiting_tag(submission.phase_id))
    return _settle_quota_and_notify(
        session, submission.id, status, None if task.failure is None else task.failure["code"]
    )


def _settle_quota_and_notify(session: WriteSession, submission_id: str, status: str, failure: str | None = None) -> str:
    quota.settle(session, submission_id, status, failure)
    notifications.notify_settled(session, submission_id)
    return submission_id


def _retry_crashed(
    session: WriteSession, bench: WorkerContext, claim: TaskClaim, crash: ScoringProcessError
) -> str | None:
    """Try again, or fail for good: once the cap is reached, and at once where the same CPU time would be spent again."""
    task = tasks.lock_owned(session, claim.task_id, claim.attempt)
    if task is None:
        return None
    task.crashes += 1
    if task.crashes >= bench.retry_limits.crashes or isinstance(crash, CpuLimitExceeded):
        detail = f"Scoring ended {pluralize(task.crashes, 'time', 'times')}: {str(crash) or crash.__doc__}"
        return _fail_task(session, bench, task, crash.code, detail)
    if task.priority < RESCORING_PRIORITY:
        fair_scheduling.take_another_turn(
            session, task
        )  # it was served: what it costs again is the turn of whoever sent it
    _requeue_task(session, bench, task, timedelta(seconds=task.crashes))
    after_commit(session, partial(bench.figures.count_retry, CRASHED))
    return None


def _requeue_task(session: WriteSession, bench: WorkerContext, task: ScoreTask, wait: timedelta) -> None:
    task.status = "queued"
    task.not_before = clock.steady(session) + wait if wait else None
    task.lease_until = None
    submission = _lock_submission(session, task.submission_id)
    if submission.status == "running":
        submission.status = "queued"
    session.flush()
    if task.priority >= RESCORING_PRIORITY:
        return  # whoever has time looks for it
    bench.queue.enqueue(
        session,
        task.id,
        priority=task.priority,
        not_before=task.not_before,
        again=True,
        scorer_version=task.scorer_version,
    )


def after_commit(session: WriteSession, count: Callable[[], None]) -> None:
    """Count what this transaction does, but only if it comes to be."""
    event.listen(session, "after_commit", lambda _session: count(), once=True)


def _fail_task(session: WriteSession, bench: WorkerContext, task: ScoreTask, code: str, detail: str) -> str | None:
    """No score after all retries: never charged, always with a reason."""
    now = clock.now(session)
    task.status, task.finished_at, task.lease_until = "failed", now, None
    task.failure = {"code": code, "detail": detail}
    rescoring_tasks.add_to_progress(session, [rescoring_tasks.RescoringResult(task.rerun_id, failed=True)], now)
    submission = _lock_submission(session, task.submission_id)
    if submission.status not in {"queued", "running"} or tasks.has_newer_waiting(session, task):
        return None
    submission.failure = task.failure
    after_commit(session, partial(bench.figures.count_settlement, "failed"))
    return _finalize_submission(session, submission, task, "failed")
