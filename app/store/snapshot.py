"""The whole database as one SQLite file, whatever its kind, and such a file back into an empty database."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import (
    Connection,
    NullPool,
    Table,
    create_engine,
    func,
    insert,
    inspect,
    literal,
    select,
    text,
    union_all,
)
from sqlalchemy import table as table_named
from sqlalchemy.exc import DataError, IntegrityError

from app.errors import AssayError
from app.settings import Settings
from app.store.migrate import require_head, upgrade
from app.store.session import Database, ReadSession, WriteSession
from app.store.tables import Base, GoldVersion, Submission, WorkerRow

BATCH_ROWS = 200  # rows at a time, for some are large
TRANSIENT_TABLE = WorkerRow.__tablename__  # who works now is no part of a snapshot
SNAPSHOT_TABLES = [each for each in Base.metadata.sorted_tables if each.name != TRANSIENT_TABLE]  # parents first


class DatabaseNotCopied(AssayError):
    """The database could not be copied."""

    code = "database_not_copied"
    remedy = "Look for room on the disk of the backup, then make it again."


class IncompatibleRows(AssayError):
    """A row of the backup does not fit this database; nothing was stored."""

    code = "rows_unfit"
    remedy = (
        "Restore into a database of the kind that the backup was made from, or mend the row there and back up again."
    )


SnapshotConnection = Connection
"""A copy of the database, opened for reading."""


@dataclass(frozen=True, slots=True)
class SnapshotFile:
    """A stored file as the row that points to it describes it."""

    owner: str
    key: str
    sha256: str
    size: int


def take(settings: Settings, db: Database, path: Path) -> None:
    """Write the database as it is at one moment into a new file; nobody who works on it has to wait.

    Raises SchemaBehind, SchemaAhead, DatabaseAway, NotCopied.
    """
    path.touch(mode=0o600, exist_ok=False)
    if db.sqlite:
        require_head(db.engine())
        _vacuum(db, path)
        return
    upgrade(snapshot_settings(settings, path))
    with db.read() as session, _connect(path) as out, out.begin():
        lift_timeouts(session)
        require_head(session.connection())
        for table in SNAPSHOT_TABLES:
            _copy_table(session.connection(), out, table)


def snapshot_settings(settings: Settings, path: Path) -> Settings:
    """The same settings with this SQLite file as the database."""
    return settings.model_copy(update={"database_url": f"sqlite:///{path.resolve()}", "database_url_file": None})


@contextmanager
def open_snapshot(path: Path) -> Iterator[SnapshotConnection]:
    """A connection to such a file that changes nothing, not even on a disk that cannot be written."""
    with _connect(path, "?mode=ro") as connection:
        yield connection


def table_names(connection: Connection) -> set[str]:
    """The names of the tables that are there."""
    return set(inspect(connection).get_table_names())


def row_counts(connection: Connection) -> dict[str, int]:
    """The number of rows of every table but the schema's own, whatever revision it is of."""
    names = sorted(table_names(connection) - {"alembic_version", TRANSIENT_TABLE})
    return {name: connection.scalar(select(func.count()).select_from(table_named(name))) or 0 for name in names}


def stored_files(connection: SnapshotConnection) -> Iterator[SnapshotFile]:
    """Every stored file that a row points to."""
    owners = (Submission, GoldVersion)
    found = union_all(
        *(select(literal(f"{each.__tablename__} "), each.id, each.file_key, each.sha256, each.size) for each in owners)
    )
    for table, owner, key, sha256, size in connection.execute(found, execution_options={"yield_per": BATCH_ROWS}):
        yield SnapshotFile(table + owner, key, sha256, size)


def total_file_bytes(connection: SnapshotConnection) -> int:
    """The size of all of them."""
    sums = (connection.scalar(select(func.sum(each.size))) or 0 for each in (Submission, GoldVersion))
    return sum(sums)


def find_nonempty_table(connection: Connection) -> str | None:
    """The name of a table that has rows, None if there is none: whatever revision the database is of."""
    for name in table_names(connection) & {table.name for table in SNAPSHOT_TABLES}:
        if connection.execute(select(literal(1)).select_from(table_named(name)).limit(1)).first():
            return name
    return None


def restore_rows(copy: SnapshotConnection, session: WriteSession) -> None:
    """All rows of a copy into an empty database of the same revision; raises RowsUnfit."""
    lift_timeouts(session)
    for table in SNAPSHOT_TABLES:
        try:
            _copy_table(copy, session.connection(), table)
        except (DataError, IntegrityError) as fault:
            raise IncompatibleRows(
                f"A row of the table {table.name} does not fit this database: {fault.orig}"
            ) from fault


def lift_timeouts(session: ReadSession) -> None:
    """Let this transaction take its time on PostgreSQL; one that stands still is still given up."""
    if session.get_bind().dialect.name != "sqlite":
        session.execute(text("SET LOCAL statement_timeout = 0"))
        session.execute(text("SET LOCAL idle_in_transaction_session_timeout = '15min'"))


def _copy_table(source: Connection, target: Connection, table: Table) -> None:
    found = source.execute(select(table), execution_options={"yield_per": BATCH_ROWS})
    for rows in found.mappings().partitions():
        target.execute(insert(table), [dict(row) for row in rows])


def _vacuum(db: Database, path: Path) -> None:
    """SQLite's own way: a compact copy of one snapshot, without what deleted rows left behind."""
    raw = db.engine().raw_connection()
    try:
        raw.cursor().execute("VACUUM INTO ?", (str(path),))
    except sqlite3.Error as fault:
        raise DatabaseNotCopied(f"The database could not be copied: {fault}.") from fault
    finally:
        raw.close()


@contextmanager
def _connect(path: Path, how: str = "") -> Iterator[Connection]:
    address = path.resolve().as_uri() + how
    engine = create_engine("sqlite://", creator=lambda: sqlite3.connect(address, uri=True), poolclass=NullPool)
    with engine.connect() as connection:
        yield connection
