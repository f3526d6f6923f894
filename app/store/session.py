"""Read and write sessions; each is one unit of work with one transaction.

On SQLite readers and writers use separate engines. Readers open a deferred, query-only transaction and read one
snapshot (WAL). Writers first take a lock of this process, then BEGIN IMMEDIATE. Without the lock, writers would wait in
SQLite's busy polling, which is unfair and lets single writers starve for seconds.

On PostgreSQL readers have one snapshot too (REPEATABLE READ, read only). Writers run concurrently; what must not happen
concurrently takes a lock of app.store.locks.
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
from app.database_outage import DATABASE_OUTAGE, begin_outage
from app.settings import Settings

SQLITE_POOL: dict[str, Any] = {"pool_size": 48, "max_overflow": 0, "pool_timeout": 10}  # more than there are threads
# An error names its statement but not the values, because errors reach the log.
HIDE_PARAMETERS: dict[str, Any] = {"hide_parameters": True}
UNIQUE_VIOLATION = "23505"
MONITORING_CONNECTIONS = 2
MONITORING_SECONDS = 5.0  # for one statement of a health check or metric
WITHOUT_TRANSACTION = "without_transaction"  # an execution option of the engine for single SELECTs on SQLite
# The key in a session's info of the function that is called with the tags that its transaction changed.
INVALIDATION_CALLBACK = "invalidation_callback"
# The key of the number of files scored at once, where the service is the only worker and the workers table is empty.
SCORING_SLOTS = "scoring_slots"
# The key of a dictionary that all sessions of a database share, for results that need not be read each time.
SHARED_CACHE = "shared_cache"
KEEPALIVE_OPTIONS: dict[str, Any] = {  # either side detects within half a minute that the other machine vanished
    "connect_timeout": 5,
    "keepalives": 1,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 25_000,
}


class ConcurrentWrite(errors.Conflict):
    """Another request stored the same object at the same time."""

    code = "overtaken"
    remedy = "Read the object again, then repeat the request if it is still needed."


class ReadSession(Session):
    """A unit of work that reads one snapshot; the database refuses writes."""


class WriteSession(ReadSession):
    """A unit of work that may write; the caller that opened it commits once."""


class Database:
    """Opens units of work on the configured database."""

    def __init__(self, settings: Settings, now: Callable[[datetime], datetime] | None = None) -> None:
        """`now` maps the real time to the time used for windows and quota days; for tests of the calendar."""
        self.url = make_url(settings.database)
        self._info: dict[str, Any] = {"now": now, SHARED_CACHE: {}}
        self.sqlite = self.url.get_backend_name() == "sqlite"
        self._lock = threading.Lock()
        self._wait = settings.database_wait
        if self.sqlite:
            self._info[SCORING_SLOTS] = settings.workers
            if self.url.database:
                Path(self.url.database).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._read = _sqlite_engine(settings, begin="BEGIN", query_only=True)
            self._read_one = self._read.execution_options(**{WITHOUT_TRANSACTION: True})
            self._write = _sqlite_engine(settings, begin="BEGIN IMMEDIATE")
            self._relaxed_write = _sqlite_engine(settings, begin="BEGIN IMMEDIATE", synchronous="NORMAL")
        else:
            # Stated explicitly, whatever the default of the server is: after a wait for a lock, the next statement of a
            # writer must see what the previous holder committed.
            self._write = self._relaxed_write = _postgresql_engine(settings, isolation_level="READ COMMITTED")
            self._read = _postgresql_engine(settings, isolation_level="REPEATABLE READ", read_only=True)
            self._read_one = self._read.execution_options(isolation_level="AUTOCOMMIT")

    def for_monitoring(self, settings: Settings) -> "Database":
        """The same database for health checks and metrics.

        On PostgreSQL it has connections of its own: they do not wait behind other work, and give up sooner.
        """
        if self.sqlite:
            return self
        limits = {
            "database_pool": MONITORING_CONNECTIONS,
            "statement_seconds": min(MONITORING_SECONDS, settings.statement_seconds),
        }
        return Database(settings.model_copy(update=limits))

    def on_invalidation(self, callback: "Callable[[frozenset[str]], None]") -> None:
        """From now on call back with the board tags of each transaction of this process when it ends."""
        self._info[INVALIDATION_CALLBACK] = callback

    @contextmanager
    def read(self) -> Iterator[ReadSession]:
        """A session on one snapshot; it cannot write."""
        with translate_database_errors(), ReadSession(self._read, expire_on_commit=False, info=self._info) as session:
            yield session  # closing ends the transaction; a rollback would also expire the loaded objects

    @contextmanager
    def read_one(self) -> Iterator[ReadSession]:
        """A session for one SELECT, which sees one snapshot without the statements around it that begin and end one."""
        info = self._info
        with translate_database_errors(), ReadSession(self._read_one, expire_on_commit=False, info=info) as session:
            yield session

    @contextmanager
    def write(self, *, durable: bool = True) -> Iterator[WriteSession]:
        """A session that commits when the block ends and rolls back when it raises.

        A commit that fails raises errors.CommitUncertain: the caller must not acknowledge anything. With
        `durable=False`, for writes that nobody relies on, SQLite does not sync the disk; the next synced commit does.
        A power failure in between loses such a write, nothing else does.
        """
        engine = self._write if durable else self._relaxed_write
        session = WriteSession(engine, expire_on_commit=False, info=self._info)
        # The session is entered last, so its transaction ends before the lock is released to the next writer.
        with translate_database_errors(), self._write_lock(), session:
            yield session
            session.flush()  # a failure here is certain to have stored nothing; a failed commit is not
            try:
                session.commit()
            except IntegrityError:
                raise  # a deferred constraint: certainly nothing was stored
            except DBAPIError as fault:
                session.invalidate()  # its transaction may still be open, so the connection is not reused
                raise errors.CommitUncertain from fault

    @contextmanager
    def _write_lock(self) -> Iterator[None]:
        """This process's lock for writing; a no-op on PostgreSQL."""
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
        """The engine for writing, for migrations and checks."""
        return self._write

    def ping(self) -> None:
        """Raise errors.DatabaseUnavailable unless the database answers."""
        with self.read() as session:
            session.execute(text("SELECT 1"))

    def close(self) -> None:
        """Close all connections."""
        self._read.dispose()
        self._write.dispose()
        self._relaxed_write.dispose()


