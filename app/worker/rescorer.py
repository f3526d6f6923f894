"""Rescoring by a worker: tasks that organizers ordered, and all submissions before a board switches to other versions.

Rescoring uses the scoring processes that new submissions leave free, one file at a time, so a submission waits at most
for the files that are being rescored at that moment. If submissions leave none free for long, rescoring still gets a
small share, so that it never starves.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import partial
from threading import Event

import structlog

from app.actions.scoring_tasks import rescore_group
from app.actions.scoring_tasks.score_submission import WorkerContext
from app.actions.versions import complete_boards, perform_switch, raise_scorer
from app.actions.versions.request_switch import PendingSwitch, pending_switches
from app.queue import MayContinue, TaskClaim
from app.queue.local import LocalQueue
from app.store import clock
from app.store.locks import try_maintenance
from app.worker.spaced_looks import SpacedLooks

log = structlog.get_logger()

MAX_SUBMISSIONS_BEFORE_RESCORING = 16
"""New submissions after which a file is rescored even though no slot is free, because otherwise none might ever be."""

WITHHELD = "withheld"
"""Stands for all withheld switches, where others have their ids."""
OPEN_SETTLEMENT = timedelta(minutes=10)
"""Longer than any transaction stays open that stores scores."""


class ScoringSlots:
    """Slots for scoring processes, shared so that rescoring gives way to new submissions."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._submissions_running = 0
        self._rescorings_running = 0
        self._submissions_since_rescoring = 0
        self._submissions = 0
        self._changed = threading.Condition()
        self._ended = False

    @property
    def ended(self) -> bool:
        """Whether rescoring is to end."""
        return self._ended

    @contextmanager
    def submission_slot(self) -> Iterator[None]:
        """A slot for a new submission: taken at once, without waiting for rescoring."""
        with self._changed:
            self._submissions_running += 1
            self._submissions_since_rescoring += 1
            self._submissions += 1
            self._changed.notify_all()
        try:
            yield
        finally:
            with self._changed:
                self._submissions_running -= 1
                self._changed.notify_all()

    def acquire_rescoring_slot(self) -> bool:
        """Wait for a slot that no submission needs, or until enough submissions went first.

        False once rescoring ends.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._ended or self._may_begin())
            if not self._ended:
                self._rescorings_running += 1
                self._submissions_since_rescoring = 0
            return not self._ended

    def wait_for_free_slot(self) -> bool:
        """Wait until new submissions leave a slot free, or enough of them went first; nothing is taken.

        False once rescoring ends.
        """
        with self._changed:
            before = self._submissions
            self._changed.wait_for(
                lambda: (
                    self._ended
                    or self._submissions_running < self._count
                    or self._submissions >= before + MAX_SUBMISSIONS_BEFORE_RESCORING
                )
            )
            return not self._ended

    def _may_begin(self) -> bool:
        is_starved = self._submissions_since_rescoring >= MAX_SUBMISSIONS_BEFORE_RESCORING
        running = self._submissions_running + self._rescorings_running
        return running < self._count or (is_starved and self._rescorings_running == 0)

    def release_rescoring_slot(self) -> None:
        """Give the slot back."""
        with self._changed:
            self._rescorings_running -= 1
            self._changed.notify_all()

    def end(self) -> None:
        """Let no thread wait any longer."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()


