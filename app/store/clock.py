"""Two clocks: calendar time for windows and quota days, steady time for leases and delays.

On PostgreSQL both are the database's. A statement that runs anyway can bring the time along: it selects
`DatabaseTime()`, and `reading` turns the value into both times.
"""

import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import text
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from app.store.session import ReadSession
from app.store.types import UTCDateTime, utcnow

_DATABASE_CLOCK = text("SELECT clock_timestamp()")
_PROCESS_START = (utcnow(), time.monotonic())


@dataclass(frozen=True, slots=True)
class ClockReading:
    """One reading of both clocks."""

    now: datetime
    steady: datetime


class DatabaseTime(FunctionElement[datetime]):
    """The database's clock at the moment when the column is computed; NULL on SQLite, which has the machine's clock.

    clock_timestamp(), not now(): now() is the start of the transaction, before any wait for a lock.
    """

    type = UTCDateTime()
    inherit_cache = True


@compiles(DatabaseTime)
def _postgresql_time(*_: Any, **__: Any) -> str:
    return "clock_timestamp()"


@compiles(DatabaseTime, "sqlite")
def _no_time(*_: Any, **__: Any) -> str:
    return "NULL"


def read(session: ReadSession) -> ClockReading:
    """Both times from one reading, for a transaction that uses both."""
    return reading(session, _database_time(session))


def reading(session: ReadSession, moment: datetime | None) -> ClockReading:
    """Both times, from the value of a `DatabaseTime` that a statement has just returned."""
    return ClockReading(_calendar_time(session, moment or utcnow()), moment or _monotonic_time())


def now(session: ReadSession) -> datetime:
    """The current time from the database's clock, so that all hosts agree; on SQLite, from this machine's clock."""
    return _calendar_time(session, _database_time(session) or utcnow())


def steady(session: ReadSession) -> datetime:
    """The time to measure leases and delays by; it advances evenly even if this machine's clock is set.

    On PostgreSQL it is the database's clock, which all hosts share. On SQLite it is counted from the start of this
    process: wall clock at the start plus monotonic time since.
    """
    return _database_time(session) or _monotonic_time()


def _monotonic_time() -> datetime:
    started_at, counter = _PROCESS_START
    return started_at + timedelta(seconds=time.monotonic() - counter)


def _calendar_time(session: ReadSession, moment: datetime) -> datetime:
    shift = session.info.get("now")  # set only by tests of the calendar
    return moment if shift is None else shift(moment)


def _database_time(session: ReadSession) -> datetime | None:
    if session.get_bind().dialect.name == "sqlite":
        return None
    moment: datetime = session.connection().execute(_DATABASE_CLOCK).scalar_one()
    return moment.astimezone(UTC)
