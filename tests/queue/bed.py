"""A work list with a queue, whose handler only records which tasks it got."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import delete, text

from app.actions.scoring_tasks.claim_tasks import claim_tasks
from app.queue import MayContinue, TaskClaim, WorkerQueue
from app.queue.jobs import JobTable
from app.queue.local import LocalQueue
from app.scoring import SCORER_VERSION
from app.settings import Settings
from app.store import clock
from app.store.queries import tasks
from app.store.session import Database, WriteSession
from app.store.tables import Score, ScoreTask
from app.worker.worker import postgresql_queue
from tests.live_service import MAX_WAIT_SECONDS, eventually
from tests.migrated_databases import migrate_by_copy
from tests.store.sample_rows import RowIds, add_row, fill_tables, submission

LEASE = timedelta(seconds=30)


class Bed:
    """A work list whose handler only records which tasks it got."""

    def __init__(self, settings: Settings) -> None:
        migrate_by_copy(settings)
        self._settings = settings.model_copy(update={"heartbeat_seconds": 0.5, "lease_seconds": 2.0})
        self.db = Database(settings)
        self.order: list[str] = []
        self.moments: dict[str, datetime] = {}
        self.hold = threading.Event()  # while it is not set, work does not end
        self.hold.set()
        self.failing: set[str] = set()
        self._lease = None if self.db.sqlite else LEASE
        with self.db.write() as session:
            self._ids: RowIds = fill_tables(session)
            session.execute(delete(Score))
            session.execute(delete(ScoreTask))

    def queue(self, slots: int = 1) -> WorkerQueue:
        if self.db.sqlite:
            return LocalQueue(self._claim, slots)
        return postgresql_queue(self._settings, self.claim_next, slots)

    def _claim(self, count: int, _woken: bool = True) -> Sequence[TaskClaim]:
        with self.db.write() as session:
            queue = self.queue() if self.db.sqlite else JobTable()
            return claim_tasks(session, queue, count, lease=self._lease)

    def claim_next(self) -> TaskClaim | None:
        return next(iter(self._claim(1)), None)

    def add(
        self, session: WriteSession, queue: WorkerQueue, *, priority: int = 0, wait: timedelta | None = None
    ) -> str:
        ids = self._ids
        sent = add_row(session, submission(ids.phase, ids.team, ids.user))
        made: dict[str, Any] = {"gold_id": ids.gold, "recipe_id": ids.recipe, "scorer_version": SCORER_VERSION}
        task_id = tasks.add(session, submission_id=sent, priority=priority, **made)
        assert task_id is not None
        not_before = None if wait is None else clock.steady(session) + wait
        session.get_one(ScoreTask, task_id).not_before = not_before
        queue.enqueue(session, task_id, not_before=not_before)
        return task_id

    def send(self, queue: WorkerQueue, *, priority: int = 0, wait: timedelta | None = None) -> str:
        with self.db.write() as session:
            return self.add(session, queue, priority=priority, wait=wait)

    def broken_off(self, queue: WorkerQueue) -> None:
        with self.db.write() as session:
            self.add(session, queue)
            raise ZeroDivisionError

    def cut_off(self, queue: WorkerQueue) -> None:
        with self.db.write() as session:
            number = session.execute(text("SELECT pg_backend_pid()")).scalar_one()
            with self.db.write() as other:
                other.execute(text("SELECT pg_terminate_backend(:number, 5000)"), {"number": number})
            queue.enqueue(session, "0" * 32)

    def work(self, claim: TaskClaim, may_continue: MayContinue) -> TaskClaim | None:
        self.order.append(claim.task_id)
        assert self.hold.wait(MAX_WAIT_SECONDS)
        with self.db.write() as session:
            self.moments[claim.task_id] = clock.steady(session)
            task = tasks.lock_owned(session, claim.task_id, claim.attempt)
            assert task is not None
            task.status = "failed" if claim.task_id in self.failing else "done"
        if claim.task_id in self.failing:
            raise RuntimeError("this one was to fail")
        return self.claim_next() if may_continue() else None

    @contextmanager
    def running(self, *queues: WorkerQueue) -> Iterator[Callable[[], None]]:
        """Run the queues; calling the result asks them to end and waits until they have."""
        stop = threading.Event()
        threads = [threading.Thread(target=each.run, args=(self.work, stop)) for each in queues]

        def end() -> None:
            stop.set()
            for each in queues:
                each.wake()
            for thread in threads:
                thread.join(MAX_WAIT_SECONDS)
                assert not thread.is_alive(), "the queue did not end"

        for thread in threads:
            thread.start()
        try:
            yield end
        finally:
            self.hold.set()
            end()

    def worked(self, *wanted: str) -> None:
        """Wait until these, and no others, have been worked at; nothing of the queue's own is left of them."""
        eventually(lambda: sorted(self.moments) == sorted(wanted), f"{len(wanted)} tasks are done")
        assert sorted(self.order) == sorted(wanted)
        eventually(lambda: self.jobs() == 0, "finished jobs are gone")

    def jobs(self) -> int:
        if self.db.sqlite:
            return 0
        with self.db.read() as session:
            return int(session.execute(text("SELECT count(*) FROM procrastinate_jobs")).scalar_one())

    def lost(self, queue: WorkerQueue) -> str | None:
        with self.db.read() as session:
            return queue.find_orphaned_task(session)
