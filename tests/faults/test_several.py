"""Workers and APIs that die, hang and come back, on one PostgreSQL: whatever was acknowledged is scored, once."""

import os
import signal
from collections.abc import Callable, Iterator

import pytest

from tests.cluster import Cluster, ServiceProcess, cluster
from tests.faults.challenge_cluster import SHORT_TIMEOUTS, ChallengeCluster, SubmittingThreads
from tests.faults.inspection import children_of, freeze, has_unread_request, is_alive, thaw
from tests.live_service import MAX_WAIT_SECONDS, eventually


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, postgres_database: Callable[[], str]) -> Iterator[ChallengeCluster]:
    settings = SHORT_TIMEOUTS | {"crash_cap": "2"}
    with cluster(tmp_path_factory.mktemp("several"), postgres_database(), **settings) as parts:
        yield ChallengeCluster(parts.start(apis=2, workers=2))


@pytest.fixture
def workers_at_work(site: ChallengeCluster) -> Iterator[list[ServiceProcess]]:
    """Two workers at work; whatever a test does to the processes is mended after it."""
    yield site.cluster.workers
    site.release()
    site.cluster.restart_ended()


def beats(parts: Cluster) -> dict[str, object]:
    """When each worker on the list last gave a sign of life, by the process that it is."""
    return {str(name).rpartition(":")[2]: beat for name, beat in parts.rows("SELECT name, heartbeat_at FROM workers")}


def test_scores_come_back_to_whoever_waits_at_any_api(
    site: ChallengeCluster, workers_at_work: list[ServiceProcess]
) -> None:
    for api in (0, 1):
        answer = site.waiting("Waiting", api=api).answer()
        assert (answer.status_code, answer.json()["status"]) == (201, "finished")


def test_a_submission_is_followed_at_another_api_than_that_which_took_it(
    site: ChallengeCluster, workers_at_work: list[ServiceProcess]
) -> None:
    site.hold(*workers_at_work)
    sent = site.send("Followed", api=0)
    with site.cluster.admin(1).stream("GET", f"/submissions/{sent}/events") as stream:
        lines = stream.iter_lines()
        assert next(lines) == "event: status"
        site.release()
        ids = [line for line in lines if line.startswith("id: ")]
    assert ids[-1].startswith("id: finished-")


def test_a_notice_that_was_lost_with_its_line_is_made_good(
    site: ChallengeCluster, workers_at_work: list[ServiceProcess]
) -> None:
    """The submission settles while no API listens."""
    site.hold(*workers_at_work)
    waiting = site.waiting("Deaf")
    site.holder(workers_at_work)
    heard = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'assay listener'"
    assert site.cluster.rows(heard) == [(True,), (True,)]
    site.release()
    answer = waiting.answer()
    assert (answer.status_code, answer.json()["status"]) == (201, "finished")


def test_many_at_once_are_each_worked_at_once(site: ChallengeCluster, workers_at_work: list[ServiceProcess]) -> None:
    before = [len(worker.log()) for worker in workers_at_work]
    senders = SubmittingThreads(site, 4)
    senders.reach(16, "16 submissions")
    ids = senders.end()
    site.wait_until_finished(*ids)

    def done() -> list[str]:
        return [
            line.partition('"task": "')[2][:32]
            for worker, start in zip(workers_at_work, before, strict=True)
            for line in worker.log()[start:].splitlines()
            if '"task_done"' in line
        ]

    eventually(lambda: len(done()) >= len(ids), "all are in the logs")
    assert len(done()) == len(set(done())) == len(ids)
    assert {site.counts(each) for each in ids} == {(1, 0, 0)}


def test_an_api_that_is_killed_amid_requests_loses_nothing_it_acknowledged(
    site: ChallengeCluster, workers_at_work: list[ServiceProcess]
) -> None:
    first = site.cluster.apis[0]
    readers = children_of(first.pid)
    senders = SubmittingThreads(site, 4)
    senders.reach(5, "some are acknowledged")
    first.kill()
    ids = senders.end()
    stored = {str(row[0]) for row in site.cluster.rows("SELECT id FROM submissions")}
    assert set(ids) <= stored
    site.wait_until_finished(*stored)  # stored and not acknowledged is scored too
    eventually(lambda: not any(map(is_alive, readers)), "its readers are gone")
    assert site.waiting("Other", api=1).answer().status_code == 201


@pytest.mark.parametrize("group", [False, True], ids=["alone", "with its children"])
def test_what_a_killed_worker_was_at_is_scored_by_another(
    site: ChallengeCluster, workers_at_work: list[ServiceProcess], group: bool
) -> None:
    site.hold(*workers_at_work)
    ids = [site.send(f"T{number}", api=number % 2) for number in range(6)]
    eventually(
        lambda: all(any(map(has_unread_request, children_of(each.pid))) for each in workers_at_work),
        "both workers are at work",
    )
    children = children_of(workers_at_work[0].pid)
    workers_at_work[0].kill(group=group)
    site.release()
    site.wait_until_finished(*ids)
    assert sorted(site.counts(each) for each in ids) == [(1, 0, 0)] * 5 + [(2, 0, 1)]
    eventually(lambda: not any(map(is_alive, children)), "no child outlives its worker")


