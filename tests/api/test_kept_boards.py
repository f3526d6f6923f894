"""Boards for visitors: from memory, without a session, and the same reply as ever."""

import asyncio
import gzip
import http.client
import math
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import anyio.to_thread
import httpx
import pytest
from sqlalchemy import event

from app.actions.access import VISITOR
from app.actions.submissions.read_leaderboard import read_leaderboard
from app.api.caching import board_cache
from app.api.caching.board_cache import Asked, Entry, Form, KeptBoards
from app.api.caching.cached_board_app import ROUTE
from app.api.leaderboards import board_bytes
from app.errors import DatabaseAway
from app.runtime.telemetry import text
from app.store.board_invalidation import EVERYTHING
from app.store.session import Database
from tests.api.conftest import GOLD
from tests.api.served import Served, served, settings
from tests.figures import Scrape
from tests.live import LONG, eventually, open_challenge

BOARD = "/challenges/digits/phases/main/leaderboard"
LABELS = {row["id"]: row["label"] for row in GOLD}
ASKED = Asked("digits", "main", "visitor")


BACKGROUND = ("scheduler", "slot", "rescor", "raise")  # how the threads of a worker are called
COUNTER = "assay_http_requests_total"


@contextmanager
def sessions(db: Database) -> Iterator[list[Any]]:
    """What requests take out of the pools meanwhile; a worker looks for work of its own accord."""
    taken: list[Any] = []

    def out(*what: Any) -> None:
        if not threading.current_thread().name.startswith(BACKGROUND):
            taken.append(what)

    engines = (db._read, db._write, db._write_soon)
    for engine in engines:
        event.listen(engine, "checkout", out)
    yield taken
    for engine in engines:
        event.remove(engine, "checkout", out)


def figures(app: Served) -> Scrape:
    return Scrape(text(app.app.state.service.figures.registry).decode())


def exchange(
    app: Served, method: str, path: str, *headers: tuple[str, str]
) -> tuple[int, list[tuple[str, str]], bytes]:
    """A reply as it comes over the line: status, headers in their order without those of the moment, body."""
    address = urlsplit(app.url)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=LONG)
    connection.putrequest(method, f"/api/v1{path}", skip_accept_encoding=True)
    for name, value in headers:
        connection.putheader(name, value)
    connection.endheaders()
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    found = [(name.lower(), value) for name, value in answer.getheaders()]
    assert len(dict(found)["x-request-id"]) == 32
    return answer.status, [each for each in found if each[0] not in {"date", "x-request-id"}], body


def forget(app: Served) -> None:
    app.app.state.service.boards.drop(frozenset({EVERYTHING}))


def kept(app: Served) -> dict[Asked, Entry]:
    found: dict[Asked, Entry] = app.app.state.service.boards._kept
    return found


def pure(app: Served, form: Form, metric: str | None) -> bytes:
    with app.app.state.service.db.read() as session:
        return board_bytes(read_leaderboard(session, VISITOR, "digits", "main", split=None, metric=metric), form)


@pytest.fixture(scope="module")
def rows(app: Served) -> Served:
    """The app, with teams on the board."""
    for number in range(12):
        sent = {name: label if at < number else "cat" for at, (name, label) in enumerate(LABELS.items())}
        assert app.admin().submit("digits", sent, team=f"Team {number} éß").status_code == 201
    return app


QUERIES: list[tuple[str, Form, str | None]] = [
    ("", "json", None),
    ("?format=json", "json", None),
    ("?metric=accuracy", "json", "accuracy"),
    ("?metric=accuracy&format=csv", "csv", "accuracy"),
    ("?f%6Frmat=csv", "csv", None),
]


