"""An API that does not hear what changes shows nothing from memory."""

import asyncio
import math
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy.engine import make_url

from app.api.caching.board_cache import BoardCache, BoardKey
from app.api.caching.cached_reply import CachedReply
from app.settings import Settings
from app.store.session import Database
from app.store.tables import Team
from tests.api.in_process_app import ServedApp, app_settings, serve_app
from tests.live_service import eventually, open_challenge
from tests.postgres import OwnPostgresServer
from tests.tcp_proxy import TcpProxy, run_proxy

GOLD = [{"id": f"t{number}", "label": "ab"[number % 2]} for number in range(4)]
BOARD = "/challenges/deaf/phases/main/leaderboard"


@pytest.fixture
def proxy(own_postgres: OwnPostgresServer) -> Iterator[TcpProxy]:
    with run_proxy(own_postgres.port) as running:
        yield running


def read_board(app: ServedApp) -> tuple[int, list[str]]:
    answer = app.caller().get(BOARD)
    body = answer.json()
    return answer.status_code, [row["team"]["name"] for row in body.get("rows", ())]


def rename(url: str, name: str) -> None:
    """As another process of the service does."""
    db = Database(Settings(database_url=url, files_shared=True))
    with db.write() as session:
        session.query(Team).one().name = name
    db.close()


def test_what_changed_while_nothing_was_heard_is_shown(
    tmp_path: Path, proxy: TcpProxy, postgres_database: Callable[[], str]
) -> None:
    url = postgres_database()
    far = make_url(url).set(port=proxy.port).render_as_string(hide_password=False)
    settings = app_settings(
        tmp_path / "data", database_url=far, files_shared=True, statement_seconds=4
    )  # long enough for a slow machine
    with serve_app(settings) as app:
        open_challenge(app.admin(), "deaf", GOLD)
        entry = app.admin().submit("deaf", {row["id"]: row["label"] for row in GOLD}, team="Blue")
        assert entry.status_code == 201, entry.text
        boards = app.app.state.service.board_cache
        eventually(lambda: read_board(app) == (200, ["Blue"]) and bool(boards._entries), "the board is kept")
        rename(url, "Green")
        eventually(lambda: read_board(app) == (200, ["Green"]), "it heard of the change")
        assert proxy.silence() > 1
        rename(url, "Red")
        eventually(lambda: read_board(app) == (200, ["Red"]), "what nobody vouches for is not shown for long")
        proxy.drop()
        eventually(lambda: read_board(app) == (200, ["Red"]) and bool(boards._entries), "it listens again")
        rename(url, "Black")
        eventually(lambda: read_board(app) == (200, ["Black"]), "and hears")


def test_a_board_that_was_being_built_while_changes_may_have_been_missed_is_not_stored() -> None:
    boards, key = BoardCache(needs_notifications=True), BoardKey("digits", "main", "visitor")

    def build(*, misses_changes: bool) -> CachedReply:
        if misses_changes:
            boards.distrust()
        boards.confirm(time.monotonic())
        return CachedReply.build(b"{}", "application/json", marks=frozenset({"phase 1"}), expires_at=math.inf)

    asyncio.run(boards.get_or_build(key, lambda: build(misses_changes=True)))
    assert boards.get(key) is None
    asyncio.run(boards.get_or_build(key, lambda: build(misses_changes=False)))
    assert boards.get(key) is not None
