"""Gold that leaves cells open (MEKA's ?): what is left out of every count, and which metrics are defined."""

import random
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from app.errors import InvalidContent
from app.scoring.declaration.metric import CATALOGUE, UNKNOWN_CELLS, MetricCall
from app.scoring.declaration.metric_parser import applicable_metrics, parse_metric
from app.scoring.declaration.requirements import require_unknown_cells_option
from app.scoring.evaluate import evaluate
from app.scoring.evaluation_input import EvaluationInput, Labels
from app.scoring.metrics.call_equation import equation_of, symbols_of_call
from app.scoring.reports.detailed_report import build_detailed_report
from app.scoring.uncertainty.intervals import intervals
from tests.each_case import for_each
from tests.scoring.case_builder import case, labels, reason, value
from tests.scoring.strategies import metric_object

SKIP = {"unknown_cells": "skip"}
CLASSES = ("a", "b", "c")
Matrix = list[list[int]]


def built(gold: Matrix, predicted: Matrix, weights: list[int] | None = None) -> EvaluationInput:
    """A case from matrices of 0 and 1, with -1 where the gold is unknown, as in MEKA."""
    classes = CLASSES[: len(gold[0])] if len(gold[0]) <= len(CLASSES) else tuple(f"c{at}" for at in range(len(gold[0])))

    def sets(matrix: Matrix, sign: int) -> list[list[str]]:
        return [[classes[at] for at, cell in enumerate(row) if cell == sign] for row in matrix]

    of = case("multilabel", classes, sets(gold, 1), sets(predicted, 1), weights=weights, folds=["1"] * len(gold))
    return replace(of, unknown=labels(sets(gold, -1), classes, multilabel=True))


def random_matrices(chance: random.Random) -> tuple[Matrix, Matrix]:
    n, m = chance.randint(1, 12), chance.randint(2, 5)
    gold = [chance.choices((0, 1, -1), (5, 4, 3), k=m) for _ in range(n)]
    return gold, [chance.choices((0, 1), k=m) for _ in range(n)]


HAND_GOLD = [[1, -1, 0], [0, 1, -1], [-1, -1, -1], [1, 0, 1]]
HAND_PREDICTED = [[1, 1, 0], [1, 1, 1], [1, 0, 1], [0, 0, 1]]
"""Known cells: 2 + 2 + 0 + 3 = 7; a: tp 1, fp 1, fn 1; b: tp 1, tn 1; c: tp 1, tn 1."""


@for_each(
    "metric, expected",
    [
        ("hamming_loss", Fraction(2, 7)),
        ("hamming_score", Fraction(5, 7)),
        ("subset_accuracy", Fraction(1, 3)),
        ("zero_one_loss", Fraction(2, 3)),
        ("f1:label=a", Fraction(1, 2)),
        ("specificity:label=a", Fraction(0)),
        ("specificity:label=b", Fraction(1)),
        ("f1_macro", Fraction(5, 6)),
        ("precision_micro", Fraction(3, 4)),
        ("recall_weighted", Fraction(3, 4)),
        ("f1_of_averages_macro", Fraction(5, 6)),
        ("accuracy_ovr_macro", Fraction(7, 9)),
        ("jaccard_samples", Fraction(2, 3)),  # 1, 1/2, 1/2; all cells of the third instance are unknown
        ("label_cardinality_gold", Fraction(4, 3)),
        ("label_density_gold", Fraction(4, 7)),
        ("label_cardinality_predicted", Fraction(4, 3)),
        ("instance_status_partial", Fraction(2, 3)),
    ],
)
def test_values_counted_by_hand(metric: str, expected: Fraction) -> None:
    assert value(built(HAND_GOLD, HAND_PREDICTED), metric, **SKIP) == pytest.approx(float(expected), abs=1e-15)


