"""The page of a board beside its JSON, made from the rows and kept; a long board beside a short one; live readers."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from sqlalchemy import event
from sqlalchemy.pool import Pool
from starlette.requests import Request

from app.api.caching.board_cache import BoardKey
from app.api.dependencies import AppState
from app.api.leaderboards import build_board
from app.api.live.change_hub import ChangeHub
from app.main import build_app
from app.store.board_invalidation import ALL_BOARDS
from app.store.session import Database
from app.web.board_query import PAGE_ROWS, BoardQuery
from app.web.kept_boards import page_render
from app.web.site import Site
from benchmarks.board_store import SLUG, fill
from benchmarks.figures import Measured
from benchmarks.load import request
from benchmarks.measure import Way, least
from benchmarks.served import Address, costs
from benchmarks.sizes import Sizes
from tests.api.in_process_app import app_settings, serve_app
from tests.faults.inspection import pid_of
from tests.live_service import MAX_WAIT_SECONDS, Live
from tests.migrated_databases import migrate_by_copy

CHANGES = 3
CONNECTIONS = 32
PAGE = f"/challenges/{SLUG}/leaderboard"
BOARD = f"/api/v1/challenges/{SLUG}/phases/main/leaderboard"


def measure(sizes: Sizes, folder: Path) -> Measured:
    """Make each form from the rows in turn, then load the kept ones in turn, then follow a board by many readers."""
    found, few, many = Measured(), sizes.board, max(sizes.board_teams[-1], sizes.board + 1)
    for teams in (few, many):
        settings = app_settings(folder / str(teams))
        migrate_by_copy(settings)
        db = Database(settings)
        fill(db, teams, 1)
        db.close()
    _from_rows(found, sizes, folder, few, many)
    _kept(found, sizes, folder, few, many)
    sessions, threads = _live(folder / str(few), sizes.readers)
    found.at_most(f"{sizes.readers} live readers told of {CHANGES} changes, sessions taken", 0, sessions, "sessions")
    found.at_most(f"{sizes.readers} live readers, threads more than without", 0, threads, "threads")
    return found


def _from_rows(found: Measured, sizes: Sizes, folder: Path, few: int, many: int) -> None:
    json, page, first = (
        f"JSON of {few:,} rows",
        f"page of {few:,} rows",
        f"first page of a board of {many:,} rows",
    )
    states = {teams: build_app(app_settings(folder / str(teams))).state.service for teams in (few, many)}
    key, same = BoardKey(SLUG, "main", "visitor"), f"JSON of the first {PAGE_ROWS} of {many:,} rows"
    ways: dict[str, Way] = {
        json: partial(build_board, states[few].db, key),
        page: page_way(states[few]),
        same: partial(build_board, states[many].db, key._replace(limit=PAGE_ROWS)),
        first: page_way(states[many]),
    }
    for way in ways.values():
        way()  # Templates are compiled and equations rendered once.
    spent = least(ways, repetitions=3 * sizes.repetitions)
    for state in states.values():
        state.db.close()
    found.ways("a board from the rows, with its compression, least", spent, "ms")
    found.at_most("page from the rows, over JSON", 3, spent[page] / spent[json])
    found.at_most(f"first page of {many:,} rows from the rows, over the same as JSON", 3, spent[first] / spent[same])
    found.at_most(f"first page of {many:,} rows from the rows, over the page of {few:,}", 2, spent[first] / spent[page])


def page_way(state: AppState) -> Way:
    """Building the page as a visitor's request does."""
    given = Request({"type": "http", "method": "GET", "path": PAGE, "headers": [], "query_string": b"", "server": None})
    return page_render(given, state, Site("http", "localhost", insecure_login=False), SLUG, BoardQuery(), "page")


def _kept(found: Measured, sizes: Sizes, folder: Path, few: int, many: int) -> None:
    services = {teams: Live(folder / str(teams)).with_analyses().start() for teams in (few, many)}
    try:
        at = {teams: (service.port, pid_of(service)) for teams, service in services.items()}
        addresses = {
            "JSON": Address(*at[few], [request("GET", BOARD, Accept_Encoding="gzip")], 200),
            "page": Address(*at[few], [request("GET", PAGE, Accept_Encoding="gzip")], 200),
            "first page of the long board": Address(*at[many], [request("GET", PAGE, Accept_Encoding="gzip")], 200),
            "the long board, sorted": Address(
                *at[many], [request("GET", f"{PAGE}?sort=mcc", Accept_Encoding="gzip")], 200
            ),
            "the long board, searched": Address(
                *at[many], [request("GET", f"{PAGE}?q=77", Accept_Encoding="gzip")], 200
            ),
        }
        spent = costs(addresses, turns=sizes.repetitions, seconds=sizes.seconds, connections=CONNECTIONS)
    finally:
        for service in services.values():
            service.stop()
    processor = {name: cost.least_milliseconds for name, cost in spent.items()}
    found.ways(f"a kept board of {few:,} rows, processor of the server, least", processor, "ms each")
    found.at_most("kept page, over kept JSON", 3, processor["page"] / processor["JSON"])
    found.at_most(f"kept first page of {many:,} rows", 2, processor["first page of the long board"] / processor["page"])


def _live(data: Path, readers: int) -> tuple[int, int]:
    """Sessions that requests took while readers waited and were told of changes, and the threads that they needed."""
    with serve_app(app_settings(data), analyses=True) as app:
        hub: ChangeHub = app.app.state.service.changes
        port = urlsplit(app.url).port
        assert port is not None
        with checkouts() as taken:
            return asyncio.run(_follow(hub, port, taken, readers))


async def _follow(hub: ChangeHub, port: int, taken: list[Any], readers: int) -> tuple[int, int]:
    first = await _Stream.open(port)
    threads = threading.active_count()
    streams = [first, *[await _Stream.open(port) for _ in range(readers - 1)]]
    assert hub.count == readers
    taken.clear()
    for _ in range(CHANGES):
        hub.publish([ALL_BOARDS])
        await asyncio.gather(*(stream.changed() for stream in streams))
    counts = len(taken), max(0, threading.active_count() - threads)
    for stream in streams:
        stream.close()
    return counts


class _Stream:
    """An open stream of changes."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    @classmethod
    async def open(cls, port: int) -> "_Stream":
        """Connect, and read until the first event."""
        stream = cls(*await asyncio.open_connection("127.0.0.1", port))
        stream._writer.write(request("GET", f"{PAGE}/changes?phase=main"))
        await stream._until(b"\nid: ")
        return stream

    async def changed(self) -> None:
        """Wait for the next event that says that something changed."""
        await self._until(b"event: changed")

    async def _until(self, mark: bytes) -> None:
        await asyncio.wait_for(self._reader.readuntil(mark), MAX_WAIT_SECONDS)

    def close(self) -> None:
        """Disconnect."""
        self._writer.close()


@contextmanager
def checkouts() -> Iterator[list[Any]]:
    """The connections that threads of requests take from a pool meanwhile."""
    taken: list[Any] = []

    def note(connection: object, *_: object) -> None:
        if threading.current_thread().name.startswith("AnyIO"):
            taken.append(connection)

    event.listen(Pool, "checkout", note)
    try:
        yield taken
    finally:
        event.remove(Pool, "checkout", note)
