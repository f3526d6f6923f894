"""Cases as they might have been: doubtful predictions changed, another share of positive instances."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.analysis.scenarios import (
    below_threshold,
    confidences,
    least_confident,
    prevalence_of,
    relabel,
    reweight_to_prevalence,
    wrong_predictions,
)
from app.analysis.what_if_report import RelabelRule, prevalence_report
from app.analysis.what_if_report import relabel_report as changed_report
from app.errors import InvalidContent
from app.scoring.declaration.metric_parser import parse_metric
from app.scoring.evaluate import evaluate
from app.scoring.evaluation_input import EvaluationInput
from tests.each_case import for_each
from tests.golden.reference_data import load_vector
from tests.reference_material import needs_shared
from tests.scoring.case_builder import case, case_of_counts, value
from tests.scoring.strategies import cases

SCORED = case(
    "multiclass",
    ["a", "b", "c"],
    ["a", "b", "c", "c"],
    ["a", "a", "b", "c"],
    [[0.9, 0.1, 0.0], [0.4, 0.3, 0.3], [0.1, 0.5, 0.4], [0.2, 0.2, 0.6]],
)


def test_a_prediction_is_as_sure_as_the_score_of_its_label() -> None:
    assert confidences(SCORED).tolist() == [0.9, 0.4, 0.5, 0.6]
    assert confidences(SCORED, lower=True).tolist() == [-0.9, -0.4, -0.5, -0.6]
    one = case("binary", ["a", "b"], ["a", "b", "b"], ["a", "b", "a"], [[0.75], [0.25], [0.5]])
    assert confidences(one).tolist() == [0.75, 0.75, 0.5]
    silent = replace(SCORED, predicted=replace(SCORED.predicted, codes=np.array([0, -1, 1, 2], dtype=np.int32)))
    assert np.isnan(confidences(silent)[1])
    with pytest.raises(InvalidContent, match="no scores"):
        confidences(replace(SCORED, scores=None))
    with pytest.raises(InvalidContent, match="labels of a set"):
        confidences(case("multilabel", ["a"], [["a"]], [["a"]], [[0.5]]))


def test_doubtful_is_what_lies_below_the_cut() -> None:
    sure = confidences(SCORED)
    assert below_threshold(sure, 0.5).tolist() == [False, True, False, False]
    assert below_threshold(np.array([np.nan, 0.1]), 0.5).tolist() == [False, True]


@given(st.lists(st.sampled_from([0.1, 0.2, 0.3, np.nan]), min_size=1), st.fractions(0, 1))
def test_the_least_sure_share_is_no_larger_and_no_order_decides(values: list[float], share: Fraction) -> None:
    confidence = np.array(values)
    mask = least_confident(confidence, share)
    assert mask.sum() <= share * len(values)
    assert not mask[np.isnan(confidence)].any()
    chosen, left = confidence[mask], confidence[~mask & ~np.isnan(confidence)]
    assert not len(chosen) or not len(left) or chosen.max() < left.min()
    if len(left):  # with the next group of equals it would be too many
        assert mask.sum() + (left == left.min()).sum() > share * len(values)


@given(data=st.data(), share=st.fractions(0, 1))
def test_a_share_by_weight_is_that_of_as_many_repetitions(data: st.DataObject, share: Fraction) -> None:
    one = st.tuples(st.sampled_from([0.1, 0.2, 0.3, np.nan]), st.integers(0, 4))
    values, weights = zip(*data.draw(st.lists(one, min_size=1)), strict=True)
    confidence, heavy = np.array(values), np.array(weights, dtype=np.int64)
    repeated = least_confident(np.repeat(confidence, heavy), share)
    assert np.repeat(least_confident(confidence, share, heavy), heavy).tolist() == repeated.tolist()


def test_a_report_of_weighted_instances_counts_their_weights() -> None:
    # one instance weighs 5, three weigh 1 each, in units of 1/2; one weighs nothing
    scores = [[0.4, 0.6], [0.3, 0.7], [0.2, 0.8], [0.9, 0.1], [0.0, 1.0]]
    of = case("binary", "ab", "abbaa", "bbbab", scores, weights=[5, 1, 1, 1, 0])
    of, metrics = replace(of, weight_unit=Fraction(1, 2)), calls(of, "accuracy")
    before = evaluate(of, metrics)
    keys = ("doubtful", "moved", "right_before", "right_after")
    found = changed_report(of, metrics, before, RelabelRule(0, threshold=0.75))
    assert [found[key] for key in keys] == [3, 3, 0.5, 2.5]
    found = changed_report(of, metrics, before, RelabelRule(0, share=Fraction(1, 2)))
    assert [found[key] for key in keys] == [0, 0, 0, 0]  # the least sure one is more than half of all
    assert found["metrics"]["accuracy"]["changed"] == found["metrics"]["accuracy"]["now"] == 0.375


def test_all_wrong_predictions_changed_is_the_upper_bound() -> None:
    assert wrong_predictions(SCORED).tolist() == [False, True, True, False]
    upper = relabel(SCORED, wrong_predictions(SCORED), 2)
    assert upper.predicted.codes.tolist() == [0, 2, 2, 2]
    assert value(upper, "accuracy") == 0.75


def calls(of: EvaluationInput, *keys: str) -> Any:
    return [parse_metric(key, task=of.spec.task, classes=of.spec.classes) for key in keys]


def test_a_report_compares_each_metric_before_and_after() -> None:
    metrics = calls(SCORED, "accuracy", "cohen_kappa")
    found = changed_report(SCORED, metrics, evaluate(SCORED, metrics), RelabelRule(2, share=Fraction(1, 2)))
    assert {key: found[key] for key in ("target_label", "doubtful", "moved", "right_before", "right_after")} == {
        "target_label": "c",
        "doubtful": 2,
        "moved": 2,
        "right_before": 0,
        "right_after": 1,
    }
    assert found["metrics"]["accuracy"] == {
        "now": 0.5,
        "changed": 0.75,
        "changed_difference": 0.25,
        "upper": 0.75,
        "upper_difference": 0.25,
    }
    lower = changed_report(SCORED, metrics, evaluate(SCORED, metrics), RelabelRule(2, threshold=0.6, lower=True))
    assert lower["doubtful"] == 1  # the one whose score lies above 0.6
    assert "doubtful" not in changed_report(SCORED, metrics, evaluate(SCORED, metrics), RelabelRule(0))
    with pytest.raises(InvalidContent, match="several labels"):
        changed_report(case("multilabel", ["a"], [["a"]], [["a"]]), [], {}, RelabelRule(0))


RECALLS = case_of_counts(4, 23, 1, 977, classes=["A", "B"])  # 4/5 and 977/1000


@for_each(
    "share, exact",
    [
        ("1/100", "551078071/798778071"),
        ("1/20", "71735831/84475831"),
        ("1/10", "32041951/36111951"),
        ("1/2", "3522671/3968671"),
    ],
)
def test_macro_f_at_another_share_is_that_of_equation_31(share: str, exact: str) -> None:
    found = value(reweight_to_prevalence(RECALLS, Fraction(share)), "f1_macro")
    assert found == pytest.approx(float(Fraction(exact)), abs=1e-15)
    p = (1 - Fraction(share)) / Fraction(share)  # n_B / n_A
    r_a, r_b = Fraction(4, 5), Fraction(977, 1000)
    printed = r_a / (1 + r_a + (1 - r_b) * p) + r_b * p / (1 - r_a + (1 + r_b) * p)
    assert printed == Fraction(exact)


@needs_shared
def test_the_golden_values_of_equation_31() -> None:
    data = load_vector("crossval_small")["eq31_macro_f1"]
    for share, one in data["by_proportion_of_A"].items():
        found = value(reweight_to_prevalence(RECALLS, Fraction(share)), "f1_macro")
        assert found == pytest.approx(one["value"], abs=1e-11)


@settings(deadline=None)
@given(cases("binary"), st.integers(1, 4), st.integers(1, 4))
def test_a_share_is_as_if_the_instances_of_a_class_were_repeated(of: EvaluationInput, often: int, rarely: int) -> None:
    positive = of.gold.codes == of.spec.classes.index(of.spec.positive_label or "")
    if positive.all() or not positive.any():
        with pytest.raises(InvalidContent, match="without instances"):
            reweight_to_prevalence(of, Fraction(1, 2))
        return
    repeated = of.take(np.repeat(np.arange(of.gold.n), np.where(positive, often, rarely)))
    share = prevalence_of(repeated)
    assert share is not None
    shifted = reweight_to_prevalence(of, share)
    assert prevalence_of(shifted) == share
    for key in ("precision", "recall", "f1_macro", "accuracy", "cohen_kappa", "mcc", "balanced_accuracy", "brier"):
        one, other = value(shifted, key), value(repeated, key)
        assert one == pytest.approx(other, rel=1e-15), key


def test_a_share_keeps_recalls_and_reports_the_others() -> None:
    metrics = calls(RECALLS, "recall", "specificity", "precision")
    found = prevalence_report(RECALLS, metrics, evaluate(RECALLS, metrics), Fraction(1, 20))
    assert found["share_now"] == 5 / 1005
    for key in ("recall", "specificity"):
        assert found["metrics"][key]["at_prevalence_difference"] == 0
    assert found["metrics"]["precision"]["at_prevalence"] == pytest.approx(0.04 / (0.04 + 0.95 * 0.023))


@for_each("share", ["0", "1", "1/9007199254740993"])
def test_a_share_that_cannot_be_weighed_is_refused(share: str) -> None:
    with pytest.raises(InvalidContent):
        reweight_to_prevalence(RECALLS, Fraction(share))
    with pytest.raises(InvalidContent, match="Only a binary task"):
        reweight_to_prevalence(SCORED, Fraction(1, 2))


def test_at_the_share_that_gold_has_nothing_weighs() -> None:
    of = case("binary", "ab", "aaaaaabb", "aabababb", [[0.9], [0.8], [0.2], [0.7], [0.1], [0.6], [0.3], [0.4]])
    for given_case in (of, replace(of, weights=np.array([1] * 6 + [9, 9]))):
        metrics = calls(of, "accuracy_lower", "delong_variance")
        found = prevalence_report(given_case, metrics, evaluate(of, metrics), Fraction(3, 4))
        for row in found["metrics"].values():
            assert row["at_prevalence"] == row["now"] is not None


def test_a_prediction_outside_the_vocabulary_has_no_confidence() -> None:
    outside = case("multiclass", ["a", "b"], ["a", "b"], ["x", "b"], [[0.9, 0.1], [0.2, 0.8]])
    assert np.array_equal(confidences(outside), [np.nan, 0.8], equal_nan=True)
    outside = case("binary", ["a", "b"], ["a", "b"], ["x", "b"], [[0.9], [0.2]])
    assert np.array_equal(confidences(outside), [np.nan, 0.8], equal_nan=True)
