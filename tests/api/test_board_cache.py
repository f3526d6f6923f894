"""Cached boards for visitors: served without a database session, with the same reply as from the route."""

import gzip
import http.client
import itertools
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import pytest
from sqlalchemy import event

from app.actions.access import VISITOR
from app.actions.submissions.read_leaderboard import read_leaderboard
from app.api.caching.board_cache import BoardFormat, BoardKey
from app.api.caching.cached_board_app import BOARD_ROUTE
from app.api.leaderboards import encode_board
from app.runtime.telemetry import prometheus_text
from app.store import board_invalidation
from app.store.board_invalidation import ALL_BOARDS
from app.store.session import Database
from app.store.tables import Challenge, Phase
from tests.api.conftest import GOLD
from tests.api.in_process_app import WORKER_JOBS, ServedApp, app_settings, serve_app
from tests.live_service import MAX_WAIT_SECONDS, Caller, open_challenge
from tests.prometheus_scrape import Scrape
from tests.settle import settle

BOARD = "/challenges/digits/phases/main/leaderboard"
LABELS = {row["id"]: row["label"] for row in GOLD}
BOARD_KEY = BoardKey("digits", "main", "visitor")
BACKGROUND = ("scheduler", "slot", *WORKER_JOBS)
"""How the threads of a worker are called, those that score included."""
COUNTER = "assay_http_requests_total"


@contextmanager
def sessions(db: Database) -> Iterator[list[Any]]:
    """What requests take out of the pools meanwhile; a worker looks for work of its own accord."""
    taken: list[Any] = []

    def out(*what: Any) -> None:
        if not threading.current_thread().name.startswith(BACKGROUND):
            taken.append(what)

    engines = (db._read, db._write, db._relaxed_write)
    for engine in engines:
        event.listen(engine, "checkout", out)
    yield taken
    for engine in engines:
        event.remove(engine, "checkout", out)


def figures(app: ServedApp) -> Scrape:
    return Scrape(prometheus_text(app.app.state.service.figures.registry).decode())


def exchange(
    app: ServedApp, method: str, path: str, *headers: tuple[str, str]
) -> tuple[int, list[tuple[str, str]], bytes]:
    """A reply as it comes over the line: status, headers in their order without those of the moment, body."""
    address = urlsplit(app.url)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=MAX_WAIT_SECONDS)
    connection.putrequest(method, f"/api/v1{path}", skip_accept_encoding=True)
    for name, value in headers:
        connection.putheader(name, value)
    connection.endheaders()
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    pairs = [(name.lower(), value) for name, value in answer.getheaders()]
    assert len(dict(pairs)["x-request-id"]) == 32
    return answer.status, [each for each in pairs if each[0] not in {"date", "x-request-id"}], body


def forget(app: ServedApp) -> None:
    app.app.state.service.board_cache.invalidate(frozenset({ALL_BOARDS}))


def cached_boards(app: ServedApp) -> set[BoardKey]:
    return set(app.app.state.service.board_cache._entries)


def expected_body(app: ServedApp, form: BoardFormat, metric: str | None) -> bytes:
    with app.app.state.service.db.read() as session:
        return encode_board(read_leaderboard(session, VISITOR, "digits", "main", split=None, metric=metric), form)


@pytest.fixture(scope="module")
def rows(app: ServedApp) -> ServedApp:
    """The app, with teams on the board."""
    for number in range(12):
        sent = {name: label if at < number else "cat" for at, (name, label) in enumerate(LABELS.items())}
        assert app.admin().submit("digits", sent, team=f"Team {number} éß").status_code == 201
    settle(app)
    return app


QUERIES: list[tuple[str, BoardFormat, str | None]] = [
    ("", "json", None),
    ("?format=json", "json", None),
    ("?metric=accuracy", "json", "accuracy"),
    ("?metric=accuracy&format=csv", "csv", "accuracy"),
    ("?f%6Frmat=csv", "csv", None),
]


ENCODINGS = (None, "gzip", "gzip;q=0", "br, *;q=0.1")
TAGS = (None, "*", 'W/"x", "y"')


