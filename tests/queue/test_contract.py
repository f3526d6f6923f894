"""What a queue promises, asked of the embedded one and of the one on PostgreSQL."""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import delete, select, text

from app.actions.scoring_tasks.claim_tasks import claim_tasks
from app.errors import DatabaseUnavailable
from app.queue import MayContinue, TaskClaim, WorkerQueue
from app.queue.jobs import JobTable, queue_name
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
from tests.store.database_marks import only_postgresql
from tests.store.sample_rows import RowIds, add_row, fill_tables, submission

LEASE = timedelta(seconds=30)


class Bed:
    """A work list whose tasks are done by noting them."""

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
        """Run the queues; calling what is given asks them to end and waits until they have."""
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


@pytest.fixture
def bed(settings: Settings) -> Iterator[Bed]:
    new_bed = Bed(settings)
    yield new_bed
    new_bed.db.close()


def test_what_is_rolled_back_was_never_enqueued(bed: Bed) -> None:
    queue = bed.queue()
    with bed.running(queue):
        with pytest.raises(ZeroDivisionError):
            bed.broken_off(queue)
        assert bed.jobs() == 0
        bed.worked(bed.send(queue))


def test_nothing_runs_before_its_transaction_has_committed(bed: Bed) -> None:
    queue = bed.queue()
    with bed.running(queue):
        with bed.db.write() as session:
            first = bed.add(session, queue)
            threading.Event().wait(1.5)  # longer than both queues take to look for work
            assert bed.order == []
        bed.worked(first)


def test_a_task_that_waits_is_not_worked_at_before_its_time(bed: Bed) -> None:
    queue = bed.queue()
    later = bed.send(queue, wait=timedelta(seconds=1.2))
    with bed.db.read() as session:
        not_before = session.get_one(ScoreTask, later).not_before
    with bed.running(queue):
        sooner = bed.send(queue)
        bed.worked(sooner, later)
    assert not_before is not None
    assert bed.moments[later] >= not_before


def test_the_smaller_the_priority_the_sooner(bed: Bed) -> None:
    queue = bed.queue()
    sent = {priority: bed.send(queue, priority=priority) for priority in (5, 0, 9, 2)}
    with bed.running(queue):
        bed.worked(*sent.values())
    assert bed.order == [sent[priority] for priority in sorted(sent)]


def test_a_task_that_is_enqueued_twice_is_worked_at_once(bed: Bed) -> None:
    queue = bed.queue(slots=2)
    with bed.db.write() as session:
        twice = bed.add(session, queue)
        queue.enqueue(session, twice)
    with bed.running(queue):
        bed.worked(twice)


def test_work_that_raises_leaves_the_queue_alive(bed: Bed) -> None:
    queue = bed.queue()
    first = bed.send(queue)
    bed.failing.add(first)
    with bed.running(queue):
        eventually(lambda: first in bed.moments, "the first has failed")
        second = bed.send(queue)
        bed.worked(first, second)


def test_asked_to_end_it_lets_the_work_at_hand_end_and_begins_nothing_more(bed: Bed) -> None:
    queue = bed.queue()
    bed.hold.clear()
    sent = [bed.send(queue) for _ in range(4)]
    with bed.running(queue) as end:
        eventually(lambda: len(bed.order) == 1, "one is worked at")
        threading.Timer(0.5, bed.hold.set).start()
        end()
    assert len(bed.order) == len(bed.moments) == 1
    # The next life of a queue finds the others.
    again = bed.queue()
    with bed.running(again):
        bed.worked(*sent)


def test_several_queues_on_one_list_work_at_each_task_once(bed: Bed) -> None:
    queues = [bed.queue(slots=3) for _ in range(2)]
    with bed.running(*queues), ThreadPoolExecutor(4) as senders:
        sent = list(senders.map(lambda _: bed.send(queues[0]), range(40)))
        bed.worked(*sent)
    with bed.db.read() as session:
        assert set(session.scalars(select(ScoreTask.attempt))) == {1}


