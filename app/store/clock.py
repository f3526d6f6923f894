"""What time it is: by the calendar for windows and quota days, and steadily for leases and waits."""

import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy import text

from app.store.session import ReadSession
from app.store.types import utcnow

_CLOCK = text("SELECT clock_timestamp()")
_BEGAN = (utcnow(), time.monotonic())


@dataclass(frozen=True, slots=True)
class Reading:
    """One look at the clock: the moment by the calendar, and the steady one."""

    now: datetime
    steady: datetime


def read(session: ReadSession) -> Reading:
    """Both moments by one look, for a transaction that goes by both."""
    moment = _database_time(session)
    return Reading(_calendar(session, moment or utcnow()), moment or _counted())


def now(session: ReadSession) -> datetime:
    """The present moment, by the database's clock, so that all hosts agree; SQLite has none but that of its machine."""
    return _calendar(session, _database_time(session) or utcnow())


def steady(session: ReadSession) -> datetime:
    """A moment to measure leases and waits by: it passes evenly even while somebody sets this machine's clock.

    On PostgreSQL it is the database's; on SQLite it is counted from the start of this process.
    """
    return _database_time(session) or _counted()


def _counted() -> datetime:
    began, counter = _BEGAN
    return began + timedelta(seconds=time.monotonic() - counter)


def _calendar(session: ReadSession, moment: datetime) -> datetime:
    shifted = session.info.get("now")
    return moment if shifted is None else shifted(moment)


def _database_time(session: ReadSession) -> datetime | None:
    if session.get_bind().dialect.name == "sqlite":
        return None
    moment: datetime = session.connection().execute(_CLOCK).scalar_one()
    return moment.astimezone(UTC)
