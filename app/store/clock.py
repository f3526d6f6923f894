"""What time it is: by the calendar for windows and quota days, and steadily for leases and waits."""

import time
from datetime import UTC, datetime, timedelta

from sqlalchemy import text

from app.store.session import ReadSession
from app.store.types import utcnow

_BEGAN = (utcnow(), time.monotonic())


def now(session: ReadSession) -> datetime:
    """The present moment, by the database's clock, so that all hosts agree; SQLite has none but that of its machine."""
    shifted = session.info.get("now")
    moment = _database_time(session) or utcnow()
    return shifted(moment) if shifted is not None else moment


def steady(session: ReadSession) -> datetime:
    """A moment to measure leases and waits by: it passes evenly even while somebody sets this machine's clock.

    On PostgreSQL it is the database's; on SQLite it is counted from the start of this process.
    """
    began, counter = _BEGAN
    return _database_time(session) or began + timedelta(seconds=time.monotonic() - counter)


def _database_time(session: ReadSession) -> datetime | None:
    if session.get_bind().dialect.name == "sqlite":
        return None
    moment: datetime = session.execute(text("SELECT clock_timestamp()")).scalar_one()
    return moment.astimezone(UTC)
