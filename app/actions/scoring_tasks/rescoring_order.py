"""Rescoring ordered by an organizer: retry a failed submission, or compare finished ones with their stored scores."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from app.actions.access import Caller, load_organized_phase, require_organizer
from app.actions.audit.record import record
from app.actions.submissions.check_quota import limit_with_grants
from app.actions.submissions.read_submissions import SubmissionView, current_submission_view
from app.actions.submissions.submission_access import load_submission_to_change, lock_submission_row
from app.actions.versions.request_switch import retry_for_switch
from app.actions.versions.target_scores import required_scores
from app.errors import Conflict, NoGold
from app.queue import Queue
from app.store import board_invalidation, clock, locks
from app.store.queries import fair_scheduling, quota, rescoring_tasks, submissions, tasks, workers
from app.store.queries.score_provenance import ScoreProvenance
from app.store.session import ReadSession, WriteSession
from app.store.tables import Phase, Rerun, ScoreTask, Submission
from app.store.types import format_timestamp, id_at
from app.task_priorities import RESCORING_PRIORITY, SUBMISSION_PRIORITY

MAX_LISTED_DIFFERENCES = 100


class NotRescorable(Conflict):
    """Only a submission that is finished, or failed and within the quota, can be rescored."""

    code = "not_rescorable"
    remedy = "Check its status; a rejected file has to be corrected and submitted again."


@dataclass(frozen=True, slots=True)
class RescoringEstimate:
    """The cost of rescoring the phase now: the number of submissions, and the seconds if there is a measured rate."""

    total: int
    seconds: float | None


@dataclass(frozen=True, slots=True)
class RescoringOrderProgress:
    """The last order to rescore a phase, if there was one, and an estimate for the next."""

    phase: Phase
    rerun: Rerun | None
    now: datetime
    different: list[tuple[ScoreTask, Submission]]
    expected: RescoringEstimate

    @property
    def status(self) -> str:
        """none, running, finished or cancelled."""
        if self.rerun is None:
            return "none"
        if self.rerun.cancelled_at is not None:
            return "cancelled"
        return "running" if self.rerun.finished_at is None else "finished"

    @property
    def rate(self) -> float | None:
        """Submissions per second; None before the first."""
        return None if self.rerun is None else _submissions_per_second(self.rerun, self.now)

    @property
    def eta(self) -> datetime | None:
        """When the order will be finished at this rate."""
        rate = self.rate
        if self.rerun is None or self.status != "running" or not rate:
            return None
        left = self.rerun.total - self.rerun.done - self.rerun.failed
        return self.now + timedelta(seconds=left / rate)


def _submissions_per_second(row: Rerun, now: datetime) -> float | None:
    seconds = ((row.finished_at or now) - row.started_at).total_seconds()
    ended = row.done + row.failed
    return ended / seconds if ended and seconds > 0 else None


def order_submission_rescoring(
    session: WriteSession, queue: Queue, caller: Caller, submission_id: str
) -> SubmissionView:
    """Queue a failed or finished submission for rescoring, unless it is queued already; raises NotRescorable.

    A failed submission was refunded to the quota. It is charged again, because its scores inform the team like others.
    """
    submission, phase, organizer = load_submission_to_change(session, caller, submission_id)
    locks.team(session, phase.id, submission.team_id)
    user_id = require_organizer(session, caller, phase.challenge)
    required = required_scores(session, phase)
    if required is None:
        raise NoGold
    origin, recipe_id = required.provenance, required.recipe.id
    first = submissions.first_task_key(session, submission_id) if submission.status == "failed" else None
    if first is not None:  # the gold at its admission decides whether it is valid
        origin, recipe_id = replace(origin, gold_id=first[0], recipe_ids=(first[1],)), first[1]
    task = _get_or_create_task(session, submission, origin, recipe_id)
    lock_submission_row(session, submission_id)
    if submission.status not in {"finished", "failed"}:
        raise NotRescorable(f"The submission is {submission.status}.")
    if task.status not in {"queued", "running"}:
        if submission.status == "failed":
            _cancel_refund(session, submission, phase)
        record(session, caller, "submission.rerun", challenge=phase.challenge, of=submission)
        _reset_and_queue_task(session, queue, submission, task, fair_scheduling.Lane.of_organizer(user_id))
        retry_for_switch(session, phase, submission_id)
    return current_submission_view(session, caller, submission.id, organizer=organizer)


def _cancel_refund(session: WriteSession, submission: Submission, phase: Phase) -> None:
    """Reserve the refunded quota again; raises NotRescorable if the team has used it for other submissions since."""
    day = quota.refunded_day(session, submission.id)
    if day is None:
        return
    used, granted = quota.usage_and_grants(session, phase.id, submission.team_id, day)
    for name, count in (("total", used.total), ("per_day", used.per_day)):
        limit = limit_with_grants(phase.quota.get(name), granted[name])
        if limit is not None and count >= limit:
            usage = f"its team has since used {count} of {limit} ({name}) for other submissions"
            remedy = "Grant the team more, or raise the quota of the phase, to have it scored."
            raise NotRescorable(f"It was refunded when it failed, and {usage}.", remedy=remedy)
    quota.cancel_refund(session, submission.id)


def _reset_and_queue_task(
    session: WriteSession, queue: Queue, submission: Submission, task: ScoreTask, lane: fair_scheduling.Lane
) -> None:
    """Queue the task with fresh retry counters, in the organizers' lane, so that it delays no participant.

    The attempt number is not reset: it is the fence against late writes of earlier attempts.
    """
    task.status, task.crashes, task.interruptions, task.rerun_id = "queued", 0, 0, None
    task.not_before = task.finished_at = task.lease_until = None
    task.priority = RESCORING_PRIORITY
    if submission.status == "failed":
        submission.status, submission.failure, submission.finished_at = "queued", None, None
        task.priority, task.failure = SUBMISSION_PRIORITY, None
        task.lane, task.sublane = lane.name, lane.sublane
        task.turn, task.subturn = fair_scheduling.take_turn(session, lane)
        task.ticket = id_at(clock.steady(session))
        board_invalidation.invalidate(session, board_invalidation.waiting_tag(submission.phase_id))
    session.flush()
    if task.priority < RESCORING_PRIORITY:
        queue.enqueue(session, task.id, scorer_version=task.scorer_version)


def _get_or_create_task(
    session: WriteSession, submission: Submission, origin: ScoreProvenance, recipe_id: str
) -> ScoreTask:
    """The submission's task of this origin, locked; created if there is none yet."""
    task = submissions.lock_task(session, submission.id, origin)
    if task is None:
        lock_submission_row(session, submission.id)  # with its tasks it may have been deleted meanwhile
        keys: dict[str, Any] = {"gold_id": origin.gold_id, "scorer_version": origin.scorer_version}
        tasks.add(session, submission_id=submission.id, recipe_id=recipe_id, status="done", **keys)
        task = submissions.lock_task(session, submission.id, origin)
    assert task is not None
    return task


