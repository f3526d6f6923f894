"""The moment by the database's clock, so that all hosts agree on windows and quota days."""

from datetime import UTC, datetime

from sqlalchemy import text

from app.store.session import ReadSession
from app.store.types import utcnow


def now(session: ReadSession) -> datetime:
    """The present moment; SQLite lives on this machine and has no clock of its own."""
    if session.get_bind().dialect.name == "sqlite":
        return utcnow()
    moment: datetime = session.execute(text("SELECT clock_timestamp()")).scalar_one()
    return moment.astimezone(UTC)
