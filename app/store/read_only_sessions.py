"""Read-only sessions, for checks of an installation; every query has a timeout."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlalchemy import Engine, NullPool, create_engine, event
from sqlalchemy.engine import make_url

from app.settings import Settings
from app.store.session import ReadSession, connection_options


def database_file(settings: Settings) -> Path | None:
    """The file of an SQLite database; None on PostgreSQL."""
    url = make_url(settings.database)
    return Path(url.database or "") if url.get_backend_name() == "sqlite" else None


@contextmanager
def read_only_session(settings: Settings) -> Iterator[ReadSession]:
    """A session on one snapshot, with a connection of its own; raises the errors of the driver."""
    engine = _read_only_engine(settings)
    try:
        with ReadSession(engine, expire_on_commit=False, info={"now": None}) as session:
            yield session
    finally:
        engine.dispose()


def _read_only_engine(settings: Settings) -> Engine:
    path = database_file(settings)
    if path is not None:
        return _read_only_sqlite_engine(path, settings.database_wait)
    return create_engine(
        settings.database,
        poolclass=NullPool,
        connect_args=connection_options(settings) | {"application_name": "assay doctor"},
        isolation_level="REPEATABLE READ",
        execution_options={"postgresql_readonly": True},
    )


def _read_only_sqlite_engine(path: Path, wait: float) -> Engine:
    # Not mode=ro: such a connection could not remove the WAL files that it needs next to the database.
    name = f"file:{quote(str(path.resolve()))}?mode=rw"

    def connect() -> sqlite3.Connection:
        connection = sqlite3.connect(name, uri=True, timeout=wait, check_same_thread=False, isolation_level=None)
        connection.execute("PRAGMA query_only=ON")
        return connection

    engine = create_engine("sqlite://", creator=connect, poolclass=NullPool)

    @event.listens_for(engine, "begin")
    def begin(connection: Any) -> None:
        connection.exec_driver_sql("BEGIN")

    return engine
