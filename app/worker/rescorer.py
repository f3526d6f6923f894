"""The part of a worker that scores again: what was ordered, and everything after the scorer version was raised.

It works on the children that new submissions leave free, one file at a time: whoever submits waits at most for the files
that are being scored at that moment. Where they leave none free for long it has a share of its own, so that it never
starves.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from threading import Event

import structlog

from app.actions.scoring_tasks import upgrade_scorer
from app.actions.scoring_tasks.rescore_group import (
    RescoringGroup,
    claim_rescoring_group,
    is_rescoring_due,
    rescore_group,
)
from app.actions.scoring_tasks.score_submission import WorkerContext
from app.queue import TaskClaim
from app.queue.local import LocalQueue
from app.store.locks import try_maintenance

log = structlog.get_logger()

MAX_SUBMISSIONS_BEFORE_RESCORING = (
    16  # new submissions after which a file is scored again though they leave no place free: or it never would be
)


class ScoringSlots:
    """The children, shared so that those who score again step back for new submissions."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._submissions_running = 0
        self._rescorings_running = 0
        self._submissions_since_rescoring = 0
        self._changed = threading.Condition()
        self._ended = False

    @property
    def ended(self) -> bool:
        """Whether all shall end."""
        return self._ended

    @contextmanager
    def submission_slot(self) -> Iterator[None]:
        """A place for a new submission: taken at once, whoever else is at work."""
        with self._changed:
            self._submissions_running += 1
            self._submissions_since_rescoring += 1
            self._changed.notify_all()
        try:
            yield
        finally:
            with self._changed:
                self._submissions_running -= 1
                self._changed.notify_all()

    def acquire_rescoring_slot(self) -> bool:
        """Wait for a place that nobody needs, or until so many passed by that it is our turn; False once all shall end."""
        with self._changed:
            self._changed.wait_for(lambda: self._ended or self._may_begin())
            if not self._ended:
                self._rescorings_running += 1
                self._submissions_since_rescoring = 0
            return not self._ended

    def _may_begin(self) -> bool:
        return self._submissions_running + self._rescorings_running < self._count or (
            self._rescorings_running == 0 and self._submissions_since_rescoring >= MAX_SUBMISSIONS_BEFORE_RESCORING
        )

    def release_rescoring_slot(self) -> None:
        """Give it back."""
        with self._changed:
            self._rescorings_running -= 1
            self._changed.notify_all()

    def end(self) -> None:
        """Let nobody wait any longer."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()


class Rescorer:
    """Claims groups of tasks and scores them, in as many threads as there are children."""

    def __init__(
        self, bench: WorkerContext, slots: int, lease: timedelta | None, lost: Callable[[TaskClaim], None]
    ) -> None:
        """`lost` is told what could not be settled, so that it is given back once that can be done."""
        self.slots = ScoringSlots(slots)
        self._bench = bench
        self._lease = lease
        self._line = LocalQueue(self._claim, slots)
        self._lost = lost
        self._groups: dict[TaskClaim, RescoringGroup] = {}
        self._active_claims: set[TaskClaim] = set()
        self._told = 0

    def run(self, stop: Event) -> None:
        """Score again whatever there is, until `stop` is set."""
        self._line.run(self._work, stop)

    def end(self) -> None:
        """Begin nothing more; called once `stop` is set."""
        self.slots.end()
        self._line.wake()

    def active_claims(self) -> list[TaskClaim]:
        """What it is at."""
        return list(self._active_claims)

    def _claim(self, count: int) -> list[TaskClaim]:
        with self._bench.db.read() as session:
            if not is_rescoring_due(session):
                return []
        names: list[TaskClaim] = []
        for _ in range(count):
            try:
                with self._bench.db.write() as session:
                    group = claim_rescoring_group(session, self._lease)
            except Exception:
                if not names:
                    raise
                log.exception("claim_failed")  # what was claimed before it has to be worked on
                break
            if group is None:
                break
            names.append(group.name)
            self._groups[group.name] = group
            self._active_claims.update(group.jobs)
        return names

    def _work(self, name: TaskClaim) -> None:
        structlog.contextvars.clear_contextvars()
        group = self._groups.pop(name)
        turns = _GroupSlot(self.slots)
        try:
            rescore_group(self._bench, group, turns.next, self._active_claims.difference_update)
        except Exception:
            for claim in group.jobs:
                self._lost(claim)
            raise
        finally:
            turns.over()
            self._active_claims.difference_update(group.jobs)

    def raise_scorer(self) -> None:
        """A round: bring phases that are in force at an older scorer version to this one."""
        db = self._bench.db
        with db.read() as session:
            behind, left = upgrade_scorer.outdated_phases(session), upgrade_scorer.has_superseded_tasks(session)
        if left:
            with db.write() as session:
                upgrade_scorer.cancel_superseded_tasks(session)
        for phase_id, slug in behind:
            self._upgrade_phase(phase_id, slug)
        if behind:
            self._log_withheld()

    def _upgrade_phase(self, phase_id: str, slug: str) -> None:
        db = self._bench.db
        while not self.slots.ended:
            with db.read() as session:
                standing = upgrade_scorer.upgrade_state(session, phase_id)
            if standing == "waiting":
                return
            with db.write() as session:
                if standing == "ready":
                    upgrade_scorer.switch_scorer_version(session, phase_id, slug)
                    return
                alone = try_maintenance(session)  # two would add the same
                if not alone or not upgrade_scorer.add_upgrade_tasks(session, self._bench.queue, phase_id, slug):
                    return

    def _log_withheld(self) -> None:
        with self._bench.db.read() as session:
            count = upgrade_scorer.upgrade_blocker_count(session)
        if count > self._told:
            log.error("scorer_switch_withheld", failed=count)
        self._told = count


class _GroupSlot:
    """The turns of one group: a place is held while a file is scored, and free between two."""

    def __init__(self, places: ScoringSlots) -> None:
        self._places = places
        self._holds = False

    def next(self) -> bool:
        """Wait for the next turn."""
        self.over()
        self._holds = self._places.acquire_rescoring_slot()
        return self._holds

    def over(self) -> None:
        """The file is scored."""
        if self._holds:
            self._holds = False
            self._places.release_rescoring_slot()