def test_of_many_who_want_a_task_one_gets_it(bed: Bed) -> None:
    queue = bed.queue()
    for _ in range(5):
        task_id = bed.send(queue)
        together = threading.Barrier(16)

        def claim(_: int, line: threading.Barrier = together) -> TaskClaim | None:
            line.wait(MAX_WAIT_SECONDS)
            return bed.claim_next()

        with ThreadPoolExecutor(16) as racers:
            claims = [each for each in racers.map(claim, range(16)) if each is not None]
        assert [(each.task_id, each.attempt) for each in claims] == [(task_id, 1)]


def test_a_due_task_without_a_waiting_job_is_found_until_it_is_enqueued_again(bed: Bed) -> None:
    queue = bed.queue()
    if bed.db.sqlite:
        bed.send(queue)
        assert bed.lost(queue) is None
        return
    first, second, later = (bed.send(queue, wait=wait) for wait in (None, None, timedelta(hours=1)))
    assert bed.lost(queue) is None
    with bed.db.write() as session:
        gone = "DELETE FROM procrastinate_jobs WHERE scheduled_at IS NULL"
        session.execute(text(gone))
    assert bed.lost(queue) == first
    with bed.db.write() as session:
        queue.enqueue(session, first)
    assert bed.lost(queue) is None
    with bed.running(queue):
        eventually(lambda: len(bed.moments) == 2, "all but the one that waits are done")
    assert bed.order == [first, second]
    assert later not in bed.order


@only_postgresql
def test_one_waiting_job_is_enough_for_many_tasks(bed: Bed) -> None:
    queue = bed.queue()
    sent = [bed.send(queue) for _ in range(5)]
    assert bed.jobs() == 1
    with bed.running(queue):
        bed.worked(*sent)


TAKE_JOB = "SELECT id FROM procrastinate_fetch_job_v2(ARRAY[:queue], NULL)"


@only_postgresql
def test_a_job_that_an_open_transaction_relies_on_cannot_be_taken_before_its_end(bed: Bed) -> None:
    """Its worker would look for tasks too early, and nothing would wake another."""
    queue, found = bed.queue(), {"queue": queue_name(SCORER_VERSION)}
    bed.send(queue)
    with bed.db.write() as sender:
        bed.add(sender, queue)
        with bed.db.write() as engine:
            assert engine.execute(text(TAKE_JOB), found).scalar_one() is None
        with bed.db.write() as other:
            queue.enqueue(other, "0" * 32)  # does not wait for that transaction, but inserts a job of its own
        assert bed.jobs() == 2
        with bed.db.write() as engine:
            assert engine.execute(text(TAKE_JOB), found).scalar_one() is not None
            assert engine.execute(text(TAKE_JOB), found).scalar_one() is None
    with bed.db.write() as engine:
        assert engine.execute(text(TAKE_JOB), found).scalar_one() is not None


@only_postgresql
def test_a_claim_that_leaves_due_tasks_behind_sees_to_a_job_for_them(bed: Bed) -> None:
    queue = bed.queue()
    for _ in range(2):
        bed.send(queue)
    bed.send(queue, wait=timedelta(hours=1))
    with bed.db.write() as session:
        session.execute(text("DELETE FROM procrastinate_jobs"))
    assert bed.claim_next() is not None
    assert bed.jobs() == 1
    with bed.db.write() as session:
        session.execute(text("DELETE FROM procrastinate_jobs"))
    assert bed.claim_next() is not None
    assert bed.jobs() == 0, "nothing else is due"


def test_tasks_that_one_job_stands_for_are_shared_by_all_free_slots(bed: Bed) -> None:
    queues = [bed.queue(slots=3)] if bed.db.sqlite else [bed.queue() for _ in range(3)]
    sent = [bed.send(queues[0]) for _ in range(4)]
    bed.hold.clear()
    with bed.running(*queues):
        eventually(lambda: len(bed.order) == 3, "all three slots work at one")
        bed.hold.set()
        bed.worked(*sent)


def test_nothing_enqueued_between_two_claims_waits_for_the_next_look(bed: Bed, monkeypatch: pytest.MonkeyPatch) -> None:
    if not bed.db.sqlite:
        return  # its engine looks for jobs now and then in any case
    monkeypatch.setattr("app.queue.local.POLL_SECONDS", 10 * MAX_WAIT_SECONDS)
    queue = bed.queue(slots=2)
    with bed.running(queue), ThreadPoolExecutor(4) as senders:
        bed.worked(*senders.map(lambda _: bed.send(queue), range(40)))


