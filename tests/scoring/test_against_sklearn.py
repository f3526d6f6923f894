"""The same data through scikit-learn, the oracle that most of our users know."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn import metrics as sk

from app.scoring.evaluation_input import EvaluationInput
from tests.scoring.case_builder import results
from tests.scoring.strategies import cases

pytestmark = pytest.mark.filterwarnings("ignore")  # scikit-learn warns of what is undefined
MANY = settings(max_examples=80, deadline=None)
CLOSE = 1e-12
BETAS = {"f1": 1.0, "f0_5": 0.5, "f2": 2.0}


def indicator(of: EvaluationInput, *, gold: bool) -> NDArray[np.int64]:
    labels = (of.gold if gold else of.predicted).as_sets()
    assert labels.offsets is not None
    table = np.zeros((labels.n, len(of.spec.classes)), dtype=np.int64)
    table[np.repeat(np.arange(labels.n), np.diff(labels.offsets)), labels.codes] = 1
    return table


def sklearn_averages(gold: Any, predicted: Any, average: str, rule: float, **more: Any) -> dict[str, float]:
    """Precision, recall, F and Jaccard of scikit-learn under one average and zero-division value."""
    found: dict[str, float] = {}
    for key, beta in BETAS.items():
        precision, recall, f, _ = sk.precision_recall_fscore_support(
            gold, predicted, beta=beta, average=average, zero_division=rule, **more
        )
        found |= {f"precision_{average}": precision, f"recall_{average}": recall, f"{key}_{average}": f}
    if not math.isnan(rule):
        found[f"jaccard_{average}"] = sk.jaccard_score(gold, predicted, average=average, zero_division=rule, **more)
    return found


def compare(of: EvaluationInput, expected: dict[str, float], options: dict[str, str]) -> None:
    found = results(of, list(expected), options)
    for key, number in expected.items():
        value = found[key].value
        if math.isnan(number):
            assert value is None, key
        else:
            assert value is not None, (key, found[key].reason)
            assert abs(value - number) <= CLOSE, (key, value, number)


@given(
    of=cases("multiclass"), rule=st.sampled_from(["0", "1"]), average=st.sampled_from(["macro", "micro", "weighted"])
)
@MANY
def test_averages_of_single_label_data(of: EvaluationInput, rule: str, average: str) -> None:
    more = {"labels": list(range(len(of.spec.classes)))}
    expected = sklearn_averages(of.gold.codes, of.predicted.codes, average, float(rule), **more)
    compare(of, expected, {"zero_division": rule})


@given(of=cases("multiclass"))
@MANY
def test_scikit_learns_own_label_set_is_gold_or_predicted(of: EvaluationInput) -> None:
    expected = sklearn_averages(of.gold.codes, of.predicted.codes, "macro", 0.0)
    compare(of, expected, {"zero_division": "0", "label_set": "gold_or_predicted"})


@given(of=cases("multiclass"))
@MANY
def test_skipping_undefined_classes_is_scikit_learns_nan(of: EvaluationInput) -> None:
    more = {"labels": list(range(len(of.spec.classes)))}
    expected = sklearn_averages(of.gold.codes, of.predicted.codes, "macro", math.nan, **more)
    compare(of, expected, {"zero_division": "skip"})


@given(of=cases("binary"), rule=st.sampled_from(["0", "1"]))
@MANY
def test_binary_values_are_those_of_the_positive_label(of: EvaluationInput, rule: str) -> None:
    gold, predicted = of.gold.codes == 0, of.predicted.codes == 0
    expected = {
        key.removesuffix("_binary"): number
        for key, number in sklearn_averages(gold, predicted, "binary", float(rule)).items()
    }
    compare(of, expected, {"zero_division": rule})


@given(of=cases("multiclass"))
@MANY
def test_whole_task_measures(of: EvaluationInput) -> None:
    gold, predicted = of.gold.codes, of.predicted.codes
    expected = {
        "accuracy": sk.accuracy_score(gold, predicted),
        "error_rate": sk.zero_one_loss(gold, predicted),
        "balanced_accuracy": sk.balanced_accuracy_score(gold, predicted),
        "cohen_kappa": sk.cohen_kappa_score(gold, predicted),
        "mcc": sk.matthews_corrcoef(gold, predicted),
    }
    compare(of, expected, {})


@given(of=cases("multiclass"))
@MANY
def test_the_adjusted_balanced_accuracy(of: EvaluationInput) -> None:
    if len(set(of.gold.codes.tolist())) > 1:  # of one class it is 0/0, or -inf there
        adjusted = sk.balanced_accuracy_score(of.gold.codes, of.predicted.codes, adjusted=True)
        compare(of, {"balanced_accuracy:adjusted=true": adjusted}, {})


@given(of=cases("multiclass"), weights=st.sampled_from(["linear", "quadratic"]))
@MANY
def test_weighted_kappa_of_all_declared_classes(of: EvaluationInput, weights: str) -> None:
    labels = list(range(len(of.spec.classes)))
    expected = sk.cohen_kappa_score(of.gold.codes, of.predicted.codes, labels=labels, weights=weights)
    compare(of, {f"cohen_kappa:weights={weights}": expected}, {})


@given(of=cases("binary"))
@MANY
def test_likelihood_ratios(of: EvaluationInput) -> None:
    gold, predicted = of.gold.codes == 0, of.predicted.codes == 0
    positive, negative = sk.class_likelihood_ratios(gold, predicted, labels=[False, True])
    compare(of, {"lr_plus": positive, "lr_minus": negative}, {})


@given(of=cases("multiclass"))
@MANY
def test_the_geometric_mean_of_the_recalls(of: EvaluationInput) -> None:
    codes = sorted(set(of.gold.codes.tolist()))
    recalls = sk.recall_score(of.gold.codes, of.predicted.codes, labels=codes, average=None, zero_division=0)
    compare(of, {"gmean_recall": float(np.prod(recalls)) ** (1 / len(codes))}, {})


@given(of=cases("multilabel"), average=st.sampled_from(["macro", "micro", "weighted", "samples"]))
@MANY
def test_averages_of_label_sets(of: EvaluationInput, average: str) -> None:
    gold, predicted = indicator(of, gold=True), indicator(of, gold=False)
    if average == "weighted" and not gold.any():
        return  # no gold label at all: we say null, scikit-learn says 0
    columns = len(of.spec.classes)
    if columns == 1 and average != "samples":
        return  # scikit-learn takes one column for a binary problem
    expected = sklearn_averages(gold, predicted, average, 0.0) if columns > 1 else {}
    compare(of, expected, {"zero_division": "0", "both_empty": "0"})


@given(of=cases("multilabel"))
@MANY
def test_two_empty_sets_as_right_are_scikit_learns_zero_division_1(of: EvaluationInput) -> None:
    if len(of.spec.classes) == 1:
        return
    expected = sklearn_averages(indicator(of, gold=True), indicator(of, gold=False), "samples", 1.0)
    compare(of, {key: expected[key] for key in ("f1_samples", "f2_samples", "jaccard_samples")}, {"both_empty": "1"})


@given(of=cases("multilabel"))
@MANY
def test_exact_match_and_hamming_loss(of: EvaluationInput) -> None:
    gold, predicted = indicator(of, gold=True), indicator(of, gold=False)
    if len(of.spec.classes) == 1:
        return
    expected = {
        "subset_accuracy": sk.accuracy_score(gold, predicted),
        "zero_one_loss": sk.zero_one_loss(gold, predicted),
        "hamming_loss": sk.hamming_loss(gold, predicted),
    }
    compare(of, expected, {})


@given(of=cases("multilabel"))
@MANY
def test_one_versus_rest_tables(of: EvaluationInput) -> None:
    tables = sk.multilabel_confusion_matrix(indicator(of, gold=True), indicator(of, gold=False))
    if len(of.spec.classes) == 1:
        return
    specificity = [tn / (tn + fp) if tn + fp else 0.0 for (tn, fp), _ in tables]
    accuracy = [(tn + tp) / (tn + fp + fn + tp) for (tn, fp), (fn, tp) in tables]
    expected = {
        "specificity_macro": float(np.mean(specificity)),
        "accuracy_ovr_macro": float(np.mean(accuracy)),
        "accuracy_ovr_micro": float(np.mean(accuracy)),
        "error_rate_ovr_macro": 1 - float(np.mean(accuracy)),
    }
    compare(of, expected, {})
