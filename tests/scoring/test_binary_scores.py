"""Binary tasks: forecasts count the same whether a file gives the scores of both classes or those of the positive label."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from app.analysis.scenarios import confidences
from app.scoring.evaluate import evaluate
from app.scoring.evaluation_input import EvaluationInput
from app.scoring.probability_rows import complements, scores_of_both_classes
from tests.each_case import for_each
from tests.scoring.case_builder import case, results, value
from tests.scoring.strategies import OPTION_VALUES, calls, cases

POOLED = ("auc_micro", "average_precision_micro", "auprc_trapezoid_micro")


def decimal(units: int, places: int) -> float:
    return float(f"{units}e-{places}")


@st.composite
def forecasts(draw: st.DrawFn, n: int) -> list[list[float]]:
    """Rows of two decimals whose sum is one; many share a score with another row, or with its other class."""
    places = draw(st.sampled_from([1, 2, 3, 12]))
    whole = 10**places
    units = draw(st.lists(st.integers(0, whole) | st.sampled_from([1, 3, 7, whole - 3]), min_size=n, max_size=n))
    units = [min(one, whole - one) if draw(st.booleans()) else one for one in units]
    return [[decimal(one, places), decimal(whole - one, places)] for one in units]


@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_every_metric_takes_one_score_like_two(data: st.DataObject) -> None:
    of, options = data.draw(cases("binary")), data.draw(OPTION_VALUES)
    scores = np.array(data.draw(forecasts(of.gold.n)))
    positive = of.spec.classes.index(of.spec.positive_label or "")
    both, one = replace(of, scores=scores), replace(of, scores=scores[:, [positive]])
    metrics = calls(of, options)
    here, there = evaluate(both, metrics), evaluate(one, metrics)
    moved = {call.text: (here[call.text].value, there[call.text].value) for call in metrics}
    assert {text: values for text, values in moved.items() if values[0] != values[1]} == {}


SEVEN = [0.7, 0.4, 0.3, 0.9, 0.1, 0.5]
GOLD = list("ababba")


def forms(rows: list[float], gold: list[str]) -> list[EvaluationInput]:
    """The scores of a alone, of both, and those of b alone where b is the positive label."""
    both = [[score, decimal(round((1 - score) * 10), 1)] for score in rows]
    return [
        case("binary", "ab", gold, gold, scores, positive_label=label)
        for scores, label in (([row[:1] for row in both], "a"), (both, "a"), ([row[1:] for row in both], "b"))
    ]


@for_each("text", [*POOLED, "brier_multiclass_sum", "log_loss", "classwise_ece:bins=10"])
def test_which_label_is_the_positive_one_changes_nothing_where_both_are_asked_for(text: str) -> None:
    assert len({value(of, text) for of in forms(SEVEN, GOLD)}) == 1


def test_ties_with_the_other_class_are_those_of_the_decimals() -> None:
    for of in forms(SEVEN, GOLD):
        right = [row[label == "b"] for row, label in zip(both_of(of), GOLD, strict=True)]
        wrong = [row[label == "a"] for row, label in zip(both_of(of), GOLD, strict=True)]
        wins = sum(2 * (x > y) + (x == y) for x in right for y in wrong)
        assert value(of, "auc_micro") == wins / 72


def both_of(of: EvaluationInput) -> list[list[float]]:
    """The scores as decimals of one place."""
    assert of.scores is not None
    rows = (
        of.scores
        if of.scores.shape[1] == 2
        else scores_of_both_classes(of.scores[:, 0], "ab".index(of.spec.positive_label or ""))
    )
    return [[round(float(score), 1) for score in row] for row in rows]


def test_the_other_class_of_a_decimal_lies_in_the_bin_of_its_decimal() -> None:
    found: list[Mapping[str, Any]] = []
    for sent in ([[0.7], [0.75]], [[0.7, 0.3], [0.75, 0.25]]):
        of = case("binary", "ab", "ab", "ab", sent)
        metrics = ["ece:bins=10,label=b", "mce:bins=10,label=b", "calibration_bins:bins=10,label=b"]
        found.append({text: (one.value, one.data) for text, one in results(of, metrics).items()})
    assert found[0] == found[1]
    assert found[0]["ece:bins=10,label=b"][0] == 0.225


def test_a_prediction_of_the_other_class_is_as_sure_as_the_decimal_says() -> None:
    of = case("binary", "ab", "abb", "bba", [[0.7], [0.3], [0.3]])
    assert confidences(of).tolist() == [0.3, 0.7, 0.3]


@given(units=st.integers(0, 10**12))
@example(units=0)
@example(units=10**12)
def test_a_decimal_has_the_nearest_number_to_its_complement(units: int) -> None:
    score = decimal(units, 12)
    assert complements(np.array([score])).tolist() == [decimal(10**12 - units, 12)]


@given(score=st.floats(-1e6, 1e6) | st.floats(0, 1))
@example(score=5e-324)
@example(score=2 / 3)
@example(score=1.7976931348623157e308)
def test_what_is_no_short_decimal_is_subtracted_once(score: float) -> None:
    (found,) = complements(np.array([score])).tolist()
    assert found == pytest.approx(1.0 - score, abs=2.0**-53)
    if score != round(score, 12) or abs(score) > 1:
        assert found == 1.0 - score


@given(st.lists(st.floats(0, 1) | st.integers(0, 100).map(lambda units: units / 100), min_size=2))
def test_complements_keep_the_order(scores: list[float]) -> None:
    ranked = sorted({*scores, *(float(np.nextafter(score, 1)) for score in scores)})
    turned = complements(np.array(ranked)).tolist()
    assert turned == sorted(turned, reverse=True)
