"""Count what became of the submissions of a challenge, day by day, and why files were rejected or failed."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from app.actions.access import Caller, load_organized_challenge, load_organized_phase
from app.store import clock
from app.store.queries import challenges, failure_causes
from app.store.session import ReadSession

DEFAULT_DAYS = 30
MAX_DAYS = 90


@dataclass(slots=True)
class DayOfSubmissions:
    """One day in UTC: how many submissions came in by status, and in how many of them each cause was found."""

    day: str
    statuses: dict[str, int] = field(default_factory=dict)
    rejected: dict[str, int] = field(default_factory=dict)
    """By the code of a problem in the file; a file with several codes counts for each."""
    failed: dict[str, int] = field(default_factory=dict)
    """By the code of the failure."""


def count_failures(
    session: ReadSession, caller: Caller, slug: str, *, phase: str | None, days: int
) -> list[DayOfSubmissions]:
    """The last days with submissions, newest first, for organizers of any role; tests by organizers do not count.

    Raises NotFound and Forbidden.
    """
    if phase is None:
        challenge = load_organized_challenge(session, caller, slug, writes=False)
        phase_ids = [each.id for each in challenges.phases_of(session, challenge.id)]
    else:
        phase_ids = [load_organized_phase(session, caller, slug, phase, writes=False).id]
    since = _first_day(clock.now(session), days)
    by_day: dict[str, DayOfSubmissions] = {}
    for row in failure_causes.by_status(session, phase_ids, since):
        by_day.setdefault(row.day, DayOfSubmissions(row.day)).statuses[row.status] = row.submissions
    for cause in failure_causes.by_cause(session, phase_ids, since):
        day = by_day.setdefault(cause.day, DayOfSubmissions(cause.day))
        causes = day.rejected if cause.status == "rejected" else day.failed
        causes[cause.code] = cause.submissions
    return [by_day[day] for day in sorted(by_day, reverse=True)]


def _first_day(now: datetime, days: int) -> datetime:
    """The beginning of the first of so many days, of which today is the last."""
    today = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return today - timedelta(days=days - 1)
