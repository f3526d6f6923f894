"""Score a claimed task: load it, have a child score it, and settle task, submission, scores and quota at once.

Every write is fenced by the attempt number: a worker that lost its task in the meantime changes nothing.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Any

import structlog
from sqlalchemy import event

from app.actions.challenges.upload_gold import stored_kind
from app.actions.scoring_tasks.scoring_request import NamedGold, ask_about_gold, named_gold
from app.errors import Unavailable
from app.files import Files
from app.queue import Claim, Queue
from app.runtime.telemetry import Figures
from app.scoring import SCORER_VERSION
from app.scoring.declaration.metric_syntax import counted
from app.scoring_processes import ChildError, ChildNotStarted, ChildOutOfCpu, Children, ChildrenClosed
from app.store import board_invalidation, clock, notifications
from app.store.queries import fair_scheduling, quota, rescoring_tasks, submissions, tasks
from app.store.session import Database, ReadSession, WriteSession
from app.store.tables import Recipe, ScoreTask, Submission
from app.task_priorities import RESCORING

LONGEST_WAIT = timedelta(minutes=5)
CRASHED = "crashed"
INTERRUPTED = "interrupted"
REFUSED = "refused_again"
FILE_LOST = "file_lost"  # its disk may come back, so it is tried again like an interruption
DETAILS = {
    INTERRUPTED: "Scoring was interrupted {} times.",
    FILE_LOST: "Scoring was tried {} times; the last time a stored file could not be read.",
}

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Caps:
    """How often a task may crash, and be interrupted, before it fails for good."""

    crashes: int
    interruptions: int


@dataclass(frozen=True, slots=True)
class Bench:
    """What a worker works with."""

    db: Database
    files: Files
    children: Children
    queue: Queue
    caps: Caps
    figures: Figures = field(default_factory=Figures)


@dataclass(frozen=True, slots=True)
class Job:
    """All that scoring one task needs, read in one snapshot."""

    submission: Submission
    gold: NamedGold
    recipe: Recipe


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one scoring: an answer, or why there is none."""

    answer: dict[str, Any] | None = None
    crash: ChildError | None = None
    lost: str = INTERRUPTED


def work_waits(session: ReadSession, *, longer: timedelta = timedelta()) -> bool:
    """Whether any task of a new submission is due, and has been for so long."""
    return tasks.any_due(session, SCORER_VERSION, longer)


def claim_tasks(session: WriteSession, count: int) -> list[Claim]:
    """Take up to `count` due tasks of a work list that this process owns alone."""
    return [Claim(task_id=task_id, attempt=attempt) for task_id, attempt in tasks.claim(session, SCORER_VERSION, count)]


def claim_task(session: WriteSession, *, lease: timedelta) -> Claim | None:
    """Take the task whose turn it is for as long as the lease lasts; None where none is due or others take them all."""
    taken = tasks.claim_next(session, SCORER_VERSION, lease)
    return None if taken is None else Claim(*taken)


def score_submission(bench: Bench, claim: Claim) -> str | None:
    """Score one claimed task and settle it; gives the submission's id once its status is final, None otherwise."""
    with bench.db.read() as session:
        job = _load(session, claim)
    if job is None:
        return None
    structlog.contextvars.bind_contextvars(submission=job.submission.id)
    _note_wait(bench, job, claim)
    outcome = outcome_of(bench, job)
    answer = outcome.answer
    with bench.db.write() as session:
        if answer is None:
            return try_again(session, bench, claim, outcome)
        settled = _settle(session, claim, answer)
    if settled is not None:
        bench.figures.settled("finished" if answer["valid"] else "rejected", tuple(answer["total"]))
    return settled


def outcome_of(bench: Bench, job: Job) -> Outcome:
    """Have a child score this; nothing is stored."""
    try:
        return Outcome(_ask(bench, job))
    except (ChildrenClosed, ChildNotStarted):
        return Outcome()
    except ChildError as crash:
        return Outcome(crash=crash)
    except (FileNotFoundError, Unavailable) as lost:
        log.warning("file_away", file=str(lost))
        return Outcome(lost=FILE_LOST)


