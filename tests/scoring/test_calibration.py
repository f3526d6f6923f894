"""Calibration errors and the Brier skill score, held against exact fractions, scikit-learn and MEKA's definition."""

import json
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as sk

from app.errors import InvalidMetric
from app.scoring.declaration.metric import CATALOGUE
from app.scoring.declaration.metric_parser import parse_metric
from app.scoring.evaluation_input import EvaluationInput
from tests.each_case import for_each
from tests.scoring.case_builder import case, evaluate_metric, results, value

MANY = settings(max_examples=120, deadline=None)
CLASSES = ("a", "b", "c", "d")
# dyadic numbers in rows that sum to exactly 1, so that nothing is rounded before it is binned; many ties
PARTS = (0.0, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 1.0)


@st.composite
def dyadic(draw: st.DrawFn, m: int) -> list[float]:
    cuts = sorted(draw(st.lists(st.sampled_from(PARTS), min_size=m - 1, max_size=m - 1)))
    return [high - low for low, high in zip([0.0, *cuts], [*cuts, 1.0], strict=True)]


@st.composite
def forecasts(draw: st.DrawFn, m: int) -> tuple[list[str], list[list[float]], list[int]]:
    """Gold labels, rows of probabilities and weights."""
    n = draw(st.integers(1, 12))
    gold = draw(st.lists(st.sampled_from(CLASSES[:m]), min_size=n, max_size=n))
    weights = draw(st.lists(st.integers(0, 4), min_size=n, max_size=n).filter(any))
    return gold, draw(st.lists(dyadic(m), min_size=n, max_size=n)), weights


def gaps(pairs: Sequence[tuple[float, bool]], weights: Sequence[int], bins: int) -> tuple[Fraction, Fraction]:
    """ECE and MCE of probabilities and whether they came true, in the words of the definition."""
    mean, widest, n = Fraction(0), Fraction(0), sum(weights)
    for k in range(1, bins + 1):
        own = [
            (Fraction(p), came, weight)
            for (p, came), weight in zip(pairs, weights, strict=True)
            if weight and ((k - 1) / bins < p <= k / bins or (p == 0 and k == 1))
        ]
        size = sum(weight for _, _, weight in own)
        if size:
            confidence = sum((p * weight for p, _, weight in own), Fraction(0)) / size
            accuracy = Fraction(sum(weight for _, came, weight in own if came), size)
            mean += Fraction(size, n) * abs(accuracy - confidence)
            widest = max(widest, abs(accuracy - confidence))
    return mean, widest


def compare(of: EvaluationInput, expected: dict[str, Fraction]) -> None:
    found = results(of, list(expected))
    for text, exact in expected.items():
        value = found[text].value
        assert value == float(exact), (text, found[text].reason)


@given(data=st.data(), m=st.integers(2, 4), bins=st.integers(1, 20), weighed=st.booleans())
@MANY
def test_several_classes(data: st.DataObject, m: int, bins: int, weighed: bool) -> None:
    gold, rows, weights = data.draw(forecasts(m))
    counted = weights if weighed else [1] * len(gold)
    best = [row.index(max(row)) for row in rows]
    top = [(row[at], CLASSES[at] == label) for row, at, label in zip(rows, best, gold, strict=True)]
    each = [[(row[k], CLASSES[k] == label) for row, label in zip(rows, gold, strict=True)] for k in range(m)]
    of = case("multiclass", CLASSES[:m], gold, gold, rows, weights=weights if weighed else None)
    mean, widest = gaps(top, counted, bins)
    own, widest_own = gaps(each[1], counted, bins)
    compare(
        of,
        {
            f"ece:bins={bins}": mean,
            f"mce:bins={bins}": widest,
            f"ece:bins={bins},label=b": own,
            f"mce:bins={bins},label=b": widest_own,
            f"classwise_ece:bins={bins}": sum((gaps(pairs, counted, bins)[0] for pairs in each), Fraction(0)) / m,
        },
    )


@given(data=st.data(), bins=st.integers(1, 20), positive=st.sampled_from("ab"), single=st.booleans())
@MANY
def test_a_binary_task_with_one_column_or_two(data: st.DataObject, bins: int, positive: str, single: bool) -> None:
    gold, rows, weights = data.draw(forecasts(2))
    at = "ab".index(positive)
    sent = [[row[at]] for row in rows] if single else rows
    of = case("binary", ("a", "b"), gold, gold, sent, positive_label=positive, weights=weights)
    own = [(row[at], label == positive) for row, label in zip(rows, gold, strict=True)]
    other = [(1 - p, not came) for p, came in own]
    (mean, widest), (mean_other, _) = gaps(own, weights, bins), gaps(other, weights, bins)
    negative = "ba"[at]
    compare(
        of,
        {
            f"ece:bins={bins}": mean,
            f"mce:bins={bins}": widest,
            f"ece:bins={bins},label={positive}": mean,
            f"ece:bins={bins},label={negative}": mean_other,
            f"classwise_ece:bins={bins}": (mean + mean_other) / 2,
        },
    )


