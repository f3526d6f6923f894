"""Two clocks: calendar time for windows and quota days, steady time for leases and delays."""

import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy import text

from app.store.session import ReadSession
from app.store.types import utcnow

_DATABASE_CLOCK = text("SELECT clock_timestamp()")
_PROCESS_START = (utcnow(), time.monotonic())


@dataclass(frozen=True, slots=True)
class ClockReading:
    """One reading of both clocks."""

    now: datetime
    steady: datetime


def read(session: ReadSession) -> ClockReading:
    """Both times from one reading, for a transaction that uses both."""
    moment = _database_time(session)
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
    """clock_timestamp(), not now(): now() is the start of the transaction, before any wait for a lock."""
    if session.get_bind().dialect.name == "sqlite":
        return None
    moment: datetime = session.connection().execute(_DATABASE_CLOCK).scalar_one()
    return moment.astimezone(UTC)