HAND_OUT = """
    WITH worker AS (INSERT INTO procrastinate_workers DEFAULT VALUES RETURNING id)
    UPDATE procrastinate_jobs SET status = 'doing', worker_id = (SELECT id FROM worker)
"""


def handed_out(bed: Bed) -> tuple[WorkerQueue, str]:
    """A queue, and a task whose job is in the hands of a worker."""
    queue = bed.queue()
    sent = bed.send(queue)
    with bed.db.write() as session:
        session.execute(text(HAND_OUT))
    return queue, sent


@only_postgresql
def test_a_job_in_the_hands_of_a_worker_that_lives_is_no_promise(bed: Bed) -> None:
    """The database went away when it was to claim the task, and again when the engine was to note that the job failed."""
    queue, sent = handed_out(bed)
    assert bed.lost(queue) == sent
    with bed.db.write() as session:
        queue.enqueue(session, sent)
        queue.delete_finished_jobs(session)
    assert bed.jobs() == 2, "the task has not ended"
    with bed.running(queue):
        eventually(lambda: sent in bed.moments, "the task is done")
    with bed.db.write() as session:
        queue.delete_finished_jobs(session)
    assert bed.jobs() == 1, "it may still be at it"
    with bed.db.write() as session:
        session.execute(text("UPDATE procrastinate_events SET at = at - interval '2 hours'"))
        queue.delete_finished_jobs(session)
    assert bed.jobs() == 0


@only_postgresql
def test_a_job_of_a_deleted_task_is_forgotten_once_nobody_can_be_at_it(bed: Bed) -> None:
    queue, sent = handed_out(bed)
    with bed.db.write() as session:
        session.delete(session.get_one(ScoreTask, sent))
    with bed.db.write() as session:
        queue.delete_finished_jobs(session)
    assert bed.jobs() == 1, "a worker may be at it"
    with bed.db.write() as session:
        session.execute(text("UPDATE procrastinate_events SET at = at - interval '2 hours'"))
        queue.delete_finished_jobs(session)
    assert bed.jobs() == 0


@only_postgresql
def test_a_job_of_another_scorer_version_is_forgotten_once_its_task_is_deleted(bed: Bed) -> None:
    queue = bed.queue()
    sent = bed.send(queue)
    with bed.db.write() as session:
        session.execute(text("UPDATE procrastinate_jobs SET queue_name = 'scoring-0'"))
        session.execute(text("UPDATE score_tasks SET scorer_version = 0"))
        queue.delete_finished_jobs(session)
    assert bed.jobs() == 1, "a worker of that version may come"
    with bed.db.write() as session:
        session.delete(session.get_one(ScoreTask, sent))
        session.flush()
        queue.delete_finished_jobs(session)
    assert bed.jobs() == 0


REFUSE_ENDS = """
    CREATE SEQUENCE refused;
    CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN PERFORM nextval('refused'); RAISE 'no job ends now'; END $$;
    CREATE TRIGGER refuse BEFORE DELETE ON procrastinate_jobs FOR EACH ROW EXECUTE FUNCTION refuse()
"""


@only_postgresql
def test_a_job_whose_end_could_not_be_noted_is_removed_by_the_engine_that_lives_on(bed: Bed) -> None:
    queue = bed.queue()
    with bed.db.engine().begin() as connection:
        connection.exec_driver_sql(REFUSE_ENDS)

    def refused() -> bool:
        with bed.db.read() as session:
            return bool(session.execute(text("SELECT is_called FROM refused")).scalar_one())

    with bed.running(queue):
        sent = bed.send(queue)
        eventually(refused, "the engine could not note the end")  # a sequence keeps what a rollback undoes
        with bed.db.engine().begin() as connection:
            connection.exec_driver_sql("DROP TRIGGER refuse ON procrastinate_jobs")
        bed.worked(sent)


@only_postgresql
def test_a_database_that_goes_away_amid_a_transaction_is_away_for_the_queue_too(bed: Bed) -> None:
    queue = bed.queue()
    with pytest.raises(DatabaseUnavailable):
        bed.cut_off(queue)
    assert bed.jobs() == 0
