"""Brings the database to the newest schema, with a copy of the old one kept beside it."""

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

MIGRATION_LOCK_KEY = 0x41535341  # one migration at a time on PostgreSQL


class SchemaBehind(Unavailable):
    """The database schema is not the one that this version needs."""

    code = "schema_behind"
    remedy = "Run 'assay migrate'."


class SchemaAhead(Unavailable):
    """The database was made by a newer version of Assay."""

    code = "schema_ahead"
    remedy = "Run that version, or restore the copy of the database that it kept before its migration."


def include_name(name: str | None, kind: str, _parents: object = None) -> bool:
    """Whether a table is one that these revisions describe; the queue engine's own come with it."""
    return kind != "table" or not (name or "").startswith("procrastinate_")


def alembic_config() -> Config:
    """Alembic's configuration; the revisions travel with the package."""
    made = Config()
    made.set_main_option("script_location", str(package_data_folder("migrations")).replace("%", "%%"))
    return made


def head_revision() -> str | None:
    """The newest revision."""
    return ScriptDirectory.from_config(alembic_config()).get_current_head()


def current_revision(database: Engine | Connection) -> str | None:
    """The revision that the database is at; None when it is empty."""
    if isinstance(database, Engine):
        with translate_database_errors(), database.connect() as connection:
            return current_revision(connection)
    return MigrationContext.configure(database).get_current_revision()


def require_head(database: Engine | Connection) -> None:
    """Raise SchemaBehind unless the database is at the newest revision."""
    revision = current_revision(database)
    _require_known_revision(revision)
    if revision != head_revision():
        raise SchemaBehind


def upgrade(settings: Settings, revision: str = "head") -> tuple[str | None, str | None]:
    """Bring the database to a revision; returns the revision before and after.

    Raises SchemaAhead, DatabaseAway.
    """
    url = make_url(settings.database)
    if url.get_backend_name() == "sqlite" and url.database:
        Path(url.database).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        Path(url.database).touch(mode=0o600)  # gold and hashes are for this account only, whatever the umask
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
    """All that this version knows."""
    return {script.revision for script in ScriptDirectory.from_config(alembic_config()).walk_revisions()}


def _require_known_revision(revision: str | None) -> None:
    if revision is not None and revision not in known_revisions():
        raise SchemaAhead


def _engine(url: str) -> Engine:
    """An engine of its own: batch migrations rebuild tables, which foreign keys would turn into deletions."""
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
    """A copy of the database as it was, named after its revision; replaced when made again."""
    copy = path.with_name(f"{path.name}.before-{revision}")
    copy.unlink(missing_ok=True)
    copy.touch(mode=0o600)  # it holds what the database holds; SQLite writes into an empty file
    raw = engine.raw_connection()
    try:
        raw.cursor().execute("VACUUM INTO ?", (str(copy),))
    finally:
        raw.close()


def _run_revisions(connection: Connection, revision: str) -> None:
    """All revisions in one transaction, checked before it commits."""
    made = alembic_config()
    made.attributes["connection"] = connection
    with connection.begin():
        if connection.dialect.name == "postgresql":
            # A change of a table that waits stops all who come after it: better to give up than to stop a service.
            connection.execute(text("SET LOCAL lock_timeout = '60s'"))
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": MIGRATION_LOCK_KEY})
        command.upgrade(made, revision)
        if connection.dialect.name == "sqlite":
            broken = connection.exec_driver_sql("PRAGMA foreign_key_check").fetchall()
            if broken:
                msg = f"the migration would leave {len(broken)} rows without their parents"
                raise RuntimeError(msg)