def test_a_kept_board_is_sent_as_the_one_just_made(rows: ServedApp) -> None:
    """Every query with every encoding; methods and tags so that every pair of values occurs."""
    for (at, case), (place, encoding) in itertools.product(enumerate(QUERIES), enumerate(ENCODINGS)):
        method, tags = ("GET", "HEAD")[(at + place) % 2], TAGS[(at + 2 * place) % 3]
        require_sent_alike(rows, case, method, encoding, tags)


def require_sent_alike(
    rows: ServedApp, case: tuple[str, BoardFormat, str | None], method: str, encoding: str | None, tags: str | None
) -> None:
    query, form, metric = case
    headers = [(name, value) for name, value in (("Accept-Encoding", encoding), ("If-None-Match", tags)) if value]
    forget(rows)
    reply = exchange(rows, method, BOARD + query, *headers)
    assert exchange(rows, method, BOARD + query, *headers) == reply
    assert len(cached_boards(rows)) == 1
    status, pairs, body = reply
    fields = dict(pairs)
    assert status == (304 if tags == "*" else 200), (case, method, encoding, tags)
    assert fields["vary"] == "Accept-Encoding, Authorization"
    packed = encoding is not None and encoding[-3:] != "q=0"
    if status == 304 or method == "HEAD":
        assert body == b""
    else:
        assert ("content-encoding" in fields) is packed
        assert (gzip.decompress(body) if packed else body) == expected_body(rows, form, metric)
        assert fields["content-length"] == str(len(body))
    assert ("content-type" in fields) is (status == 200)


def test_a_route_sends_a_visitor_the_same(rows: ServedApp) -> None:
    """A query that names a parameter twice is left to the route."""
    exchange(rows, "GET", BOARD)
    for headers in ([], [("Accept-Encoding", "gzip")], [("If-None-Match", "*")]):
        route = exchange(rows, "GET", f"{BOARD}?format=json&format=json", *headers)
        assert exchange(rows, "GET", BOARD, *headers) == route
        assert exchange(rows, "GET", f"{BOARD}?format=json", *headers) == route


def test_each_encoding_has_a_tag_of_its_own(rows: ServedApp) -> None:
    plain, packed = (
        dict(exchange(rows, "GET", BOARD, ("Accept-Encoding", name))[1])["etag"] for name in ("identity", "gzip")
    )
    assert plain != packed
    for tag in (plain, packed):
        known = ("If-None-Match", f'"other", W/{tag}')
        assert exchange(rows, "GET", BOARD, ("Accept-Encoding", "gzip"), known)[0] == (304 if tag == packed else 200)
    several = [("If-None-Match", '"other"'), ("If-None-Match", plain)]
    assert exchange(rows, "GET", BOARD, *several)[0] == 304


def test_a_board_that_is_kept_takes_no_session(rows: ServedApp) -> None:
    for caller in (rows.caller(), rows.admin()):
        assert caller.get(BOARD).status_code == 200
    with sessions(rows.app.state.service.db) as taken:
        for _ in range(20):
            assert exchange(rows, "GET", BOARD)[0] == 200
        assert taken == []
        assert rows.admin().get(BOARD).status_code == 200  # whoever shows a token is looked at each time
        assert len(taken) == 1


def test_a_refusal_that_is_kept_takes_none_either(app: ServedApp) -> None:
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


def test_only_known_questions_are_kept(rows: ServedApp) -> None:
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
    assert cached_boards(rows) == {BOARD_KEY._replace(split="all")}  # which is the one there is


def test_who_may_see_a_private_challenge_shows_it_to_nobody_else(app: ServedApp) -> None:
    open_challenge(app.admin(), "secret", GOLD, visibility="private")
    path = "/challenges/secret/phases/main/leaderboard"
    for _ in range(2):
        assert app.admin().get(path).status_code == 200
        assert app.caller().get(path).status_code == 404
    assert app.admin().patch("/challenges/secret", json={"visibility": "public"}).status_code == 200
    for _ in range(2):
        assert app.caller().get(path).status_code == 200
    blue = member(app, "Secret Blue", "secret")
    assert app.admin().patch("/challenges/secret", json={"visibility": "private"}).status_code == 200
    for _ in range(2):
        assert blue.get(path).status_code == 200
        assert app.caller().get(path).status_code == 404


