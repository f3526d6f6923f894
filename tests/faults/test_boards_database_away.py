"""While PostgreSQL is away, visitors see the boards that were confirmed last, and nobody sees anything else."""

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta

import httpx
import pytest

from app.store.database_probe import database_answers
from app.store.session import Database
from app.store.tables import Phase
from app.store.types import utcnow
from tests.api.in_process_app import ServedApp, app_settings, serve_app
from tests.faults.inspection import frozen_with_children
from tests.live_service import eventually, open_challenge
from tests.postgres import OwnPostgresServer
from tests.settle import settle

GOLD = [{"id": f"t{number}", "label": "ab"[number % 2]} for number in range(4)]
STALE = "assay-stale-since"
PHASES = [
    {"name": "main"},
    {"name": "late", "leaderboard": "after_close", "opens_at": "2020-01-01T00:00:00Z", "closes_at": "2021-01-01T00:00:00Z"},
    {"name": "hidden", "leaderboard": "hidden"},
]  # fmt: skip


def board(slug: str = "away", phase: str = "main") -> str:
    return f"/challenges/{slug}/phases/{phase}/leaderboard"


@pytest.fixture(scope="module")
def url(postgres_database: Callable[[], str]) -> str:
    return postgres_database()


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory, url: str, own_postgres: OwnPostgresServer) -> Iterator[ServedApp]:
    settings = app_settings(
        tmp_path_factory.mktemp("away") / "data", database_url=url, files_shared=True, statement_seconds=4
    )
    with serve_app(settings) as running:
        open_challenge(running.admin(), "away", GOLD, phases=PHASES)
        open_challenge(running.admin(), "private", GOLD, visibility="private")
        sent = {row["id"]: row["label"] for row in GOLD}
        for slug in ("away", "private"):
            answer = running.admin().post(
                f"/challenges/{slug}/phases/main/submissions",
                json={"predictions": [{"id": key, "label": value} for key, value in sent.items()]},
                params={"team": "Blue"},
                headers={"Prefer": "wait=60"},
            )
            assert answer.json()["status"] == "finished", answer.text
        settle(running)
        yield running


def keep(app: ServedApp, *paths: str) -> list[httpx.Response]:
    """The boards, once they are cached."""
    boards = app.app.state.service.board_cache
    for path in paths:

        def is_kept(path: str = path) -> bool:
            size = len(boards._entries)
            caller = app.caller()
            return caller.get(path).status_code < 404 and bool(size) and boards.is_trusted

        eventually(is_kept, f"{path} is kept")
    return [app.caller().get(path) for path in paths]


def assert_current(answer: httpx.Response) -> None:
    assert answer.status_code == 200, answer.text
    assert STALE not in answer.headers


def rows(answer: httpx.Response) -> list[str]:
    return [row["team"]["name"] for row in answer.json()["rows"]]


def test_a_stopped_database_leaves_visitors_the_last_boards_of_public_challenges_and_nothing_else(
    app: ServedApp, own_postgres: OwnPostgresServer
) -> None:
    visitor, admin = app.caller(), app.admin()
    seen, table, *_ = keep(app, board(), f"{board()}?format=csv", board(phase="hidden"), board(phase="late"))
    assert visitor.get(board(phase="late")).status_code == 200
    assert admin.get(board()).status_code == admin.get(board("private")).status_code == 200
    before = utcnow() - timedelta(seconds=5)
    own_postgres.stop("fast")
    try:
        stopped_at = utcnow()
        eventually(lambda: STALE in visitor.get(board()).headers, "it is noticed")
        answer = visitor.get(board())
        assert (answer.status_code, answer.content) == (200, seen.content)
        assert answer.headers["etag"] == seen.headers["etag"]
        assert answer.headers["cache-control"] == "no-cache"
        since = answer.headers[STALE]
        assert since.endswith("Z")
        assert before <= datetime.fromisoformat(since) <= stopped_at
        known = visitor.get(board(), headers={"If-None-Match": seen.headers["etag"]})
        assert (known.status_code, known.content, known.headers[STALE]) == (304, b"", since)
        assert visitor.get(f"{board()}?format=csv").content == table.content
        for caller, path in (
            (admin, board()),
            (admin, board("private")),
            (visitor, board("private")),
            (visitor, board(phase="hidden")),
            (visitor, board(phase="late")),
            (visitor, f"{board()}?metric=accuracy"),
            (visitor, "/challenges/away"),
        ):
            refused = caller.get(path)
            assert (refused.status_code, STALE in refused.headers) == (503, False), path
            assert refused.json()["code"] == "database_away"
        app.app.state.service.board_cache._confirmed_at -= 60
        assert visitor.get(board()).status_code == 503
    finally:
        own_postgres.start()
    eventually(lambda: visitor.get(board()).status_code == 200, "the database is back")
    eventually(lambda: STALE not in visitor.get(board()).headers, "the board is built again")
    assert_current(visitor.get(board()))


def hide(url: str, app: ServedApp, rule: str) -> None:
    """As an organizer does at another API."""
    db = Database(app.app.state.service.settings.model_copy(update={"database_url": url}))
    with db.write() as session:
        session.query(Phase).filter_by(slug="main").update({"leaderboard": rule})
    db.close()


def test_a_board_that_was_hidden_while_an_api_had_no_notifications_does_not_come_back(
    app: ServedApp, own_postgres: OwnPostgresServer, url: str
) -> None:
    """Its line of notifications is gone, but the database answers."""
    visitor = app.caller()
    keep(app, board())
    terminate = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'assay listener'"
    with own_postgres.connect(url.rpartition("/")[2]) as connection:
        assert connection.execute(terminate).fetchall() == [(True,)]
        eventually(lambda: not app.app.state.service.board_cache.is_trusted, "it is deaf")
        hide(url, app, "hidden")
        answer = visitor.get(board())
    assert (answer.status_code, STALE in answer.headers) == (403, False), answer.text
    hide(url, app, "public")
    eventually(lambda: visitor.get(board()).status_code == 200, "it listens again")
    assert_current(visitor.get(board()))


def test_a_server_that_refuses_one_more_connection_answers(app: ServedApp, own_postgres: OwnPostgresServer) -> None:
    settings = app.app.state.service.settings
    assert database_answers(settings)
    wrong = settings.model_copy(update={"database_url": settings.database.replace("/assay", "/no_such_assay")})
    assert wrong.database != settings.database
    assert database_answers(wrong)  # it says that there is no such database


@pytest.mark.ci
def test_a_database_that_falls_silent_leaves_visitors_the_last_boards(
    app: ServedApp, own_postgres: OwnPostgresServer
) -> None:
    """Lines stay open, new ones are accepted, and nobody replies."""
    visitor = app.caller()
    (seen,) = keep(app, board())
    answers: list[httpx.Response] = []

    def is_stale() -> bool:
        answers.append(visitor.get(board()))
        return STALE in answers[-1].headers

    with frozen_with_children(own_postgres.pid):
        eventually(is_stale, "it is noticed")
        assert {(each.status_code, each.content) for each in answers} == {(200, seen.content)}
        assert not database_answers(app.app.state.service.settings)
    eventually(lambda: not is_stale() and answers[-1].status_code == 200, "the database is back")
