"""Scoring again loses and doubles nothing, changes nothing that is stored, and lets new submissions go first."""

import os
import signal
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

from app.actions.scoring_tasks.rescore_group import MAX_GROUP_TASKS
from tests.faults.inspection import CORRECT_PREDICTIONS, children_of, frozen_children, has_unread_request
from tests.faults.rescoring_service import RERUN, RescoringService, rescoring_service
from tests.live_service import eventually

TEAMS = MAX_GROUP_TASKS + 2  # more than a worker claims at once, so that some have not begun
SETTINGS = {"crash_cap": "1", "heartbeat_seconds": "0.5", "lease_seconds": "3", "scoring_seconds": "600"}


@pytest.fixture
def own(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[RescoringService]:
    with rescoring_service(request, tmp_path, **SETTINGS) as service:
        yield service


@pytest.fixture(scope="module")
def filled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RescoringService]:
    """A service with many finished submissions, which tests score again and leave finished."""
    with rescoring_service(request, tmp_path_factory.mktemp("filled"), **SETTINGS) as service:
        service.start_filled(TEAMS)
        yield service


def number_of(own: RescoringService) -> int:
    """How many submissions there are."""
    return int(own.rows("SELECT count(*) FROM submissions")[0][0])


@pytest.mark.parametrize("filled", ["sqlite", "postgresql"], indirect=True)
def test_a_kill_amid_an_order_loses_and_doubles_nothing(filled: RescoringService) -> None:
    total = number_of(filled)
    before = filled.stored()
    admin = filled.cluster.admin()
    with frozen_children(filled.service.pid) as children:
        answer = admin.post(RERUN)
        assert answer.status_code == 202
        assert answer.headers["location"] == f"/api/v1{RERUN}"
        assert (answer.json()["status"], answer.json()["total"], answer.json()["done"]) == ("running", total, 0)
        eventually(lambda: any(map(has_unread_request, children)), "a child is at it")
        again = admin.post(RERUN).json()
        assert again["id"] == answer.json()["id"]
        filled.service.kill(group=True)
    assert filled.rows("SELECT count(*) FROM score_tasks WHERE status = 'running'")[0][0] > 1
    filled.start()
    rerun = filled.wait_until_rerun_ended()
    expected = {"status": "finished", "total": total, "done": total, "failed": 0, "different": 0, "differences": []}
    assert {name: rerun[name] for name in expected} == expected
    assert datetime.fromisoformat(rerun["finished_at"]) > datetime.fromisoformat(rerun["started_at"])
    assert rerun["rate"] > 0
    assert filled.stored() == before
    assert filled.rows("SELECT DISTINCT status FROM score_tasks") == [("done",)]
    assert filled.rows("SELECT sum(crashes) FROM score_tasks") == [(0,)]


@pytest.mark.parametrize("filled", ["sqlite"], indirect=True)
def test_an_order_that_is_cancelled_leaves_what_has_not_begun(filled: RescoringService) -> None:
    total = number_of(filled)
    before = filled.stored()
    admin = filled.cluster.admin()
    with frozen_children(filled.service.pid) as children:
        admin.post(RERUN)
        eventually(lambda: any(map(has_unread_request, children)), "a child is at it")
        assert filled.rows("SELECT count(*) FROM score_tasks WHERE status = 'queued'")[0][0] > 0
        assert admin.delete(RERUN).json()["status"] == "cancelled"
    filled.until("SELECT count(*) FROM score_tasks WHERE status = 'done'", total)
    rerun = admin.get(RERUN).json()
    assert (rerun["status"], rerun["next"]["total"]) == ("cancelled", total)
    assert rerun["done"] < total
    assert admin.delete(RERUN).json() == rerun | {"next": admin.get(RERUN).json()["next"]}
    assert filled.stored() == before
    assert admin.post(RERUN).json()["total"] == total
    assert filled.wait_until_rerun_ended()["done"] == total


