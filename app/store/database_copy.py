"""Copies the whole database into one SQLite file, whatever its kind, and loads such a file into an empty database."""

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
from app.store.queries.file_references import has_file
from app.store.session import Database, ReadSession, WriteSession
from app.store.tables import Base, ChallengeFile, GoldVersion, PhaseImport, PreparedGold, Submission, WorkerRow

BATCH_ROWS = 200  # few, because some rows are large
TRANSIENT_TABLES = {WorkerRow.__tablename__, PreparedGold.__tablename__}
"""What a snapshot leaves out: which workers are running, and files that can be made again."""
SNAPSHOT_TABLES = [each for each in Base.metadata.sorted_tables if each.name not in TRANSIENT_TABLES]  # parents first


class DatabaseNotCopied(AssayError):
    """The database could not be copied."""

    code = "database_not_copied"
    remedy = "Check the free space on the disk of the backup, then repeat the backup."


class IncompatibleRows(AssayError):
    """A row of the backup is not valid in this database; nothing was stored."""

    code = "rows_unfit"
    remedy = "Restore into a database of the same kind as the original, or fix the row there and repeat the backup."


SnapshotConnection = Connection
"""A connection to a snapshot, for reading."""


@dataclass(frozen=True, slots=True)
class SnapshotFile:
    """A stored file as described by the row that refers to it."""

    owner: str
    key: str
    sha256: str
    size: int


def take(settings: Settings, db: Database, path: Path) -> None:
    """Write the database as of one moment into a new file, without blocking anybody.

    Raises SchemaBehind, SchemaAhead, DatabaseUnavailable, DatabaseNotCopied.
    """
    path.touch(mode=0o600, exist_ok=False)
    if db.sqlite:
        require_head(db.engine())
        _vacuum(db, path)
        _empty_transient_tables(path)
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
    """A read-only connection to a snapshot; it also works on a read-only disk."""
    with _connect(path, "?mode=ro") as connection:
        yield connection


def table_names(connection: Connection) -> set[str]:
    """The names of the existing tables."""
    return set(inspect(connection).get_table_names())


def row_counts(connection: Connection) -> dict[str, int]:
    """The number of rows per table, at any revision; without the table of Alembic and transient ones."""
    names = sorted(table_names(connection) - TRANSIENT_TABLES - {"alembic_version"})
    return {name: connection.scalar(select(func.count()).select_from(table_named(name))) or 0 for name in names}


def stored_files(connection: SnapshotConnection) -> Iterator[SnapshotFile]:
    """Every stored file that a row refers to."""
    query = union_all(
        *(
            select(literal(f"{row.__tablename__} ") + row.id, row.file_key, row.sha256, row.size).where(has_file(row))
            for row in (Submission, GoldVersion, ChallengeFile, PhaseImport)
        )
    )
    for columns in connection.execute(query, execution_options={"yield_per": BATCH_ROWS}):
        name, key, sha256, size = columns
        yield SnapshotFile(name, str(key), sha256, size)


def total_file_bytes(connection: SnapshotConnection) -> int:
    """The total size of the stored files that rows refer to."""
    return sum(
        connection.scalar(select(func.sum(row.size)).where(has_file(row))) or 0
        for row in (Submission, GoldVersion, ChallengeFile, PhaseImport)
    )


def find_nonempty_table(connection: Connection) -> str | None:
    """The name of a table with rows, None if all are empty; works at any revision."""
    for name in table_names(connection) & {table.name for table in SNAPSHOT_TABLES}:
        if connection.execute(select(literal(1)).select_from(table_named(name)).limit(1)).first():
            return name
    return None


def restore_rows(copy: SnapshotConnection, session: WriteSession) -> None:
    """Copy all rows of a snapshot into an empty database of the same revision; raises IncompatibleRows."""
    lift_timeouts(session)
    for table in SNAPSHOT_TABLES:
        try:
            _copy_table(copy, session.connection(), table)
        except (DataError, IntegrityError) as fault:
            raise IncompatibleRows(f"A row of the table {table.name} is not valid here: {fault.orig}") from fault


def lift_timeouts(session: ReadSession) -> None:
    """Allow long statements in this transaction on PostgreSQL; one that stays idle is still ended, after 15 minutes."""
    if session.get_bind().dialect.name != "sqlite":
        session.execute(text("SET LOCAL statement_timeout = 0"))
        session.execute(text("SET LOCAL idle_in_transaction_session_timeout = '15min'"))


def _copy_table(source: Connection, target: Connection, table: Table) -> None:
    """Copy all rows; those that refer to a row of the same table, as merged teams do, come last."""
    referring = [key.parent.is_not(None) for key in table.foreign_keys if key.column.table is table]
    query = select(table).order_by(*referring)
    result = source.execute(query, execution_options={"yield_per": BATCH_ROWS})
    for rows in result.mappings().partitions():
        target.execute(insert(table), [dict(row) for row in rows])


def _empty_transient_tables(path: Path) -> None:
    with _connect(path) as connection, connection.begin():
        for name in TRANSIENT_TABLES:
            connection.execute(table_named(name).delete())


def _vacuum(db: Database, path: Path) -> None:
    """VACUUM INTO: a compact copy of one snapshot, without remains of deleted rows."""
    raw = db.engine().raw_connection()
    try:
        raw.cursor().execute("VACUUM INTO ?", (str(path),))
    except sqlite3.Error as fault:
        raise DatabaseNotCopied(f"The database could not be copied: {fault}.") from fault
    finally:
        raw.close()


@contextmanager
def _connect(path: Path, query: str = "") -> Iterator[Connection]:
    uri = path.resolve().as_uri() + query
    engine = create_engine("sqlite://", creator=lambda: sqlite3.connect(uri, uri=True), poolclass=NullPool)
    with engine.connect() as connection:
        yield connection
