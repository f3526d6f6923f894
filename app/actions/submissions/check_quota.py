"""Check whether the quota of a team allows one more submission, and advise what to do if it does not."""

from collections.abc import Mapping
from datetime import datetime, time, timedelta
from zoneinfo import ZoneInfo

from app.errors import QuotaExceeded
from app.store.queries import quota
from app.store.types import format_timestamp

QUOTA_REMEDIES = {
    "per_day": "Wait until the time in 'reset_at', when the challenge's next day begins.",
    "total": "The total of this phase is used up, and waiting does not help; only its organizers can raise it.",
    "concurrent": "Wait until one of the team's submissions has ended.",
    "invalid_per_day": "Check files with ?dry_run=true, which is free; files whose scoring exceeded a limit, and those "
    "that the team cancelled, count too. The next day begins at the time in 'reset_at'.",
}


def quota_day(timezone: str, now: datetime) -> tuple[str, datetime]:
    """The current day in the time zone of the challenge, and when the next day begins."""
    zone = ZoneInfo(timezone)
    today = now.astimezone(zone).date()
    return today.isoformat(), datetime.combine(today + timedelta(days=1), time.min, tzinfo=zone)


def require_quota(limits: Mapping[str, int], used: quota.QuotaUsage, *, reset_at: datetime, now: datetime) -> None:
    """Raise QuotaExceeded, with the limit and when it resets, unless one more submission is within all limits."""
    counts: Mapping[str, int] = {
        "total": used.total,  # first: once it is used up, waiting for the next day does not help
        "per_day": used.per_day,
        "concurrent": used.concurrent,
        # any submission in progress may turn out invalid; counting them keeps quick successions within the limit
        "invalid_per_day": used.invalid_per_day + used.concurrent,
    }
    for name, count in counts.items():
        limit = limits.get(name)
        if limit is None or count < limit:
            continue
        # submissions that are still being checked may be refunded, or turn out valid
        undecided = name in {"total", "invalid_per_day"} and count - used.concurrent < limit
        at_work = name == "concurrent" or undecided
        daily = name in {"per_day", "invalid_per_day"} and not at_work
        wait = max(1, round((reset_at - now).total_seconds())) if daily else 5
        raise QuotaExceeded(
            f"The team has used {count} of {limit} ({name}"
            + (f", {used.concurrent} of them still being checked)." if at_work else ")."),
            remedy=QUOTA_REMEDIES["concurrent" if at_work else name],
            headers={"Retry-After": str(wait)} if daily or at_work else {},  # a total never resets
            quota=name,
            limit=limit,
            used=count,
            reset_at=format_timestamp(reset_at) if daily else None,
        )