def test_the_kill_of_a_child_is_counted_for_its_submission_alone(
    site: ChallengeCluster, workers_at_work: list[ServiceProcess]
) -> None:
    site.hold(*workers_at_work)
    ids = [site.send(team) for team in ("Blue", "Red")]
    eventually(
        lambda: all(any(map(has_unread_request, children_of(each.pid))) for each in workers_at_work),
        "both workers are at work",
    )
    (child,) = children_of(workers_at_work[0].pid)
    os.kill(child, signal.SIGKILL)
    site.release()
    site.wait_until_finished(*ids)
    assert sorted(site.counts(each) for each in ids) == [(1, 0, 0), (2, 1, 0)]


def test_a_worker_that_slept_past_its_lease_changes_nothing_and_works_on(
    site: ChallengeCluster, workers_at_work: list[ServiceProcess]
) -> None:
    site.hold(*workers_at_work)
    pending = site.send("Sleepy")
    asleep = site.holder(workers_at_work)
    (other,) = [part for part in workers_at_work if part is not asleep]
    freeze(asleep.pid)
    site.release(asleep)  # its child answers all the same
    site.release(other)
    site.wait_until_finished(pending)
    assert site.counts(pending) == (2, 0, 1)
    # Longer asleep, it would be forgotten: by its own list, and by the engine's as soon as a worker starts.
    site.cluster.rows(f"DELETE FROM workers WHERE name LIKE '%:{asleep.pid}' RETURNING 1")
    site.cluster.rows("SELECT procrastinate_prune_stalled_workers_v1(2)")
    before = asleep.log().count('"task_done"')
    thaw(asleep.pid)
    site.release()
    eventually(lambda: asleep.log().count('"task_done"') > before, "its late answer has come to nothing")
    assert site.counts(pending) == (2, 0, 1)
    site.assert_settled_once()
    eventually(lambda: str(asleep.pid) in beats(site.cluster), "it is on the list again")
    site.hold(other)
    # The other one's frozen child takes one at most.
    alone = [site.send(f"Awake {number}") for number in range(2)]
    eventually(lambda: "finished" in {site.status(each) for each in alone}, "it works on")
    site.release()
    site.wait_until_finished(*alone)


def test_a_job_that_vanished_is_made_again(site: ChallengeCluster, workers_at_work: list[ServiceProcess]) -> None:
    site.hold(*workers_at_work)
    ids = [site.send(f"Lost {number}") for number in range(4)]
    eventually(
        lambda: all(any(map(has_unread_request, children_of(each.pid))) for each in workers_at_work),
        "both workers are at work",
    )
    assert site.cluster.rows("DELETE FROM procrastinate_jobs WHERE status = 'todo' RETURNING 1")
    waiting = "SELECT 1 FROM procrastinate_jobs WHERE status = 'todo'"
    eventually(lambda: bool(site.cluster.rows(waiting)), "a job waits again")
    site.release()
    site.wait_until_finished(*ids)
    assert {site.counts(each) for each in ids} == {(1, 0, 0)}


def test_a_worker_asked_to_end_finishes_what_it_can(
    site: ChallengeCluster, workers_at_work: list[ServiceProcess]
) -> None:
    site.hold(*workers_at_work)
    pending = site.send("Finished")
    worker = site.holder(workers_at_work)
    process = worker.process
    assert process is not None
    process.send_signal(signal.SIGTERM)
    site.release()
    assert process.wait(timeout=MAX_WAIT_SECONDS) == 0
    site.wait_until_finished(pending)
    assert str(process.pid) not in beats(site.cluster)


def test_a_worker_asked_to_end_gives_back_what_takes_too_long(
    site: ChallengeCluster, workers_at_work: list[ServiceProcess]
) -> None:
    site.hold(*workers_at_work)
    pending = site.send("Given back")
    worker = site.holder(workers_at_work)
    process = worker.process
    assert process is not None
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=MAX_WAIT_SECONDS) == 0
    # Its signs went on until then, so that no lease has run out: the task was given back.
    assert site.counts(pending)[1:] == (0, 1)
    site.release()
    site.wait_until_finished(pending)
    assert site.counts(pending) == (2, 0, 1)


def test_an_api_asked_to_end_answers_whoever_waits(
    site: ChallengeCluster, workers_at_work: list[ServiceProcess]
) -> None:
    site.hold(*workers_at_work)
    waiting = site.waiting("Patient")
    site.holder(workers_at_work)
    process = site.cluster.apis[0].process
    assert process is not None
    process.send_signal(signal.SIGTERM)
    answer = waiting.answer()
    assert answer.status_code == 202, answer.text
    assert answer.headers["Retry-After"] == "1"
    assert process.wait(timeout=MAX_WAIT_SECONDS) == 0
    site.release()
    site.wait_until_finished(str(answer.json()["id"]))


def test_no_job_is_left_behind(site: ChallengeCluster) -> None:
    assert site.cluster.rows("SELECT 1 FROM score_tasks WHERE status IN ('queued', 'running')") == []
    site.wait_until_queue_empty()


def test_no_request_was_answered_with_a_fault_of_ours(site: ChallengeCluster) -> None:
    assert [part.log()[-3000:] for part in site.cluster.apis if "unforeseen_error" in part.log()] == []
