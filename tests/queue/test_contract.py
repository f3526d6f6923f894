"""What a queue promises, asked of the embedded one and of the one on PostgreSQL."""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from sqlalchemy import select, text

from app.queue import TaskClaim
from app.store.tables import ScoreTask
from tests.live_service import MAX_WAIT_SECONDS, eventually
from tests.queue.bed import Bed


@pytest.mark.both_databases
def test_what_is_rolled_back_was_never_enqueued(bed: Bed) -> None:
    queue = bed.queue()
    with bed.running(queue):
        with pytest.raises(ZeroDivisionError):
            bed.broken_off(queue)
        assert bed.jobs() == 0
        bed.worked(bed.send(queue))


@pytest.mark.both_databases
def test_nothing_runs_before_its_transaction_has_committed(bed: Bed) -> None:
    queue = bed.queue()
    with bed.running(queue):
        with bed.db.write() as session:
            first = bed.add(session, queue)
            threading.Event().wait(1.5)  # longer than both queues take to look for work
            assert bed.order == []
        bed.worked(first)


@pytest.mark.both_databases
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


@pytest.mark.both_databases
def test_the_smaller_the_priority_the_sooner(bed: Bed) -> None:
    queue = bed.queue()
    sent = {priority: bed.send(queue, priority=priority) for priority in (5, 0, 9, 2)}
    with bed.running(queue):
        bed.worked(*sent.values())
    assert bed.order == [sent[priority] for priority in sorted(sent)]


@pytest.mark.both_databases
def test_a_task_that_is_enqueued_twice_is_worked_at_once(bed: Bed) -> None:
    queue = bed.queue(slots=2)
    with bed.db.write() as session:
        twice = bed.add(session, queue)
        queue.enqueue(session, twice)
    with bed.running(queue):
        bed.worked(twice)


@pytest.mark.both_databases
def test_work_that_raises_leaves_the_queue_alive(bed: Bed) -> None:
    queue = bed.queue()
    first = bed.send(queue)
    bed.failing.add(first)
    with bed.running(queue):
        eventually(lambda: first in bed.moments, "the first has failed")
        second = bed.send(queue)
        bed.worked(first, second)


@pytest.mark.both_databases
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


@pytest.mark.both_databases
def test_several_queues_on_one_list_work_at_each_task_once(bed: Bed) -> None:
    queues = [bed.queue(slots=3) for _ in range(2)]
    with bed.running(*queues), ThreadPoolExecutor(4) as senders:
        sent = list(senders.map(lambda _: bed.send(queues[0]), range(40)))
        bed.worked(*sent)
    with bed.db.read() as session:
        assert set(session.scalars(select(ScoreTask.attempt))) == {1}


@pytest.mark.both_databases
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


@pytest.mark.both_databases
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


@pytest.mark.both_databases
def test_tasks_that_one_job_stands_for_are_shared_by_all_free_slots(bed: Bed) -> None:
    queues = [bed.queue(slots=3)] if bed.db.sqlite else [bed.queue() for _ in range(3)]
    sent = [bed.send(queues[0]) for _ in range(4)]
    bed.hold.clear()
    with bed.running(*queues):
        eventually(lambda: len(bed.order) == 3, "all three slots work at one")
        bed.hold.set()
        bed.worked(*sent)


def test_a_task_enqueued_between_two_claims_does_not_wait_for_the_next_poll(
    bed: Bed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PostgreSQL's engine looks for jobs now and then in any case."""
    monkeypatch.setattr("app.queue.local.POLL_SECONDS", 10 * MAX_WAIT_SECONDS)
    queue = bed.queue(slots=2)
    with bed.running(queue), ThreadPoolExecutor(4) as senders:
        bed.worked(*senders.map(lambda _: bed.send(queue), range(40)))