def try_again(session: WriteSession, bench: Bench, claim: Claim, outcome: Outcome) -> str | None:
    """Queue a task again that got no answer, or fail it; gives the submission's id when that made its status final."""
    if outcome.crash is not None:
        return _crashed(session, bench, claim, outcome.crash)
    return give_back(session, bench, claim, outcome.lost)


def requeue_interrupted(session: WriteSession, bench: Bench) -> int:
    """At the start of a service that owns its work list: give back what an earlier life of it left running.

    Returns how many tasks.
    """
    tasks.forget_waits(session)
    return len(_interrupt_all(session, bench, tasks.running(session)))


def reap(session: WriteSession, bench: Bench) -> list[str]:
    """Give back the tasks of workers that went silent; returns the ids of the tasks."""
    lost = _interrupt_all(session, bench, tasks.expired(session))
    once_committed(session, partial(bench.figures.reaped.inc, len(lost)))
    return lost


def reconcile(session: WriteSession, bench: Bench) -> int:
    """Enqueue again as many queued tasks as there is no job for; returns how many."""
    bench.queue.forget_ended(session)
    lost = bench.queue.lost(session)
    for task_id in lost:
        bench.queue.enqueue(session, task_id, again=True)
    return len(lost)


def _interrupt_all(session: WriteSession, bench: Bench, left: Sequence[ScoreTask]) -> list[str]:
    for task in left:
        _interrupted(session, bench, task)
    session.flush()
    return [task.id for task in left]


def give_back(session: WriteSession, bench: Bench, claim: Claim, why: str = INTERRUPTED) -> str | None:
    """Give back a task that could not be settled; gives the submission's id when that made its status final."""
    task = tasks.owned(session, claim.task_id, claim.attempt)
    return None if task is None else _interrupted(session, bench, task, why)


def _interrupted(session: WriteSession, bench: Bench, task: ScoreTask, why: str = INTERRUPTED) -> str | None:
    """Count the interruption and queue the task again, a little later each time, or fail it at the cap."""
    task.interruptions += 1
    if task.interruptions > bench.caps.interruptions:
        return _fail(session, bench, task, why, DETAILS[why].format(task.interruptions))
    wait = timedelta(seconds=2 ** min(task.interruptions - 1, 8) - 1)
    _requeue(session, bench, task, min(wait, LONGEST_WAIT))
    once_committed(session, partial(bench.figures.retried, why))
    return None


def _load(session: ReadSession, claim: Claim) -> Job | None:
    row = tasks.with_all(session, claim.task_id, claim.attempt)
    if row is None:
        return None
    submission, gold, phase, recipe = row
    return Job(submission=submission, gold=named_gold(gold, phase.challenge), recipe=recipe)


def _note_wait(bench: Bench, job: Job, claim: Claim) -> None:
    """Observe how long a submission waited for its first scoring; a later one says nothing of the queue."""
    started = job.submission.started_at
    if claim.attempt == 1 and job.submission.status == "running" and started is not None:
        bench.figures.queued_seconds.observe(max(0.0, (started - job.submission.submitted_at).total_seconds()))


def _ask(bench: Bench, job: Job) -> dict[str, Any]:
    kind = stored_kind(job.submission)
    with bench.files.local(job.submission.file_key) as path, bench.figures.scoring_seconds.time():
        predictions = {"path": str(path), **kind.to_dict()}
        request = {"kind": "score", "predictions": predictions, "recipe": job.recipe.body}
        return ask_about_gold(bench.db, bench.files, bench.children, job.gold, request)


def _settle(session: WriteSession, claim: Claim, answer: dict[str, Any]) -> str | None:
    """Scores, statuses and quota in this one transaction."""
    now = clock.now(session)
    task = tasks.end(session, claim.task_id, claim.attempt, now)
    if task is None:
        return None
    marks = []
    if answer["valid"]:
        submissions.add_scores(session, task, answer["scores"])
        marks.append(board_invalidation.of_scores(task["gold_id"], task["scorer_version"]))
    status = "finished" if answer["valid"] else "rejected"
    phase_id = submissions.end(session, task["submission_id"], status, now, answer)
    if phase_id is not None:
        marks.append(
            board_invalidation.of_phase(phase_id) if answer["valid"] else board_invalidation.of_waiting(phase_id)
        )
    board_invalidation.changed(session, *marks)
    if phase_id is not None:
        return _told(session, task["submission_id"], status)
    if not answer["valid"]:  # an older scorer was quicker: what it said of the status stands
        tasks.fail(session, claim.task_id, now, refused(answer))
    return None


