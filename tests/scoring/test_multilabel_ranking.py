"""One-error, coverage, ranking loss and example-based average precision: by definition, and against scikit-learn."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as sk

from app.scoring.catalogue.description import describe_call
from app.scoring.declaration.metric_parser import parse_metric
from tests.each_case import for_each
from tests.scoring import ranking_oracle as oracle
from tests.scoring.case_builder import case, results, value

MANY = settings(max_examples=100, deadline=None)
Rankings = tuple[int, list[list[str]], list[list[float]], list[int], list[str]]
Row = Sequence[float]


def rank(row: Row, label: int) -> int:
    """The number of labels that score at least as high."""
    return sum(score >= row[label] for score in row)


def one_error(row: Row, gold: AbstractSet[int]) -> Fraction:
    return Fraction(list(row).index(max(row)) not in gold)


def one_error_expected(row: Row, gold: AbstractSet[int]) -> Fraction:
    best = {label for label, score in enumerate(row) if score == max(row)}
    return Fraction(len(best - gold), len(best))


def coverage(row: Row, gold: AbstractSet[int]) -> Fraction:
    return Fraction(max(rank(row, label) for label in gold) - 1)


def ranking_loss(row: Row, gold: AbstractSet[int], tie: Fraction = Fraction(1)) -> Fraction:
    pairs = list(product(gold, set(range(len(row))) - gold))
    lost = sum((row[good] < row[bad]) + tie * (row[good] == row[bad]) for good, bad in pairs)
    return Fraction(lost, len(pairs))


def average_precision(row: Row, gold: AbstractSet[int]) -> Fraction:
    found = (Fraction(sum(row[other] >= row[label] for other in gold), rank(row, label)) for label in gold)
    return sum(found, Fraction(0)) / len(gold)


# metric string, measure of an instance, best value, whether instances of which all labels are relevant say nothing too
MEASURES = {
    "one_error": (one_error, 1, False),
    "one_error:ties=expected": (one_error_expected, 1, False),
    "coverage": (coverage, 0, False),
    "coverage:normalized=true": (lambda row, gold: coverage(row, gold) / len(row), 0, False),
    "coverage_plus_one": (lambda row, gold: coverage(row, gold) + 1, 0, False),
    "ranking_loss": (ranking_loss, 0, True),
    "ranking_loss:ties=half": (lambda row, gold: ranking_loss(row, gold, Fraction(1, 2)), 0, True),
    "average_precision_samples": (average_precision, 1, False),
}


@pytest.mark.parametrize("text", MEASURES)
@given(drawn=oracle.rankings(), lower=st.booleans(), kept=st.booleans())
@MANY
def test_the_definition(text: str, drawn: Rankings, lower: bool, kept: bool) -> None:
    m, gold, scores, weights, names = drawn
    measure, best, full = MEASURES[text]
    sent = [[-score for score in row] for row in scores] if lower else scores
    of = case("multilabel", names, gold, [[]] * len(gold), sent, weights=weights)
    rule = "best_value" if kept else "skip"
    found = value(of, text, degenerate_instance=rule, score_direction="lower" if lower else "higher")
    each = [
        measure(row, labels) if labels and not (full and len(labels) == m) else best if kept else None
        for row, labels in zip(scores, oracle.gold_sets(gold), strict=True)
    ]
    expected = oracle.weighted_mean(each, weights)
    if expected is None:
        assert found is None
    else:
        assert found == float(expected)


@given(seed=st.integers(0, 2**32), levels=st.integers(1, 60), weighed=st.booleans())
@MANY
def test_scikit_learn_agrees(seed: int, levels: int, weighed: bool) -> None:
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(1, 40)), int(rng.integers(2, 50))
    scores = rng.integers(0, levels, size=(n, m)) / 7
    truth = rng.random((n, m)) < rng.random((n, 1))
    names = [f"c{label}" for label in range(m)]
    gold = [[names[label] for label in np.flatnonzero(row)] for row in truth]
    weights = rng.integers(1, 5, size=n).tolist()
    of = case("multilabel", names, gold, [[]] * n, scores.tolist(), weights=weights if weighed else None)
    by = weights if weighed else None
    expected = {
        "coverage_plus_one": sk.coverage_error(truth, scores, sample_weight=by),
        "ranking_loss": sk.label_ranking_loss(truth, scores, sample_weight=by),
        "average_precision_samples": sk.label_ranking_average_precision_score(truth, scores, sample_weight=by),
    }
    for key, number in expected.items():
        assert value(of, key, degenerate_instance="best_value") == pytest.approx(number, rel=1e-12, abs=1e-14), key


def test_a_tied_pair_is_an_error_or_half_of_one() -> None:
    of = case("multilabel", ["a", "b", "c"], [["a"]], [[]], [[0.5, 0.5, 0.1]])
    assert value(of, "ranking_loss") == 1 / 2
    assert value(of, "ranking_loss:ties=half") == 1 / 4


def test_of_several_best_labels_the_first_declared_counts() -> None:
    scores = [[0.5, 0.5, 0.1]]
    first = case("multilabel", ["a", "b", "c"], [["a"]], [[]], scores)
    second = case("multilabel", ["a", "b", "c"], [["b"]], [[]], scores)
    both = case("multilabel", ["a", "b", "c"], [["b", "a"]], [[]], scores)
    assert [value(of, "one_error") for of in (first, second, both)] == [0.0, 1.0, 0.0]
    assert [value(of, "one_error:ties=expected") for of in (first, second, both)] == [0.5, 0.5, 0.0]


def test_degenerate_instances_are_counted_in_a_note() -> None:
    names, scores = ["a", "b"], [[0.9, 0.1]] * 4
    of = case("multilabel", names, [[], ["a", "b"], ["b"], []], [[]] * 4, scores)
    found = results(of, ["ranking_loss", "coverage", "one_error", "average_precision_samples"])
    assert [result.value for result in found.values()] == [1.0, 1.0, 0.5, 0.75]
    assert found["ranking_loss"].notes == ("3 instances left out (degenerate_instance=skip)",)
    assert found["coverage"].notes == ("2 instances left out (degenerate_instance=skip)",)
    kept = results(of, list(found), {"degenerate_instance": "best_value"})
    assert [result.value for result in kept.values()] == [0.25, 0.5, 0.75, 0.875]
    assert kept["one_error"].notes == ("2 instances counted as 1 (degenerate_instance=best_value)",)


@for_each(
    "text, part",
    [
        ("one_error:ties=expected", r"\max_{z} f_{iz}"),
        ("coverage:normalized=true", r"\frac{1}{n\,m}"),
        ("ranking_loss:ties=half", r"\frac{1}{2}[f_{iy}=f_{iz}]"),
    ],
)
def test_the_equation_shows_the_setting(text: str, part: str) -> None:
    shown = describe_call(parse_metric(text, task="multilabel"))["equation"]
    assert part in shown["latex"]
    assert part not in describe_call(parse_metric(text.partition(":")[0], task="multilabel"))["equation"]["latex"]
    assert shown["mathml"].startswith("<math")
