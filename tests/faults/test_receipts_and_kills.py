"""A service killed between scoring and settling: afterwards each score has one receipt, and the log has it once."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from app.actions.transparency.log_key import replace_log_key
from tests.cli.run_command import run_assay
from tests.faults.inspection import CORRECT_PREDICTIONS, GOLD, freeze_children, has_unread_request, is_idle, thaw
from tests.faults.rescoring_service import RescoringService, rescoring_service
from tests.live_service import MAX_WAIT_SECONDS, Caller, eventually, open_challenge

pytestmark = pytest.mark.ci

BOTH = pytest.mark.parametrize("own", ["sqlite", "postgresql"], indirect=True)
PHASE = "/challenges/pets/phases/main"
PAST = {"opens_at": "2020-01-01T00:00:00Z", "closes_at": "2020-02-01T00:00:00Z"}
SPLIT_GOLD = [row | {"split": "public" if place < 6 else "private"} for place, row in enumerate(GOLD)]


@pytest.fixture
def own(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[RescoringService]:
    settings = {"interruption_cap": "2", "heartbeat_seconds": "0.5", "lease_seconds": "3"}
    if request.node.callspec.params["own"] == "postgresql":
        settings["log_key_file"] = str(tmp_path / "log.pem")
        replace_log_key(tmp_path / "log.pem")
    with rescoring_service(request, tmp_path, **settings) as service:
        yield service


@contextmanager
def settling_held_up(own: RescoringService) -> Iterator[Any]:
    """Nothing scored can be stored meanwhile; gives a claim that holds once somebody tries to.

    On PostgreSQL the transaction of the settlement stops at the receipts, on SQLite at its beginning.
    """
    url = own.cluster.database_url
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"), timeout=MAX_WAIT_SECONDS)) as connection:
            connection.isolation_level = None
            connection.execute("BEGIN IMMEDIATE")
            yield lambda: True
        return
    with psycopg.connect(url.replace("+psycopg", "")) as connection:
        connection.execute("LOCK TABLE receipts IN SHARE ROW EXCLUSIVE MODE")
        yield lambda: own.rows("SELECT 1 FROM pg_locks WHERE NOT granted AND relation = 'receipts'::regclass") != []


def kill_before_it_settles(own: RescoringService, admin: Caller) -> str:
    """Send a file, and kill the service with all its processes when it has the scores and has not stored them."""
    children = freeze_children(own.service.pid)
    sent = str(admin.submit("pets", CORRECT_PREDICTIONS, team="Blue", wait=0).json()["id"])
    eventually(lambda: any(map(has_unread_request, children)), "a child has been asked to score")
    with settling_held_up(own) as is_held:
        for child in children:
            thaw(child)
        eventually(lambda: not any(map(has_unread_request, children)), "the request is read")
        eventually(lambda: all(map(is_idle, children)) and is_held(), "it is scored, and waits to be stored")
        assert own.rows("SELECT count(*) FROM receipts") == own.rows("SELECT count(*) FROM scores") == [(0,)]
        own.service.kill(group=True)
    return sent


@BOTH
def test_a_kill_before_scores_are_stored_leaves_one_receipt_of_each(own: RescoringService, tmp_path: Path) -> None:
    admin = own.start().cluster.admin()
    open_challenge(admin, "pets", SPLIT_GOLD)
    sent = kill_before_it_settles(own, admin)
    admin = own.start().cluster.admin()
    eventually(lambda: admin.get(f"/submissions/{sent}").json()["status"] == "finished", "it is scored again")
    assert own.rows("SELECT sum(interruptions) FROM score_tasks") == [(1,)]
    scored = own.rows("SELECT split FROM scores ORDER BY split")
    assert {split for (split,) in scored} >= {"public", "private"}
    assert own.rows("SELECT split FROM receipts ORDER BY split") == scored
    logged = "SELECT split FROM log_records JOIN receipts ON receipts.id = object_id WHERE kind = 'receipt'"
    assert own.rows(logged) == [("public",)]

    assert admin.patch(PHASE, json=PAST).is_success
    assert admin.post(f"{PHASE}/release", json={"reason": "agreed"}).is_success
    assert sorted(own.rows(logged)) == [("private",), ("public",)]
    keys, receipt = tmp_path / "keys.json", tmp_path / "receipt.json"
    keys.write_bytes(admin.get("/jwks.json").content)
    for (split,) in scored:
        path = f"/submissions/{sent}/receipt"
        receipt.write_bytes(admin.get(path, params={"split": split}).raise_for_status().content)
        assert run_assay("receipt", "verify", receipt, "--keys", keys).status == 0
        if split in {"public", "private"}:
            proof = f"{path}/proof?split={split}"
            eventually(lambda: admin.get(proof).status_code == 200, f"{proof} is there")  # noqa: B023 - called now
    whole = run_assay("log", "verify", "--url", own.service.url, "--json")
    assert whole.status == 0, whole.out