def refused(answer: Mapping[str, Any]) -> dict[str, str]:
    """Why scoring again failed that refuses a file which was accepted once: the submission keeps its scores and status."""
    found = ", ".join(f"{code}: {count}" for code, count in sorted(answer["total"].items()))
    return {"code": REFUSED, "detail": f"This scorer refuses a file that an earlier one scored ({found})."}


def _held(session: WriteSession, submission_id: str) -> Submission:
    """The submission, locked: its status changes once.

    Rows that refer to it may come meanwhile: another task of it, whose scores do, would wait for this lock while this one
    waits for those.
    """
    return session.get_one(Submission, submission_id, with_for_update={"of": Submission, "key_share": True})


def _final(session: WriteSession, submission: Submission, task: ScoreTask, status: str) -> str:
    """Give a submission that was not scored the status that it keeps; whoever waits for it is told."""
    submission.status = status
    submission.finished_at = task.finished_at
    session.flush()
    board_invalidation.changed(session, board_invalidation.of_waiting(submission.phase_id))
    return _told(session, submission.id, status, None if task.failure is None else task.failure["code"])


def _told(session: WriteSession, submission_id: str, status: str, failure: str | None = None) -> str:
    quota.settle(session, submission_id, status, failure)
    notifications.tell_settled(session, submission_id)
    return submission_id


def _crashed(session: WriteSession, bench: Bench, claim: Claim, crash: ChildError) -> str | None:
    """Try again, or fail for good: once the cap is reached, and at once where the same CPU time would be spent again."""
    task = tasks.owned(session, claim.task_id, claim.attempt)
    if task is None:
        return None
    task.crashes += 1
    if task.crashes >= bench.caps.crashes or isinstance(crash, ChildOutOfCpu):
        detail = f"Scoring ended {counted(task.crashes, 'time', 'times')}: {str(crash) or crash.__doc__}"
        return _fail(session, bench, task, crash.code, detail)
    if task.priority < RESCORING:
        fair_scheduling.retake(session, task)  # it was served: what it costs again is the turn of whoever sent it
    _requeue(session, bench, task, timedelta(seconds=task.crashes))
    once_committed(session, partial(bench.figures.retried, CRASHED))
    return None


def _requeue(session: WriteSession, bench: Bench, task: ScoreTask, wait: timedelta) -> None:
    task.status = "queued"
    task.not_before = clock.steady(session) + wait if wait else None
    task.lease_until = None
    submission = _held(session, task.submission_id)
    if submission.status == "running":
        submission.status = "queued"
    session.flush()
    if task.priority >= RESCORING:
        return  # whoever has time looks for it
    bench.queue.enqueue(
        session,
        task.id,
        priority=task.priority,
        not_before=task.not_before,
        again=True,
        scorer_version=task.scorer_version,
    )


def once_committed(session: WriteSession, count: Callable[[], None]) -> None:
    """Count what this transaction does, but only if it comes to be."""
    event.listen(session, "after_commit", lambda _session: count(), once=True)


def _fail(session: WriteSession, bench: Bench, task: ScoreTask, code: str, detail: str) -> str | None:
    """No score after all retries: never charged, always with a reason."""
    now = clock.now(session)
    task.status, task.finished_at, task.lease_until = "failed", now, None
    task.failure = {"code": code, "detail": detail}
    rescoring_tasks.count(session, [rescoring_tasks.Settled(task.rerun_id, failed=True)], now)
    submission = _held(session, task.submission_id)
    if submission.status not in {"queued", "running"} or tasks.newer_waits(session, task):
        return None
    submission.failure = task.failure
    once_committed(session, partial(bench.figures.settled, "failed"))
    return _final(session, submission, task, "failed")
