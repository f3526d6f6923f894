"""What a service has stored and shows, read as plain rows: the evidence on which a storm is judged."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sqlalchemy import select, text

from app.settings import Settings
from app.store.session import Database, ReadSession
from app.store.tables import Base, GoldVersion, IdempotencyKey, QuotaEntry, Recipe, Score, ScoreTask, Submission
from app.task_priorities import RESCORING_PRIORITY

Row = dict[str, Any]
UNFINISHED = {"queued", "running"}


@dataclass(slots=True)
class StoredRows:
    """The rows of one challenge's service, each a dictionary of its columns, and where its files are."""

    submissions: list[Row]
    keys: list[Row]
    tasks: list[Row]
    """First scorings: those of a correction follow from the scores."""
    scores: list[Row]
    """By the active gold."""
    ledger: list[Row]
    jobs: int
    """Of the queue engine, on PostgreSQL."""
    gold: Row
    """The active version."""
    recipe: Row
    files: Path
    former_gold: Row | None = None
    """The version that a correction replaced."""
    former_scores: list[Row] = field(default_factory=list)


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
        golds, scores = _rows(session, GoldVersion), _rows(session, Score)
        (gold,) = [row for row in golds if row["status"] == "active"]
        return StoredRows(
            submissions=_rows(session, Submission),
            keys=_rows(session, IdempotencyKey),
            tasks=[row for row in _rows(session, ScoreTask) if row["priority"] < RESCORING_PRIORITY],
            scores=[row for row in scores if row["gold_id"] == gold["id"]],
            ledger=_rows(session, QuotaEntry),
            jobs=_jobs(session, db),
            gold=gold,
            recipe=_rows(session, Recipe)[0],
            files=settings.files_dir,
            former_gold=next((row for row in golds if row["status"] == "retired"), None),
            former_scores=[row for row in scores if row["gold_id"] != gold["id"]],
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
