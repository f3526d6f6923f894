"""Scores without receipts, as those of an installation older than receipts: a start issues them, with the same bytes."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.cli.run_command import run_assay
from tests.journeys.support import CORRECT_PREDICTIONS, GOLD, require_finished
from tests.live_service import Caller, Live, eventually, open_challenge

GOLD_PATH = "/challenges/pets/phases/main/gold"
WHOLE = [*GOLD, {"id": "t5", "label": "a"}]
STORED = (
    "SELECT submission_id, gold_id, recipe_id, scorer_version, split, envelope FROM receipts ORDER BY 1, 2, 3, 4, 5"
)
SCORED = "SELECT submission_id, gold_id, recipe_id, scorer_version, split FROM scores ORDER BY 1, 2, 3, 4, 5"


def rows(live: Live, query: str) -> list[tuple[Any, ...]]:
    """The rows of a query, or what a change leaves."""
    with closing(sqlite3.connect(live.data_dir / "assay.sqlite3", timeout=60)) as database, database:
        return database.execute(query).fetchall()


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Live]:
    """A service that may be stopped."""
    service = Live(tmp_path / "data").with_analyses().start()
    yield service
    service.stop()


def activate(admin: Caller, version: int) -> None:
    """Switch the board to a version of the gold, and wait until it has."""
    assert admin.post(f"{GOLD_PATH}/{version}/activate", json={"reason": "t5 is unclear."}).is_success
    path = f"{GOLD_PATH}/{version}"
    eventually(lambda: admin.get(path).json()["status"] == "active", f"gold {version} is in force")


def test_a_start_issues_missing_receipts_with_the_bytes_that_they_had(own: Live, tmp_path: Path) -> None:
    """Also that of a file without an id that was void when it came, and where the commitment to the gold is missing."""
    admin = own.admin()
    open_challenge(admin, "pets", WHOLE)
    full = require_finished(admin.submit("pets", CORRECT_PREDICTIONS | {"t5": "a"}, team="Blue"))["id"]
    assert admin.post(GOLD_PATH, json=GOLD).status_code == 201
    activate(admin, 2)
    lacking = require_finished(admin.submit("pets", CORRECT_PREDICTIONS, team="Green"))["id"]
    activate(admin, 1)
    test = require_finished(admin.submit("pets", CORRECT_PREDICTIONS | {"t5": "b"}, test="true"))["id"]
    own.stop()
    before = rows(own, STORED)
    assert [row[:-1] for row in before] == [row for row in rows(own, SCORED) if row[0] != test]
    assert {(row[0], len(row)) for row in before} == {(full, 6), (lacking, 6)}
    assert len(before) == 4
    rows(own, "DELETE FROM receipts")
    rows(own, "UPDATE gold_versions SET commitment = NULL WHERE version = 2")

    own.start()
    eventually(lambda: len(rows(own, STORED)) == len(before), "all receipts are issued")
    assert rows(own, STORED) == before
    admin, keys, receipt = own.admin(), tmp_path / "keys.json", tmp_path / "receipt.json"
    keys.write_bytes(admin.get("/jwks.json").content)
    for submission in (full, lacking):
        path = f"/submissions/{submission}/receipt"
        receipt.write_bytes(admin.get(path).raise_for_status().content)
        assert run_assay("receipt", "verify", receipt, "--keys", keys).status == 0
        eventually(lambda: admin.get(f"{path}/proof").status_code == 200, "it is logged")  # noqa: B023 - called now
    assert admin.get(f"/submissions/{test}/receipt").json()["code"] == "no_receipt"