@given(data=st.data(), bins=st.integers(1, 20), weighed=st.booleans())
@MANY
def test_sets_of_labels_label_by_label(data: st.DataObject, bins: int, weighed: bool) -> None:
    n, m = data.draw(st.integers(1, 8)), data.draw(st.integers(1, 4))
    names = CLASSES[:m]
    gold = data.draw(st.lists(st.lists(st.sampled_from(names), unique=True), min_size=n, max_size=n))
    rows = data.draw(st.lists(st.lists(st.sampled_from(PARTS), min_size=m, max_size=m), min_size=n, max_size=n))
    weights = data.draw(st.lists(st.integers(1, 4), min_size=n, max_size=n)) if weighed else [1] * n
    of = case("multilabel", names, gold, gold, rows, weights=weights if weighed else None)
    each = [[(row[k], names[k] in labels) for row, labels in zip(rows, gold, strict=True)] for k in range(m)]
    found = [gaps(pairs, weights, bins) for pairs in each]
    expected = {f"ece:label={name},bins={bins}": mean for name, (mean, _) in zip(names, found, strict=True)}
    expected |= {f"mce:label={name},bins={bins}": widest for name, (_, widest) in zip(names, found, strict=True)}
    compare(of, expected | {f"classwise_ece:bins={bins}": sum((mean for mean, _ in found), Fraction(0)) / m})


def test_the_bins_are_those_of_the_errors() -> None:
    of = case("multiclass", "abc", "aab", "aab", [[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.0, 1.0, 0.0]])
    found = results(of, ["calibration_bins:bins=4", "calibration_bins:bins=2,label=c"])
    assert found["calibration_bins:bins=4"].value is None
    assert found["calibration_bins:bins=4"].data == {
        "label": None,
        "bins": [
            {"lower": 0.0, "upper": 0.25, "weight": 0, "confidence": None, "accuracy": None, "gap": None},
            {"lower": 0.25, "upper": 0.5, "weight": 2, "confidence": 0.5, "accuracy": 0.5, "gap": 0.0},
            {"lower": 0.5, "upper": 0.75, "weight": 0, "confidence": None, "accuracy": None, "gap": None},
            {"lower": 0.75, "upper": 1.0, "weight": 1, "confidence": 1.0, "accuracy": 1.0, "gap": 0.0},
        ],
    }
    of_c = found["calibration_bins:bins=2,label=c"].data
    assert of_c["label"] == "c"
    assert [row["weight"] for row in of_c["bins"]] == [3, 0]


@given(seed=st.integers(0, 2**32), m=st.integers(2, 5), n=st.integers(2, 30), weighed=st.booleans())
@MANY
def test_the_skill_is_scikit_learns_d2(seed: int, m: int, n: int, weighed: bool) -> None:
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, m, size=n)
    codes[:2] = [0, 1]
    scores = rng.dirichlet([0.7] * m, size=n)
    weights = rng.integers(1, 6, size=n) if weighed else None
    names = [f"c{k}" for k in range(m)]
    gold = [names[code] for code in codes]
    own = scores / scores.sum(axis=1)[:, None]
    by = None if weights is None else weights.tolist()
    expected = sk.d2_brier_score(codes, own, labels=list(range(m)), sample_weight=weights)
    of = case("multiclass", names, gold, gold, scores.tolist(), weights=by)
    assert value(of, "brier_skill") == pytest.approx(expected, rel=1e-11, abs=1e-11)
    if m == 2:
        expected = sk.d2_brier_score(codes == 0, own[:, 0], sample_weight=weights, pos_label=True)
        of = case("binary", names, gold, gold, scores.tolist(), weights=by)
        assert value(of, "brier_skill") == pytest.approx(expected, rel=1e-11, abs=1e-11)


@given(data=st.data(), m=st.integers(2, 4))
@MANY
def test_the_skill_is_one_less_a_quotient_of_two_scores(data: st.DataObject, m: int) -> None:
    gold, rows, weights = data.draw(forecasts(m))
    n = sum(weights)
    shares = [Fraction(sum(w for label, w in zip(gold, weights, strict=True) if label == k), n) for k in CLASSES[:m]]
    reference = 1 - sum(share**2 for share in shares)
    cost = Fraction(0)
    for label, row, weight in zip(gold, rows, weights, strict=True):
        cost += weight * sum(
            ((Fraction(p) - (k == label)) ** 2 for k, p in zip(CLASSES, row, strict=False)), Fraction(0)
        )
    of = case("multiclass", CLASSES[:m], gold, gold, rows, weights=weights)
    found = evaluate_metric(of, "brier_skill")
    if reference == 0:
        assert found.value is None
        assert "only one class" in str(found.reason)
    else:
        assert found.value == float(1 - cost / n / reference)