@pytest.mark.parametrize("asked", QUERIES)
@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize("encoding", [None, "gzip", "gzip;q=0", "br, *;q=0.1"])
@pytest.mark.parametrize("held", [None, "*", 'W/"x", "y"'])
def test_a_kept_board_is_sent_as_the_one_just_made(
    rows: Served, asked: tuple[str, Form, str | None], method: str, encoding: str | None, held: str | None
) -> None:
    query, form, metric = asked
    headers = [(name, value) for name, value in (("Accept-Encoding", encoding), ("If-None-Match", held)) if value]
    forget(rows)
    made = exchange(rows, method, BOARD + query, *headers)
    assert exchange(rows, method, BOARD + query, *headers) == made
    assert len(kept(rows)) == 1
    status, found, body = made
    said = dict(found)
    assert status == (304 if held == "*" else 200)
    assert said["vary"] == "Accept-Encoding, Authorization"
    packed = encoding is not None and encoding[-3:] != "q=0"
    if status == 304 or method == "HEAD":
        assert body == b""
    else:
        assert ("content-encoding" in said) is packed
        assert (gzip.decompress(body) if packed else body) == pure(rows, form, metric)
        assert said["content-length"] == str(len(body))
    assert ("content-type" in said) is (status == 200)


def test_a_route_sends_a_visitor_the_same(rows: Served) -> None:
    """A query that names a parameter twice is left to the route."""
    exchange(rows, "GET", BOARD)
    for headers in ([], [("Accept-Encoding", "gzip")], [("If-None-Match", "*")]):
        route = exchange(rows, "GET", f"{BOARD}?format=json&format=json", *headers)
        assert exchange(rows, "GET", BOARD, *headers) == route
        assert exchange(rows, "GET", f"{BOARD}?format=json", *headers) == route


def test_each_encoding_has_a_tag_of_its_own(rows: Served) -> None:
    plain, packed = (
        dict(exchange(rows, "GET", BOARD, ("Accept-Encoding", name))[1])["etag"] for name in ("identity", "gzip")
    )
    assert plain != packed
    for tag in (plain, packed):
        asked = ("If-None-Match", f'"other", W/{tag}')
        assert exchange(rows, "GET", BOARD, ("Accept-Encoding", "gzip"), asked)[0] == (304 if tag == packed else 200)
    several = [("If-None-Match", '"other"'), ("If-None-Match", plain)]
    assert exchange(rows, "GET", BOARD, *several)[0] == 304


def test_a_board_that_is_kept_takes_no_session(rows: Served) -> None:
    for caller in (rows.caller(), rows.admin()):
        assert caller.get(BOARD).status_code == 200
    with sessions(rows.app.state.service.db) as taken:
        for _ in range(20):
            assert exchange(rows, "GET", BOARD)[0] == 200
        assert taken == []
        assert rows.admin().get(BOARD).status_code == 200  # whoever shows a token is looked at each time
        assert len(taken) == 1


def test_a_refusal_that_is_kept_takes_none_either(app: Served) -> None:
    phases = [{"name": "main", "leaderboard": "hidden"}, {"name": "empty"}]
    open_challenge(app.admin(), "covered", GOLD, phases=phases)
    draft = app.admin().post("/challenges/covered/phases", json={"name": "later"})
    assert draft.status_code == 201, draft.text
    for phase, status, code in (("main", 403, "leaderboard_hidden"), ("later", 409, "no_gold")):
        path = f"/challenges/covered/phases/{phase}/leaderboard"
        first = exchange(app, "GET", path)
        with sessions(app.app.state.service.db) as taken:
            again = exchange(app, "GET", path)
        assert taken == []
        assert again == first
        assert app.caller().get(path).json()["code"] == code
        assert again[0] == status


def test_only_known_questions_are_kept(rows: Served) -> None:
    forget(rows)
    for query in ("?metric=nothing", "?metric=", "?split=all", "?split=all&metric=x1", "?junk=1", "?format=xml", "?format=",
                  "?metric=nothing&metric=nothing", f"?metric={'x' * 600}", "?split=", "?metric=accuracy&x"):  # fmt: skip
        answer = exchange(rows, "GET", BOARD + query)
        assert exchange(rows, "GET", BOARD + query) == answer
    for slug, phase in (
        ("nothing", "main"),
        ("digits", "nothing"),
        ("digits", "a%00b"),
        ("digits", "%ff"),
        ("..", "x"),
    ):
        assert exchange(rows, "GET", f"/challenges/{slug}/phases/{phase}/leaderboard")[0] == 404
    assert set(kept(rows)) == {ASKED._replace(split="all")}  # which is the one there is


