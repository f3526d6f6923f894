"""The report on a table: against plain computations, and independent of the order of rows and columns."""

import math
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from app.analysis.order.matrix import ResultMatrix
from app.analysis.order.mean_draws import mean_draws
from app.analysis.order.order_report import order_systems
from app.scoring.uncertainty.draws import unit_draws
from app.scoring.uncertainty.seeds import derive_seed, random_source
from app.scoring.uncertainty.small_samples import exact_mcnemar
from tests.each_case import for_each
from tests.scoring.order.tables import drawn, table_of


def by_system(report: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {row["system"]: row for row in report["rows"]}


def test_right_and_wrong_get_exact_intervals_and_exact_p_values() -> None:
    right = drawn([0.85, 0.6, 0.4], 120)
    report = order_systems(table_of(right))
    for at, row in enumerate(right):
        shown = by_system(report)[f"s{at}"]
        found = stats.binomtest(int(row.sum()), 120).proportion_ci(method="exact")
        assert shown["value"] == row.sum() / 120
        assert (shown["low"], shown["high"]) == (pytest.approx(found.low), pytest.approx(found.high))
    pair = report["pairs"][0]
    first, second = (right[int(pair[name][1:])] for name in ("first", "second"))
    assert pair["differing"] == int((first != second).sum())
    assert pair["p_value"] == exact_mcnemar(int((first > second).sum()), int((first < second).sum()))
    assert pair["different"]


def test_values_get_percentile_intervals_of_the_shared_draws() -> None:
    values = np.random.default_rng(3).gamma(2, 1, (2, 80))
    report = order_systems(table_of(values))
    counts = unit_draws(random_source(derive_seed("0", "board", "all", "mean")), 80, 10_000).astype(float)
    for at, row in enumerate(values):
        shown = by_system(report)[f"s{at}"]
        ends = np.percentile(row @ counts / 80, [2.5, 97.5])
        assert shown["value"] == math.fsum(row) / 80
        assert (shown["low"], shown["high"]) == (pytest.approx(ends[0], abs=0.03), pytest.approx(ends[1], abs=0.03))


@for_each("kind", ["right", "values"])
def test_nothing_depends_on_the_order_of_rows_and_columns(kind: str) -> None:
    values = drawn([0.8, 0.7, 0.7, 0.5, 0.3], 90)
    if kind == "values":
        values = values + np.random.default_rng(1).normal(0, 1 / 3, values.shape)
    table = table_of(values)
    rows, columns = (np.random.default_rng(2).permutation(size) for size in values.shape)
    mixed = ResultMatrix(
        tuple(table.systems[at] for at in rows), tuple(table.ids[at] for at in columns), values[np.ix_(rows, columns)]
    )
    groups = {name: f"g{at % 30}" for at, name in enumerate(table.ids)}
    assert order_systems(mixed) == order_systems(table)
    assert order_systems(mixed, groups=groups) == order_systems(table, groups=groups)


def test_losses_have_the_order_of_their_negatives() -> None:
    values = np.random.default_rng(1).normal(0, 1, (4, 60)) + np.arange(4)[:, None]
    losses, gains = order_systems(table_of(values), lower_is_better=True), order_systems(table_of(-values))
    for loss, gain in zip(losses["rows"], gains["rows"], strict=True):
        assert loss["value"] == -gain["value"]
        names = ("system", "rank", "rank_low", "rank_high", "tie_group", "first_share")
        assert [loss[name] for name in names] == [gain[name] for name in names]


def test_another_seed_gives_other_draws_and_the_same_seed_the_same() -> None:
    table = table_of(np.random.default_rng(1).normal(0, 1, (3, 60)))
    assert order_systems(table, draw_seed="7") == order_systems(table, draw_seed="7")
    assert order_systems(table, draw_seed="7")["rows"] != order_systems(table)["rows"]


def test_groups_drawn_whole_widen_the_rank_sets_and_the_report_says_by_how_much() -> None:
    right = np.repeat(drawn([0.8, 0.65, 0.5, 0.3], 40), 10, axis=1)
    table = table_of(right)
    groups = {name: f"g{at // 10}" for at, name in enumerate(table.ids)}
    whole, single = order_systems(table, groups=groups), order_systems(table)
    assert whole["groups"] == 40
    assert whole["mean_rank_set"] > whole["mean_rank_set_of_instances"]
    widths = [row["rank_high"] - row["rank_low"] + 1 for row in single["rows"]]
    assert whole["mean_rank_set_of_instances"] == sum(widths) / 4
    assert by_system(whole)["s0"]["high"] > by_system(single)["s0"]["high"]
    assert any("whole groups drawn" in note for note in whole["notes"])


def test_a_group_that_holds_everything_gives_no_interval_and_no_order() -> None:
    table = table_of(drawn([0.9, 0.1], 50))
    report = order_systems(table, groups=dict.fromkeys(table.ids, "g"))
    for row in report["rows"]:
        assert (row["low"], row["high"], row["rank_low"], row["rank_high"]) == (None, None, 1, 2)
        assert row["notes"] == ["All instances are in one group, which shows no spread."]
    assert report["conclusion"].endswith("These data (1 group) support no order.")


def test_a_difference_without_spread_is_never_shown_and_the_report_says_so() -> None:
    report = order_systems(table_of([[1] * 40, [0] * 40]))
    assert [row["rank_high"] for row in report["rows"]] == [2, 2]
    assert any("never called different: 1. Resampling says nothing" in note for note in report["notes"])


def test_a_table_with_more_systems_than_instances_may_be_transposed() -> None:
    table = table_of(drawn([0.5] * 4, 3))
    assert any("transpose it" in note for note in order_systems(table)["notes"])
    assert not any("transpose it" in note for note in order_systems(table_of(drawn([0.5] * 4, 4)))["notes"])


def test_groups_of_other_instances_are_reported() -> None:
    table = table_of(drawn([0.9, 0.1], 20))
    groups = {name: name for name in table.ids} | {"other": "g"}
    assert "Instances with a group that the table does not have: 1." in order_systems(table, groups=groups)["notes"]


def test_many_systems_list_neighbours_alone() -> None:
    report = order_systems(table_of(drawn(list(np.linspace(0.2, 0.8, 120)), 60)))
    assert len(report["pairs"]) == 119
    assert any("pairs of neighbours" in note for note in report["notes"])


@pytest.mark.ci
def test_thousands_of_systems_are_ordered_in_part_and_the_report_says_so() -> None:
    report = order_systems(table_of(drawn(list(np.linspace(0.2, 0.8, 1_100)), 40)))
    assert report["draws"] == 2_000
    assert [row["rank_low"] is None for row in report["rows"]] == [False] * 100 + [True] * 1_000
    assert report["conclusion"].startswith("At least ")
    assert "pairs of neighbours that were compared" in report["conclusion"]
    assert sum("draws are made instead of 10,000" in note for note in report["notes"]) == 1
    assert not any("instead of 2,000" in note for note in report["notes"])


@for_each(
    "rows, conclusion",
    [
        (np.ones((1, 40)), "There is one system, so there is no order."),
        (np.ones((3, 40)), "No two of the 3 systems are shown to differ at 5 %. These data (40 instances) support no order."),
        (np.eye(2, 40)[[0, 1]], "No two of the 2 systems are shown to differ at 5 %. These data (40 instances) support no order."),
        (np.array([[1] * 40, [1] + [0] * 39]), "'s0' is shown to be better than 's1' at 5 %."),
        (
            np.array([[1] * 40, [1] * 20 + [0] * 20, [1] + [0] * 39]),
            "'s0' is shown to be better than all other systems at 5 %. All 2 pairs of neighbours are shown to differ at 5 %, so the whole order is shown.",
        ),
        (
            np.array([[1] * 40, [1] * 39 + [0], [1] + [0] * 39]),
            "2 of the 3 systems may be first: 's0', 's1'. No system is shown to be better than one of them at 5 %. Of the 2 pairs of neighbours, 1 is shown to differ at 5 %.",
        ),
    ],
)  # fmt: skip
def test_the_conclusion_says_what_may_be_concluded(rows: "np.typing.NDArray[np.generic]", conclusion: str) -> None:
    assert order_systems(table_of(rows))["conclusion"] == conclusion


@given(
    st.lists(st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=3), min_size=1, max_size=3),
    st.randoms(use_true_random=False),
)
def test_draws_of_means_are_exact_to_the_last_places(rows: list[list[float]], random: Random) -> None:
    totals, sizes = np.array(rows), np.array([random.randint(1, 5) for _ in range(3)], dtype=float)
    source = derive_seed("0", "board")
    found = mean_draws(random_source(source), totals, sizes, 5)
    counts = unit_draws(random_source(source), 3, 5)
    for row in range(len(rows)):
        for draw in range(5):
            weights = [int(one) for one in counts[:, draw]]
            total = sum(
                (Fraction(value) * weight for value, weight in zip(rows[row], weights, strict=True)), Fraction(0)
            )
            size = sum(int(one) * weight for one, weight in zip(sizes, weights, strict=True))
            assert abs(Fraction(float(found[row, draw])) - total / size) <= Fraction(max(map(abs, rows[row]))) / 2**48