def meka(gold: Sequence[Sequence[str]], rows: Sequence[Sequence[float]], most: float) -> float:
    """MEKA's mean over instances and labels: an exact probability costs nothing, and no cost exceeds the cap."""
    costs = []
    for labels, row in zip(gold, rows, strict=True):
        for name, p in zip(CLASSES, row, strict=False):
            own = p if name in labels else 1 - p
            costs.append(0.0 if own == 1 else min(-math.log(own) if own else math.inf, most))
    return math.fsum(costs) / len(costs)


@given(data=st.data(), n=st.integers(2, 8), m=st.integers(2, 4))
@MANY
def test_the_log_loss_of_label_sets_under_mekas_caps(data: st.DataObject, n: int, m: int) -> None:
    names = CLASSES[:m]
    gold = data.draw(st.lists(st.lists(st.sampled_from(names), unique=True), min_size=n, max_size=n))
    rows = data.draw(st.lists(st.lists(st.sampled_from(PARTS), min_size=m, max_size=m), min_size=n, max_size=n))
    of = case("multilabel", names, gold, gold, rows)
    expected = {
        "log_loss_meka": meka(gold, rows, math.log(m)),
        "log_loss_meka:cap=instances": meka(gold, rows, math.log(n)),
        "log_loss_multilabel": meka(gold, rows, 52 * math.log(2)),
    }
    found = results(of, list(expected))
    for text, number in expected.items():
        assert found[text].value == pytest.approx(number, rel=1e-11, abs=1e-15), text
    each = [
        sk.log_loss([name in labels for labels in gold], [row[k] for row in rows], labels=[False, True])
        for k, name in enumerate(names)
    ]
    assert found["log_loss_multilabel"].value == pytest.approx(np.mean(each), rel=1e-11, abs=1e-15)


@for_each(
    "names, gold, text, reason",
    [
        (["a"], [["a"], []], "log_loss_meka", "ln 1 = 0"),
        (["a", "b"], [["a"]], "log_loss_meka:cap=instances", "ln 1 = 0"),
        (["a"], [["a"]], "ece:label=b", "not a declared class"),
    ],
)
def test_what_is_undefined_says_why(names: list[str], gold: list[Any], text: str, reason: str) -> None:
    of = case("multilabel", names, gold, gold, [[0.5] * len(names)] * len(gold))
    found = evaluate_metric(of, text)
    assert found.value is None
    assert reason in str(found.reason)


def test_a_capped_loss_and_weights_exclude_each_other() -> None:
    of = case("multilabel", ["a"], [["a"], []], [["a"], []], [[0.5], [0.5]], weights=[1, 2])
    found = results(of, ["log_loss_multilabel", "log_loss_meka:cap=instances"])
    assert found["log_loss_multilabel"].value == 0.69314718056
    assert "weights" in str(found["log_loss_meka:cap=instances"].reason)


def test_the_worked_example_of_the_bins_is_true() -> None:
    shown = CATALOGUE["calibration_bins"].example
    of = case("binary", shown.classes, shown.gold, shown.predicted, shown.scores)
    assert evaluate_metric(of, "calibration_bins:bins=2").data == json.loads(shown.value)


def test_strings() -> None:
    assert parse_metric("ece:bins=15", task="multiclass").text == "ece"
    assert parse_metric("ece:label=a,bins=10", task="multilabel").text == "ece:bins=10,label=a"
    for refused in ("ece:bins=0", "ece:bins=2.5", "ece:bins=1001", "log_loss_meka:cap=5"):
        with pytest.raises(InvalidMetric):
            parse_metric(refused)
    with pytest.raises(InvalidMetric, match="label"):
        parse_metric("ece", task="multilabel")
    with pytest.raises(InvalidMetric, match="log_loss_multilabel"):
        parse_metric("log_loss", task="multilabel")


def test_rows_are_divided_by_their_sum_and_the_best_label_is_that_of_the_scores_as_sent() -> None:
    row = [0.49831339750729614, 0.4983133975072962, 0.003689364551229035]
    sums = math.fsum(row)
    assert row[0] < row[1]
    assert row[0] / sums == row[1] / sums
    found = evaluate_metric(case("multiclass", "abc", "b", "b", [row]), "ece")
    assert found.value == 1 - row[1] / sums
    assert "divided by their sum" in found.notes[0]


def test_one_class_only_is_no_binary_task() -> None:
    of = case("multiclass", "a", "aa", "aa", [[1.0], [1.0]])
    found = results(of, ["log_loss", "brier_multiclass_sum", "ece", "classwise_ece", "brier_skill"])
    assert [result.value for result in found.values()] == [0.0, 0.0, 0.0, 0.0, None]
