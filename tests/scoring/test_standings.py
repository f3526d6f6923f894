"""Standings: equal means equal rank, direction belongs to the metric, null is never ranked."""

import math
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, Context
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import InvalidMetric
from app.scoring.declaration.recipe import ScoringRecipe, parse_recipe
from app.scoring.standings import near_tie_width, ranking_key, round_significant, rounded_key
from tests.each_case import for_each
from tests.oracles.pure_standings import ScoredEntry, Standing, standings


def recipe(**more: Any) -> ScoringRecipe:
    return parse_recipe({"primary": "f1_macro", "metrics": ["accuracy", "error_rate"], **more}, "multiclass")


def entry(key: str, team: str, f1: float | None, at: int = 0, **more: Any) -> ScoredEntry:
    values = {"f1_macro": f1, "accuracy": more.pop("accuracy", f1), "error_rate": more.pop("error_rate", None)}
    return ScoredEntry(key, team, at, values, **more)


def board(rows: list[Standing]) -> list[tuple[str, int | None]]:
    return [(row.entry.key, row.rank) for row in rows]


def test_equal_values_share_a_rank_and_the_next_one_is_skipped() -> None:
    rows = standings([entry("s1", "A", 0.5), entry("s2", "B", 0.7, 2), entry("s3", "C", 0.7, 1)], recipe())
    assert board(rows) == [("s3", 1), ("s2", 1), ("s1", 3)]
    assert [(row.rank, row.tied) for row in rows] == [(1, 2), (1, 2), (3, 1)]


def test_values_are_compared_to_the_last_bit() -> None:
    rows = standings([entry("s1", "A", 0.3), entry("s2", "B", 0.1 + 0.2, 1)], recipe())
    assert board(rows) == [("s2", 1), ("s1", 2)]
    rows = standings([entry("s1", "A", 0.3), entry("s2", "B", 0.3 + 1e-13, 1)], recipe())
    assert board(rows) == [("s2", 1), ("s1", 2)]


def test_losses_rank_upwards() -> None:
    loss = parse_recipe({"primary": "error_rate"}, "multiclass")
    entries = [entry("s1", "A", 0, error_rate=0.2), entry("s2", "B", 0, error_rate=0.1)]
    assert board(standings(entries, loss)) == [("s2", 1), ("s1", 2)]


def test_null_and_nan_stand_last_without_a_rank() -> None:
    rows = standings([entry("s1", "A", None), entry("s2", "B", float("nan"), 1), entry("s3", "C", 0.0)], recipe())
    assert board(rows) == [("s3", 1), ("s1", None), ("s2", None)]
    assert rows[1].tied is None


def test_tie_breakers_are_asked_in_order_and_null_loses() -> None:
    tied = recipe(tie_breakers=["error_rate", "accuracy"])
    entries = [
        entry("s1", "A", 0.5, error_rate=None, accuracy=0.9),
        entry("s2", "B", 0.5, error_rate=0.3, accuracy=0.1),
        entry("s3", "C", 0.5, error_rate=0.3, accuracy=0.2),
        entry("s4", "D", 0.5, error_rate=0.2, accuracy=0.0),
    ]
    assert board(standings(entries, tied)) == [("s4", 1), ("s3", 2), ("s2", 3), ("s1", 4)]


def test_baselines_stand_where_their_value_falls_without_taking_a_rank() -> None:
    entries = [
        entry("s1", "A", 0.9),
        entry("b1", "organizers", 0.7, baseline=True),
        entry("b2", "organizers", 0.9, baseline=True),
        entry("s2", "B", 0.5),
        entry("b3", "organizers", None, baseline=True),
    ]
    rows = standings(entries, recipe())
    assert board(rows) == [("s1", 1), ("b2", None), ("b1", None), ("s2", 2), ("b3", None)]
    assert all(row.entry.baseline == (row.rank is None) for row in rows)