@pytest.mark.parametrize("filled", ["postgresql"], indirect=True)
def test_new_submissions_go_first(filled: RescoringService) -> None:
    total = number_of(filled)
    admin = filled.cluster.admin()
    with frozen_children(filled.service.pid) as children:
        admin.post(RERUN)
        eventually(lambda: any(map(has_unread_request, children)), "a child is at it")
        sent = admin.submit("pets", CORRECT_PREDICTIONS, team="New", wait=0).json()["id"]
        query = f"SELECT status FROM submissions WHERE id = '{sent}'"
        filled.until(query, "running")  # it has its place, though not yet the child
    order = filled.wait_until_rerun_ended()
    new = admin.get(f"/submissions/{sent}").json()
    assert new["status"] == "finished"
    assert datetime.fromisoformat(new["timings"]["finished_at"]) < datetime.fromisoformat(order["finished_at"])
    assert order["done"] == total


@pytest.mark.parametrize("own", ["sqlite"], indirect=True)
def test_a_child_that_dies_of_scoring_again_fails_that_alone(own: RescoringService) -> None:
    own.start_filled(5)
    before = own.stored()
    admin = own.cluster.admin()
    with frozen_children(own.service.pid) as children:
        admin.post(RERUN)
        eventually(lambda: any(map(has_unread_request, children)), "a child is at it")
        for child in children:
            os.kill(child, signal.SIGKILL)
    rerun = own.wait_until_rerun_ended()
    assert (rerun["total"], rerun["done"], rerun["failed"], rerun["different"]) == (5, 4, 1, 0)
    assert own.stored() == before
    ((failed,),) = own.rows("SELECT submission_id FROM score_tasks WHERE status = 'failed'")
    body = admin.get(f"/submissions/{failed}").json()
    assert (body["status"], body["rerun"]["failure"]["code"], body["scores"] != {}) == ("finished", "crashed", True)
    assert admin.post(f"/submissions/{failed}/rerun").status_code == 202
    eventually(lambda: admin.get(f"/submissions/{failed}").json()["rerun"]["status"] == "done", "it is scored again")
    assert admin.get(f"/submissions/{failed}").json()["rerun"]["failure"] is None
    assert admin.get(RERUN).json()["failed"] == 1  # an order that has ended stays as it ended


@pytest.mark.parametrize("own", ["postgresql"], indirect=True)
def test_a_failed_submission_is_scored_after_all_and_charged_then(own: RescoringService) -> None:
    own.start_filled(1)
    admin = own.cluster.admin()
    blue = own.cluster.person("Blue").join("pets", "Blue")
    with frozen_children(own.service.pid) as children:
        sent = blue.submit("pets", CORRECT_PREDICTIONS, wait=0).json()["id"]
        eventually(lambda: any(map(has_unread_request, children)), "a child is at it")
        for child in children_of(own.service.pid):
            os.kill(child, signal.SIGKILL)
    own.until(f"SELECT status FROM submissions WHERE id = '{sent}'", "failed")
    attempt = blue.get(f"/submissions/{sent}").json()["attempt"]
    assert blue.post(f"/submissions/{sent}/rerun").status_code == 403
    phase = "/challenges/pets/phases/main"
    admin.patch(phase, json={"quota": {"total": 1}}).raise_for_status()
    assert blue.submit("pets", CORRECT_PREDICTIONS).json()["status"] == "finished"  # it was given back
    beyond = admin.post(f"/submissions/{sent}/rerun")
    assert (beyond.status_code, beyond.json()["code"]) == (409, "not_rescorable")
    assert "1 of 1 (total)" in beyond.json()["detail"]
    admin.patch(phase, json={"quota": {"total": 2}}).raise_for_status()
    again = admin.post(f"/submissions/{sent}/rerun")
    assert (again.status_code, again.headers["location"]) == (202, f"/api/v1/submissions/{sent}")
    assert again.json()["status"] in {"queued", "running", "finished"}
    own.until(f"SELECT status FROM submissions WHERE id = '{sent}'", "finished")
    body = blue.get(f"/submissions/{sent}").json()
    assert (body["failure"], body["scores"]["accuracy"]["value"], body["rerun"]) == (None, 1.0, None)
    assert body["attempt"] == attempt  # what an organizer has done again is no attempt of the team's
    ledger = own.rows(f"SELECT kind FROM quota_entries WHERE submission_id = '{sent}' ORDER BY id")
    assert ledger == [("reserve",), ("charge",)]
    quota = blue.get("/challenges/pets/phases/main/quota").json()
    assert (quota["used"]["total"], quota["used"]["concurrent"]) == (2, 0)
