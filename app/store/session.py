"""The database: read and write sessions, each one unit of work with one transaction.

On SQLite there are two engines. Readers open a deferred, query-only transaction and see one snapshot (WAL). Writers
first take a lock of this process, then BEGIN IMMEDIATE: without that lock, waiting is left to SQLite's busy polling,
which lets single writers starve for seconds.

On PostgreSQL readers have one snapshot too (REPEATABLE READ, read only); writers run side by side, and what must not
happen at once is put in line by the locks of app.store.locks.
"""

import math
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, create_engine, event, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError, IntegrityError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.orm import Session

from app import errors
from app.settings import Settings

SQLITE_POOL: dict[str, Any] = {"pool_size": 48, "max_overflow": 0, "pool_timeout": 10}  # more than threads that ask
HIDE_PARAMETERS: dict[str, Any] = {
    "hide_parameters": True
}  # an error names its statement, never the values: they reach the log
UNIQUE_VIOLATION = "23505"
INVALIDATION_CALLBACK = "heard"  # in the info of a session: who is told what its transaction changed
KEEPALIVE_OPTIONS: dict[str, Any] = {  # a machine that vanished is noticed within half a minute, whichever side it was
    "connect_timeout": 5,
    "keepalives": 1,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 25_000,
}


class ConcurrentWrite(errors.Conflict):
    """Somebody else stored the same thing at the same moment."""

    code = "overtaken"
    remedy = "Read it again, then repeat the request if it is still needed."


class ReadSession(Session):
    """A unit of work that reads one snapshot; SQLite refuses writes in it."""


class WriteSession(ReadSession):
    """A unit of work that may write; committed once, at the edge."""


class Database:
    """Opens units of work on the database of the settings."""

    def __init__(self, settings: Settings, now: Callable[[datetime], datetime] | None = None) -> None:
        """`now` turns the true moment into the one that windows and quota days go by; for tests of the calendar."""
        self.url = make_url(settings.database)
        self._info: dict[str, Any] = {"now": now}
        self.sqlite = self.url.get_backend_name() == "sqlite"
        self._lock = threading.Lock()
        self._wait = settings.database_wait
        if self.sqlite:
            if self.url.database:
                Path(self.url.database).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._read = _sqlite_engine(settings, begin="BEGIN", query_only=True)
            self._write = _sqlite_engine(settings, begin="BEGIN IMMEDIATE")
            self._relaxed_write = _sqlite_engine(settings, begin="BEGIN IMMEDIATE", synchronous="NORMAL")
        else:
            self._write = _postgresql_engine(settings, isolation_level="READ COMMITTED")  # whatever the server's is
            self._relaxed_write = self._write
            self._read = _postgresql_engine(
                settings,
                isolation_level="REPEATABLE READ",
                execution_options={"postgresql_readonly": True},
            )

    def tell(self, heard: "Callable[[frozenset[str]], None]") -> None:
        """From now on say what each transaction of this process changed, once it has ended (app.store.board_invalidation)."""
        self._info[INVALIDATION_CALLBACK] = heard

    @contextmanager
    def read(self) -> Iterator[ReadSession]:
        """A session on one snapshot; nothing is written."""
        with translate_database_errors(), ReadSession(self._read, expire_on_commit=False, info=self._info) as session:
            yield session  # closing ends the transaction; a rollback would also forget what was read

    @contextmanager
    def write(self, *, promised: bool = True) -> Iterator[WriteSession]:
        """A session that commits when the block ends and rolls back when it raises.

        A commit that fails raises errors.CommitUncertain: the caller must not acknowledge. What is not `promised` to
        anybody reaches SQLite's disk with the next commit that is: a power cut in between undoes it, nothing else does.
        """
        engine = self._write if promised else self._relaxed_write
        session = WriteSession(engine, expire_on_commit=False, info=self._info)
        with translate_database_errors(), self._write_lock(), session:
            yield session
            session.flush()  # what fails here is certain to be stored in no part; of a commit one cannot be sure
            try:
                session.commit()
            except IntegrityError:
                raise  # a constraint that waits for the commit: it is certain that nothing was stored
            except DBAPIError as fault:
                session.invalidate()  # its transaction may still be open: the next writer gets another connection
                raise errors.CommitUncertain from fault

    @contextmanager
    def _write_lock(self) -> Iterator[None]:
        """This process's turn to write; PostgreSQL needs none."""
        if not self.sqlite:
            yield
            return
        if not self._lock.acquire(timeout=self._wait):
            raise errors.DatabaseUnavailable("Too many writers are waiting for the database.")
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
        self._relaxed_write.dispose()