def meka(gold: Matrix, predicted: Matrix) -> dict[str, float | None]:
    """MEKA's measures by its definitions, cell by cell; None where MEKA divides by zero."""
    m = len(gold[0])
    rows = [[(y, p) for y, p in zip(*row, strict=True) if y != -1] for row in zip(gold, predicted, strict=True)]
    rows = [row for row in rows if row]
    columns = [[(y[at], p[at]) for y, p in zip(gold, predicted, strict=True) if y[at] != -1] for at in range(m)]
    columns = [column for column in columns if column]

    def part(cells: list[tuple[int, int]], over: str) -> float:
        tp = sum(y == p == 1 for y, p in cells)
        both = {"p": tp + sum(p > y for y, p in cells), "r": tp + sum(y > p for y, p in cells)}
        return tp / both[over] if both[over] else 0.0

    def f1(cells: list[tuple[int, int]]) -> float:
        p, r = part(cells, "p"), part(cells, "r")
        return 2 * p * r / (p + r) if p + r else 0.0

    def jaccard(cells: list[tuple[int, int]]) -> float:
        either = sum(y == 1 or p == 1 for y, p in cells)
        return sum(y == p == 1 for y, p in cells) / either if either else 1.0

    def mean(values: list[float]) -> float | None:
        return sum(values) / len(values) if values else None

    pooled = [cell for row in rows for cell in row]
    return {
        "subset_accuracy": mean([float(all(y == p for y, p in row)) for row in rows]),
        "jaccard_samples": mean([jaccard(row) for row in rows]),
        "precision_macro": mean([part(column, "p") for column in columns]),
        "recall_macro": mean([part(column, "r") for column in columns]),
        "f1_macro": mean([f1(column) for column in columns]),
        "precision_micro": part(pooled, "p") if pooled else None,
        "recall_micro": part(pooled, "r") if pooled else None,
        "f1_micro": f1(pooled) if pooled else None,
        "f1_samples:both_empty=0": mean([f1(row) for row in rows]),
        "hamming_score": mean([float(y == p) for y, p in pooled]),
    }


@for_each("seed", range(25))
def test_values_are_those_of_meka(seed: int) -> None:
    """Its Hamming score is the mean over instances; here every known cell counts the same."""
    gold, predicted = random_matrices(random.Random(seed))
    for metric, expected in meka(gold, predicted).items():
        found = value(built(gold, predicted), metric, **SKIP)
        assert found == (None if expected is None else pytest.approx(expected, abs=1e-12)), metric


def defined_calls(of: EvaluationInput, rule: str = "skip") -> list[MetricCall]:
    metrics = [metric for metric in CATALOGUE.values() if UNKNOWN_CELLS in metric.options]
    objects = [{**metric_object(metric, of), "options": {UNKNOWN_CELLS: rule}} for metric in metrics]
    return [parse_metric(each, task="multilabel") for each in objects]


@for_each("seed", range(6))
def test_what_is_predicted_in_an_unknown_cell_moves_nothing(seed: int) -> None:
    chance = random.Random(f"cells {seed}")
    gold, predicted = random_matrices(chance)
    other = [
        [chance.randint(0, 1) if y == -1 else p for y, p in zip(*row, strict=True)]
        for row in zip(gold, predicted, strict=True)
    ]
    calls = defined_calls(built(gold, predicted))
    assert len(calls) > 100
    assert evaluate(built(gold, predicted), calls) == evaluate(built(gold, other), calls)


@for_each("seed", range(6))
def test_the_measures_of_a_label_are_those_of_the_instances_that_know_it(seed: int) -> None:
    gold, predicted = random_matrices(random.Random(f"label {seed}"))
    of = built(gold, predicted)
    rows = np.flatnonzero([row[1] != -1 for row in gold])
    label = of.spec.classes[1]
    keys = [
        metric.key
        for metric in CATALOGUE.values()
        if UNKNOWN_CELLS in metric.options and {param.name for param in metric.params} == {"label"}
    ]
    assert len(keys) > 10
    for key in keys:
        expected = value(replace(of.take(rows), unknown=None), f"{key}:label={label}") if len(rows) else None
        assert value(of, f"{key}:label={label}", **SKIP) == expected, key


@for_each("seed", range(5))
def test_a_weight_counts_like_that_many_equal_instances(seed: int) -> None:
    chance = random.Random(f"weights {seed}")
    gold, predicted = random_matrices(chance)
    weights = [chance.randint(1, 3) for _ in gold]
    weighted = built(gold, predicted, weights)
    repeats = [[row for row, w in zip(rows, weights, strict=True) for _ in range(w)] for rows in (gold, predicted)]
    repeated = built(repeats[0], repeats[1])
    calls = [call for call in defined_calls(weighted) if call.metric.supports_weights and call.metric.scalar]
    one, two = evaluate(weighted, calls), evaluate(repeated, calls)
    assert {text: result.value for text, result in one.items()} == {text: result.value for text, result in two.items()}


def test_the_option_moves_nothing_where_all_cells_are_known() -> None:
    gold, predicted = [[1, 0, 1], [0, 0, 0], [0, 1, 0]], [[1, 1, 0], [0, 0, 1], [0, 1, 0]]
    of = replace(built(gold, predicted), unknown=None)
    kept, skipped = (evaluate(of, defined_calls(of, rule)) for rule in ("reject", "skip"))
    assert [(one.value, one.reason, one.data) for one in kept.values()] == [
        (one.value, one.reason, one.data) for one in skipped.values()
    ]
    none = replace(of, unknown=Labels(np.zeros(0, np.int32), np.zeros(of.gold.n + 1, np.int64)))
    assert [one.value for one in evaluate(none, defined_calls(of)).values()] == [one.value for one in skipped.values()]


