"""A raised scorer version: everything is scored by it, and boards change from one to the other at once."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from app.scoring import SCORER_VERSION
from tests.cluster import cluster
from tests.faults.challenge_cluster import SHORT_TIMEOUTS, ChallengeCluster, SubmittingThreads
from tests.faults.inspection import CORRECT_PREDICTIONS, frozen_children
from tests.faults.rescoring_service import (
    BOARD,
    RERUN,
    BoardWatcher,
    RescoringService,
    command_of_version,
    rescoring_service,
    tasks_done_by,
)
from tests.live_service import eventually
from tests.prometheus_scrape import scrape
from tests.settle import settle

NEWER = SCORER_VERSION + 1
SCORED = f"SELECT count(*) FROM scores WHERE scorer_version = {NEWER}"
TEAMS = 6


@pytest.fixture
def own(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[RescoringService]:
    settings = {"interruption_cap": "1", "heartbeat_seconds": "0.5", "lease_seconds": "3"}
    with rescoring_service(request, tmp_path, **settings) as service:
        yield service


@pytest.mark.parametrize("own", ["sqlite", "postgresql"], indirect=True)
def test_no_reader_sees_a_mixed_or_a_shorter_board_whatever_fails_or_is_killed_meanwhile(own: RescoringService) -> None:
    ids = own.start_filled(TEAMS)
    statuses = own.rows("SELECT id, status, finished_at FROM submissions ORDER BY id")
    own.service.stop()
    upload = own.upload(ids[2])
    moved = upload.rename(upload.with_name("away"))  # so the new version cannot finish
    reader = BoardWatcher(own.cluster.caller(None))
    own.start(NEWER)
    own.until(SCORED, TEAMS - 1)
    admin = own.cluster.admin()
    new = admin.submit("pets", CORRECT_PREDICTIONS, team="Meanwhile").json()
    assert new["status"] == "finished"
    assert new["scores"] == {}  # those in force are of the old version
    eventually(lambda: "switch_withheld" in own.service.log(), "the log says it")
    board = admin.get(BOARD).json()
    assert (board["scorer_version"], len(board["rows"])) == (SCORER_VERSION, TEAMS)
    figures = scrape(own.service.url)
    assert (figures.value("assay_switch_withheld"), figures.value("assay_phases_behind")) == (1, 1)
    own.service.kill(group=True)
    moved.rename(upload)
    own.start(NEWER)
    admin = own.cluster.admin()
    assert admin.get(BOARD).json()["scorer_version"] == SCORER_VERSION  # what failed for good is not tried by itself
    assert admin.post(f"/submissions/{ids[2]}/rerun").status_code == 202
    settle(own.cluster)
    assert own.rows("SELECT scorer_version FROM phases") == [(NEWER,)]
    eventually(lambda: reader.states[-1:] == [(NEWER, TEAMS + 1)], "the reader has seen the new board")
    assert reader.end() == [(SCORER_VERSION, TEAMS), (NEWER, TEAMS + 1)]
    assert scrape(own.service.url).value("assay_switch_withheld") == 0
    assert admin.get(f"/submissions/{new['id']}").json()["scores"]["accuracy"]["value"] == 1.0
    assert admin.get(f"/submissions/{ids[0]}/report").json()["scorer_version"] == NEWER
    each = "SELECT count(*), count(DISTINCT submission_id) FROM scores WHERE scorer_version ="
    assert own.rows(f"{each} {NEWER}") == [(TEAMS + 1, TEAMS + 1)]
    assert own.rows(f"{each} {SCORER_VERSION}") == [(TEAMS, TEAMS)]
    old = f"SELECT id, status, finished_at FROM submissions WHERE id <> '{new['id']}' ORDER BY id"
    assert own.rows(old) == statuses


@pytest.mark.parametrize("own", ["sqlite"], indirect=True)
def test_what_waited_for_the_old_version_is_scored_by_the_new_one(own: RescoringService) -> None:
    own.start_filled(3)
    admin = own.cluster.admin()
    with frozen_children(own.service.pid):
        ids = [admin.submit("pets", CORRECT_PREDICTIONS, team=f"W{number}", wait=0).json()["id"] for number in range(3)]
        admin.post(RERUN)
        own.service.kill(group=True)
    own.start(NEWER)
    own.until("SELECT scorer_version FROM phases", NEWER)
    settle(own.cluster)
    assert own.rows("SELECT count(*) FROM submissions WHERE status = 'finished'") == [(6,)]
    assert own.rows(SCORED) == [(6,)]
    waited = ", ".join(f"'{each}'" for each in ids)
    versions = f"SELECT DISTINCT scorer_version FROM scores WHERE submission_id IN ({waited})"
    assert own.rows(versions) == [(NEWER,)]
    assert own.cluster.admin().get(RERUN).json()["status"] == "cancelled"  # what it compared with is of yesterday


def test_workers_of_two_versions_at_once_take_only_what_is_theirs(
    tmp_path: Path, postgres_database: Callable[[], str]
) -> None:
    with cluster(tmp_path, postgres_database(), **SHORT_TIMEOUTS) as parts:
        parts.start(apis=2, workers=1)
        site = ChallengeCluster(parts)
        site.wait_until_finished(*[site.send(f"Before {number}") for number in range(3)])
        newer = parts.part("worker")
        newer.program = command_of_version(NEWER)
        newer.start().wait_ready()
        senders = SubmittingThreads(site, 2)
        senders.reach(6, "some come in while it changes")
        parts.apis[1].stop()
        parts.apis[1].program = command_of_version(NEWER)
        parts.apis[1].start().wait_ready()
        senders.reach(6, "and some through an API of each version")
        ids = senders.end()
        site.wait_until_finished(*ids)
        eventually(lambda: parts.rows("SELECT scorer_version FROM phases") == [(NEWER,)], "the new version is in force")
        settle(parts)
        versions = {str(row[0]): row[1] for row in parts.rows("SELECT id, scorer_version FROM score_tasks")}
        for worker, own_version in zip(parts.workers, (SCORER_VERSION, NEWER), strict=True):
            assert {versions[task] for task in tasks_done_by(worker)} <= {own_version}
        older, newer = parts.workers
        eventually(lambda: '"rescored"' in newer.log(), "the newer worker says so")
        assert '"rescored"' not in older.log()
        unscored = (
            "SELECT id FROM submissions WHERE id NOT IN "
            f"(SELECT submission_id FROM scores WHERE scorer_version = {NEWER})"
        )
        assert parts.rows(unscored) == []
        site.wait_until_queue_empty()
