"""Times as organizers write them: with an offset, as local time of a zone, or as a date anywhere on Earth (AoE)."""

import re
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

_LOCAL = re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2})?")
_AOE = re.compile(r"(\d{4}-\d{2}-\d{2}) ?aoe", re.IGNORECASE)
_WEST_OF_ALL = timedelta(hours=12)
"""A day lasts until it has ended at UTC-12, west of all inhabited places."""

FORMS = "2027-03-01 12:00 (local time of the challenge), 2027-03-01T12:00:00Z or 2027-03-01 AoE"


class LocalTime:
    """A time without an offset, in the time zone of the challenge."""

    def __init__(self, naive: datetime) -> None:
        self.naive = naive

    def instant(self, zone: str) -> datetime:
        """The time in UTC; raises ValueError for one that the zone does not have, or has twice."""
        text = self.naive.isoformat(timespec="minutes" if self.naive.second == 0 else "seconds")
        first, second = (self.naive.replace(tzinfo=ZoneInfo(zone), fold=fold) for fold in (0, 1))
        before, after = first.utcoffset(), second.utcoffset()
        assert before is not None
        assert after is not None
        if before < after:
            around = (first.astimezone(UTC), second.astimezone(UTC))
            later, earlier = (each.astimezone(ZoneInfo(zone)).strftime("%H:%M") for each in around)
            raise ValueError(f"{text} does not exist in {zone}: the clocks go forward then; write {earlier} or {later}")
        if before > after:
            offsets = " or ".join(
                f"{text}{each.strftime('%z')[:3]}:{each.strftime('%z')[3:]}" for each in (first, second)
            )
            raise ValueError(f"{text} occurs twice in {zone}: the clocks go back then; write {offsets}")
        return first.astimezone(UTC)


class AnywhereOnEarth:
    """A date, which begins and ends at UTC-12."""

    def __init__(self, day: date) -> None:
        self.day = day

    def instant(self, *, ends: bool) -> datetime:
        """The end of the day in UTC where a period ends then, its beginning where one begins."""
        begins = datetime.combine(self.day, time(), UTC) + _WEST_OF_ALL
        return begins + timedelta(days=1) if ends else begins


GivenTime = datetime | LocalTime | AnywhereOnEarth


def parse_time(text: str) -> GivenTime:
    """A time in one of the three forms; raises ValueError for any other text."""
    aoe = _AOE.fullmatch(text)
    try:
        if aoe is not None:
            return AnywhereOnEarth(date.fromisoformat(aoe[1]))
        if _LOCAL.fullmatch(text):
            return LocalTime(datetime.fromisoformat(text))
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"must be a time such as {FORMS}") from None
    if moment.tzinfo is None:
        raise ValueError(f"must be a time such as {FORMS}")
    return moment


def to_instant(given: GivenTime, zone: str, *, ends: bool) -> datetime:
    """The time in UTC; `ends`: whether a period ends then. Raises ValueError, also outside the years 1 to 9999."""
    try:
        if isinstance(given, AnywhereOnEarth):
            return given.instant(ends=ends)
        return given.instant(zone) if isinstance(given, LocalTime) else given.astimezone(UTC)
    except OverflowError as error:
        raise ValueError("is outside the years 1 to 9999") from error


def in_zone(moment: datetime, zone: str) -> str:
    """A time as the clocks of a zone show it, to the second, with the offset, as RFC 3339."""
    try:
        return moment.astimezone(ZoneInfo(zone)).isoformat(timespec="seconds")
    except OverflowError:  # at either end of the calendar
        return moment.isoformat(timespec="seconds")


def optional_in_zone(moment: datetime | None, zone: str) -> str | None:
    """The same of a time that there may not be."""
    return None if moment is None else in_zone(moment, zone)