def test_who_may_see_a_private_challenge_shows_it_to_nobody_else(app: Served) -> None:
    open_challenge(app.admin(), "secret", GOLD, visibility="private")
    path = "/challenges/secret/phases/main/leaderboard"
    for _ in range(2):
        assert app.admin().get(path).status_code == 200
        assert app.caller().get(path).status_code == 404
    assert app.admin().patch("/challenges/secret", json={"visibility": "public"}).status_code == 200
    for _ in range(2):
        assert app.caller().get(path).status_code == 200
    assert app.admin().patch("/challenges/secret", json={"visibility": "private"}).status_code == 200
    assert app.caller().get(path).status_code == 404


def test_requests_for_kept_boards_are_counted_and_limited(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]  # of the windows, so that a slow machine crosses none
    monkeypatch.setattr("app.api.limits.rate_limiter.time", SimpleNamespace(monotonic=lambda: now[0]))
    with served(settings(tmp_path / "data", rate_limits="60/minute")) as app:
        open_challenge(app.admin(), "digits", GOLD)
        before = figures(app)
        answers = [exchange(app, "GET", BOARD) for _ in range(71)]
        after = figures(app)
        now[0] += 60
        assert exchange(app, "GET", BOARD)[0] == 200
    assert [status for status, *_ in answers] == [200] * 60 + [429] * 11
    assert dict(answers[-1][1])["retry-after"] == "60"
    for status, count in ((200, 60), (429, 11)):
        told = {"method": "GET", "route": ROUTE, "status": str(status)}
        assert after.value(COUNTER, **told) - before.value(COUNTER, **told) == count


def test_the_address_counted_is_that_of_the_route(app: Served) -> None:
    assert ROUTE in app.app.openapi()["paths"]


# ---- keeping and making, by itself ----------------------------------------------------------------


def entry(body: bytes = b"{}", *marks: str, until: float = math.inf) -> Entry:
    return Entry.of(body, "application/json", marks=frozenset(marks), until=until)


def held_up() -> tuple[threading.Event, threading.Event, list[Entry], Callable[[], Entry]]:
    """A making that has begun, may end, what it made, and itself."""
    begun, may_end, made = threading.Event(), threading.Event(), list[Entry]()

    def make() -> Entry:
        begun.set()
        assert may_end.wait(LONG)
        made.append(entry(str(len(made)).encode(), "phase 1"))
        return made[-1]

    return begun, may_end, made, make


def test_what_many_ask_for_at_once_is_made_once() -> None:
    boards = KeptBoards(hears=False)
    begun, may_end, made, make = held_up()

    async def all_at_once() -> list[Entry]:
        waiting = [asyncio.ensure_future(boards.find_from_loop(ASKED, make)) for _ in range(100)]
        await asyncio.to_thread(begun.wait, LONG)
        waiting[50].cancel()  # one hangs up
        with ThreadPoolExecutor(4) as threads:
            beside = [threads.submit(boards.find, ASKED, make) for _ in range(4)]
            may_end.set()
            found = await asyncio.gather(*waiting, return_exceptions=True)
            return [each for each in found if isinstance(each, Entry)] + [each.result(LONG) for each in beside]

    found = asyncio.run(all_at_once())
    assert len(found) == 103
    assert len(made) == 1
    assert {each.plain.body for each in found} == {b"0"}
    assert boards.get(ASKED) is not None


def test_a_board_that_changed_while_it_was_made_is_not_kept_nor_given_to_who_asked_later() -> None:
    boards = KeptBoards(hears=False)
    begun, may_end, made, make = held_up()
    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(boards.find, ASKED, make)
        assert begun.wait(LONG)
        boards.drop(frozenset({"phase 1"}))
        later = threads.submit(boards.find, ASKED, make)
        eventually(lambda: boards._flights[ASKED].taken, "both are there")
        may_end.set()
        assert first.result(LONG).plain.body == b"0"
        assert later.result(LONG).plain.body == b"1"
    assert len(made) == 2
    found = boards.get(ASKED)
    assert found is not None
    assert found.plain.body == b"1"
    boards.drop(frozenset({"phase 2"}))
    assert boards.get(ASKED) is not None
    boards.drop(frozenset({"phase 1", "phase 3"}))
    assert boards.get(ASKED) is None


