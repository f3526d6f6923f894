"""The database statements of a submission, counted: a measure of its cost that is the same on every machine."""

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, event

from app.settings import Settings
from tests.api.in_process_app import WORKER_JOBS, ServedApp, app_settings, serve_app
from tests.faults.inspection import CORRECT_PREDICTIONS, GOLD
from tests.live_service import PASSWORD, Caller, open_challenge
from tests.settle import settle

MAX_STATEMENTS = 28
"""Two queue the intervals of the score and the comparison of the board; three read what a receipt says, and store it and
its record for the log. Switches are looked up by the statements that claim the task and settle the submission."""
MAX_STATEMENTS_TO_STORE = 11  # on either database, to the reply that shows a queue position


@pytest.fixture(scope="module")
def service_app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedApp]:
    with serve_app(app_settings(tmp_path_factory.mktemp("statements") / "data")) as service:
        open_challenge(service.admin(), "pets", GOLD, phases=[{"name": "main", "quota": {"per_day": 100}}])
        yield service


@pytest.fixture(scope="module")
def blue(service_app: ServedApp) -> Caller:
    return register_blue(service_app)


def register_blue(service_app: ServedApp) -> Caller:
    login = {"email": "blue@example.org", "password": PASSWORD}
    service_app.caller().post("/users", json=login | {"name": "Blue"}).raise_for_status()
    token = service_app.caller().post("/tokens", json=login)
    return service_app.caller(token.json()["token"]).join("pets", "Blue")


Noted = Callable[[Connection, str, Any], None]
_NOTES: list[Noted] = []


@event.listens_for(Engine, "before_cursor_execute")
def _note(connection: Connection, _cursor: object, statement: str, parameters: Any, *_: object) -> None:
    """Registered once: whoever listens or stops while other threads ask the database makes them fail."""
    for note in tuple(_NOTES):
        note(connection, statement, parameters)


@contextmanager
def noted_by(note: Noted) -> Iterator[None]:
    """Call this before each statement while the block lasts."""
    _NOTES.append(note)
    try:
        yield
    finally:
        _NOTES.remove(note)


@contextmanager
def recorded_statements(of: str = "") -> Iterator[list[str]]:
    """The statements of all connections while the block lasts; `of` begins the names of the threads that count."""
    statements: list[str] = []

    def note(_connection: Connection, statement: str, _parameters: Any) -> None:
        name = threading.current_thread().name
        if name.startswith(of) and not name.startswith(WORKER_JOBS):
            statements.append(statement)

    with noted_by(note):
        yield statements


def test_a_submission_that_waits_for_its_scores_asks_the_database_for_little(
    service_app: ServedApp, blue: Caller
) -> None:
    assert blue.submit("pets", CORRECT_PREDICTIONS).status_code == 201  # connections are open from now on
    tried: list[list[str]] = []
    for _ in range(5):  # now and then a slot looks for work at the same moment
        settle(service_app)
        with recorded_statements() as statements:
            assert blue.submit("pets", CORRECT_PREDICTIONS).status_code == 201
        tried.append(statements)
    statements = min(tried, key=len)
    assert len(statements) <= MAX_STATEMENTS, "\n".join(statements)
    assert sum("BEGIN IMMEDIATE" in statement for statement in statements) == 3  # stored, claimed, settled


@pytest.mark.both_databases
def test_a_submission_is_stored_by_few_statements(settings: Settings, tmp_path: Path) -> None:
    """The same on both databases, but for those that PostgreSQL does at once or SQLite does not need."""
    served = app_settings(tmp_path / "data", database_url=settings.database_url, files_shared=True)
    with serve_app(served) as service:
        phases = [{"name": "main", "quota": {"per_day": 100}}]
        open_challenge(service.admin(), "pets", GOLD, phases=phases)
        blue = register_blue(service)

        def send(number: int) -> None:
            key = {"Idempotency-Key": f"key {number}"}
            path = "/challenges/pets/phases/main/submissions"
            assert blue.post(path, json=CORRECT_PREDICTIONS, headers=key).status_code == 202

        send(1)  # connections are open from now on
        with recorded_statements(of="AnyIO") as statements:
            send(2)
    assert len(statements) <= MAX_STATEMENTS_TO_STORE, "\n".join(statements)


def test_what_the_gold_holds_is_not_read_to_store_or_to_follow_a_submission(blue: Caller) -> None:
    """The classes of a gold may be many; only preparing it needs them."""
    blue.submit("pets", CORRECT_PREDICTIONS).raise_for_status()
    with recorded_statements() as statements:
        assert blue.submit("pets", CORRECT_PREDICTIONS, wait=0).status_code == 202
        blue.get("/challenges/pets/phases/main/submissions").raise_for_status()
    assert any("gold_versions" in statement for statement in statements)  # it was asked, but not for what may be large
    assert not [each for each in statements if re.search(r"gold_versions\.(classes|accessories)\b", each)]


def test_a_submission_reads_through_indexes_that_no_parameter_decides(blue: Caller) -> None:
    """No statement about a phase reads a whole table, nor is compiled anew as a parameter decides about an index."""
    explained: dict[str, list[str]] = {}

    def explain(connection: Connection, statement: str, parameters: Any) -> None:
        if threading.current_thread().name.startswith(WORKER_JOBS):  # that compare boards, for example
            return
        if statement.lstrip().startswith(("SELECT", "WITH")):
            plan = connection.connection.cursor().execute(f"EXPLAIN QUERY PLAN {statement}", parameters).fetchall()
            explained[statement] = [row[3] for row in plan]

    with noted_by(explain):
        blue.submit("pets", CORRECT_PREDICTIONS).raise_for_status()
        blue.submit("pets", CORRECT_PREDICTIONS, wait=0).raise_for_status()
    admission = [each for each in explained if "recipes.status" in each]
    assert len(admission) >= 3  # with the token, in the transaction, and for the reply with scores
    for statement in admission:
        assert not re.search(r"(recipes|gold_versions)\.status = \?", statement)
        plan = explained[statement]
        assert not [line for line in plan if re.match(r"SCAN (?!CONSTANT ROW|one_row)|MATERIALIZE|.* AUTOMATIC", line)]
