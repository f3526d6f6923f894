"""Connections to PostgreSQL that were idle: asked before use, unless they were used a moment ago and are quiet."""

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import text

from app.store import connection_timeouts
from app.store.session import Database
from tests.store.database_marks import only_postgresql


def backend(db: Database) -> int:
    with db.read() as session:
        return int(session.execute(text("SELECT pg_backend_pid()")).scalar_one())


@pytest.fixture
def pings(db: Database, monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The connections that were asked so far."""
    asked: list[object] = []
    dialect = db._read.dialect
    ping: Callable[[Any], bool] = dialect.do_ping

    def noted(connection: Any) -> bool:
        asked.append(connection)
        return ping(connection)

    monkeypatch.setattr(dialect, "do_ping", noted)
    return asked


@only_postgresql
def test_a_connection_that_was_just_used_is_used_again_without_a_ping(
    db: Database, pings: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection_timeouts, "PING_AFTER_IDLE_SECONDS", 3600.0)
    first = backend(db)
    assert backend(db) == first
    assert pings == []
    monkeypatch.setattr(connection_timeouts, "PING_AFTER_IDLE_SECONDS", 0.0)
    assert backend(db) == first
    assert len(pings) == 1


@only_postgresql
def test_a_connection_that_the_server_closed_is_noticed_however_short_ago_it_was_used(
    db: Database, pings: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection_timeouts, "PING_AFTER_IDLE_SECONDS", 3600.0)
    first = backend(db)
    with db.write() as session:
        # With a timeout, it returns only after the other backend has ended.
        assert session.execute(text("SELECT pg_terminate_backend(:pid, 60000)"), {"pid": first}).scalar_one()
    assert backend(db) != first
    assert len(pings) == 1
