"""What time it is: by the calendar for windows and quota days, and steadily for leases and waits."""

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
    """One look at the clock: the moment by the calendar, and the steady one."""

    now: datetime
    steady: datetime


def read(session: ReadSession) -> ClockReading:
    """Both moments by one look, for a transaction that goes by both."""
    moment = _database_time(session)
    return ClockReading(_calendar_time(session, moment or utcnow()), moment or _monotonic_time())


def now(session: ReadSession) -> datetime:
    """The present moment, by the database's clock, so that all hosts agree; SQLite has none but that of its machine."""
    return _calendar_time(session, _database_time(session) or utcnow())


def steady(session: ReadSession) -> datetime:
    """A moment to measure leases and waits by: it passes evenly even while somebody sets this machine's clock.

    On PostgreSQL it is the database's; on SQLite it is counted from the start of this process.
    """
    return _database_time(session) or _monotonic_time()


def _monotonic_time() -> datetime:
    began, counter = _PROCESS_START
    return began + timedelta(seconds=time.monotonic() - counter)


def _calendar_time(session: ReadSession, moment: datetime) -> datetime:
    shifted = session.info.get("now")
    return moment if shifted is None else shifted(moment)


def _database_time(session: ReadSession) -> datetime | None:
    if session.get_bind().dialect.name == "sqlite":
        return None
    moment: datetime = session.connection().execute(_DATABASE_CLOCK).scalar_one()
    return moment.astimezone(UTC)
