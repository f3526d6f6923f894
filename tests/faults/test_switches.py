"""A board switches to corrected gold at once, whatever is killed, sent or refused meanwhile."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.faults.inspection import CORRECT_PREDICTIONS, GOLD, frozen_children
from tests.faults.rescoring_service import BOARD, RescoringService, rescoring_service
from tests.live_service import Caller, eventually

SQLITE = pytest.mark.parametrize("own", ["sqlite"], indirect=True)
POSTGRESQL = pytest.mark.parametrize("own", ["postgresql"], indirect=True)
PHASE = "/challenges/pets/phases/main"
CORRECTED = [row | {"label": "cat"} if row["id"] == "t0" else row for row in GOLD]
REASON = {"reason": "t0 shows a cat."}


@pytest.fixture
def own(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[RescoringService]:
    settings = {"interruption_cap": "1", "heartbeat_seconds": "0.5", "lease_seconds": "3"}
    with rescoring_service(request, tmp_path, **settings) as service:
        yield service


def draft(admin: Caller, gold: Any = CORRECTED) -> int:
    """Upload a correction; gives its version."""
    answer = admin.post(f"{PHASE}/gold", json=gold)
    assert answer.status_code == 201, answer.text
    return int(answer.json()["version"])


def activate(admin: Caller, version: int, **body: Any) -> dict[str, Any]:
    """Request the switch to a version."""
    answer = admin.post(f"{PHASE}/gold/{version}/activate", json=REASON | body)
    assert answer.status_code == 202, answer.text
    found: dict[str, Any] = answer.json()
    return found


def wait_for_switch(own: RescoringService, admin: Caller, version: int) -> dict[str, Any]:
    """The board once it is computed from this gold."""
    own.until("SELECT count(*) FROM board_switches WHERE status = 'pending'", 0)
    eventually(lambda: admin.get(BOARD).json()["gold_version"] == version, f"the board is of gold {version}")
    board: dict[str, Any] = admin.get(BOARD).json()
    return board


def accuracies(board: dict[str, Any]) -> dict[str, float]:
    """The accuracy of each team."""
    return {row["team"]["name"]: row["scores"]["accuracy"]["value"] for row in board["rows"]}


@SQLITE
def test_a_correction_moves_the_whole_board_and_the_former_gold_brings_it_back(own: RescoringService) -> None:
    own.start_filled(4)
    admin = own.cluster.admin()
    before = admin.get(BOARD).json()
    version = draft(admin)
    refused = admin.post(f"{PHASE}/gold/{version}/activate")
    assert (refused.status_code, refused.json()["code"]) == (422, "reason_required")
    pending = activate(admin, version)
    assert (pending["status"], pending["progress"]["total"]) == ("activating", 4)
    after = wait_for_switch(own, admin, version)
    assert len(after["rows"]) == 4
    assert accuracies(after) != accuracies(before)
    assert {own.rows("SELECT status FROM gold_versions ORDER BY version")[0][0]} == {"retired"}
    newest = admin.get(f"{PHASE}/switches").json()["items"][0]
    assert (newest["status"], newest["reason"], newest["requested_by"]) == ("done", REASON["reason"], "Administrator")
    assert (newest["from"]["gold"], newest["to"]["gold"]) == (1, 2)
    activate(admin, 1)
    assert accuracies(wait_for_switch(own, admin, 1)) == accuracies(before)
    kinds = own.rows("SELECT kind FROM log_records WHERE kind = 'switch'")
    assert len(kinds) == 3
    public = own.cluster.caller(None).get(f"{PHASE}/switches").json()["items"]
    assert [each["number"] for each in public] == [3, 2, 1]
    assert public[0]["requested_by"] is None


@POSTGRESQL
def test_what_arrives_while_a_switch_is_pending_is_scored_for_both(own: RescoringService) -> None:
    ids = own.start_filled(3)
    admin = own.cluster.admin()
    upload = own.upload(ids[1])
    moved = upload.rename(upload.with_name("away"))  # so the switch waits
    version = draft(admin)
    activate(admin, version)
    new = admin.submit("pets", CORRECT_PREDICTIONS, team="Meanwhile").json()
    assert new["scores"]["accuracy"]["value"] == 1.0  # by the gold in force
    scored = f"SELECT count(*) FROM scores WHERE submission_id = '{new['id']}'"
    assert own.rows(scored) == [(2,)]
    assert own.rows(f"SELECT count(*) FROM score_tasks WHERE submission_id = '{new['id']}'") == [(1,)]
    again = admin.post(f"{PHASE}/gold/{version}/activate", json=REASON)
    assert (again.status_code, again.json()["code"]) == (409, "switch_pending")
    moved.rename(upload)
    assert accuracies(wait_for_switch(own, admin, version))["Meanwhile"] == pytest.approx(11 / 12)


@SQLITE
def test_a_submission_received_before_a_switch_and_scored_after_it_is_on_the_board(own: RescoringService) -> None:
    own.start_filled(2)
    admin = own.cluster.admin()
    version = draft(admin)
    own.service.stop()
    own.start()
    admin = own.cluster.admin()
    with frozen_children(own.service.pid):
        waiting = admin.submit("pets", CORRECT_PREDICTIONS, team="Waited", wait=0).json()["id"]
        eventually(lambda: admin.get(f"/submissions/{waiting}").json()["status"] == "running", "it is claimed")
        activate(admin, version)
        own.service.kill(group=True)
    own.start()
    admin = own.cluster.admin()
    board = wait_for_switch(own, admin, version)
    eventually(lambda: "Waited" in accuracies(admin.get(BOARD).json()), "it is on the board")
    assert accuracies(admin.get(BOARD).json())["Waited"] == pytest.approx(11 / 12)
    assert len(board["rows"]) >= 2


@POSTGRESQL
def test_a_worker_killed_midway_leaves_the_old_board_until_another_one_finishes(own: RescoringService) -> None:
    own.start_filled(5)
    admin = own.cluster.admin()
    before = admin.get(BOARD).json()
    version = draft(admin)
    with frozen_children(own.service.pid):
        activate(admin, version)
        own.until("SELECT count(*) FROM score_tasks WHERE priority >= 100", 5)
        assert accuracies(admin.get(BOARD).json()) == accuracies(before)
        own.service.kill(group=True)
    own.start()
    admin = own.cluster.admin()
    board = wait_for_switch(own, admin, version)
    assert len(board["rows"]) == 5
    counts = "SELECT count(*), count(DISTINCT submission_id) FROM scores WHERE gold_id = "
    assert own.rows(f"{counts} (SELECT id FROM gold_versions WHERE version = {version})") == [(5, 5)]


@POSTGRESQL
def test_a_submission_that_cannot_be_scored_withholds_the_switch_until_an_organizer_confirms(
    own: RescoringService,
) -> None:
    ids = own.start_filled(3)
    admin = own.cluster.admin()
    upload = own.upload(ids[1])
    upload.rename(upload.with_name("away"))
    version = draft(admin)
    number = activate(admin, version)["switch"]["number"]
    read = f"{PHASE}/gold/{version}"
    eventually(lambda: admin.get(read).json()["blocked_by"] != [], "the submission is named")
    (blocked,) = admin.get(read).json()["blocked_by"]
    foretold = admin.get(f"{PHASE}/switches/{number}/preview").json()
    assert foretold["to"]["gold"] == version
    assert [row["submission"] for row in foretold["result"]["unscored"]] == [blocked["submission"]]
    assert (blocked["submission"], blocked["code"]) == (ids[1], "file_lost")
    eventually(lambda: "switch_withheld" in own.service.log(), "the log says it")
    assert admin.get(BOARD).json()["gold_version"] == 1
    confirmed = admin.post(f"{PHASE}/switches/{number}/confirm", json={"reason": "The file is gone."})
    assert confirmed.status_code == 200, confirmed.text
    assert len(wait_for_switch(own, admin, version)["rows"]) == 2
    assert admin.get(f"{PHASE}/switches/{number}/preview").status_code == 404
    over = admin.post(f"{PHASE}/switches/{number}/cancel")
    assert (over.status_code, over.json()["code"]) == (409, "switch_ended")


@SQLITE
def test_a_cancelled_switch_leaves_everything_as_it_was_and_can_be_requested_again(own: RescoringService) -> None:
    ids = own.start_filled(3)
    admin = own.cluster.admin()
    upload = own.upload(ids[1])
    moved = upload.rename(upload.with_name("away"))
    version = draft(admin)
    number = activate(admin, version)["switch"]["number"]
    cancelled = admin.post(f"{PHASE}/switches/{number}/cancel", json={"reason": "Not yet."})
    assert (cancelled.status_code, cancelled.json()["status"]) == (200, "cancelled")
    assert admin.get(f"{PHASE}/gold/{version}").json()["status"] == "draft"
    own.until("SELECT count(*) FROM score_tasks WHERE status IN ('queued', 'running')", 0)
    assert admin.get(BOARD).json()["gold_version"] == 1
    moved.rename(upload)
    activate(admin, version)
    assert len(wait_for_switch(own, admin, version)["rows"]) == 3


@SQLITE
def test_another_metric_is_a_draft_until_all_phases_that_share_it_have_its_scores(own: RescoringService) -> None:
    own.start_filled(3)
    admin = own.cluster.admin()
    recipe = admin.get("/challenges/pets/recipe").json()
    changed = {"primary": "balanced_accuracy", "metrics": ["balanced_accuracy"]}
    stored = admin.put("/challenges/pets/recipe", json=changed).json()
    assert (stored["status"], stored["version"]) == ("draft", recipe["version"] + 1)
    path = f"/challenges/pets/recipe/{stored['version']}"
    assert admin.get(BOARD).json()["primary"] == recipe["primary"]
    assert admin.post(f"{path}/activate").json()["code"] == "reason_required"
    requested = admin.post(f"{path}/activate", json={"reason": "Classes are unequal."})
    assert (requested.status_code, requested.json()["status"]) == (202, "activating")
    eventually(lambda: admin.get(path).json()["status"] == "active", "the recipe is in force")
    board = admin.get(BOARD).json()
    assert (board["primary"], len(board["rows"])) == ("balanced_accuracy", 3)
    assert admin.post(f"{path}/activate", json={"reason": "Again."}).status_code == 200
    names = {"primary": "balanced_accuracy", "metrics": ["balanced_accuracy"], "selection": "latest"}
    assert admin.put("/challenges/pets/recipe", json=names).json()["status"] == "active"
    newest = admin.get(f"{PHASE}/switches").json()["items"][0]
    assert (newest["status"], newest["to"]["recipe"]) == ("done", stored["version"] + 1)
