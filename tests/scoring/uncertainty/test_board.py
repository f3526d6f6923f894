"""The order of a board: paired draws that rows share, rank sets, exact tests for small samples, and clear answers."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from app.scoring.declaration.metric import MetricCall
from app.scoring.declaration.metric_parser import parse_metric
from app.scoring.evaluation_input import EvaluationInput, Labels
from app.scoring.uncertainty.board import BoardCase, BoardUncertainty, board_draws, board_uncertainty, differing_units
from app.scoring.uncertainty.paired import compare_systems
from app.scoring.uncertainty.seeds import derive_seed
from tests.each_case import for_each
from tests.scoring.case_builder import case

CLASSES = ("a", "b", "c")


def call(text: str = "f1_macro") -> MetricCall:
    return parse_metric(text, options={}, task="multiclass")


def systems(n: int, rates: Sequence[float], groups: Sequence[str] | None = None) -> list[EvaluationInput]:
    """Systems that are right at these rates, on the same gold."""
    random = np.random.default_rng(7)
    empty = case("multiclass", CLASSES, [], [])
    gold, hard = random.integers(0, 3, n).astype(np.int32), random.random(n)
    found = []
    for rate in rates:
        right = (hard + random.random(n)) / 2 < rate
        predicted = np.where(right, gold, (gold + random.integers(1, 3, n)) % 3).astype(np.int32)
        found.append(replace(empty, gold=Labels(gold), predicted=Labels(predicted)))
    if groups is None:
        return found
    grouping = case("multiclass", CLASSES, ["a"] * n, ["a"] * n, groups=groups).groups
    return [replace(one, groups=grouping) for one in found]


def order(cases: Sequence[EvaluationInput], text: str = "f1_macro") -> BoardUncertainty:
    ids = [f"{row:05}" for row in range(cases[0].gold.n)] if cases else []
    entries = [BoardCase(f"s{at}", one) for at, one in enumerate(cases)]
    return board_uncertainty(entries, ids, call(text), draw_seed="0", split="all")


def rank_intervals(of: BoardUncertainty) -> list[tuple[int | None, int | None]]:
    return [(row["rank_low"], row["rank_high"]) for row in of.to_dict()["rows"]]


@for_each("text", ["f1_macro", "error_rate"])
def test_clearly_different_systems_have_one_rank_each(text: str) -> None:
    assert rank_intervals(order(systems(2_000, [0.8, 0.5, 0.65]), text)) == [(1, 1), (3, 3), (2, 2)]


def test_similar_systems_are_not_shown_to_differ() -> None:
    got = order(systems(400, [0.6, 0.61, 0.62])).to_dict()
    assert {(row["rank_low"], row["rank_high"], row["tie_group"]) for row in got["rows"]} == {(1, 3, 1)}
    assert {pair["different"] for pair in got["pairs"]} == {False}
    assert sum(row["first_share"] for row in got["rows"]) == pytest.approx(1)


def test_a_small_sample_needs_exact_tests() -> None:
    got = order(systems(300, [0.75, 0.45])).to_dict()
    assert "exact p-value" in got["notes"][0]
    (pair,) = got["pairs"]
    assert pair["different"] is True
    assert pair["p_value"] <= 0.05


def test_the_p_value_of_a_pair_is_that_of_the_named_comparison() -> None:
    cases = systems(120, [0.75, 0.35])
    ids = [f"{row:05}" for row in range(120)]
    named = compare_systems(cases[0], cases[1], [call()], ids, draw_seed="0", split="all")["f1_macro"]
    (pair,) = order(cases).to_dict()["pairs"]
    assert pair["p_value"] == named.p_value


def test_rows_that_are_added_change_no_draw_of_another() -> None:
    cases = systems(200, [0.6, 0.7, 0.8])
    seed = derive_seed("0", "board", "all", "f1_macro")
    alone = board_draws(cases[:1], [call()], seed, 300)["f1_macro"]
    together = board_draws(cases, [call()], seed, 300)["f1_macro"]
    assert (alone[0] == together[0]).all()


def test_all_rows_have_the_same_instance_weights() -> None:
    same = systems(200, [0.6]) * 2
    draws = board_draws(same, [call("accuracy")], b"x" * 32, 50)["accuracy"]
    assert (draws[0] == draws[1]).all()
    assert order(same).to_dict()["pairs"][0]["different"] is False


def test_groups_are_drawn_whole_and_counted() -> None:
    groups = [f"g{row % 4}" for row in range(2_000)]
    cases = systems(2_000, [0.9, 0.3], groups)
    got = order(cases).to_dict()
    assert got["groups"] == 4
    assert any("with single instances drawn" in note for note in got["notes"])
    assert got["pairs"][0]["different"] is False  # they differ in 4 groups, which can show nothing
    assert differing_units(cases, call()).tolist() == [[0, 4], [4, 0]]


def test_differing_units_count_what_the_metric_sees() -> None:
    of = case("multiclass", CLASSES, list("abca"), list("abca"))
    other = replace(of, predicted=case("multiclass", CLASSES, list("abca"), list("abbb")).predicted)
    assert differing_units([of, other], call()).tolist() == [[0, 2], [2, 0]]


@for_each(
    "cases, text, reason",
    [
        ([], "f1_macro", "No row is ranked."),
        (systems(30, [0.5, 0.5]), "auc_ovr_macro", "No row has a value."),
    ],
)
def test_there_is_a_reason_where_nothing_can_be_ordered(cases: list[EvaluationInput], text: str, reason: str) -> None:
    got = order(cases, text).to_dict()
    assert got["reason"] == reason
    assert got["pairs"] == []


def test_one_row_one_instance_and_one_class() -> None:
    assert rank_intervals(order(systems(50, [0.5]))) == [(1, 1)]
    one = case("multiclass", CLASSES, ["a"], ["a"])
    assert rank_intervals(order([one, one])) == [(1, 2), (1, 2)]


def test_instances_of_weight_zero_do_not_count_on_a_board() -> None:
    gold = ["a", "b"] * 60
    right, wrong = gold, ["b" if at % 3 else label for at, label in enumerate(gold)]
    weights, ids = [0, 1, 1, 1] * 30, [f"{at:03d}" for at in range(120)]
    entries = [
        BoardCase(name, case("multiclass", "ab", gold, predicted, weights=weights))
        for name, predicted in (("one", right), ("other", wrong))
    ]
    weighted = board_uncertainty(entries, ids, call(), draw_seed="0", split="all")
    kept = [at for at, weight in enumerate(weights) if weight]
    without = board_uncertainty(
        [BoardCase(entry.key, replace(entry.case.take(np.array(kept)), weights=None)) for entry in entries],
        [ids[at] for at in kept],
        call(),
        draw_seed="0",
        split="all",
    )
    assert weighted.instances == 90
    assert weighted.to_dict()["pairs"] == without.to_dict()["pairs"]
    assert weighted.to_dict()["pairs"][0]["different"] is True