@contextmanager
def translate_database_errors() -> Iterator[None]:
    """Turn an unreachable, locked or full database into the error that callers meet as 503."""
    try:
        yield
    except (OperationalError, PoolTimeout) as away:
        raise errors.DatabaseUnavailable from away
    except IntegrityError as fault:
        # On SQLite writers stand in line, so that one there is a fault of ours.
        if getattr(fault.orig, "sqlstate", None) == UNIQUE_VIOLATION:
            raise ConcurrentWrite from fault
        raise
    except DBAPIError as fault:
        if fault.connection_invalidated:
            raise errors.DatabaseUnavailable from fault
        raise


def connection_options(settings: Settings) -> dict[str, Any]:
    """What every connection to PostgreSQL is opened with: none hangs for ever, whatever becomes of the other side."""
    limits = {
        "statement_timeout": settings.statement_seconds,
        "lock_timeout": settings.database_wait,
        "idle_in_transaction_session_timeout": 2 * settings.statement_seconds,
    }
    options = " ".join(f"-c {name}={math.ceil(seconds * 1000)}" for name, seconds in limits.items())
    return KEEPALIVE_OPTIONS | {"options": options, "application_name": "assay"}


def silence_timeout(settings: Settings) -> float:
    """Seconds after which a database that says nothing has hung: it would have given up any statement itself."""
    return 2 * settings.statement_seconds


def _postgresql_engine(settings: Settings, **options: Any) -> Engine:
    from app.store.connection_timeouts import connection_with_timeout  # noqa: PLC0415 - SQLite is spared the driver

    pool = {"pool_size": settings.database_pool, "max_overflow": 0, "pool_timeout": settings.database_wait}
    engine = create_engine(
        settings.database,
        connect_args=connection_options(settings),
        pool_pre_ping=True,
        **pool,
        **options,
        **HIDE_PARAMETERS,
    )
    kind = connection_with_timeout(silence_timeout(settings))

    @event.listens_for(engine, "do_connect")
    def connect(_dialect: Any, _record: Any, words: Any, named: Any) -> Any:
        return kind.connect(*words, **named)

    return engine


def _sqlite_engine(settings: Settings, *, begin: str, query_only: bool = False, synchronous: str = "FULL") -> Engine:
    """An engine that opens its transactions itself: the driver's own habit of delaying BEGIN is switched off."""
    wait = settings.database_wait
    arguments = {"check_same_thread": False, "timeout": wait}
    engine = create_engine(settings.database, connect_args=arguments, **SQLITE_POOL, **HIDE_PARAMETERS)

    @event.listens_for(engine, "connect")
    def configure(connection: Any, _record: Any) -> None:
        connection.isolation_level = None
        cursor = connection.cursor()
        cursor.execute("PRAGMA journal_mode=WAL")
        # FULL: an acknowledged submission survives power loss, not only a crash of the process.
        cursor.execute(f"PRAGMA synchronous={synchronous}")
        cursor.execute("PRAGMA foreign_keys=ON")
        cursor.execute(f"PRAGMA busy_timeout={math.ceil(wait * 1000)}")
        if query_only:
            cursor.execute("PRAGMA query_only=ON")
        cursor.close()

    @event.listens_for(engine, "begin")
    def begin_transaction(connection: Any) -> None:
        connection.exec_driver_sql(begin)

    return engine
