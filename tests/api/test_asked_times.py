"""A wrong time of a former board is answered with one plain sentence and an example of a right one."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from app.actions.history.asked_time import no_board_yet, read_time, require_past
from app.errors import AssayError

NOW = datetime(2026, 11, 28, 12, 30, 15, 250_000, UTC)


def told(refused: AssayError) -> tuple[str, str]:
    return refused.detail, refused.advice


@pytest.mark.parametrize(
    ("text", "detail", "example"),
    [
        ("yesterday", "'as_of' is not a time.", "such as 2026-05-01T12:00:00Z or 2026-05-01T14:00:00+02:00."),
        ("", "'as_of' is not a time.", "such as 2026-05-01T12:00:00Z"),
        ("1790000000", "'as_of' is not a time.", "such as 2026-05-01T12:00:00Z"),
        ("2026-13-01T00:00:00Z", "'as_of' is not a time.", "such as 2026-05-01T12:00:00Z"),
        ("0001-01-01T00:00:00+14:00", "'as_of' is not a time.", "such as 2026-05-01T12:00:00Z"),
        ("2026-11-28T00:20", "'as_of' has no time zone.", "2026-11-28T00:20:00Z"),
        ("2026-11-28", "'as_of' has no time zone.", "2026-11-28T00:00:00Z"),
        ("2026-11-28T00:20:00 01:00", "'as_of' is not a time.", "as_of=2026-11-28T00:20:00%2B01:00"),
    ],
)
def test_a_text_that_names_no_instant(text: str, detail: str, example: str) -> None:
    with pytest.raises(AssayError) as refused:
        read_time(text)
    assert refused.value.detail == detail
    assert example in refused.value.advice


def test_a_time_with_a_zone_is_read_and_one_of_a_form_is_in_utc() -> None:
    assert read_time("2026-11-28T13:30:15.25+01:00") == NOW
    assert read_time(" 2026-11-28 12:30:15.25Z ") == NOW
    assert read_time("2026-11-28T12:30", in_utc=True) == datetime(2026, 11, 28, 12, 30, tzinfo=UTC)
    assert read_time("2026-11-28T12:30+01:00", in_utc=True).hour == 11


def test_a_time_that_is_still_to_come() -> None:
    require_past(NOW, NOW)
    with pytest.raises(AssayError) as refused:
        require_past(NOW + timedelta(seconds=1), NOW)
    detail = "'as_of' is in the future: it is 2026-11-28T12:30:15Z now."
    assert told(refused.value) == (detail, "Give a past time, such as 2026-11-28T11:30:15Z.")


def test_a_time_before_the_first_board_is_answered_with_one_that_has_a_board() -> None:
    first = datetime(2026, 11, 28, 1, 27, 59, 500_000, timezone(timedelta(hours=1)))
    detail, remedy = told(no_board_yet(NOW - timedelta(days=1), first))
    assert detail == (
        "The phase had no board at 2026-11-27T12:30:15Z: its first one is of 2026-11-28T00:27:59.500000Z."
    )
    assert remedy == "Give a time from then on, such as 2026-11-28T00:28:00Z."
    assert "no active gold" in no_board_yet(NOW, None).detail
