"""Analyses that two workers share on one PostgreSQL: kills, pauses and lost connections neither lose nor double any."""

import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.cluster import cluster
from tests.faults.analysis_cluster import AnalysisCluster
from tests.faults.inspection import is_alive
from tests.live_service import eventually

SETTINGS = {
    "heartbeat_seconds": "0.5",
    "lease_seconds": "6",
    "comparison_interval": "0",
    "analysis_seconds": "600",  # processes are frozen for as long as a test needs
    "scoring_seconds": "600",
}
RUNNING = "SELECT id FROM analysis_tasks WHERE status = 'running'"
CRASHES = "SELECT sum(crashes) FROM analysis_tasks WHERE kind = 'intervals'"
DEADLOCKS = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
CUT = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND application_name LIKE 'assay%'
"""
WAITING = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory, postgres_database: Callable[[], str]) -> Iterator[AnalysisCluster]:
    with cluster(tmp_path_factory.mktemp("analyses"), postgres_database(), **SETTINGS) as parts:
        running = AnalysisCluster(parts.with_analyses().start(apis=1, workers=2))
        for wrong in range(3):
            running.send(wrong)
        yield running


@pytest.fixture
def site(shared: AnalysisCluster) -> Iterator[AnalysisCluster]:
    """Two workers that wait for analyses, and a board of some rows that are compared."""
    try:
        shared.restore()
        yield shared
    finally:
        shared.release()


@pytest.mark.parametrize("victim", ["worker", "both workers", "child"])
def test_what_is_killed_amid_an_analysis_is_computed_all_the_same(site: AnalysisCluster, victim: str) -> None:
    site.hold(*site.workers)
    site.send(3)
    eventually(lambda: all(map(site.is_asked, site.workers)), "both are asked for an analysis")
    running = [task for (task,) in site.rows(RUNNING)]
    before = site.attempts()
    assert len(running) == 2
    children = [site.analyst(worker) for worker in site.workers]
    killed = site.workers if victim == "both workers" else site.workers[:1]
    for worker, child in zip(killed, children, strict=False):
        if victim == "child":
            os.kill(child, signal.SIGKILL)
        else:
            worker.kill()
    site.release()
    if victim != "child":
        eventually(lambda: not any(map(is_alive, children[: len(killed)])), "the children of the dead are gone")
    if victim == "both workers":
        site.workers[0].start().wait_ready()
    site.wait_until_complete()
    after = site.attempts()
    assert sum(after[task] - before[task] for task in running) >= len(killed)


def test_many_analyses_are_computed_once_each(site: AnalysisCluster) -> None:
    deadlocks, crashes, logs = site.rows(DEADLOCKS), site.rows(CRASHES), [len(each.log()) for each in site.workers]
    site.hold(*site.workers)
    with ThreadPoolExecutor(4) as senders:
        first = list(senders.map(lambda number: site.send(number % 7), range(4)))
        eventually(lambda: all(map(site.is_asked, site.workers)), "both are asked for an analysis")
        site.release()
        more = list(senders.map(lambda number: site.send(number % 5), range(4, 12)))
    site.wait_until_complete()
    sent = first + more
    assert len(set(sent)) == 12
    known = {submission for (submission,) in site.rows("SELECT submission_id FROM score_intervals")}
    assert set(sent) <= known
    assert site.rows(CRASHES) == crashes
    assert site.rows(DEADLOCKS) == deadlocks
    written = site.logged(logs)
    assert [event for event in ("task_failed", "claim_failed", "round_failed") if f'"{event}"' in written] == []


def test_a_score_that_arrives_amid_a_comparison_is_compared_too(site: AnalysisCluster) -> None:
    holder = site.workers[0]
    removed = site.ranked()[0]
    site.hold_comparison(holder, lambda: site.disqualify(removed))
    try:
        new = site.send()
        asked_again = "SELECT again FROM analysis_tasks WHERE kind = 'significance' AND status = 'running'"
        eventually(lambda: site.rows(asked_again) == [(True,)], "another comparison is to follow")
        site.release()
        site.wait_until_complete()
        assert new in site.compared()
    finally:
        site.reinstate(removed)


def test_a_worker_that_slept_past_its_lease_overwrites_nothing(site: AnalysisCluster) -> None:
    sleeper, other = site.workers
    first, second, *_ = site.ranked()
    try:
        site.hold_comparison(sleeper, lambda: site.disqualify(first))
        stale = site.ranked()
        site.pause(sleeper)
        site.release(site.analyst(sleeper))  # its answer waits for the sleeper
        site.reinstate(first)
        site.wait_until_complete()
        newer = site.compared()
        assert newer != stale
        # The comparison runs once more, in the other worker: only the number of the attempt refuses the late answer.
        site.hold(other)
        site.disqualify(second)
        eventually(lambda: site.is_asked(other), "the other one is asked for the next comparison")
        assert site.rows("SELECT kind FROM analysis_tasks WHERE status = 'running'") == [("significance",)]
        site.release(sleeper.pid)
        ranking = "SELECT status, entries FROM analysis_tasks JOIN board_analyses USING (phase_id, kind)"
        expected = [("done", site.ranked())]
        eventually(lambda: site.rows(f"{ranking} WHERE kind = 'rankings'") == expected, "the sleeper works on")
        assert site.compared() != stale
        site.release()
        site.wait_until_complete()
    finally:
        site.release()
        for each in (first, second):
            site.reinstate(each)


def test_workers_go_on_after_their_connections_were_cut(site: AnalysisCluster) -> None:
    pids = [worker.pid for worker in site.workers]
    site.hold(*site.workers)
    site.send()
    eventually(lambda: all(map(site.is_asked, site.workers)), "both are asked for an analysis")
    running, before = [task for (task,) in site.rows(RUNNING)], site.attempts()
    with site.locked(f"{RUNNING} FOR UPDATE"):
        site.release()
        eventually(lambda: len(site.rows(WAITING)) == len(running) == 2, "both are about to store their results")
        site.rows(CUT)
    for number in range(5):  # while they connect again, claim, compute and store
        site.rows(CUT)
        site.send_somehow(number)
    site.wait_until_complete()
    after = site.attempts()
    assert all(after[task] > before[task] for task in running)
    assert [worker.pid for worker in site.workers] == pids
    assert all(map(is_alive, pids))
