"""Which values a printed figure may stand for."""

from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.analysis.convert.printed_figures import parse_count, parse_figure
from app.errors import InvalidContent
from tests.each_case import for_each


@for_each(
    "text, low, high",
    [
        ("0.78", "0.775", "0.785"), (".5", "0.45", "0.55"), ("1", "0.5", "1.5"), ("1.000", "0.9995", "1.0005"),
        ("78.3%", "0.7825", "0.7835"), ("78 %", "0.775", "0.785"), ("53,39%", "0.53385", "0.53395"),
        ("-0.12", "-0.125", "-0.115"), ("\u22120.12", "-0.125", "-0.115"), ("+0.1", "0.05", "0.15"),
        ("7/10", "0.7", "0.7"),
    ],
)  # fmt: skip
def test_a_figure_stands_for_all_that_is_rounded_to_it(text: str, low: str, high: str) -> None:
    figure = parse_figure(text)
    assert (figure.low, figure.high) == (Fraction(low), Fraction(high))


def test_percentages_and_zeros_that_are_not_printed_can_be_said() -> None:
    assert parse_figure("66", percent=True, decimals=2).high == Fraction("0.66005")
    assert parse_figure("0,5", percent=True, decimals=2).low == Fraction("0.00495")
    assert parse_figure("0.5", decimals=3).high == Fraction("0.5005")


def test_digits_that_were_cut_off_only_lower_a_value() -> None:
    figure = parse_figure("0.78", cut=True)
    assert (figure.low, figure.high) == (Fraction("0.78"), Fraction("0.79"))
    assert parse_figure("-0.78", cut=True).low == Fraction("-0.79")
    assert parse_figure("0.0", cut=True).low == Fraction("-0.1")


@for_each("text", ["", "x", "0.7.8", "1e-3", "0.78.", "7/0", "nan", "٣", "." * 50, "%", "--1", "1/2/3"])
def test_what_is_no_figure_is_refused_with_examples(text: str) -> None:
    with pytest.raises(InvalidContent) as caught:
        parse_figure(text)
    assert "0.78" in caught.value.advice


def test_more_decimals_than_were_said_are_refused() -> None:
    with pytest.raises(InvalidContent, match="more than 2 decimals"):
        parse_figure("0.123", decimals=2)


@for_each("text", ["1.5", "-1", "1/2", "", "x", "1" * 19])
def test_a_count_is_whole(text: str) -> None:
    with pytest.raises(InvalidContent, match="is not a count"):
        parse_count(text)


@given(st.fractions(0, 1), st.integers(0, 8), st.booleans())
def test_however_a_value_is_rounded_its_figure_holds_it(value: Fraction, decimals: int, percent: bool) -> None:
    scale = 100 if percent else 1
    exact = Decimal(value.numerator * scale * 10**30 // value.denominator) / 10**30  # digits enough for every tie
    tie = (value * scale * 10**decimals * 2).denominator == 1
    for rule in (ROUND_HALF_UP, ROUND_HALF_EVEN):
        text = f"{exact.quantize(Decimal(1).scaleb(-decimals), rule):f}" + ("%" if percent else "")
        figure = parse_figure(text)
        assert figure.holds(value), (text, value)
        if rule == ROUND_HALF_UP or not tie:
            assert figure.printed(value) == text