def test_requests_for_kept_boards_are_counted_and_limited(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]  # of the windows, so that a slow machine crosses none
    monkeypatch.setattr("app.api.limits.rate_limiter.time", SimpleNamespace(monotonic=lambda: now[0]))
    with serve_app(app_settings(tmp_path / "data", rate_limits="5/minute")) as app:
        open_challenge(app.admin(), "digits", GOLD)
        before = figures(app)
        answers = [exchange(app, "GET", BOARD) for _ in range(8)]
        after = figures(app)
        now[0] += 60
        assert exchange(app, "GET", BOARD)[0] == 200
    assert [status for status, *_ in answers] == [200] * 5 + [429] * 3
    assert dict(answers[-1][1])["retry-after"] == "60"
    for status, count in ((200, 5), (429, 3)):
        labels = {"method": "GET", "route": BOARD_ROUTE, "status": str(status)}
        assert after.value(COUNTER, **labels) - before.value(COUNTER, **labels) == count


def test_the_address_counted_is_that_of_the_route(app: ServedApp) -> None:
    assert BOARD_ROUTE in app.app.openapi()["paths"]


def score_tag(phase: str, team: str, submission: str) -> str:
    return board_invalidation.settled_tag(board_invalidation.phase_tag(phase), team, submission)


def interval_tag(phase: str, _team: str, submission: str) -> str:
    return board_invalidation.intervals_tag(phase, submission)


@pytest.mark.parametrize(("tag", "reports"), [(score_tag, ["scores"]), (interval_tag, ["scores", "intervals"])])
def test_many_readers_while_results_arrive_cost_one_build_a_second(
    app: ServedApp, clock: list[float], tag: Callable[[str, str, str], str], reports: list[str]
) -> None:
    """Each build takes one session; whoever looks meanwhile takes none."""
    slug = f"busy-{len(reports)}"
    open_challenge(app.admin(), slug, GOLD, phases=[{"name": "main", "reports": reports}])
    sent = app.admin().submit(slug, LABELS, team="Blue").json()
    settle(app)
    db, path = app.app.state.service.db, f"/challenges/{slug}/phases/main/leaderboard"
    with db.read() as session:
        phase_id = session.query(Phase).join(Challenge).filter(Challenge.slug == slug).one().id

    def settle_one(number: int) -> None:
        with db.write() as session:
            board_invalidation.invalidate(session, tag(phase_id, sent["team"]["id"], f"s{number}"))
            session.connection()

    numbers = itertools.count()

    def look(_: int) -> None:
        writing = threading.Thread(target=settle_one, args=(next(numbers),), name="slot")
        writing.start()
        assert exchange(app, "GET", path)[0] == 200
        writing.join()

    forget(app)
    with sessions(db) as taken, ThreadPoolExecutor(8) as readers:
        for builds in (1, 2, 3):
            assert exchange(app, "GET", path)[0] == 200
            list(readers.map(look, range(16)))
            assert len(taken) == builds
            clock[0] += 1.0


def member(app: ServedApp, team: str, slug: str = "digits") -> Caller:
    """Somebody with a team."""
    body = {"email": f"{team.replace(' ', '-')}@example.org", "name": team, "password": "a password for tests"}
    app.admin().post("/users", json=body).raise_for_status()
    token = app.caller().post("/tokens", json={"email": body["email"], "password": body["password"]})
    return app.caller(token.raise_for_status().json()["token"]).join(slug, team)


def test_a_team_sees_its_own_score_even_if_its_process_was_not_notified(tmp_path: Any) -> None:
    """It may be notified later than its member, who waited at another process."""
    with serve_app(app_settings(tmp_path / "data")) as app:
        open_challenge(app.admin(), "digits", GOLD)
        blue, green = (member(app, name) for name in ("Blue", "Green"))
        assert green.submit("digits", LABELS).status_code == 201
        assert len(app.caller().get(BOARD).json()["rows"]) == 1
        app.app.state.service.db.on_invalidation(lambda _tags: None)
        assert blue.submit("digits", LABELS).json()["status"] == "finished"
        for caller, teams in ((app.caller(), 1), (green, 1), (blue, 2), (app.caller(), 2), (green, 2)):
            assert len(caller.get(BOARD).json()["rows"]) == teams
