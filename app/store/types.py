"""Column types that mean the same on SQLite and PostgreSQL, and the ids of rows."""

import secrets
from datetime import UTC, datetime, timedelta
from typing import Any

import uuid_utils
from sqlalchemy import DateTime, Dialect
from sqlalchemy.types import TypeDecorator

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def new_id() -> str:
    """A sortable, unguessable id (UUIDv7, 32 hexadecimal digits)."""
    return uuid_utils.uuid7().hex


def id_at(moment: datetime) -> str:
    """The same for a row whose place among others is told by its id: it goes by this moment, to the microsecond.

    So hosts whose clocks differ do not order rows differently (RFC 9562, section 6.2, method 3).
    """
    milliseconds, left = divmod((moment - EPOCH) // timedelta(microseconds=1), 1000)
    number = milliseconds << 80 | 7 << 76 | (left * 4096 // 1000) << 64 | 2 << 62 | secrets.randbits(62)
    return f"{number:032x}"


def utcnow() -> datetime:
    """The present moment, with its zone."""
    return datetime.now(UTC)


def format_timestamp(moment: datetime) -> str:
    """RFC 3339 in UTC, as everybody reads it."""
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


class UTCDateTime(TypeDecorator[datetime]):
    """A moment in UTC: SQLite drops the zone, so it is put back on reading and demanded on writing."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> Any:  # noqa: ARG002
        """To the database, in UTC."""
        if value is None:
            return None
        if value.tzinfo is None:
            msg = "a moment needs a time zone"
            raise ValueError(msg)
        return value.astimezone(UTC)

    def process_result_value(self, value: Any, dialect: Dialect) -> datetime | None:  # noqa: ARG002
        """From the database, in UTC."""
        if value is None:
            return None
        moment: datetime = value
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
