"""The database: read and write sessions, each one unit of work with one transaction.

On SQLite there are two engines. Readers open a deferred, query-only transaction and see one snapshot (WAL). Writers
first take a lock of this process, then BEGIN IMMEDIATE: without that lock, waiting is left to SQLite's busy polling,
which lets single writers starve for seconds.
"""

import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, create_engine, event, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.orm import Session

from app import errors
from app.settings import Settings

POOL: dict[str, Any] = {"pool_size": 48, "max_overflow": 0, "pool_timeout": 10}  # more than threads that ask


class ReadSession(Session):
    """A unit of work that reads one snapshot; SQLite refuses writes in it."""


class WriteSession(ReadSession):
    """A unit of work that may write; committed once, at the edge."""


class Database:
    """Opens units of work on the database of the settings."""

    def __init__(self, settings: Settings) -> None:
        self.url = make_url(settings.database)
        self.sqlite = self.url.get_backend_name() == "sqlite"
        self._lock = threading.Lock()
        self._wait = settings.database_wait
        if self.sqlite:
            if self.url.database:
                Path(self.url.database).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._read = _sqlite_engine(settings, begin="BEGIN", query_only=True)
            self._write = _sqlite_engine(settings, begin="BEGIN IMMEDIATE", query_only=False)
        else:
            self._read = self._write = create_engine(self.url, pool_pre_ping=True, **POOL)

    @contextmanager
    def read(self) -> Iterator[ReadSession]:
        """A session on one snapshot; nothing is written."""
        with _translated(), ReadSession(self._read, expire_on_commit=False) as session:
            yield session  # closing ends the transaction; a rollback would also forget what was read

    @contextmanager
    def write(self) -> Iterator[WriteSession]:
        """A session that commits when the block ends and rolls back when it raises.

        A commit that fails raises errors.CommitUncertain: the caller must not acknowledge.
        """
        with _translated(), self._turn(), WriteSession(self._write, expire_on_commit=False) as session:
            yield session
            try:
                session.commit()
            except OperationalError as fault:
                session.invalidate()  # its transaction may still be open: the next writer gets another connection
                raise errors.CommitUncertain from fault

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """This process's turn to write; PostgreSQL needs none."""
        if not self.sqlite:
            yield
            return
        if not self._lock.acquire(timeout=self._wait):
            raise errors.DatabaseAway("Too many writers are waiting for the database.")
        try:
            yield
        finally:
            self._lock.release()

    def engine(self) -> Engine:
        """The writing engine, for migrations and checks."""
        return self._write

    def ping(self) -> None:
        """Raise errors.DatabaseAway unless the database answers."""
        with self.read() as session:
            session.execute(text("SELECT 1"))

    def close(self) -> None:
        """Close all connections."""
        self._read.dispose()
        self._write.dispose()


@contextmanager
def _translated() -> Iterator[None]:
    """Turn an unreachable, locked or full database into the error that callers meet as 503."""
    try:
        yield
    except (OperationalError, PoolTimeout) as away:
        raise errors.DatabaseAway from away
    except DBAPIError as fault:
        if fault.connection_invalidated:
            raise errors.DatabaseAway from fault
        raise


def _sqlite_engine(settings: Settings, *, begin: str, query_only: bool) -> Engine:
    """An engine that opens its transactions itself: the driver's own habit of delaying BEGIN is switched off."""
    wait = settings.database_wait
    engine = create_engine(settings.database, connect_args={"check_same_thread": False, "timeout": wait}, **POOL)

    @event.listens_for(engine, "connect")
    def configure(connection: Any, _record: Any) -> None:
        connection.isolation_level = None
        cursor = connection.cursor()
        cursor.execute("PRAGMA journal_mode=WAL")
        # FULL: an acknowledged submission survives power loss, not only a crash of the process.
        cursor.execute("PRAGMA synchronous=FULL")
        cursor.execute("PRAGMA foreign_keys=ON")
        cursor.execute(f"PRAGMA busy_timeout={math.ceil(wait * 1000)}")
        if query_only:
            cursor.execute("PRAGMA query_only=ON")
        cursor.close()

    @event.listens_for(engine, "begin")
    def begin_transaction(connection: Any) -> None:
        connection.exec_driver_sql(begin)

    return engine
