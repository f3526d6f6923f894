"""Score a claimed task: load it, have a scoring process score it, and settle it in one transaction.

Settling writes task, submission, scores and quota together. Every write is fenced by the attempt number of the claim: a
worker that lost its task in the meantime, because its lease expired for example, matches no row and changes nothing.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial

import structlog
from sqlalchemy import event

from app import scoring_processes
from app.actions.challenges.upload_gold import stored_file_kind
from app.actions.scoring_tasks.scoring_request import GoldReference, gold_reference, send_scoring_request
from app.errors import Unavailable
from app.files import FileStore
from app.pipeline import SourceFile
from app.queue import Queue, TaskClaim
from app.runtime.telemetry import Telemetry
from app.scoring import SCORER_VERSION
from app.scoring.declaration.metric_syntax import pluralize
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
FILE_LOST = "file_lost"  # retried like an interruption, because the disk may become available again
INTERRUPTION_DETAILS = {
    INTERRUPTED: "Scoring was interrupted {} times.",
    FILE_LOST: "Scoring was tried {} times; the last time a stored file could not be read.",
}

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class RetryLimits:
    """How often a task may crash, and be interrupted, before it fails permanently."""

    crashes: int
    interruptions: int


@dataclass(frozen=True, slots=True)
class WorkerContext:
    """The services that a worker uses."""

    db: Database
    files: FileStore
    processes: scoring_processes.ScoringProcesses
    queue: Queue
    retry_limits: RetryLimits
    figures: Telemetry = field(default_factory=Telemetry)


@dataclass(frozen=True, slots=True)
class LoadedTask:
    """Everything that scoring one task needs, read in one snapshot."""

    submission: Submission
    gold: GoldReference
    recipe: Recipe


@dataclass(frozen=True, slots=True)
class TaskOutcome:
    """The outcome of one scoring: a result, or the reason why there is none."""

    result: FileResult | None = None
    crash: scoring_processes.ScoringProcessError | None = None
    lost: str = INTERRUPTED


def is_scoring_due(session: ReadSession, *, longer: timedelta = timedelta()) -> bool:
    """Whether any task of a new submission is due, and has been for at least `longer`."""
    return tasks.has_due(session, SCORER_VERSION, longer)


def claim_tasks(session: WriteSession, count: int) -> list[TaskClaim]:
    """Claim up to `count` due tasks, without a lease; only where no other process claims tasks."""
    return [TaskClaim(*claimed) for claimed in tasks.claim(session, SCORER_VERSION, count)]


def claim_next_task(session: WriteSession, *, lease: timedelta) -> TaskClaim | None:
    """Claim the next task in fair order until the lease expires.

    None if none is due, or other workers claim them all.
    """
    claimed = tasks.claim_next(session, SCORER_VERSION, lease)
    return None if claimed is None else TaskClaim(*claimed)


def score_submission(context: WorkerContext, claim: TaskClaim) -> str | None:
    """Score a claimed task and settle it; returns the id of the submission if its status became final, else None."""
    with context.db.read() as session:
        job = _load_task(session, claim)
    if job is None:
        return None
    structlog.contextvars.bind_contextvars(submission=job.submission.id)
    _observe_queue_wait(context, job, claim)
    # Scoring may take minutes, so it runs between two transactions and holds no lock or connection. The attempt number
    # of the claim detects in the second one that the task was lost meanwhile.
    outcome = compute_task_outcome(context, job)
    result = outcome.result
    with context.db.write() as session:
        if result is None:
            return retry_task(session, context, claim, outcome)
        settled = _settle_task(session, claim, result)
    if settled is not None:
        context.figures.count_settlement("finished" if result.valid else "rejected", tuple(result.total))
    return settled


def compute_task_outcome(context: WorkerContext, job: LoadedTask) -> TaskOutcome:
    """Have a scoring process score this; stores nothing.

    A shutdown or a process that cannot start is an interruption, not a crash: neither is the fault of the file.
    """
    try:
        return TaskOutcome(_send_score_request(context, job))
    except (scoring_processes.ScoringProcessesClosed, scoring_processes.ScoringProcessNotStarted):
        return TaskOutcome()
    except scoring_processes.ScoringProcessError as crash:
        return TaskOutcome(crash=crash)
    except (FileNotFoundError, Unavailable) as error:
        log.warning("file_away", file=str(error))
        return TaskOutcome(lost=FILE_LOST)


def retry_task(session: WriteSession, context: WorkerContext, claim: TaskClaim, outcome: TaskOutcome) -> str | None:
    """Requeue a task without a result, or fail it; returns the id of the submission if its status became final."""
    if outcome.crash is not None:
        return _retry_crashed(session, context, claim, outcome.crash)
    return release_task(session, context, claim, outcome.lost)


def requeue_interrupted_tasks(session: WriteSession, context: WorkerContext) -> int:
    """Requeue the tasks that an earlier run of this service left running, and return their number.

    Only at the start of a service that is the only one to claim tasks: then no running task has a live worker.
    """
    tasks.clear_delays(session)
    return len(_retry_all_interrupted(session, context, tasks.running(session)))


def requeue_expired_leases(session: WriteSession, context: WorkerContext) -> list[str]:
    """Requeue the tasks of workers that let their leases expire; returns the ids of the tasks."""
    requeued_ids = _retry_all_interrupted(session, context, tasks.lock_expired(session))
    after_commit(session, partial(context.figures.reaped.inc, len(requeued_ids)))
    return requeued_ids


def reconcile_queue(session: WriteSession, context: WorkerContext) -> int:
    """Enqueue as many queued tasks as lack a job in the queue engine; returns their number."""
    context.queue.delete_finished_jobs(session)
    orphaned_ids = context.queue.find_orphaned_tasks(session)
    for task_id in orphaned_ids:
        context.queue.enqueue(session, task_id, again=True)
    return len(orphaned_ids)


def _retry_all_interrupted(
    session: WriteSession, context: WorkerContext, interrupted: Sequence[ScoreTask]
) -> list[str]:
    for task in interrupted:
        _retry_interrupted(session, context, task, INTERRUPTED)
    session.flush()
    return [task.id for task in interrupted]


def release_task(
    session: WriteSession, context: WorkerContext, claim: TaskClaim, reason: str = INTERRUPTED
) -> str | None:
    """Requeue a task that could not be settled; returns the id of the submission if its status became final."""
    task = tasks.lock_owned(session, claim.task_id, claim.attempt)
    return None if task is None else _retry_interrupted(session, context, task, reason)


def _retry_interrupted(session: WriteSession, context: WorkerContext, task: ScoreTask, reason: str) -> str | None:
    """Count the interruption and requeue the task, or fail it at the cap.

    The delay doubles each time, from 0 to some four minutes, so that a long outage does not use up all tries at once.
    """
    task.interruptions += 1
    if task.interruptions > context.retry_limits.interruptions:
        return _fail_task(session, context, task, reason, INTERRUPTION_DETAILS[reason].format(task.interruptions))
    wait = timedelta(seconds=2 ** min(task.interruptions - 1, 8) - 1)
    _requeue_task(session, context, task, min(wait, MAX_RETRY_DELAY))
    after_commit(session, partial(context.figures.count_retry, reason))
    return None


def _load_task(session: ReadSession, claim: TaskClaim) -> LoadedTask | None:
    row = tasks.load_claimed(session, claim.task_id, claim.attempt)
    if row is None:
        return None
    submission, gold, phase, recipe = row
    return LoadedTask(submission=submission, gold=gold_reference(gold, phase.challenge), recipe=recipe)


def _observe_queue_wait(context: WorkerContext, job: LoadedTask, claim: TaskClaim) -> None:
    """Record how long a submission waited for its first scoring; later waits include retry delays."""
    submission, started = job.submission, job.submission.started_at
    if claim.attempt == 1 and submission.status == "running" and started is not None:
        context.figures.queued_seconds.observe(max(0.0, (started - submission.submitted_at).total_seconds()))


def _send_score_request(context: WorkerContext, job: LoadedTask) -> FileResult:
    with context.files.local_path(job.submission.file_key) as path, context.figures.scoring_seconds.time():
        predictions = SourceFile(path, stored_file_kind(job.submission))
        request = ScorePredictions(job.gold.source, predictions, job.recipe.body)
        reply = send_scoring_request(context.db, context.files, context.processes, job.gold, request)
    assert isinstance(reply, FileResult)
    return reply


def _settle_task(session: WriteSession, claim: TaskClaim, result: FileResult) -> str | None:
    """Store scores, statuses and quota in this transaction.

    Returns the id of the submission if its status became final.
    """
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
    if not result.valid:  # the status is final already, and an earlier scorer version accepted this file
        tasks.fail(session, claim.task_id, now, refused_again_failure(result))
    return None


def refused_again_failure(result: FileResult) -> dict[str, str]:
    """Why rescoring failed: it rejects a file that was accepted before. The submission keeps its scores and status."""
    counts = ", ".join(f"{code}: {count}" for code, count in sorted(result.total.items()))
    return {"code": REFUSED_AGAIN, "detail": f"This scorer refuses a file that an earlier one scored ({counts})."}


def _lock_submission(session: WriteSession, submission_id: str) -> Submission:
    """The submission, locked, so that its status becomes final only once.

    The lock is FOR NO KEY UPDATE, which lets other transactions insert rows that refer to the submission. Otherwise
    another task of it, which inserts scores, would wait for this lock while this transaction waits for that one.
    """
    return session.get_one(Submission, submission_id, with_for_update={"of": Submission, "key_share": True})


def _settle_quota_and_notify(session: WriteSession, submission_id: str, status: str, failure: str | None = None) -> str:
    quota.settle(session, submission_id, status, failure)
    notifications.notify_settled(session, submission_id)
    return submission_id


def _retry_crashed(
    session: WriteSession, context: WorkerContext, claim: TaskClaim, crash: scoring_processes.ScoringProcessError
) -> str | None:
    """Retry, or fail permanently: at the cap, and at once if a retry would only exceed the limit of CPU time again."""
    task = tasks.lock_owned(session, claim.task_id, claim.attempt)
    if task is None:
        return None
    task.crashes += 1
    if task.crashes >= context.retry_limits.crashes or isinstance(crash, scoring_processes.CpuLimitExceeded):
        detail = f"Scoring ended {pluralize(task.crashes, 'time', 'times')}: {str(crash) or crash.__doc__}"
        return _fail_task(session, context, task, crash.code, detail)
    if task.priority < RESCORING_PRIORITY:
        fair_scheduling.take_another_turn(session, task)  # it had its turn: the retry costs its sender another one
    _requeue_task(session, context, task, timedelta(seconds=task.crashes))
    after_commit(session, partial(context.figures.count_retry, CRASHED))
    return None


def _requeue_task(session: WriteSession, context: WorkerContext, task: ScoreTask, wait: timedelta) -> None:
    start = clock.steady(session) + wait if wait else None
    task.status, task.not_before, task.lease_until = "queued", start, None
    submission = _lock_submission(session, task.submission_id)
    if submission.status == "running":
        submission.status = "queued"
    session.flush()
    if task.priority >= RESCORING_PRIORITY:
        return  # the rescorer polls for these; the queue ignores them
    context.queue.enqueue(
        session, task.id, priority=task.priority, not_before=start, again=True, scorer_version=task.scorer_version
    )


def after_commit(session: WriteSession, count: Callable[[], None]) -> None:
    """Call `count` once this transaction has committed: metrics and log lines must not report one that rolled back."""
    event.listen(session, "after_commit", lambda _session: count(), once=True)


def _fail_task(session: WriteSession, context: WorkerContext, task: ScoreTask, code: str, detail: str) -> str | None:
    """Fail a task permanently: the submission is never charged to the quota, and always has a reason."""
    now = clock.now(session)
    task.status, task.finished_at, task.lease_until = "failed", now, None
    task.failure = {"code": code, "detail": detail}
    rescoring_tasks.add_to_progress(session, [rescoring_tasks.RescoringResult(task.rerun_id, failed=True)], now)
    submission = _lock_submission(session, task.submission_id)
    if submission.status not in {"queued", "running"} or tasks.has_newer_waiting(session, task):
        return None
    submission.failure = task.failure
    after_commit(session, partial(context.figures.count_settlement, "failed"))
    submission.status, submission.finished_at = "failed", now
    session.flush()
    board_invalidation.invalidate(session, board_invalidation.waiting_tag(submission.phase_id))
    return _settle_quota_and_notify(session, submission.id, "failed", code)
