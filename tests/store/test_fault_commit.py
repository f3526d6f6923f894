"""A transaction that does not commit, or whose database goes away after it, in the process of the test."""

import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from sqlalchemy import Connection, Engine, event
from sqlalchemy.exc import OperationalError

from tests.api.in_process_app import ServedApp, app_settings, serve_app
from tests.faults.inspection import CORRECT_PREDICTIONS, GOLD
from tests.live_service import MAX_WAIT_SECONDS, eventually, open_challenge

SUBMISSIONS = "/challenges/pets/phases/main/submissions"


def assert_unavailable(answer: httpx.Response, code: str = "commit_uncertain") -> None:
    assert answer.status_code == 503, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert int(answer.headers["retry-after"]) > 0
    assert answer.json()["code"] == code
    assert answer.json()["remedy"]


@pytest.fixture(scope="module")
def within(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedApp]:
    with serve_app(app_settings(tmp_path_factory.mktemp("within") / "data")) as service:
        open_challenge(service.admin(), "pets", GOLD)
        yield service


def test_a_database_that_another_program_holds_gives_503_and_no_row(tmp_path: Path) -> None:
    with serve_app(app_settings(tmp_path)) as service:
        open_challenge(service.admin(), "pets", GOLD)
    with serve_app(app_settings(tmp_path, database_wait=1)) as hasty:
        admin = hasty.admin()
        holder = sqlite3.connect(tmp_path / "assay.sqlite3", isolation_level=None, timeout=MAX_WAIT_SECONDS)
        holder.execute("BEGIN IMMEDIATE")
        assert_unavailable(admin.post(SUBMISSIONS, json=CORRECT_PREDICTIONS, params={"team": "Blue"}), "database_away")
        assert holder.execute("SELECT count(*) FROM submissions").fetchone() == (0,)
        holder.execute("ROLLBACK")
        holder.close()
        # repeated, because writers of the service itself may hold a slow disk for longer than it waits
        eventually(lambda: admin.submit("pets", CORRECT_PREDICTIONS, team="Blue").status_code == 201, "it is stored")


def test_a_commit_that_raises_gives_503_and_no_row(within: ServedApp) -> None:
    admin = within.admin()
    before = admin.get(SUBMISSIONS).json()
    engine = within.app.state.service.db.engine()

    def refuse(_connection: object) -> None:
        raise OperationalError("COMMIT", {}, sqlite3.OperationalError("disk I/O error"))

    event.listen(engine, "commit", refuse)
    try:
        assert_unavailable(admin.post(SUBMISSIONS, json=CORRECT_PREDICTIONS, params={"team": "Blue"}))
        assert_unavailable(admin.patch("/challenges/pets", json={"title": "Other"}))
    finally:
        event.remove(engine, "commit", refuse)
    assert admin.get(SUBMISSIONS).json() == before
    assert admin.get("/challenges/pets").json()["title"] == "pets"
    assert admin.submit("pets", CORRECT_PREDICTIONS, team="Blue").status_code == 201


@pytest.mark.ci
def test_what_is_stored_is_acknowledged_even_if_the_database_goes_away_next(within: ServedApp) -> None:
    """A 503 after the commit would have the sender repeat it: stored twice, charged twice."""
    admin = within.admin()
    before = len(admin.get(SUBMISSIONS).json()["items"])
    written = within.app.state.service.db.engine()
    database_gone = threading.Event()

    def committed(_connection: object) -> None:
        database_gone.set()

    def refuse(connection: Connection, *_: object) -> None:
        if database_gone.is_set() and connection.engine is not written:
            raise OperationalError("SELECT", {}, sqlite3.OperationalError("disk I/O error"))

    event.listen(written, "commit", committed)
    event.listen(Engine, "before_cursor_execute", refuse)
    try:
        answer = admin.submit("pets", CORRECT_PREDICTIONS, team="Blue", wait=1)
    finally:
        event.remove(Engine, "before_cursor_execute", refuse)
        event.remove(written, "commit", committed)
    assert answer.status_code == 202, answer.text
    assert answer.headers["Location"].endswith(answer.json()["id"])
    assert len(admin.get(SUBMISSIONS).json()["items"]) == before + 1