ENTRIES = [
    entry("s1", "A", 0.5, 1),
    entry("s2", "A", 0.9, 2),
    entry("s3", "A", 0.9, 3, selected=True),
    entry("s4", "A", 0.1, 4, selected=True),
    entry("s5", "B", 0.2, 5),
    entry("s6", "B", 0.3, 6),
]


@for_each(
    "selection, expected",
    [
        ("best", [("s2", 1), ("s6", 2)]),
        ("latest", [("s6", 1), ("s4", 2)]),
        ("selected", [("s3", 1), ("s6", 2)]),  # B selected none, so its best stands
    ],
)
def test_one_entry_stands_for_a_team(selection: str, expected: list[tuple[str, int]]) -> None:
    rows = standings(ENTRIES, recipe(selection=selection))
    assert board(rows) == expected
    assert {row.entry.team: row.entries for row in rows} == {"A": 4, "B": 2}


def test_the_best_is_chosen_by_the_values_for_choosing() -> None:
    public = [entry("s1", "A", 0.1, 1, choice={"f1_macro": 0.8}), entry("s2", "A", 0.9, 2, choice={"f1_macro": 0.7})]
    assert board(standings(public, recipe())) == [("s1", 1)]


def test_a_number_is_a_better_entry_than_null() -> None:
    assert board(standings([entry("s1", "A", None, 1), entry("s2", "A", 0.0, 2)], recipe())) == [("s2", 1)]


def test_another_metric_ranks_the_same_rows() -> None:
    entries = [
        entry("s1", "A", 0.9, 1, accuracy=0.1),
        entry("s2", "A", 0.8, 2, accuracy=0.99),
        entry("s3", "B", 0.5, 3, accuracy=0.2),
    ]
    assert board(standings(entries, recipe(), metric="accuracy")) == [("s3", 1), ("s1", 2)]
    with pytest.raises(InvalidMetric, match="f1_macro, accuracy, error_rate"):
        standings(entries, recipe(), metric="mcc")


@for_each(
    "value, digits, expected",
    [
        (0.6125, 3, 0.612), (0.6135, 3, 0.614), (0.68290932, 6, 0.682909), (1.0, 6, 1.0),
        (-0.00012345, 3, -0.000123), (0.1 + 0.2, 14, 0.3), (0.1 + 0.2, None, 0.1 + 0.2), (None, 3, None),
        (1.7976931348623157e308, 2, 1.7e308), (-1.7e308, 1, -1e308),
    ],
)  # fmt: skip
def test_rounding_is_half_even_on_decimals(value: float | None, digits: int | None, expected: float | None) -> None:
    assert round_significant(value, digits) == expected


@given(
    st.one_of(
        st.floats(allow_nan=False, allow_infinity=False),
        st.floats(-1, 1),
        # Numbers whose shortest decimal text is a boundary of rounding or next to one, and subnormal numbers.
        st.builds(lambda whole, power: float(f"{whole}5e{power}"), st.integers(0, 10**15), st.integers(-340, 280)),
        st.integers(1, 10**8).map(lambda times: times * 5e-324),
        st.integers(0, 1073).map(lambda power: 2.0**-power),
    ),
    st.integers(-1, 1),
    st.integers(1, 17),
)
def test_rounding_is_that_of_the_shortest_decimal_text(value: float, step: int, digits: int) -> None:
    near = value if step == 0 else math.nextafter(value, math.inf * step)
    expected = float(Context(prec=digits, rounding=ROUND_HALF_EVEN).create_decimal(repr(near)))
    if math.isinf(expected) and math.isfinite(near):
        expected = float(Context(prec=digits, rounding=ROUND_DOWN).create_decimal(repr(near)))
    rounded = round_significant(near, digits)
    assert rounded is not None
    assert rounded.hex() == expected.hex()