@contextmanager
def translate_database_errors() -> Iterator[None]:
    """Translate an unreachable, locked or full database into errors.DatabaseUnavailable (503)."""
    try:
        yield
    except (OperationalError, PoolTimeout) as fault:
        begin_outage(fault)
        raise errors.DatabaseUnavailable from fault
    except IntegrityError as fault:
        # Concurrent writers collide only on PostgreSQL. On SQLite writers are serialized, so this would be a bug.
        if getattr(fault.orig, "sqlstate", None) == UNIQUE_VIOLATION:
            raise ConcurrentWrite from fault
        raise
    except DBAPIError as fault:
        if fault.connection_invalidated:
            begin_outage(fault)
            raise errors.DatabaseUnavailable from fault
        raise


def connection_options(settings: Settings) -> dict[str, Any]:
    """The options of every connection to PostgreSQL, so that none waits forever.

    The server cancels long statements and long waits for locks. It ends transactions that stay idle for longer than two
    statements may take, since they hold locks and the process behind them may be dead.
    """
    limits = {
        "statement_timeout": settings.statement_seconds,
        "lock_timeout": settings.database_wait,
        "idle_in_transaction_session_timeout": 2 * settings.statement_seconds,
    }
    options = " ".join(f"-c {name}={math.ceil(seconds * 1000)}" for name, seconds in limits.items())
    return KEEPALIVE_OPTIONS | {"options": options, "application_name": "assay"}


def silence_timeout(settings: Settings) -> float:
    """Seconds without a reply after which a connection counts as dead.

    Twice the statement timeout: a server that works would have cancelled any statement by then.
    """
    return 2 * settings.statement_seconds


def _postgresql_engine(settings: Settings, *, isolation_level: str, read_only: bool = False) -> Engine:
    from app.store.connection_timeouts import (  # noqa: PLC0415 - SQLite does without the driver
        connection_with_timeout,
        ping_unless_just_used,
    )

    pool = {"pool_size": settings.database_pool, "max_overflow": 0, "pool_timeout": settings.database_wait}
    arguments = connection_options(settings)
    if read_only:
        arguments["options"] += " -c default_transaction_read_only=on"  # of single statements too
    engine = create_engine(
        settings.database, connect_args=arguments, isolation_level=isolation_level, **pool, **HIDE_PARAMETERS
    )
    connection_class = connection_with_timeout(silence_timeout(settings))

    @event.listens_for(engine, "do_connect")
    def connect(_dialect: Any, _record: Any, arguments: Any, options: Any) -> Any:
        return connection_class.connect(*arguments, **options)

    ping_unless_just_used(engine)

    @event.listens_for(engine, "checkout")  # after the pool has checked the connection
    def report_answer(*_arguments: Any) -> None:
        DATABASE_OUTAGE.answered()

    return engine


def _sqlite_engine(settings: Settings, *, begin: str, query_only: bool = False, synchronous: str = "FULL") -> Engine:
    """An engine that begins its transactions itself; the driver's delayed BEGIN is switched off."""
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
        if WITHOUT_TRANSACTION not in connection.get_execution_options():
            connection.exec_driver_sql(begin)

    return engine
