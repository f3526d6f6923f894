"""Values of form fields."""

import pytest

from app.web.forms import whole_number


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (None, None),
        ("5", 5),
        ("-5", -5),
        ("\N{MINUS SIGN}5", -5),
        ("+7", 7),
        ("--5", "--5"),
        ("5.0", "5.0"),
        ("٥", "٥"),
    ],
)
def test_a_whole_number_is_one_and_any_other_text_is_left_to_the_request(
    text: str | None, value: int | str | None
) -> None:
    assert whole_number(text) == value


def test_a_number_that_no_field_can_hold_stays_a_text() -> None:
    assert whole_number("9" * 5000) == "9" * 5000
