"""The jobs of the queue engine on PostgreSQL: fewer than tasks, never one too few, and none left behind."""

from datetime import timedelta

import pytest
from sqlalchemy import text

from app.errors import DatabaseUnavailable
from app.queue import WorkerQueue
from app.queue.jobs import queue_name
from app.scoring import SCORER_VERSION
from app.store.tables import ScoreTask
from tests.live_service import eventually
from tests.queue.bed import Bed
from tests.store.database_marks import only_postgresql


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
def test_a_claim_that_leaves_due_tasks_behind_makes_sure_that_a_job_waits(bed: Bed) -> None:
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


HAND_OUT = """
    WITH worker AS (INSERT INTO procrastinate_workers DEFAULT VALUES RETURNING id)
    UPDATE procrastinate_jobs SET status = 'doing', worker_id = (SELECT id FROM worker)
"""


def handed_out(bed: Bed) -> tuple[WorkerQueue, str]:
    """A queue, and a task whose job a worker has fetched."""
    queue = bed.queue()
    sent = bed.send(queue)
    with bed.db.write() as session:
        session.execute(text(HAND_OUT))
    return queue, sent


def assert_deleted_after_an_hour(bed: Bed, queue: WorkerQueue) -> None:
    """The one job remains while a worker may be running it."""
    with bed.db.write() as session:
        queue.delete_finished_jobs(session)
    assert bed.jobs() == 1, "a worker may be running it"
    with bed.db.write() as session:
        session.execute(text("UPDATE procrastinate_events SET at = at - interval '2 hours'"))
        queue.delete_finished_jobs(session)
    assert bed.jobs() == 0


@only_postgresql
def test_a_job_that_a_live_worker_has_fetched_does_not_count_as_waiting(bed: Bed) -> None:
    """The database went away when it was to claim the task, and again when the engine was to note that the job failed."""
    queue, sent = handed_out(bed)
    assert bed.lost(queue) == sent
    with bed.db.write() as session:
        queue.enqueue(session, sent)
        queue.delete_finished_jobs(session)
    assert bed.jobs() == 2, "the task has not ended"
    with bed.running(queue):
        eventually(lambda: sent in bed.moments, "the task is done")
    assert_deleted_after_an_hour(bed, queue)


@only_postgresql
def test_a_job_of_a_deleted_task_is_deleted_once_no_worker_can_be_running_it(bed: Bed) -> None:
    queue, sent = handed_out(bed)
    with bed.db.write() as session:
        session.delete(session.get_one(ScoreTask, sent))
    assert_deleted_after_an_hour(bed, queue)


@only_postgresql
def test_a_job_of_another_scorer_version_is_deleted_once_its_task_is_deleted(bed: Bed) -> None:
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
def test_a_job_whose_end_could_not_be_stored_is_deleted_by_the_running_engine(bed: Bed) -> None:
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
def test_a_database_lost_during_a_transaction_is_unavailable_for_the_queue_too(bed: Bed) -> None:
    queue = bed.queue()
    with pytest.raises(DatabaseUnavailable):
        bed.cut_off(queue)
    assert bed.jobs() == 0