class Rescorer:
    """Claims groups of tasks and scores them, in as many threads as there are scoring processes."""

    def __init__(
        self, context: WorkerContext, slots: int, lease: timedelta | None, on_unsettled: Callable[[TaskClaim], None]
    ) -> None:
        """`on_unsettled` receives each claim that could not be settled, to be released once the database can be reached."""
        self.slots = ScoringSlots(slots)
        self._context = context
        self._lease = lease
        self._queue = LocalQueue(self._claim, slots)
        self._on_unsettled = on_unsettled
        self._groups: dict[TaskClaim, rescore_group.RescoringGroup] = {}
        self._active_claims: set[TaskClaim] = set()
        self._logged_failures = 0
        self._switch_looks = SpacedLooks()
        self._completed_at: datetime | None = None

    def run(self, stop: Event) -> None:
        """Rescore whatever is due, until `stop` is set."""
        self._queue.run(self._work, stop)

    def end(self) -> None:
        """Begin nothing more; called once `stop` is set."""
        self.slots.end()
        self._queue.wake()

    def wake(self) -> None:
        """Look for tasks now."""
        self._queue.wake()

    def active_claims(self) -> list[TaskClaim]:
        """The claims that it holds."""
        return list(self._active_claims)

    def _claim(self, count: int, _woken: bool) -> list[TaskClaim]:
        with self._context.db.read() as session:
            if not rescore_group.is_rescoring_due(session):
                return []
        names: list[TaskClaim] = []
        for _ in range(count):
            try:
                with self._context.db.write() as session:
                    group = rescore_group.claim_rescoring_group(session, self._lease)
            except Exception:
                if not names:
                    raise
                log.exception("claim_failed")  # not raised: the groups claimed before it have to be worked on
                break
            if group is None:
                break
            names.append(group.name)
            self._groups[group.name] = group
            self._active_claims.update(group.jobs)
        return names

    def _work(self, name: TaskClaim, _may_continue: MayContinue) -> None:
        structlog.contextvars.clear_contextvars()
        group = self._groups.pop(name)
        slot = _GroupSlot(self.slots)
        try:
            rescore_group.rescore_group(self._context, group, slot.next, self._active_claims.difference_update)
        except Exception:
            for claim in group.jobs:
                self._on_unsettled(claim)
            raise
        finally:
            slot.release()
            self._active_claims.difference_update(group.jobs)

    def raise_scorer(self) -> None:
        """A periodic job: have phases whose active scorer version is older switch to the version of this program."""
        db = self._context.db
        with db.read() as session:
            phases = raise_scorer.phases_to_raise(session)
            has_superseded_tasks = raise_scorer.has_superseded_tasks(session)
        if has_superseded_tasks:
            with db.write() as session:
                raise_scorer.cancel_superseded_tasks(session)
        for phase_id, slug in phases:
            with db.write() as session:
                raise_scorer.raise_scorer_version(session, phase_id, slug)

    def complete_boards(self) -> None:
        """A periodic job on PostgreSQL: complete what settlements left out that committed beside a switch or release.

        The first time for all phases, as nobody may have done it after the last switch; then for recent changes.
        """
        with self._context.db.read() as session:
            now = clock.now(session)
            since = None if self._completed_at is None else self._completed_at - OPEN_SETTLEMENT
            phases = complete_boards.phases_changed_since(session, since)
        if complete_boards.complete_boards(self._context.db, self._context.queue, phases):
            self._queue.wake()
        self._completed_at = now

    def switch_boards(self) -> None:
        """A periodic job: bring pending switches forward, so that one follows soon after its last score."""
        with self._context.db.read() as session:
            switches = pending_switches(session)
        self._switch_looks.keep([*(switch.id for switch in switches), WITHHELD])
        for switch in switches:
            self._switch_looks.look(switch.id, partial(self._advance, switch))
        if switches or self._logged_failures:
            self._switch_looks.look(WITHHELD, self._log_withheld)

    def _advance(self, switch: PendingSwitch) -> bool:
        """Add the missing tasks of a switch in small transactions; do it once every submission has its scores.

        Returns whether there was anything to do.
        """
        db, queue = self._context.db, self._context.queue
        with db.read() as session:
            state = perform_switch.switch_state(session, switch.id)
        while state == "tasks are missing" and not self.slots.ended:
            with db.write() as session:
                # One worker at a time: two would find the same submissions without a task.
                if not try_maintenance(session) or not perform_switch.add_switch_tasks(session, queue, switch):
                    break
        if state == "ready":
            with db.write() as session:
                perform_switch.perform_switch(session, queue, switch)
        self._queue.wake()
        return state != "waiting"

    def _log_withheld(self) -> bool:
        with self._context.db.read() as session:
            count = perform_switch.count_blockers(session)
        has_more = count > self._logged_failures
        if has_more:
            log.error("switch_withheld", failed=count)
        self._logged_failures = count
        return has_more


class _GroupSlot:
    """The slot of one group: held while a file is scored, and free between two files."""

    def __init__(self, slots: ScoringSlots) -> None:
        self._slots = slots
        self._held = False

    def next(self) -> bool:
        """Release the slot and wait for the next one; False once rescoring ends."""
        self.release()
        self._held = self._slots.acquire_rescoring_slot()
        return self._held

    def release(self) -> None:
        """Give the slot back, if one is held."""
        if self._held:
            self._held = False
            self._slots.release_rescoring_slot()
