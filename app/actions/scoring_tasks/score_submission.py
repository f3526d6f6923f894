"""Score claimed tasks: have a scoring process score them, and settle them.

Settling writes task, submission, scores and quota in one transaction. Every write is fenced by the attempt number of
the claim: a worker that lost its task in the meantime, because its lease expired for example, matches no row and
changes nothing.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import structlog
from sqlalchemy import event

from app import scoring_processes
from app.actions.receipts.gold_commitments import ensure_commitment
from app.actions.receipts.issue_receipts import NewScores, ReceiptIssuer
from app.actions.scoring_tasks.claim_tasks import ClaimedTask, LoadedTask
from app.actions.scoring_tasks.further_versions import FurtherVersion, add_missing_active_task
from app.actions.scoring_tasks.scoring_request import GoldReference, send_scoring_request
from app.errors import AssayError, Unavailable
from app.files import FileStore
from app.pipeline import SourceFile
from app.queue import Queue, TaskClaim
from app.runtime.telemetry import Telemetry
from app.scoring import SCORER_VERSION
from app.scoring.declaration.metric_syntax import pluralize
from app.scoring_processes.messages import FileResult, ScorePredictions
from app.store import board_invalidation, clock, notifications
from app.store.queries import fair_scheduling, quota, rescoring_tasks, submissions, tasks
from app.store.session import Database, WriteSession
from app.store.tables import ScoreTask, Submission
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
    receipts: ReceiptIssuer | None = None
    """Without one, scores get their receipts later."""


@dataclass(frozen=True, slots=True)
class TaskOutcome:
    """The outcome of one scoring: a result, or the reason why there is none."""

    result: FileResult | None = None
    crash: scoring_processes.ScoringProcessError | None = None
    lost: str = INTERRUPTED
    further: tuple[tuple[FurtherVersion, FileResult], ...] = ()
    """The results by further versions, as far as there are any."""


def compute_task_outcome(context: WorkerContext, job: LoadedTask) -> TaskOutcome:
    """Have a scoring process score this; stores nothing.

    A shutdown or a process that cannot start is an interruption, not a crash: neither is the fault of the file.
    """
    try:
        result = _send_score_request(context, job)
        outcome = TaskOutcome(result, further=_score_by_further_versions(context, job) if result.valid else ())
    except (scoring_processes.ScoringProcessesClosed, scoring_processes.ScoringProcessNotStarted):
        return TaskOutcome()
    except scoring_processes.ScoringProcessError as crash:
        return TaskOutcome(crash=crash)
    except (FileNotFoundError, Unavailable) as error:
        log.warning("file_away", file=str(error))
        return TaskOutcome(lost=FILE_LOST)
    if context.receipts is not None:
        for gold in (job.gold, *(version.gold for version, _ in outcome.further)):
            _ensure_commitment(context, context.receipts, gold)
    return outcome


def _ensure_commitment(context: WorkerContext, receipts: ReceiptIssuer, gold: GoldReference) -> None:
    """Commit to gold that has no commitment yet, which its receipts need; a failure only delays them."""
    if receipts.has_commitment(gold.id, gold.name):
        return
    try:
        if ensure_commitment(context.db, context.files, context.processes, gold) is not None:
            receipts.note_commitment(gold.id, gold.name)
    except (scoring_processes.ScoringProcessError, FileNotFoundError, AssayError) as error:
        log.warning("commitment_delayed", gold=gold.id, reason=str(error))


def _score_by_further_versions(
    context: WorkerContext, job: LoadedTask
) -> tuple[tuple[FurtherVersion, FileResult], ...]:
    """The results by further versions; one that fails is left out, which costs the submission nothing.

    A rescoring task is added for what is left out.
    """
    found: list[tuple[FurtherVersion, FileResult]] = []
    for version in job.further:
        try:
            result = _send_score_request(context, replace(job, gold=version.gold, recipe=version.recipe, accepted=True))
        except (scoring_processes.ScoringProcessError, FileNotFoundError, Unavailable) as error:
            log.warning("further_scoring_failed", submission=job.submission_id, reason=type(error).__name__)
            continue
        if result.valid:
            found.append((version, result))
    return tuple(found)


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


def reconcile_queue(session: WriteSession, context: WorkerContext) -> bool:
    """The reconciler: make sure that the queue engine wakes a worker if a task is due; returns whether it would not have.

    A job is added even if there is one that a transaction of a paused process has locked, because none can take that.
    """
    context.queue.delete_finished_jobs(session)
    due = tasks.next_due(session, SCORER_VERSION)
    if due is None:
        return False
    is_lost = context.queue.find_orphaned_task(session) is not None
    context.queue.enqueue(session, due)
    return is_lost


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
    """Requeue a task that could not be settled; returns the id of the submission if its status became final.

    If the commit of the claim failed, the task may be claimed again since, with the same attempt: that claim is kept.
    """
    task = tasks.lock_owned(session, claim.task_id, claim.attempt)
    if task is None or (isinstance(claim, ClaimedTask) and task.started_at != claim.started_at):
        return None
    return _retry_interrupted(session, context, task, reason)


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


def _send_score_request(context: WorkerContext, job: LoadedTask) -> FileResult:
    with context.files.local_path(job.file_key) as path, context.figures.scoring_seconds.time():
        request = ScorePredictions(job.gold.source, SourceFile(path, job.kind), job.recipe, job.accepted)
        reply = send_scoring_request(context.db, context.files, context.processes, job.gold, request)
    assert isinstance(reply, FileResult)
    return reply


ScoredResult = tuple[dict[str, Any], FileResult]
"""A result with the key of its scores."""
FurtherResults = Mapping[TaskClaim, Sequence[tuple[FurtherVersion, FileResult]]]


def settle_results(
    session: WriteSession,
    results: Mapping[TaskClaim, FileResult],
    now: datetime,
    further: FurtherResults | None = None,
    receipts: ReceiptIssuer | None = None,
) -> dict[TaskClaim, str]:
    """Store scores, their receipts, statuses and quota of these tasks in this transaction, also by further versions.

    Returns the ids of the submissions whose status became final.
    """
    keys = tasks.finish(session, [(claim.task_id, claim.attempt) for claim in results], now)
    owned = [(keys[claim.task_id], claim, result) for claim, result in results.items() if claim.task_id in keys]
    owned.sort(key=lambda each: each[0]["submission_id"])  # one order of locks for all transactions
    settled: dict[TaskClaim, str] = {}
    marks: list[str] = []
    stored: list[NewScores] = []
    for key, claim, result in owned:
        is_final, changed, scored = _settle_result(session, claim, key, result, (further or {}).get(claim, ()), now=now)
        stored += [NewScores(score_key, of.scores, of.content_sha256, now) for score_key, of in scored]
        marks += changed
        if is_final:
            settled[claim] = key["submission_id"]
    if receipts is not None:
        receipts.issue(session, stored, now)
    board_invalidation.invalidate(session, *marks)
    notifications.notify_settled(session, *settled.values())  # after the boards, see there
    return settled


def _settle_result(
    session: WriteSession,
    claim: TaskClaim,
    key: dict[str, Any],
    result: FileResult,
    further: Sequence[tuple[FurtherVersion, FileResult]],
    *,
    now: datetime,
) -> tuple[bool, list[str], list[ScoredResult]]:
    """Whether the status of the submission became final, the tags of the boards that changed, and what was scored."""
    status, submission_id = ("finished" if result.valid else "rejected"), key["submission_id"]
    scored = [(key, result)] if result.valid else []
    for score_key, of in scored:
        submissions.add_scores(session, score_key, of.scores, of.empty_by_split)
    settled = submissions.set_final_status(session, submission_id, status, now, result.to_dict())
    if settled is not None:
        quota.settle(session, submission_id, status)
        if result.valid:
            scored += _add_further_scores(session, submission_id, further)
            covered = [key, *(version.score_key(submission_id) for version, _ in further)]
            add_missing_active_task(session, submission_id, settled.last_switch, covered)
        tag = board_invalidation.phase_tag if result.valid else board_invalidation.waiting_tag
        return True, [board_invalidation.settled_tag(tag(settled.phase_id), settled.team_id, submission_id)], scored
    if not result.valid:  # the status is final already, and an earlier scorer version accepted this file
        tasks.fail(session, claim.task_id, now, refused_again_failure(result))
        return False, [], scored
    return False, [board_invalidation.scores_tag(key["gold_id"], key["scorer_version"])], scored


def _add_further_scores(
    session: WriteSession, submission_id: str, further: Sequence[tuple[FurtherVersion, FileResult]]
) -> list[ScoredResult]:
    """Store the scores by further versions, unless another task did; returns what was stored."""
    stored: list[ScoredResult] = []
    for version, result in further:
        key = version.score_key(submission_id)
        if not submissions.has_scores(session, key):
            submissions.add_scores(session, key, result.scores, result.empty_by_split)
            stored.append((key, result))
    return stored


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
    context.queue.enqueue(session, task.id, not_before=start, scorer_version=task.scorer_version)


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
    mark = board_invalidation.waiting_tag(submission.phase_id)
    board_invalidation.invalidate(session, board_invalidation.settled_tag(mark, submission.team_id, submission.id))
    quota.settle(session, submission.id, "failed", code)
    notifications.notify_settled(session, submission.id)
    return submission.id
