"""Rankings side by side: ranks, tau-b, flips and stability."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from app.scoring.declaration.metric_parser import parse_metric
from app.scoring.uncertainty.board import BoardCase
from app.scoring.uncertainty.rankings import side_by_side, tau_b
from tests.scoring.case_builder import case
from tests.scoring.uncertainty.test_board import systems

CALLS = [parse_metric(text, options={}, task="multiclass") for text in ("f1_macro", "error_rate")]


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=12))
def test_tau_b_is_that_of_scipy(pairs: list[tuple[int, int]]) -> None:
    first, second = np.array(pairs, dtype=float).T
    theirs = stats.kendalltau(first, second, variant="b").statistic
    ours, n = tau_b(first, second)
    assert n == len(pairs)
    if np.isnan(theirs):
        assert ours is None
    else:
        assert ours == pytest.approx(theirs)


def test_tau_leaves_out_rows_without_a_value() -> None:
    assert tau_b(np.array([1.0, 2.0, np.nan]), np.array([1.0, 2.0, 0.0])) == (1.0, 2)


def test_losses_are_turned_and_confused_averages_stand_beside_the_recipe() -> None:
    cases = systems(300, [0.6, 0.8, 0.7])
    ids = [f"{row:05}" for row in range(300)]
    entries = [BoardCase(f"s{at}", one) for at, one in enumerate(cases)]
    got = side_by_side(entries, ids, CALLS, draw_seed="0", split="all").to_dict()
    names = [metric["metric"] for metric in got["metrics"]]
    assert names == ["f1_macro", "error_rate", "f1_of_averages_macro", "f1_micro", "f1_weighted"]
    assert [metric["in_recipe"] for metric in got["metrics"]] == [True, True, False, False, False]
    assert [row["ranks"]["error_rate"] for row in got["rows"]] == [3, 1, 2]
    assert got["tau"]["f1_macro"]["error_rate"] == pytest.approx(1.0)
    assert got["tau_rows"]["f1_macro"]["error_rate"] == 3
    assert got["stability"]["f1_macro"]["same_first"] > 0.9


def test_a_pair_that_two_metrics_rank_the_other_way_round_flips() -> None:
    gold = ["a"] * 80 + ["b"] * 20
    rare = ["a"] * 60 + ["b"] * 20 + ["b"] * 20  # finds every b, loses 20 of a
    common = ["a"] * 80 + ["a"] * 16 + ["b"] * 4  # finds every a
    entries = [
        BoardCase(name, case("multiclass", ("a", "b"), gold, some)) for name, some in (("r", rare), ("c", common))
    ]
    calls = [parse_metric(text, options={}, task="multiclass") for text in ("recall_macro", "accuracy")]
    got = side_by_side(entries, [f"{row:03}" for row in range(100)], calls, draw_seed="0", split="all").to_dict()
    flips = {tuple(flip["metrics"]): flip for flip in got["flips"]}
    flip = flips["recall_macro", "accuracy"]
    assert (flip["a"], flip["b"], flip["significant"]) == ("r", "c", False)
    assert got["flip_counts"]["recall_macro"]["accuracy"] == 1


def test_flips_that_both_metrics_show_are_significant_and_come_first() -> None:
    gold = ["a"] * 800 + ["b"] * 200
    outputs = {
        "rare": ["a"] * 600 + ["b"] * 400,  # finds every b, loses 200 of a
        "common": ["a"] * 900 + ["b"] * 100,  # finds every a
        "near": ["a"] * 899 + ["b"] * 101,
        "bad": ["b"] * 800 + ["a"] * 200,
    }
    entries = [BoardCase(name, case("multiclass", ("a", "b"), gold, some)) for name, some in outputs.items()]
    calls = [parse_metric(text, options={}, task="multiclass") for text in ("recall_macro", "accuracy")]
    got = side_by_side(entries, [f"{row:04}" for row in range(1_000)], calls, draw_seed="0", split="all").to_dict()
    both = [(flip["a"], flip["b"]) for flip in got["flips"] if flip["metrics"] == ["recall_macro", "accuracy"]]
    assert both == [("rare", "common"), ("rare", "near")]
    assert [flip["significant"] for flip in got["flips"]] == sorted(
        (flip["significant"] for flip in got["flips"]), reverse=True
    )
    assert sum(flip["significant"] for flip in got["flips"]) >= 2


def test_no_rows() -> None:
    got = side_by_side([], [], CALLS, draw_seed="0", split="all").to_dict()
    assert (got["rows"], got["reason"]) == ([], "No row is ranked.")
