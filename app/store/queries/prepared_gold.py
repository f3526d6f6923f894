"""Queries for the rows of prepared gold, which name its files and their checksums."""

from datetime import datetime
from typing import Any

from sqlalchemy import Insert, delete, select
from sqlalchemy.dialects.postgresql import insert as postgresql_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert

from app.store.session import ReadSession, WriteSession
from app.store.tables import PreparedGold

INSERTS: dict[str, Any] = {"sqlite": sqlite_insert, "postgresql": postgresql_insert}


def find(session: ReadSession, gold_id: str, program: str, name: str) -> PreparedGold | None:
    """The prepared gold of a version whose content has this name."""
    row = session.get(PreparedGold, (gold_id, program))
    return row if row is not None and row.name == name else None


def add(session: WriteSession, row: dict[str, Any]) -> str:
    """Add a row, or replace one for other content of the same draft; returns the key of the file that the row names.

    The first row for the same content stays, so two processes that prepare the same gold agree on one file.
    """
    table = PreparedGold.__table__
    insert = INSERTS[session.get_bind().dialect.name](table).values(**row)
    upsert: Insert = insert.on_conflict_do_update(
        index_elements=["gold_id", "program"], set_=row, where=table.c.name != row["name"]
    )
    session.execute(upsert)
    key = (PreparedGold.gold_id == row["gold_id"], PreparedGold.program == row["program"])
    return session.scalars(select(PreparedGold.file_key).where(*key)).one()


def remove(session: WriteSession, gold_id: str, program: str, file_key: str) -> None:
    """Remove the row of this file; a row that names another file meanwhile stays."""
    own = (PreparedGold.gold_id == gold_id, PreparedGold.program == program, PreparedGold.file_key == file_key)
    session.execute(delete(PreparedGold).where(*own))


def has_outdated(session: ReadSession, program: str, before: datetime) -> bool:
    """Whether other program versions have stored prepared gold before this time."""
    query = select(PreparedGold.gold_id).where(PreparedGold.program != program, PreparedGold.created_at < before)
    return session.scalars(query.limit(1)).first() is not None


def remove_outdated(session: WriteSession, program: str, before: datetime) -> None:
    """Remove what other program versions have stored before this time."""
    session.execute(delete(PreparedGold).where(PreparedGold.program != program, PreparedGold.created_at < before))
