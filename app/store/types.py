"""Column types that behave the same on SQLite and PostgreSQL, and row ids."""

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
    """An id for a row that is ordered by its id: like `new_id`, but with this moment as its time, to the microsecond.

    The moment comes from the database, so hosts with different clocks order rows consistently (RFC 9562, section 6.2,
    method 3).
    """
    milliseconds, microseconds = divmod((moment - EPOCH) // timedelta(microseconds=1), 1000)
    # 48 bits of milliseconds, version 7, 12 bits of sub-millisecond fraction, variant 2, 62 random bits.
    number = milliseconds << 80 | 7 << 76 | (microseconds * 4096 // 1000) << 64 | 2 << 62 | secrets.randbits(62)
    return f"{number:032x}"


def utcnow() -> datetime:
    """The current time of this machine, in UTC."""
    return datetime.now(UTC)


def format_timestamp(moment: datetime) -> str:
    """RFC 3339 in UTC, with the suffix Z."""
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


class UTCDateTime(TypeDecorator[datetime]):
    """A time in UTC: SQLite drops the time zone, so reading restores it and writing requires it."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> Any:  # noqa: ARG002
        """Convert to UTC for the database; raises ValueError for a time without a zone."""
        if value is None:
            return None
        if value.tzinfo is None:
            msg = "a datetime needs a time zone"
            raise ValueError(msg)
        return value.astimezone(UTC)

    def process_result_value(self, value: Any, dialect: Dialect) -> datetime | None:  # noqa: ARG002
        """Convert from the database, with the time zone UTC."""
        if value is None:
            return None
        stored: datetime = value
        return stored.replace(tzinfo=UTC) if stored.tzinfo is None else stored.astimezone(UTC)