def order_phase_rescoring(
    session: WriteSession, caller: Caller, slug: str, phase_slug: str, *, slots: int
) -> RescoringOrderProgress:
    """Order all finished submissions of the phase to be rescored; returns the running order, if there is one.

    Raises NoGold.
    """
    phase = load_organized_phase(session, caller, slug, phase_slug)
    newest = rescoring_tasks.newest_order(session, phase.id)
    if newest is not None and newest.finished_at is None:
        return _order_progress(session, phase, slots)
    required = required_scores(session, phase)
    if required is None:
        raise NoGold
    origin = required.provenance
    now = clock.now(session)
    row = Rerun(phase_id=phase.id, user_id=caller.user_id, scorer_version=origin.scorer_version, started_at=now)
    row.total = row.done = row.failed = row.different = 0
    session.add(row)
    session.flush()
    row.total = rescoring_tasks.queue_order(session, row, origin)
    row.finished_at = None if row.total else now
    changes = {"submissions": (None, row.total)}
    record(session, caller, "phase.rerun", challenge=phase.challenge, of=phase, changes=changes)
    session.flush()
    return _order_progress(session, phase, slots)


def read_rescoring_order(
    session: ReadSession, caller: Caller, slug: str, phase_slug: str, *, slots: int
) -> RescoringOrderProgress:
    """The last order of the phase, and an estimate for another one."""
    phase = load_organized_phase(session, caller, slug, phase_slug, writes=False)
    return _order_progress(session, phase, slots)


def cancel_rescoring_order(
    session: WriteSession, caller: Caller, slug: str, phase_slug: str, *, slots: int
) -> RescoringOrderProgress:
    """Cancel the tasks of the running order that have not begun; finished ones stay as they are."""
    phase = load_organized_phase(session, caller, slug, phase_slug)
    newest = rescoring_tasks.newest_order(session, phase.id)
    if newest is not None and newest.finished_at is None:
        now = clock.now(session)
        rescoring_tasks.withdraw_order(session, newest.id, now)
        session.refresh(newest, with_for_update=True)
        if newest.finished_at is None:
            newest.cancelled_at = newest.finished_at = now
            record(session, caller, "phase.cancel_rerun", challenge=phase.challenge, of=phase)
        session.flush()
    return _order_progress(session, phase, slots)


def _order_progress(session: ReadSession, phase: Phase, slots: int) -> RescoringOrderProgress:
    newest = rescoring_tasks.newest_order(session, phase.id)
    differences = [] if newest is None else rescoring_tasks.different(session, newest.id, MAX_LISTED_DIFFERENCES)
    return RescoringOrderProgress(
        phase, newest, clock.now(session), differences, _estimate_rescoring(session, phase, slots)
    )


def _estimate_rescoring(session: ReadSession, phase: Phase, slots: int) -> RescoringEstimate:
    """Estimate by the rate of the last order, else by the mean time of first scorings.

    `slots` is the number of files scored at once where workers are not registered in the database.
    """
    required = required_scores(session, phase)
    total = 0 if required is None else rescoring_tasks.count_rescorable(session, phase.id, required.provenance)
    last = rescoring_tasks.last_finished_order(session, phase.id)
    rate = None if last is None else _submissions_per_second(last, clock.now(session))
    if rate:
        return RescoringEstimate(total, total / rate)
    seconds = rescoring_tasks.mean_scoring_seconds(session, phase.id)
    return RescoringEstimate(total, None if seconds is None else total * seconds / (workers.slots(session) or slots))


def describe_difference(task: ScoreTask, submission: Submission) -> dict[str, Any]:
    """A submission whose values differ, as a member of the reply."""
    compared_at = None if task.compared_at is None else format_timestamp(task.compared_at)
    head = {"submission": submission.id, "method": submission.method, "compared_at": compared_at}
    return head | (task.difference or {})