def test_a_metric_without_the_option_and_one_that_does_not_set_it_are_null() -> None:
    of = built(HAND_GOLD, HAND_PREDICTED)
    assert reason(of, "f1_macro") == "the gold has unknown cells, and unknown_cells=reject does not leave them out"
    for key in ("levenshtein", "f1_macro_top_k:k=1", "precision_at_k:k=1"):
        assert reason(of, key, **SKIP) == f"{key.partition(':')[0]} is not defined for gold with unknown cells"
    with pytest.raises(InvalidContent, match="unknown_cells=reject") as refused:
        require_unknown_cells_option([parse_metric("f1_macro", task="multilabel")])
    assert "unknown_cells=skip" in refused.value.advice
    require_unknown_cells_option(applicable_metrics("multilabel", SKIP, {"labels", UNKNOWN_CELLS}))


def test_labels_and_instances_without_a_known_cell_are_named() -> None:
    of = built([[1, -1], [0, -1]], [[1, 1], [1, 0]])
    assert value(of, "f1_macro", **SKIP) == 2 / 3
    assert reason(of, "f1:label=b", **SKIP) == "the gold has no known cell of b"
    call = parse_metric("f1_macro", options=SKIP)
    assert "without a known gold cell, so left out of the average: b" in evaluate(of, [call])[call.text].notes
    assert reason(built([[-1, -1]], [[1, 0]]), "f1_micro", **SKIP) == "there are no instances to score"


@for_each(
    "metric, part",
    [
        ("f1_macro", r"\mathrm{TP},\mathrm{FP},\mathrm{FN}\text{ count }(i,j)\in\Omega"),
        ("hamming_loss", r"\frac{1}{|\Omega|}\sum"),
        (
            "subset_accuracy",
            r"\frac{1}{|I|}\sum_{i\in I} [P_{i}=Y_{i}],\quad P_{i},Y_{i}\subseteq\{j: (i,j)\in\Omega\}",
        ),
        ("f1_of_averages_samples", r"(i,j)\in\Omega"),
    ],
)
def test_the_equation_states_the_known_cells(metric: str, part: str) -> None:
    skipping = parse_metric(metric, options=SKIP, task="multilabel")
    assert part in equation_of(skipping)
    assert symbols_of_call(skipping)["Ω"] == "the (instance, label) cells whose gold is known"
    assert r"\Omega" not in equation_of(parse_metric(metric, task="multilabel"))


def test_a_report_counts_known_cells_alone() -> None:
    of = built([[1, -1], [0, -1], [-1, -1]], [[1, 1], [1, 0], [1, 1]])
    report: Any = build_detailed_report(of, SKIP)
    assert {name: report["per_class"]["a"][name] for name in ("tp", "fp", "fn", "tn")} == {
        "tp": 1,
        "fp": 1,
        "fn": 0,
        "tn": 0,
    }
    assert (report["per_class"]["b"]["tn"], report["per_class"]["b"]["recall"]) == (0, None)
    assert report["label_sets"]["empty"] == {"gold": 1, "predicted": 0}
    assert report["label_sets"]["status"]["full"]["count"] == 1


def test_intervals_are_made_from_the_known_cells() -> None:
    """Instances without a known cell are left out of the resamples, and predictions in unknown cells move nothing."""
    gold, predicted = [[1, -1, 0], [0, 1, -1], [-1, -1, -1], [1, 0, 1]] * 10, HAND_PREDICTED * 10
    other = [[1 - p if y == -1 else p for y, p in zip(*row, strict=True)] for row in zip(gold, predicted, strict=True)]
    call = parse_metric("f1_macro", options=SKIP, task="multilabel")
    found = []
    for cells in (predicted, other):
        of = built(gold, cells).over_known_cells()
        ids = [f"t{at:02}" for at in range(of.gold.n)]
        scores = {call.text: value(of, "f1_macro", **SKIP)}
        found.append(intervals(of, [call], scores, ids, draw_seed="0", split="all", resamples=199)[call.text])
    assert found[0] == found[1]
    low, high = found[0].low, found[0].high
    assert low is not None
    assert high is not None
    assert low < 5 / 6 < high
    whole = built(gold, predicted)
    ids = [f"t{at:02}" for at in range(whole.gold.n)]
    assert intervals(whole, [call], scores, ids, draw_seed="0", split="all", resamples=101)[call.text].low is not None
