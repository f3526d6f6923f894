"""Keyset pagination: newest first unless asked otherwise; the cursor is the id of the last row returned."""

import re
from typing import TypeVar

from sqlalchemy import Select

from app.errors import BadCursor
from app.store.session import ReadSession
from app.store.tables import Base

Row = TypeVar("Row", bound=Base)

CURSOR_PATTERN = re.compile(r"[0-9a-f]{32}")


def page(
    session: ReadSession,
    query: Select[Row],
    table: type[Row],
    *,
    limit: int,
    cursor: str | None,
    oldest_first: bool = False,
) -> tuple[list[Row], str | None]:
    """Up to `limit` rows after the cursor, and the next cursor, None at the end; raises errors.BadCursor."""
    column = table.__table__.c.id
    if cursor is not None:
        if not CURSOR_PATTERN.fullmatch(cursor):
            raise BadCursor
        query = query.where(column > cursor if oldest_first else column < cursor)
    order = column.asc() if oldest_first else column.desc()
    rows = list(session.scalars(query.order_by(order).limit(limit + 1)))
    if len(rows) <= limit:
        return rows, None
    last = rows[limit - 1]
    return rows[:limit], str(last.id)  # type: ignore[attr-defined]
