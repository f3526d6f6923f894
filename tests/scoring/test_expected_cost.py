"""Costs by a matrix and distances on the scale of the declared classes."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from sklearn import metrics as sk

from app.scoring.evaluation_input import EvaluationInput
from tests.each_case import for_each
from tests.scoring.case_builder import case, reason, value
from tests.scoring.strategies import cases

SOME = settings(max_examples=60, deadline=None)
GRADES = ["low", "middle", "high"]
COSTS = {"low": {"middle": 0.1, "high": 0.7}, "middle": {"low": 0.2, "high": 0.3}, "high": {"low": 9, "middle": 2.5}}


def graded(predicted: list[Any], cost_matrix: Any = None, **more: Any) -> EvaluationInput:
    return case("multiclass", GRADES, ["low", "low", "middle"], predicted, cost_matrix=cost_matrix or COSTS, **more)


def test_decimal_costs_are_summed_exactly() -> None:
    assert value(graded(["middle", "high", "low"]), "expected_cost") == 1 / 3  # 0.1 + 0.7 + 0.2
    assert value(graded(["low", "low", "middle"]), "expected_cost") == 0.0


def test_right_answers_may_cost_and_wrong_ones_pay() -> None:
    given = {**COSTS, "low": {"low": 1, "middle": -2, "high": 0}}
    assert value(graded(["low", "middle", "middle"], given), "expected_cost") == -1 / 3


def test_a_cost_that_could_be_needed_must_be_given_whatever_was_predicted() -> None:
    given = {"low": {"middle": 1}, "middle": {"low": 1, "high": 1}}
    for predicted in (["low", "low", "middle"], ["high", "low", "middle"]):
        assert (
            reason(graded(predicted, given), "expected_cost") == "the cost matrix has no cost for low predicted as high"
        )
    assert value(graded(["middle", "low", "high"], {**given, "low": COSTS["low"]}), "expected_cost") == 11 / 30


def test_a_cost_must_be_a_number() -> None:
    given = {**COSTS, "low": {"middle": math.inf, "high": 1}}
    assert reason(graded(GRADES, given), "expected_cost") == (
        "the cost matrix has no finite cost for low predicted as middle"
    )
    assert reason(case("multiclass", GRADES, GRADES, GRADES), "expected_cost") == "no cost matrix was given"


@for_each(
    "key, lacks",
    [
        ("expected_cost", "cost"),
        ("mean_absolute_class_distance", "position on the scale of classes"),
        ("mean_absolute_class_distance_macro", "position on the scale of classes"),
        ("cohen_kappa:weights=linear", "position on the scale of classes"),
    ],
)
def test_a_prediction_that_is_no_class_has_neither_cost_nor_distance(key: str, lacks: str) -> None:
    said = f"some instances have no label among the declared classes, and so no {lacks}"
    for rule in ("count_as_fp", "drop"):
        assert reason(graded(["low", "strange", "middle"]), key, unknown_label=rule) == said
    assert reason(graded(["low", None, "middle"]), key, missing="empty_prediction") == said


@given(of=cases("multiclass"))
@SOME
def test_the_mean_cost_is_the_exact_mean(of: EvaluationInput) -> None:
    given, names = of.spec.cost_matrix, of.spec.classes
    assert given is not None
    pairs = zip(of.gold.codes, of.predicted.codes, strict=True)
    costs = [Fraction(repr(given[names[gold]][names[predicted]])) for gold, predicted in pairs]
    assert value(of, "expected_cost") == float(sum(costs, Fraction(0)) / len(costs))


@given(of=cases("multiclass"))
@SOME
def test_distances_are_absolute_errors_of_positions(of: EvaluationInput) -> None:
    gold, predicted = of.gold.codes, of.predicted.codes
    expected = sk.mean_absolute_error(gold, predicted)
    assert value(of, "mean_absolute_class_distance") == pytest.approx(expected, abs=1e-13)
    of_classes = [np.abs(gold - predicted)[gold == code].mean() for code in np.unique(gold)]
    found = value(of, "mean_absolute_class_distance_macro")
    assert found == pytest.approx(np.mean(of_classes), abs=1e-13)


def test_the_order_of_the_classes_is_the_scale() -> None:
    gold, predicted = ["low", "high"], ["middle", "low"]
    assert value(case("multiclass", GRADES, gold, predicted), "mean_absolute_class_distance") == 1.5
    assert value(case("multiclass", ["low", "high", "middle"], gold, predicted), "mean_absolute_class_distance") == 1.5
    assert value(case("multiclass", ["high", "low", "middle"], gold, predicted), "mean_absolute_class_distance") == 1.0


def test_classes_left_out_of_the_macro_distance() -> None:
    of = graded(["high", "low", "low"])
    assert value(of, "mean_absolute_class_distance_macro") == 1.0
    assert value(of, "mean_absolute_class_distance_macro", exclude_labels="low") == 1.0
    assert reason(of, "mean_absolute_class_distance_macro", exclude_labels="low|middle") == (
        "no label that occurs in gold is left to average over"
    )


def test_large_weights_stay_exact() -> None:
    of = graded(["high", "middle", "low"], weights=[2**51, 2**51 - 1, 1])
    assert value(of, "mean_absolute_class_distance") == float(Fraction(2 * 2**51 + 2**51 - 1 + 1, 2**52))
    exact = (2**51 * Fraction("0.7") + (2**51 - 1) * Fraction("0.1") + Fraction("0.2")) / 2**52
    assert value(of, "expected_cost") == float(exact)