def test_what_cannot_be_made_is_refused_to_all_who_wait_and_tried_again_by_the_next() -> None:
    boards = KeptBoards(hears=False)

    def fails() -> Entry:
        raise DatabaseAway

    for _ in range(2):
        with pytest.raises(DatabaseAway):
            boards.find(ASKED, fails)
        with pytest.raises(DatabaseAway):
            asyncio.run(boards.find_from_loop(ASKED, fails))
    assert boards.find(ASKED, entry) == entry()
    assert boards._flights == {}


def test_a_thread_does_not_wait_for_one_that_has_no_thread_yet() -> None:
    """All threads may be taken by those who ask with a token."""
    boards = KeptBoards(hears=False)
    flight, first, _ = boards._join(ASKED)  # as the loop does before it gets a thread
    assert first
    assert boards.find(ASKED, entry) == entry()
    assert boards._fly(ASKED, flight, lambda: entry(b"another")) == entry()


def test_who_hangs_up_before_there_is_a_thread_keeps_nobody_waiting() -> None:
    boards = KeptBoards(hears=False)

    async def ask() -> Entry:
        threads = anyio.to_thread.current_default_thread_limiter()
        for taken in range(int(threads.total_tokens)):
            threads.acquire_on_behalf_of_nowait(taken)
        first = asyncio.ensure_future(boards.find_from_loop(ASKED, entry))
        await asyncio.sleep(0)
        second = asyncio.ensure_future(boards.find_from_loop(ASKED, entry))
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.wait([first])
        for taken in range(int(threads.total_tokens)):
            threads.release_on_behalf_of(taken)
        return await asyncio.wait_for(second, LONG)

    assert asyncio.run(ask()) == entry()
    assert boards._flights == {}


def test_who_hears_nothing_keeps_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr("app.api.caching.board_cache.time.monotonic", lambda: now[0])
    boards = KeptBoards(hears=True)
    boards.find(ASKED, entry)
    assert boards.get(ASKED) is None
    boards.hear(now[0] + 5)
    boards.find(ASKED, entry)
    assert boards.get(ASKED) is not None
    now[0] += 5
    assert boards.get(ASKED) is None
    boards.hear(now[0] + 5)
    assert boards.get(ASKED) is not None  # what was said in between came before
    boards.go_deaf()
    boards.hear(now[0] + 5)
    assert boards.get(ASKED) is None


def test_a_board_is_kept_until_its_time_and_no_longer_than_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr("app.api.caching.board_cache.time.monotonic", lambda: now[0])
    boards = KeptBoards(hears=False)
    for until, seconds in ((1003.0, 3.0), (math.inf, board_cache.OLDEST)):
        now[0] = 1000.0
        boards.drop(frozenset({EVERYTHING}))
        boards.find(ASKED, lambda until=until: entry(until=until))  # type: ignore[misc]
        now[0] += seconds - 0.01
        assert boards.get(ASKED) is not None
        now[0] += 0.02
        assert boards.get(ASKED) is None
    boards.find(ASKED, lambda: entry(until=now[0]))
    assert boards.get(ASKED) is None


def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(board_cache, "LARGEST", 100_000)
    boards = KeptBoards(hears=False)
    for number in range(100):
        boards.find(ASKED._replace(slug=f"c{number}"), lambda: entry(b"x" * 5000))
        assert boards.get(ASKED._replace(slug="c0")) is not None  # what is read stays
    assert boards._size == sum(each.size for each in boards._kept.values()) <= 100_000
    assert 5 < len(boards._kept) < 20
    boards.find(ASKED, lambda: entry(b"y" * 200_000))
    assert boards._size <= 100_000
    monkeypatch.setattr(board_cache, "MOST", 3)
    boards.find(ASKED, entry)
    assert len(boards._kept) == 3


def test_the_same_board_has_the_same_bytes_at_every_api() -> None:
    assert entry(b"x" * 5000).packed.tag == entry(b"x" * 5000).packed.tag
    assert httpx.Response(200, content=entry(b"x" * 5000).packed.body, headers={"Content-Encoding": "gzip"}).content
