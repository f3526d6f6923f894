"""A small installation with a row in every table and the files they name, its commands, and a look at all of it."""

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, text, true, update
from sqlalchemy.engine import make_url

from app.files import PREPARED_GOLD, FileStore, new_key
from app.runtime.data_folder import open_file_store
from app.settings import Settings
from app.store import database_copy, migrate
from app.store.session import Database
from app.store.tables import (
    AuditEntry,
    Base,
    ChallengeFile,
    GoldVersion,
    LogOrigin,
    LogRecord,
    PreparedGold,
    Submission,
)
from tests.cli.run_command import CommandResult, run_assay
from tests.migrated_databases import create_migrated_sqlite, migrate_by_copy
from tests.store.sample_rows import fill_tables

CONTENTS = {
    Submission: b'{"t1": "cat", "t2": "dog"}',
    GoldVersion: b'[{"id": "t1", "label": "cat"}]',
    ChallengeFile: b"id,label\nt9,cat\n",
}
ADMIN_TOKEN = "the token of the administrator, long enough"
UPGRADE = migrate.upgrade  # before a test replaces it
PASSED_SETTINGS = ("database_url", "files_shared", "files_url", "s3_endpoint", "s3_access_key")


def upgrade_by_copy(settings: Settings, revision: str = "head") -> tuple[str | None, str | None]:
    """As `migrate.upgrade`; an empty SQLite database becomes a copy of a migrated one."""
    path = Path(make_url(settings.database).database or "")
    if not settings.database.startswith("sqlite") or (path.exists() and path.stat().st_size):
        return UPGRADE(settings, revision)
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.touch(mode=0o600)
    template = path.with_name("template.sqlite3")
    create_migrated_sqlite(template)
    with closing(sqlite3.connect(template)) as migrated, closing(sqlite3.connect(path)) as empty:
        migrated.backup(empty)
    template.unlink()
    return None, migrate.head_revision()


@contextmanager
def open_database(settings: Settings) -> Iterator[Database]:
    """The database of an installation."""
    db = Database(settings)
    try:
        yield db
    finally:
        db.close()


def fill_installation(settings: Settings) -> Settings:
    """Fill an empty database, except for what is never backed up, and the files beside it."""
    migrate_by_copy(settings)
    files = file_store_of(settings)
    with open_database(settings) as db, db.write() as session:
        fill_tables(session)
        session.flush()
        for name in database_copy.TRANSIENT_TABLES:
            session.execute(text(f"DELETE FROM {name}"))
        for owner, content in CONTENTS.items():
            coming = files.begin()
            coming.write(content)
            stored = coming.finish()
            session.execute(update(owner).values(file_key=stored.key, sha256=stored.sha256, size=stored.size))
    (settings.data_dir / "admin-token").write_text(f"{ADMIN_TOKEN}\n")
    return settings


def all_rows(settings: Settings) -> dict[str, list[Any]]:
    """All rows of all tables, without what restores add to the audit trail, and that they end the transparency log."""
    restores = select(AuditEntry.id).where(AuditEntry.action == "service.restore")
    kept = {
        AuditEntry.__tablename__: AuditEntry.action != "service.restore",
        LogRecord.__tablename__: LogRecord.object_id.is_(None) | LogRecord.object_id.not_in(restores),
    }
    ended = LogOrigin.__table__.c.ended_at
    with open_database(settings) as db, db.read() as session:
        rows_by_table = {
            table.name: session.execute(
                select(*(each for each in table.c if each is not ended)).where(kept.get(table.name, true()))
            ).all()
            for table in Base.metadata.sorted_tables
        }
    return {name: sorted(map(tuple, rows), key=repr) for name, rows in rows_by_table.items()}


def file_key_of(settings: Settings, owner: type[Submission | GoldVersion]) -> str:
    """The key of its file."""
    with open_database(settings) as db, db.read() as session:
        return str(session.scalar(select(owner.file_key)))


def file_store_of(settings: Settings) -> FileStore:
    """Its store of files."""
    return open_file_store(settings, settings.data_dir / "of-the-test")


def prepare_gold(settings: Settings) -> bytes:
    """Prepare its gold; returns the bytes of the file."""
    content = b"gold that is ready to score with"
    path = settings.data_dir / "made"
    path.write_bytes(content)
    files, key = file_store_of(settings), new_key(PREPARED_GOLD)
    files.put(key, path, len(content))
    path.unlink()
    with open_database(settings) as db, db.write() as session:
        gold_id = session.scalars(select(GoldVersion.id)).one()
        row = {"program": "1", "name": "0" * 64, "file_key": key, "sha256": "0" * 64, "size": len(content)}
        session.add(PreparedGold(gold_id=gold_id, **row))
    return content


def stored(settings: Settings) -> dict[str, bytes]:
    """The files of an installation by their keys."""
    files, contents = file_store_of(settings), {}
    for key in files.keys(older=-60):
        with files.local_path(key) as path:
            contents[key] = path.read_bytes()
    return contents


def make_old(path: Path) -> None:
    """As if it had been stored two days ago."""
    moment = time.time() - 2 * 24 * 3600
    os.utime(path, (moment, moment))


@contextmanager
def command_environment(settings: Settings) -> Iterator[None]:
    """The environment of commands on an installation."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("ASSAY_MIN_FREE", "0")
        for name in PASSED_SETTINGS:
            environment.setenv(f"ASSAY_{name.upper()}", str(getattr(settings, name)))
        if settings.s3_secret_key is not None:
            environment.setenv("ASSAY_S3_SECRET_KEY", settings.s3_secret_key.get_secret_value())
        yield


def run_on_installation(settings: Settings, *words: object) -> CommandResult:
    with command_environment(settings):
        return run_assay(*words, "--data-dir", settings.data_dir, "--json")


def backup(settings: Settings, folder: Path, *more: object) -> CommandResult:
    return run_on_installation(settings, "backup", folder, *more)


def restore(settings: Settings, folder: Path, *more: object) -> CommandResult:
    return run_on_installation(settings, "restore", folder, *more)


def require_refused(ran: CommandResult, code: str, detail: str) -> None:
    value = ran.value()
    assert (ran.status, value["code"]) == (1, code), value
    assert detail in value["detail"]
    assert value["remedy"]
