"""Times as organizers write them."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.text.given_times import in_zone, parse_time, to_instant
from tests.each_case import for_each

ZONES = ["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Casablanca", "Pacific/Apia"]


def instant(text: str, zone: str = "Europe/Berlin", *, ends: bool = False) -> str:
    return to_instant(parse_time(text), zone, ends=ends).isoformat()


@for_each(
    "text, ends, expected",
    [
        ("2026-03-01 AoE", True, "2026-03-02T12:00:00+00:00"),
        ("2026-03-01 AoE", False, "2026-03-01T12:00:00+00:00"),
        ("2026-03-01aoe", True, "2026-03-02T12:00:00+00:00"),
        ("2026-03-01T12:00:00Z", True, "2026-03-01T12:00:00+00:00"),
        ("2026-03-01T12:00:00+05:30", True, "2026-03-01T06:30:00+00:00"),
        ("2026-03-01T12:00", True, "2026-03-01T11:00:00+00:00"),
        ("2026-07-01 12:00:30", False, "2026-07-01T10:00:30+00:00"),
    ],
)
def test_each_form_names_one_instant(text: str, ends: bool, expected: str) -> None:
    assert instant(text, ends=ends) == expected


@for_each("text", ["2026-03-01", "tomorrow", "", "2026-13-01 AoE", "2026-03-01T25:00", "12:00", "20260301"])
def test_anything_else_is_refused_with_the_forms(text: str) -> None:
    with pytest.raises(ValueError, match=r"must be a time such as .*2027-03-01T12:00:00Z"):
        parse_time(text)


def test_a_local_time_in_a_gap_or_fold_is_refused_with_the_times_that_exist() -> None:
    with pytest.raises(ValueError, match=r"does not exist in Europe/Berlin.*write 01:30 or 03:30"):
        instant("2026-03-29T02:30")
    with pytest.raises(ValueError, match=r"twice.*2026-10-25T02:30\+02:00 or 2026-10-25T02:30\+01:00"):
        instant("2026-10-25T02:30")


def test_times_outside_the_calendar_are_refused() -> None:
    with pytest.raises(ValueError, match="years 1 to 9999"):
        instant("9999-12-31 AoE", ends=True)
    assert in_zone(datetime(1, 1, 1, tzinfo=UTC), "America/New_York") == "0001-01-01T00:00:00+00:00"


@given(
    moment=st.datetimes(datetime.fromisoformat("1950-01-01"), datetime.fromisoformat("2100-01-01")),
    zone=st.sampled_from(ZONES),
)
def test_a_local_time_is_taken_exactly_if_its_zone_has_it_once(moment: datetime, zone: str) -> None:
    local = moment.replace(second=0, microsecond=0)
    # The oracle: all instants, to the minute of every offset there is, that the zone's clocks show as this time.
    start = local.replace(tzinfo=UTC) - timedelta(hours=16)
    near = (start + timedelta(minutes=step) for step in range(0, 32 * 60, 15))
    offsets = {each.astimezone(ZoneInfo(zone)).utcoffset() for each in near}
    shown = {local.replace(tzinfo=UTC) - offset for offset in offsets if offset is not None}
    meant = [each for each in shown if each.astimezone(ZoneInfo(zone)).replace(tzinfo=None) == local]
    text = local.isoformat(timespec="minutes")
    if len(meant) == 1:
        assert to_instant(parse_time(text), zone, ends=False) == meant[0]
        assert in_zone(meant[0], zone).startswith(text)
    else:
        with pytest.raises(ValueError, match="twice" if meant else "does not exist"):
            to_instant(parse_time(text), zone, ends=False)
