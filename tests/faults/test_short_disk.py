"""A disk that is full for a while: what was acknowledged stays, reading goes on, and no restart is needed afterwards."""

import os
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path

import httpx
import pytest

from tests.cluster import cluster
from tests.live_service import MAX_WAIT_SECONDS, Live, eventually
from tests.optional_tools import skip_or_fail
from tests.postgres import PostgresServer
from tests.races.concurrent_clients import (
    CORRECT_PREDICTIONS,
    FINAL_STATUSES,
    ConcurrentClients,
    OnPostgresql,
    OnSqlite,
    call_concurrently,
    count_statuses,
)

SIZE = 24 << 20
SHORT = str(8 << 20)
ROOM = 96 << 10  # left for those who come: enough for some of them
REFUSED = {"storage_short", "database_away", "commit_uncertain"}


@contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    """A disk of its own for a folder, in memory."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(folder)]
    try:
        done = subprocess.run(command, check=False, capture_output=True, text=True)
    except FileNotFoundError as absent:
        skip_or_fail("tmpfs", str(absent))
    if done.returncode:
        skip_or_fail("tmpfs", done.stderr.strip())
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


@contextmanager
def full_disk(folder: Path, leave: int = 0) -> Iterator[None]:
    """Something else takes the space, but for this much."""
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(b"x" * 65536)
    os.truncate(filler, max(0, filler.stat().st_size - leave))
    try:
        yield
    finally:
        filler.unlink()


@pytest.fixture(scope="module")
def on_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConcurrentClients]:
    with small_disk(tmp_path_factory.mktemp("disk") / "data") as data:
        service = Live(data).start()
        crowd = ConcurrentClients(OnSqlite(service))
        yield crowd
        crowd.close()
        service.kill()


@pytest.fixture(scope="module")
def on_postgresql(tmp_path_factory: pytest.TempPathFactory, postgres: PostgresServer) -> Iterator[ConcurrentClients]:
    """Its first door takes uploads to the last byte, its second one keeps some space free."""
    folder = tmp_path_factory.mktemp("disk")
    with small_disk(folder / "data"), postgres.database() as url, cluster(folder, url) as parts:
        parts.start(apis=1, workers=1).start(apis=1, workers=0, min_free=SHORT)
        crowd = ConcurrentClients(OnPostgresql(parts))
        yield crowd
        crowd.close()


@pytest.fixture(params=["sqlite", "postgresql"])
def crowd(request: pytest.FixtureRequest) -> ConcurrentClients:
    """People before a service, one of each kind in turn."""
    clients: ConcurrentClients = request.getfixturevalue(f"on_{request.param}")
    return clients


def assert_reads(crowd: ConcurrentClients, slug: str, rows: int, door: int = 0) -> None:
    """What readers need goes on."""
    admin = crowd.admin(door)
    assert admin.get(f"/challenges/{slug}").status_code == 200
    assert admin.get(f"/challenges/{slug}/phases/main/submissions").status_code == 200
    assert len(admin.board(slug).json()["rows"]) == rows


def is_short_of_space_alone(ready: str) -> bool:
    """Whether the disk is what it is unready for; a check that a busy machine has not made in time is asked again."""
    answer = httpx.get(ready, timeout=MAX_WAIT_SECONDS)
    checks = answer.json()["checks"]
    return answer.status_code == 503 and checks["database"] == "ok" and "almost full" in checks["space"]


def test_below_the_space_that_is_kept_free_uploads_wait_and_reading_goes_on(on_postgresql: ConcurrentClients) -> None:
    """On PostgreSQL here; a test of uploads does the same on SQLite."""
    crowd = on_postgresql
    address, ready = crowd.challenge("short"), f"{crowd.service.api_urls()[1]}/readyz"
    blue = crowd.member("short")[1]
    assert blue.submit("short", CORRECT_PREDICTIONS).json()["status"] == "finished"
    with crowd.scoring_paused():
        assert blue.post(address, json=CORRECT_PREDICTIONS).status_code == 202
        with full_disk(crowd.service.folder, leave=1 << 20):
            refused = blue.post(address, json=CORRECT_PREDICTIONS)
            assert (refused.status_code, refused.json()["code"]) == (503, "storage_short")
            assert int(refused.headers["retry-after"]) >= 1
            assert_reads(crowd, "short", rows=1, door=1)
            eventually(lambda: is_short_of_space_alone(ready), "the disk is short, and the database answers")
    eventually(lambda: set(crowd.statuses("short")) == {"finished"}, "what was in the queue is scored")
    eventually(lambda: httpx.get(ready, timeout=MAX_WAIT_SECONDS).status_code == 200, "it is ready")
    assert blue.submit("short", CORRECT_PREDICTIONS).json()["status"] == "finished"


def test_what_is_acknowledged_while_the_disk_fills_up_is_scored_once_it_has_room(crowd: ConcurrentClients) -> None:
    address = crowd.challenge("full", quota={"total": 1000})
    blue = crowd.member("full")[0]
    assert blue.submit("full", CORRECT_PREDICTIONS).json()["status"] == "finished"
    known: set[str] = set()
    with ExitStack() as filled:
        with crowd.scoring_paused():
            known |= {blue.post(address, json=CORRECT_PREDICTIONS).json()["id"] for _ in range(3)}
            filled.enter_context(full_disk(crowd.service.folder, leave=ROOM))
            # A refusal may end its connection: a pool that threads share would close it under another thread.
            post = partial(blue.post, address, json=CORRECT_PREDICTIONS, headers={"Connection": "close"})
            answers = call_concurrently([post] * 40)
            assert set(count_statuses(answers)) <= {202, 503}
            assert count_statuses(answers)[503] > 0
            assert {each.json()["code"] for each in answers if each.status_code == 503} <= REFUSED
            assert all(int(each.headers["retry-after"]) >= 1 for each in answers if each.status_code == 503)
            known |= {each.json()["id"] for each in answers if each.status_code == 202}
            assert_reads(crowd, "full", rows=1)
        with suppress(AssertionError):  # settling needs room too, on SQLite
            eventually(lambda: "_failed" in crowd.service.log(), "scoring meets the full disk", seconds=2)
        assert_reads(crowd, "full", rows=1)
    eventually(lambda: set(crowd.statuses("full")) <= FINAL_STATUSES, "all is scored without a restart")
    assert set(crowd.statuses("full")) == {"finished"}
    stored = {row[0] for row in crowd.service.rows("SELECT id FROM submissions")}
    assert known <= stored
    entries, count = crowd.ledger("full"), crowd.statuses("full")["finished"]
    assert entries == {"reserve": count, "charge": count}
    assert blue.submit("full", CORRECT_PREDICTIONS).json()["status"] == "finished"
    for (key,) in crowd.service.rows("SELECT file_key FROM submissions"):
        assert (crowd.service.folder / "files" / key).stat().st_size > 0
    assert list((crowd.service.folder / "files" / "uploads").glob("*.part")) == []
    if isinstance(crowd.service, OnSqlite):
        with sqlite3.connect(crowd.service.folder / "assay.sqlite3") as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        connection.close()
