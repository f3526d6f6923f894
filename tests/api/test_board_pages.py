"""Pages of a board: together they are the board, and only those that a reader meets are cached."""

import pytest

from tests.api.conftest import GOLD
from tests.api.in_process_app import ServedApp
from tests.api.test_board_cache import BOARD, cached_boards, exchange, forget
from tests.settle import settle

REFUSED_PAGES = {
    "?limit=0": 400,
    "?limit=201": 400,
    "?limit=x": 400,
    "?cursor=0": 400,
    "?cursor=-1": 400,
    "?cursor=1e3": 400,
}


@pytest.fixture(scope="module")
def rows(app: ServedApp) -> ServedApp:
    """The app, with teams on the board."""
    for number in range(12):
        sent = {row["id"]: row["label"] if at < number else "cat" for at, row in enumerate(GOLD)}
        assert app.admin().submit("digits", sent, team=f"Page {number}").status_code == 201
    settle(app)
    return app


@pytest.mark.parametrize("token", [False, True])
def test_pages_of_a_board_together_are_the_board(rows: ServedApp, token: bool) -> None:
    caller = rows.admin() if token else rows.caller()
    whole = caller.get(BOARD).json()
    assert (whole["total"], whole["next"]) == (len(whole["rows"]), None)
    assert whole["total"] >= 12
    read, cursor = [], None
    while True:
        params = {"limit": "5"} | ({} if cursor is None else {"cursor": cursor})
        page = caller.get(BOARD, params=params).json()
        assert page | {"rows": [], "next": None} == whole | {"rows": []}
        read += page["rows"]
        cursor = page["next"]
        if cursor is None:
            break
        assert len(page["rows"]) == 5
    assert read == whole["rows"]
    lines = caller.get(BOARD, params={"format": "csv"}).text.splitlines()
    part = caller.get(BOARD, params={"format": "csv", "limit": "3", "cursor": "2"}).text.splitlines()
    assert part == [lines[0], *lines[3:6]]


def test_an_invalid_limit_or_cursor_is_refused(rows: ServedApp) -> None:
    forget(rows)
    admin = rows.admin()
    for query, status in REFUSED_PAGES.items():
        assert exchange(rows, "GET", BOARD + query)[0] == admin.get(BOARD + query).status_code == status, query
    assert not cached_boards(rows)


def test_only_pages_that_a_reader_is_led_to_are_cached(rows: ServedApp) -> None:
    forget(rows)
    for query in ("?limit=5&cursor=3", "?limit=5&cursor=5000", "?limit=5", "?limit=5&cursor=5"):
        assert exchange(rows, "GET", BOARD + query)[0] == 200
    assert {(key.limit, key.cursor) for key in cached_boards(rows)} == {(5, None), (5, "5")}
