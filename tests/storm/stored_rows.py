"""What a service has stored and shows, read as plain rows: the evidence on which a storm is judged."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import select, text

from app.settings import Settings
from app.store.session import Database, ReadSession
from app.store.tables import Base, GoldVersion, IdempotencyKey, QuotaEntry, Recipe, Score, ScoreTask, Submission

Row = dict[str, Any]
UNFINISHED = {"queued", "running"}


@dataclass(slots=True)
class StoredRows:
    """The rows of one challenge's service, each a dictionary of its columns, and where its files are."""

    submissions: list[Row]
    keys: list[Row]
    tasks: list[Row]
    scores: list[Row]
    ledger: list[Row]
    jobs: int
    """Of the queue engine, on PostgreSQL."""
    gold: Row
    recipe: Row
    files: Path


@contextmanager
def open_database(settings: Settings) -> Iterator[Database]:
    """The database beside the service."""
    opened = Database(settings)
    try:
        yield opened
    finally:
        opened.close()


def read_rows(settings: Settings) -> StoredRows:
    """All of it, in one snapshot."""
    with open_database(settings) as db, db.read() as session:
        return StoredRows(
            submissions=_rows(session, Submission),
            keys=_rows(session, IdempotencyKey),
            tasks=_rows(session, ScoreTask),
            scores=_rows(session, Score),
            ledger=_rows(session, QuotaEntry),
            jobs=_jobs(session, db),
            gold=_rows(session, GoldVersion)[0],
            recipe=_rows(session, Recipe)[0],
            files=settings.files_dir,
        )


def count_unfinished(db: Database) -> int:
    """How many submissions, tasks and jobs are not yet done with."""
    with db.read() as session:
        found = [session.scalars(select(table.status)).all() for table in (Submission, ScoreTask)]
        return sum(status in UNFINISHED for listed in found for status in listed) + _jobs(session, db)


def database_version(db: Database) -> str:
    """The version of the database's engine."""
    with db.read() as session:
        query = "SELECT sqlite_version()" if db.sqlite else "SHOW server_version"
        return str(session.execute(text(query)).scalar_one())


def _rows(session: ReadSession, table: type[Base]) -> list[Row]:
    return [dict(row) for row in session.execute(select(*table.__table__.columns)).mappings()]


def _jobs(session: ReadSession, db: Database) -> int:
    return 0 if db.sqlite else int(session.execute(text("SELECT count(*) FROM procrastinate_jobs")).scalar_one())
