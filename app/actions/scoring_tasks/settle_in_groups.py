"""Settle scored tasks: those that finish while a transaction settles others go together in the next one.

The transaction that settles tasks also claims the next ones for the same slots, so a busy slot needs one transaction
per task, or less. A task that finishes alone is settled at once: nothing waits for a timer.
"""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import structlog

from app.actions.scoring_tasks.claim_tasks import ClaimedTask
from app.actions.scoring_tasks.further_versions import FurtherVersion
from app.actions.scoring_tasks.score_submission import TaskOutcome, WorkerContext, retry_task, settle_results
from app.queue import MayContinue, TaskClaim
from app.scoring_processes.messages import FileResult
from app.store.clock import ClockReading
from app.store.queries.fair_scheduling import prepare_claims
from app.store.session import WriteSession

log = structlog.get_logger()

ClaimInTransaction = Callable[[WriteSession, int, ClockReading], list[ClaimedTask]]
"""Claims up to n tasks in this transaction, at this time."""


@dataclass(frozen=True, slots=True)
class Settlement:
    """What has become of a task that was scored."""

    submission_id: str | None = None
    """The id of the submission if its status became final."""
    next_claim: ClaimedTask | None = None


@dataclass(slots=True, eq=False)
class _ScoredTask:
    """A task that waits to be settled, and what came of it."""

    claim: TaskClaim
    result: FileResult
    further: Sequence[tuple[FurtherVersion, FileResult]]
    may_continue: MayContinue
    settlement: Settlement | None = field(default=None, init=False)
    error: Exception | None = field(default=None, init=False)


class GroupSettlement:
    """Settles the tasks of all slots of a worker, one transaction at a time."""

    def __init__(
        self,
        context: WorkerContext,
        claim: ClaimInTransaction,
        on_unsettled: Callable[[TaskClaim], None],
    ) -> None:
        """`on_unsettled` receives each claim of a transaction of which nobody knows whether it was stored."""
        self._context = context
        self._claim = claim
        self._on_unsettled = on_unsettled
        self._transaction = threading.Lock()
        self._scored: list[_ScoredTask] = []
        self._scored_lock = threading.Lock()

    def settle(self, claim: TaskClaim, outcome: TaskOutcome, may_continue: MayContinue) -> Settlement:
        """Settle this task, and claim the next one if the slot may go on.

        A task without a result is queued again or failed in a transaction of its own. Raises what the database raises.
        """
        if outcome.result is None:
            with self._context.db.write() as session:
                return Settlement(retry_task(session, self._context, claim, outcome))
        scored = _ScoredTask(claim, outcome.result, outcome.further, may_continue)
        with self._scored_lock:
            self._scored.append(scored)
        with self._transaction:
            if scored.settlement is None and scored.error is None:  # no earlier transaction took it along
                with self._scored_lock:
                    group, self._scored = self._scored, []
                self._settle_group(group)
        if scored.error is not None:
            raise scored.error
        assert scored.settlement is not None
        return scored.settlement

    def _settle_group(self, group: Sequence[_ScoredTask]) -> None:
        """Settle all, or one by one if that fails: neither another task nor a claim may cost a task its result."""
        try:
            self._settle_together(group, claim_next=True)
        except Exception as error:  # noqa: BLE001 - logged; each error is raised below
            log.warning("settling_one_by_one", count=len(group), reason=type(error).__name__)
            for each in group:
                try:
                    self._settle_together([each], claim_next=False)
                except Exception as its_own:  # noqa: BLE001 - raised to whoever settles this one
                    each.error = its_own

    def _settle_together(self, group: Sequence[_ScoredTask], *, claim_next: bool) -> None:
        claims: list[ClaimedTask] = []
        try:
            with self._context.db.write() as session:
                moment = prepare_claims(session)
                results = {each.claim: each.result for each in group}
                settled = settle_results(
                    session, results, moment.now, {each.claim: each.further for each in group}, self._context.receipts
                )
                continuing = [each for each in group if claim_next and each.may_continue()]
                if continuing:
                    claims += self._claim(session, len(continuing), moment)
        except Exception:
            for claim in claims:  # the commit failed; if it was stored nevertheless, nobody works on them
                self._on_unsettled(claim)
            raise
        next_claims = dict(zip(map(id, continuing), claims, strict=False))
        for each in group:
            submission_id = settled.get(each.claim)
            each.settlement = Settlement(submission_id, next_claims.get(id(each)))
            if submission_id is not None:
                status = "finished" if each.result.valid else "rejected"
                self._context.figures.count_settlement(status, tuple(each.result.total))
