"""The quota of a team: what remains, and a refusal that says which limit holds and for how long."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

from app.actions.challenges.resolve_times import times_of_error
from app.errors import QuotaExceeded
from app.store.queries import quota
from app.store.queries.quota import QuotaUsage
from app.store.session import ReadSession

LIMIT_NAMES = ("total", "per_day", "invalid_per_day", "concurrent")
SOON_SECONDS = 5  # when to ask again for a limit that holds until a submission in progress ends
QUOTA_REMEDIES = {
    "per_day": "Wait until the time in 'reset_at', when the challenge's next day begins.",
    "total": "The total of this phase is used up, and waiting does not help; only its organizers can raise it.",
    "concurrent": "Wait until one of the team's submissions has ended.",
    "invalid_per_day": "Check files with ?dry_run=true, which is free; files whose scoring exceeded a limit, and those "
    "that the team cancelled, count too. The next day begins at the time in 'reset_at'.",
}
_COUNTED = {
    "per_day": "submissions per day",
    "total": "submissions in total",
    "concurrent": "submissions queued or running at once",
    "invalid_per_day": "invalid files per day",
}
NOTHING_GRANTED = "The organizers have left this team no submissions, and waiting does not help; ask them."


class _Refusal(NamedTuple):
    """A limit that is used up: the seconds until it may allow more, infinite if it never will; sorted by them."""

    seconds: float
    name: str
    at_work: bool
    """It holds only as long as submissions in progress are neither refunded nor found valid."""


@dataclass(frozen=True, slots=True)
class QuotaBalance:
    """Limits with the grants of a team, and what it has used; None where there is no limit."""

    limits: dict[str, int | None]
    usage: QuotaUsage
    reset_at: datetime
    """When the next day begins, in the time zone of the challenge."""

    @property
    def timezone(self) -> str:
        """The time zone of the challenge."""
        return str(self.reset_at.tzinfo)

    @property
    def used(self) -> dict[str, int]:
        """The usage by the name of the limit."""
        return {name: getattr(self.usage, name) for name in LIMIT_NAMES}

    @property
    def counted(self) -> dict[str, int]:
        """What admission counts: any submission in progress may turn out invalid.

        Counting them keeps quick successions within the limit.
        """
        return self.used | {"invalid_per_day": self.usage.invalid_per_day + self.usage.concurrent}

    @property
    def remaining(self) -> dict[str, int | None]:
        """What the team may still submit."""
        counted = self.counted
        return {name: None if limit is None else max(0, limit - counted[name]) for name, limit in self.limits.items()}

    def after_one_more(self) -> "QuotaBalance":
        """The balance once another submission is reserved."""
        usage = self.usage
        more = QuotaUsage(usage.per_day + 1, usage.total + 1, usage.concurrent + 1, usage.invalid_per_day)
        return QuotaBalance(self.limits, more, self.reset_at)

    def headers(self, now: datetime) -> dict[str, str]:
        """The fields `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers) of each limit."""
        day, left = {"per_day", "invalid_per_day"}, self.remaining
        seconds = max(0, round((self.reset_at - now).total_seconds()))
        limits = {name: limit for name, limit in self.limits.items() if limit is not None}
        policies = [f'"{name}";q={limit}' + (";w=86400" if name in day else "") for name, limit in limits.items()]
        states = [f'"{name}";r={left[name]}' + (f";t={seconds}" if name in day else "") for name in limits]
        return {"RateLimit-Policy": ", ".join(policies), "RateLimit": ", ".join(states)} if limits else {}

    def require_one_more(self, now: datetime) -> None:
        """Raise QuotaExceeded unless one more submission is within all limits.

        It names the limit that holds longest, so that nobody waits for one and is then refused by another.
        """
        refusals = [self._refusal(name, now) for name, left in self.remaining.items() if left == 0]
        if refusals:
            longest = max(refusals, key=lambda each: (each.seconds, -LIMIT_NAMES.index(each.name)))
            raise self._exceeded(longest, self.headers(now))

    def _refusal(self, name: str, now: datetime) -> _Refusal:
        limit, count = self.limits[name], self.counted[name]
        assert limit is not None
        # Submissions that are still being checked may be refunded, or turn out valid.
        undecided = name in {"total", "invalid_per_day"} and count - self.usage.concurrent < limit
        if name == "concurrent" or undecided:
            return _Refusal(SOON_SECONDS, name, at_work=True)
        if name == "total" or limit == 0:
            return _Refusal(float("inf"), name, at_work=False)
        return _Refusal(max(1, round((self.reset_at - now).total_seconds())), name, at_work=False)

    def _exceeded(self, refusal: _Refusal, headers: Mapping[str, str]) -> QuotaExceeded:
        name, at_work, waits = refusal.name, refusal.at_work, refusal.seconds != float("inf")
        limit, count = self.limits[name], self.counted[name]
        remedy = QUOTA_REMEDIES["concurrent" if at_work else name] if limit else NOTHING_GRANTED
        return QuotaExceeded(
            f"The team has used {count} of {limit} {_COUNTED[name]}"
            + (f", {self.usage.concurrent} of them still being checked." if at_work else "."),
            remedy=remedy,
            headers={**headers, **({"Retry-After": str(refusal.seconds)} if waits else {})},
            quota=name,
            limit=limit,
            used=count,
            **(times_of_error(self.timezone, reset_at=self.reset_at) if waits and not at_work else {"reset_at": None}),
        )


def quota_day(timezone: str, now: datetime) -> tuple[str, datetime]:
    """The current day in the time zone of the challenge, and when the next day begins."""
    zone = ZoneInfo(timezone)
    today = now.astimezone(zone).date()
    return today.isoformat(), datetime.combine(today + timedelta(days=1), time.min, tzinfo=zone)


def quota_balance(
    session: ReadSession, limits: Mapping[str, int | None], timezone: str, *, phase_id: str, team_id: str, now: datetime
) -> tuple[str, QuotaBalance]:
    """The day in the challenge's calendar, and the balance of a team in a phase with these limits."""
    day, reset_at = quota_day(timezone, now)
    usage, granted = quota.usage_and_grants(session, phase_id, team_id, day)
    with_grants = {name: limit_with_grants(limits.get(name), granted.get(name, 0)) for name in LIMIT_NAMES}
    return day, QuotaBalance(with_grants, usage, reset_at)


def limit_with_grants(limit: int | None, granted: int) -> int | None:
    """A limit with what was granted or taken; never below 0."""
    return None if limit is None else max(0, limit + granted)
