"""Score a claimed task: load it, have a child score it, and settle task, submission, scores and quota at once.

Every write is fenced by the attempt number: a worker that lost its task in the meantime changes nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import structlog

from app.actions.upload_gold import request_of, stored_kind
from app.children import ChildError, ChildNotStarted, Children, ChildrenClosed
from app.files import Files
from app.queue import Claim
from app.store import clock, quota, tasks
from app.store.session import Database, ReadSession, WriteSession
from app.store.tables import GoldVersion, Phase, Recipe, Score, ScoreTask, Submission

LONGEST_WAIT = timedelta(minutes=5)
INTERRUPTED = "interrupted"
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
class Job:
    """All that scoring one task needs, read in one snapshot."""

    submission: Submission
    gold: GoldVersion
    phase: Phase
    recipe: Recipe


def work_waits(session: ReadSession) -> bool:
    """Whether any task is due."""
    return tasks.any_due(session, clock.now(session))


def claim_tasks(session: WriteSession, count: int, *, lease: timedelta, caps: Caps) -> list[Claim]:
    """Take up to `count` due tasks; those of lost workers are given back first."""
    _interrupt_all(session, tasks.expired(session, clock.now(session)), caps)
    taken = tasks.claim(session, count, now=clock.now(session), lease=lease)
    return [Claim(task_id=task_id, attempt=attempt) for task_id, attempt in taken]


def score_submission(db: Database, files: Files, children: Children, claim: Claim, caps: Caps) -> str | None:
    """Score one claimed task and settle it; gives the submission's id once its status is final, None otherwise."""
    with db.read() as session:
        job = _load(session, claim)
    if job is None:
        return None
    try:
        answer = _ask(files, children, job)
    except ChildrenClosed:
        return None  # left running: the next start of the service counts it as an interruption
    except ChildNotStarted:
        with db.write() as session:
            return give_back(session, claim, caps)
    except ChildError as crash:
        with db.write() as session:
            return _crashed(session, claim, crash, caps)
    except FileNotFoundError as lost:
        log.warning("file_away", file=str(lost), submission=job.submission.id)
        with db.write() as session:
            return give_back(session, claim, caps, FILE_LOST)
    with db.write() as session:
        return _settle(session, claim, job, answer)


def requeue_interrupted(session: WriteSession, caps: Caps) -> int:
    """At the start of the service: give back what an earlier life of it left running; returns how many tasks."""
    return _interrupt_all(session, tasks.interrupted(session), caps)


def _interrupt_all(session: WriteSession, left: Sequence[ScoreTask], caps: Caps) -> int:
    for task in left:
        _interrupted(session, task, caps)
    session.flush()
    return len(left)


def give_back(session: WriteSession, claim: Claim, caps: Caps, why: str = INTERRUPTED) -> str | None:
    """Give back a task that could not be settled; gives the submission's id when that made its status final."""
    task = session.get(ScoreTask, claim.task_id)
    if task is None or task.attempt != claim.attempt or task.status != "running":
        return None
    failed = _interrupted(session, task, caps, why)
    session.flush()
    return failed


def _interrupted(session: WriteSession, task: ScoreTask, caps: Caps, why: str = INTERRUPTED) -> str | None:
    """Count the interruption and queue the task again, a little later each time, or fail it at the cap."""
    task.interruptions += 1
    if task.interruptions > caps.interruptions:
        session.flush()
        return _fail(session, Claim(task.id, task.attempt), why, DETAILS[why].format(task.interruptions))
    wait = timedelta(seconds=2 ** min(task.interruptions - 1, 8) - 1)
    _requeue(session, task, clock.now(session) + min(wait, LONGEST_WAIT))
    return None


def _load(session: ReadSession, claim: Claim) -> Job | None:
    task = session.get(ScoreTask, claim.task_id)
    if task is None or task.attempt != claim.attempt or task.status != "running":
        return None
    submission = session.get_one(Submission, task.submission_id)
    return Job(
        submission=submission,
        gold=session.get_one(GoldVersion, task.gold_id),
        phase=session.get_one(Phase, submission.phase_id),
        recipe=session.get_one(Recipe, task.recipe_id),
    )


def _ask(files: Files, children: Children, job: Job) -> dict[str, Any]:
    kind = stored_kind(job.submission)
    with files.local(job.gold.file_key) as gold_path, files.local(job.submission.file_key) as path:
        return children.ask(
            {
                "kind": "score",
                "gold": request_of(gold_path, job.gold, job.phase.challenge),
                "predictions": {"path": str(path), **kind.to_dict()},
                "recipe": job.recipe.body,
            }
        )


def _settle(session: WriteSession, claim: Claim, job: Job, answer: dict[str, Any]) -> str | None:
    """Scores, statuses and quota in this one transaction."""
    now = clock.now(session)
    if not tasks.fenced(session, claim.task_id, claim.attempt, status="done", finished_at=now, lease_until=None):
        return None
    submission = session.get_one(Submission, job.submission.id)
    task = session.get_one(ScoreTask, claim.task_id)
    if answer["valid"]:
        session.add_all(
            Score(
                submission_id=submission.id,
                gold_id=task.gold_id,
                recipe_id=task.recipe_id,
                scorer_version=task.scorer_version,
                split=split,
                metrics=metrics,
            )
            for split, metrics in answer["scores"].items()
        )
    if submission.status not in {"queued", "running"}:
        return None  # scored anew: what the first scoring said of its status stands
    submission.status = "finished" if answer["valid"] else "rejected"
    submission.problems = answer["problems"]
    submission.problem_totals = answer["total"]
    submission.notes = answer["notes"]
    submission.finished_at = now
    quota.settle(session, submission)
    session.flush()
    return submission.id


def _crashed(session: WriteSession, claim: Claim, crash: ChildError, caps: Caps) -> str | None:
    """Try again, or fail for good once the cap is reached."""
    task = session.get_one(ScoreTask, claim.task_id)
    if task.attempt != claim.attempt or task.status != "running":
        return None
    task.crashes += 1
    if task.crashes >= caps.crashes:
        session.flush()
        return _fail(session, claim, crash.code, f"Scoring ended {task.crashes} times: {str(crash) or crash.__doc__}")
    _requeue(session, task, clock.now(session) + timedelta(seconds=task.crashes))
    session.flush()
    return None


def _requeue(session: WriteSession, task: ScoreTask, not_before: Any) -> None:
    task.status = "queued"
    task.not_before = not_before
    task.lease_until = None
    submission = session.get_one(Submission, task.submission_id)
    if submission.status == "running":
        submission.status = "queued"


def _fail(session: WriteSession, claim: Claim, code: str, detail: str) -> str | None:
    """Our fault after all retries: never charged, always with a reason."""
    now = clock.now(session)
    failure = {"code": code, "detail": detail}
    if not tasks.fenced(
        session, claim.task_id, claim.attempt, status="failed", finished_at=now, failure=failure, lease_until=None
    ):
        return None
    task = session.get_one(ScoreTask, claim.task_id)
    submission = session.get_one(Submission, task.submission_id)
    if submission.status not in {"queued", "running"}:
        return None
    submission.status = "failed"
    submission.failure = failure
    submission.finished_at = now
    quota.settle(session, submission)
    session.flush()
    return submission.id