@given(
    st.lists(
        st.tuples(st.sampled_from("ABCDEF"), st.sampled_from([None, 0.0, 0.25, 0.5, 1.0]), st.booleans()), max_size=15
    )
)
def test_ranks_are_a_function_of_values_alone(drawn: list[tuple[str, float | None, bool]]) -> None:
    entries = [entry(f"s{at:02}", team, value, at, baseline=base) for at, (team, value, base) in enumerate(drawn)]
    rows = standings(entries, recipe())
    assert rows == standings(entries[::-1], recipe())
    ranked = [row for row in rows if row.rank is not None]
    for row in ranked:
        value = row.entry.values["f1_macro"]
        assert value is not None
        better = [other for other in ranked if (other.entry.values["f1_macro"] or 0) > value]
        assert row.rank == len(better) + 1
    assert len({row.entry.team for row in rows if not row.entry.baseline}) == sum(
        not row.entry.baseline for row in rows
    )


@for_each("selection", ["best", "selected"])
def test_which_file_stands_for_a_team_depends_on_what_it_is_shown(selection: str) -> None:
    few = recipe(selection=selection, disclosure={"digits": 2})
    entries = [entry("s1", "A", 0.701, 1), entry("s2", "A", 0.704, 2), entry("s3", "B", 0.7, 3)]
    assert board(standings(entries, few)) == [("s1", 1), ("s3", 2)]
    assert board(standings(entries, recipe(selection=selection, disclosure={"digits": 3}))) == [("s2", 1), ("s3", 2)]
    assert board(standings(entries, recipe(selection=selection, disclosure={"digits": "full"})))[0] == ("s2", 1)


def test_the_public_values_that_choose_a_file_are_compared_as_they_are_shown() -> None:
    few = recipe(disclosure={"digits": 1})
    entries = [entry("s1", "A", 0.1, 1, choice={"f1_macro": 0.71}), entry("s2", "A", 0.9, 2, choice={"f1_macro": 0.74})]
    assert board(standings(entries, few)) == [("s1", 1)]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=6), st.integers(1, 4))
def test_digits_that_are_not_shown_choose_nothing(values: list[float], digits: int) -> None:
    few = recipe(disclosure={"digits": digits})
    exact = [entry(f"s{at}", "A", one, at) for at, one in enumerate(values)]
    shown = [entry(f"s{at}", "A", round_significant(one, digits), at) for at, one in enumerate(values)]
    assert standings(exact, few)[0].entry.key == standings(shown, few)[0].entry.key


def test_the_time_of_a_submission_decides_and_not_its_id() -> None:
    entries = [entry("s9", "A", 0.5, 1), entry("s1", "A", 0.5, 2)]
    assert board(standings(entries, recipe())) == [("s9", 1)]
    assert board(standings(entries, recipe(selection="latest"))) == [("s1", 1)]


def test_a_baseline_is_not_counted_among_the_entries_of_its_team() -> None:
    rows = standings([entry("s1", "A", 0.5), entry("b1", "A", 0.4, baseline=True)], recipe())
    assert [(row.entry.key, row.entries) for row in rows] == [("s1", 1), ("b1", 1)]


NUMBERS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(-1, 1),
    st.sampled_from([0.0, -0.0, 1.0, 1.7976931348623157e308, -1.7e308, 5e-324]),
)


@pytest.mark.parametrize("direction", ["higher", "lower"])
@given(NUMBERS, NUMBERS, st.integers(1, 17))
def test_rounding_keeps_the_order_of_keys(direction: str, one: float, other: float, digits: int) -> None:
    better, worse = sorted([ranking_key(direction, one), ranking_key(direction, other)])
    assert rounded_key(better, digits) <= rounded_key(worse, digits)
    assert rounded_key(ranking_key(direction, one), digits) == ranking_key(direction, round_significant(one, digits))


@given(NUMBERS, st.floats(-1, 1), st.integers(1, 17))
def test_values_that_are_equal_once_rounded_are_near(value: float, part: float, digits: int) -> None:
    width = near_tie_width(digits)
    key, other = sorted([(False, value + 0.0), (False, value * (1 + part * width) + 0.0)])
    if rounded_key(key, digits) == rounded_key(other, digits):
        assert other[1] <= key[1] + abs(key[1]) * width
