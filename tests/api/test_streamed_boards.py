"""CSV and LaTeX of a large board are sent while its rows are read: the same text, never in memory as a whole, and not cached."""

import gzip
import http.client
import threading
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import pytest

from app.actions.submissions import read_leaderboard
from app.api import board_tables, leaderboards
from app.store.queries import board_rows
from tests.api.conftest import GOLD
from tests.api.in_process_app import ServedApp
from tests.api.test_board_cache import BOARD, cached_boards, exchange, forget
from tests.live_service import MAX_WAIT_SECONDS
from tests.settle import settle

ROWS = 9
CSV = BOARD + "?format=csv"
LATEX = BOARD + "?format=latex"


@pytest.fixture(scope="module")
def rows(app: ServedApp) -> ServedApp:
    """The app, with teams on the board."""
    for number in range(ROWS):
        sent = {row["id"]: row["label"] if at < number else "cat" for at, row in enumerate(GOLD)}
        assert app.admin().submit("digits", sent, team=f"Large {number} é").status_code == 201
    settle(app)
    return app


@pytest.fixture
def streams(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Makes boards of more than four rows be streamed, two rows at a time."""

    def begin() -> None:
        monkeypatch.setattr(leaderboards, "MAX_CACHED_TABLE_ROWS", 4)
        for module in (leaderboards, board_tables, read_leaderboard):
            monkeypatch.setattr(module, "ROWS_AT_ONCE", 2)

    return begin


def test_a_streamed_board_is_the_cached_one(rows: ServedApp, streams: Callable[[], None]) -> None:
    forget(rows)
    status, _, whole = exchange(rows, "GET", CSV)
    assert status == 200
    assert whole.count(b"\n") > ROWS
    streams()
    forget(rows)
    status, pairs, body = exchange(rows, "GET", CSV, ("If-None-Match", '"x"'))
    fields = dict(pairs)
    assert (status, body) == (200, whole)
    assert fields.keys().isdisjoint({"etag", "content-length", "content-encoding"})
    assert (fields["content-type"], fields["vary"]) == ("text/csv; charset=utf-8", "Accept-Encoding, Authorization")
    _, pairs, packed = exchange(rows, "GET", CSV, ("Accept-Encoding", "gzip"))
    assert dict(pairs)["content-encoding"] == "gzip"
    assert gzip.decompress(packed) == whole
    assert rows.admin().get(CSV).content.count(b"\n") == whole.count(b"\n")
    assert not cached_boards(rows)
    assert exchange(rows, "GET", BOARD)[0] == 200  # JSON and pages are cached as ever
    assert exchange(rows, "GET", f"{CSV}&limit=2")[0] == 200
    assert len(cached_boards(rows)) == 2


def test_a_streamed_latex_table_is_the_cached_one(rows: ServedApp, streams: Callable[[], None]) -> None:
    forget(rows)
    status, fields, whole = exchange(rows, "GET", LATEX)
    assert (status, dict(fields)["content-type"]) == (200, "application/x-latex; charset=utf-8")
    assert whole.count(b" & Large ") >= ROWS
    streams()
    forget(rows)
    status, fields, body = exchange(rows, "GET", LATEX)
    assert (status, body, "etag" in dict(fields)) == (200, whole, False)
    assert not cached_boards(rows)


def test_the_first_rows_are_sent_before_the_last_are_read(
    rows: ServedApp, streams: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    received, load_rows = threading.Event(), board_rows.load_rows
    waited: list[bool] = []

    def load_after_first(*given: Any, **more: Any) -> Any:
        if waited:
            waited.append(received.wait(MAX_WAIT_SECONDS))
        else:
            waited.append(True)
        return load_rows(*given, **more)

    streams()
    forget(rows)
    monkeypatch.setattr(board_rows, "load_rows", load_after_first)
    address = urlsplit(rows.url)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=2 * MAX_WAIT_SECONDS)
    connection.request("GET", f"/api/v1{CSV}")
    answer = connection.getresponse()
    assert answer.readline().startswith(b"rank,team,")
    received.set()
    assert answer.read().count(b"\n") >= ROWS
    connection.close()
    assert len(waited) > ROWS // 2
    assert all(waited)


def test_head_of_a_streamed_board_reads_no_rows(
    rows: ServedApp, streams: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    streams()
    forget(rows)
    expected = exchange(rows, "GET", CSV)
    read: list[Any] = []
    monkeypatch.setattr(board_rows, "load_rows", lambda *given: read.append(given))
    address = urlsplit(rows.url)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=MAX_WAIT_SECONDS)
    connection.request("HEAD", f"/api/v1{CSV}")
    answer = connection.getresponse()
    assert (answer.status, answer.read()) == (expected[0], b"")
    fields = {name.lower(): value for name, value in answer.getheaders()}
    assert dict(expected[1]).items() - {("transfer-encoding", "chunked")} <= fields.items()
    connection.request("GET", "/api/v1/version")  # answered once the first request is over
    assert connection.getresponse().read()
    connection.close()
    assert read == []
