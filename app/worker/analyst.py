"""Intervals and comparisons by a worker: after the scores, one at a time, in a scoring process of its own.

That process has a low priority, and work begins only while new submissions leave a slot free, or after enough of them
went first. A submission never waits for it.
"""

import time
from collections import deque
from datetime import timedelta
from pathlib import Path
from threading import Event

import structlog

from app.actions.scoring_tasks.score_submission import WorkerContext
from app.actions.uncertainty import compute, plan_boards
from app.queue import MayContinue, TaskClaim
from app.queue.local import LocalQueue
from app.settings import Settings
from app.store.analysis_tables import INTERVALS
from app.store.locks import try_maintenance
from app.store.session import WriteSession
from app.worker.analysis_turns import AnalysisTurns
from app.worker.process_settings import create_analysis_pool
from app.worker.rescorer import ScoringSlots

log = structlog.get_logger()


class Analyst:
    """Queues the comparisons of changed boards, and works on all due analyses."""

    def __init__(self, settings: Settings, context: WorkerContext, slots: ScoringSlots, work: Path) -> None:
        """`slots` are those of the submissions; `work` is the folder where scoring processes share prepared gold."""
        self._context = context
        self._processes = create_analysis_pool(settings, work)
        self._slots = slots
        self._lease = None if context.db.sqlite else timedelta(seconds=settings.lease_seconds)
        self._interval = timedelta(seconds=settings.comparison_interval)
        self._queue = LocalQueue(self._claim, 1)
        self._active: set[TaskClaim] = set()
        self._unsettled: deque[TaskClaim] = deque()
        self._turns = AnalysisTurns()

    def run(self, stop: Event) -> None:
        """Work on whatever is due, until `stop` is set."""
        self._queue.run(self._work, stop)

    def end(self) -> None:
        """Begin nothing more, and give up what is being computed; called once `stop` is set."""
        self._queue.wake()
        self._processes.close()

    def requeue_interrupted(self) -> None:
        """Requeue what an earlier run of this service left running; only for a service that claims alone."""
        with self._context.db.write() as session:
            count = compute.requeue_interrupted(session, self._context)
        if count:
            log.warning("interrupted_analyses_requeued", count=count)

    def requeue_expired(self, session: WriteSession) -> None:
        """Requeue the analyses of workers that let their leases expire."""
        count = compute.requeue_expired(session, self._context)
        if count:
            log.warning("analyses_of_silent_workers_requeued", count=count)

    def renew_lease(self, session: WriteSession) -> None:
        """Extend the lease of the claim that it holds."""
        if self._lease is not None:
            compute.renew_leases(session, list(self._active), self._lease)

    def _release_unsettled(self) -> None:
        while self._unsettled:
            with self._context.db.write() as session:
                compute.release(session, self._context, self._unsettled[0])
            self._unsettled.popleft()  # only after the commit

    def _claim(self, _count: int, _woken: bool) -> list[TaskClaim]:
        self._release_unsettled()
        db = self._context.db
        with db.read() as session:
            has_changes, is_due = plan_boards.has_changes(session), compute.is_analysis_due(session)
        if has_changes:
            with db.write(durable=False) as session:
                if try_maintenance(session):  # one worker at a time
                    plan_boards.plan_boards(session)
        if not (has_changes or is_due):
            return []
        with db.write(durable=False) as session:
            claim = compute.claim_analysis(session, self._turns, lease=self._lease, interval=self._interval)
        if claim is None:
            return []
        self._active.add(claim)
        return [claim]

    def _work(self, claim: TaskClaim, _may_continue: MayContinue) -> None:
        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(analysis=claim.task_id, attempt=claim.attempt)
        db = self._context.db
        try:
            if not self._slots.wait_for_free_slot():
                self._unsettled.append(claim)
                return
            with db.read() as session:
                analysis = compute.load_analysis(session, claim)
            if isinstance(analysis, compute.LoadedAnalysis):
                outcome = self._compute(analysis)
                with db.write() as session:
                    compute.settle(session, self._context, claim, analysis, outcome)
            else:
                with db.write() as session:
                    compute.settle_without_result(session, claim, analysis)
        except Exception:
            self._unsettled.append(claim)
            raise
        finally:
            self._active.discard(claim)

    def _compute(self, analysis: compute.LoadedAnalysis) -> compute.AnalysisOutcome:
        started = time.monotonic()
        try:
            return compute.compute(self._context, self._processes, analysis)
        finally:
            seconds = time.monotonic() - started
            if analysis.kind == INTERVALS:
                self._turns.record_intervals(seconds)
            else:
                self._turns.record_board(analysis.phase_id, seconds)
