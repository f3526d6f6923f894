"""Migrates the database to the newest schema; on SQLite a copy of the old database is kept next to it."""

from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, NullPool, create_engine, event, text
from sqlalchemy.engine import make_url

from app.errors import Unavailable
from app.package_data import package_data_folder
from app.settings import Settings
from app.store.session import translate_database_errors

MIGRATION_LOCK_KEY = 0x41535341  # an advisory lock: one migration at a time on PostgreSQL


class SchemaBehind(Unavailable):
    """The database schema is older than this version needs."""

    code = "schema_behind"
    remedy = "Run 'assay migrate'."


class SchemaAhead(Unavailable):
    """The database was created by a newer version of Assay."""

    code = "schema_ahead"
    remedy = "Run that version, or restore the copy of the database from before its migration."


def include_name(name: str | None, kind: str, _parents: object = None) -> bool:
    """Whether a name is part of the schema described here; the tables of the queue engine are not."""
    return kind != "table" or not (name or "").startswith("procrastinate_")


def alembic_config() -> Config:
    """The configuration of Alembic; the revisions are shipped with the package."""
    config = Config()
    config.set_main_option("script_location", str(package_data_folder("migrations")).replace("%", "%%"))
    return config


def head_revision() -> str | None:
    """The newest revision."""
    return ScriptDirectory.from_config(alembic_config()).get_current_head()


def current_revision(database: Engine | Connection) -> str | None:
    """The revision of the database; None when it is empty."""
    if isinstance(database, Engine):
        with translate_database_errors(), database.connect() as connection:
            return current_revision(connection)
    return MigrationContext.configure(database).get_current_revision()


def require_head(database: Engine | Connection) -> None:
    """Raise SchemaBehind or SchemaAhead unless the database is at the newest revision."""
    revision = current_revision(database)
    _require_known_revision(revision)
    if revision != head_revision():
        raise SchemaBehind


def upgrade(settings: Settings, revision: str = "head") -> tuple[str | None, str | None]:
    """Migrate the database to a revision; returns the revisions before and after.

    Raises SchemaAhead, DatabaseUnavailable.
    """
    url = make_url(settings.database)
    if url.get_backend_name() == "sqlite" and url.database:
        Path(url.database).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        Path(url.database).touch(
            mode=0o600
        )  # gold and password hashes: readable by this account only, whatever the umask
    engine = _engine(settings.database)
    try:
        before = current_revision(engine)
        _require_known_revision(before)
        if before != head_revision() and before is not None and engine.dialect.name == "sqlite":
            _copy_database(engine, Path(str(url.database)), before)
        with engine.connect() as connection:
            _run_revisions(connection, revision)
        return before, current_revision(engine)
    finally:
        engine.dispose()


def known_revisions() -> set[str]:
    """All revisions that this version knows."""
    return {script.revision for script in ScriptDirectory.from_config(alembic_config()).walk_revisions()}


def _require_known_revision(revision: str | None) -> None:
    if revision is not None and revision not in known_revisions():
        raise SchemaAhead


def _engine(url: str) -> Engine:
    """A separate engine with foreign keys off.

    Batch migrations rebuild tables; with foreign keys on, dropping the old table would delete the rows that refer to
    it.
    """
    engine = create_engine(url, poolclass=NullPool)
    if engine.dialect.name == "sqlite":

        @event.listens_for(engine, "connect")
        def configure(connection: Any, _record: Any) -> None:
            connection.isolation_level = None
            connection.execute("PRAGMA foreign_keys=OFF")
            connection.execute("PRAGMA busy_timeout=30000")

        @event.listens_for(engine, "begin")
        def begin(connection: Connection) -> None:
            connection.exec_driver_sql("BEGIN IMMEDIATE")

    return engine


def _copy_database(engine: Engine, path: Path, revision: str) -> None:
    """Copy the database before its migration, named after its revision; replaces an earlier copy."""
    copy = path.with_name(f"{path.name}.before-{revision}")
    copy.unlink(missing_ok=True)
    copy.touch(mode=0o600)  # as private as the database; SQLite accepts an empty file
    raw = engine.raw_connection()
    try:
        raw.cursor().execute("VACUUM INTO ?", (str(copy),))
    finally:
        raw.close()


def _run_revisions(connection: Connection, revision: str) -> None:
    """Run all revisions in one transaction, and check foreign keys before it commits."""
    config = alembic_config()
    config.attributes["connection"] = connection
    with connection.begin():
        if connection.dialect.name == "postgresql":
            # An ALTER TABLE that waits for its lock blocks all later queries: give up instead of blocking a service.
            connection.execute(text("SET LOCAL lock_timeout = '60s'"))
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": MIGRATION_LOCK_KEY})
        command.upgrade(config, revision)
        if connection.dialect.name == "sqlite":
            broken = connection.exec_driver_sql("PRAGMA foreign_key_check").fetchall()
            if broken:
                msg = f"the migration would leave {len(broken)} rows without their parents"
                raise RuntimeError(msg)
