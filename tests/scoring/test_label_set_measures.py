"""Measures of label sets against their formulas, recomputed with fractions, and against scikit-learn."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, hamming_loss

from app.errors import InvalidMetric
from app.scoring.catalogue.description import describe_call
from app.scoring.declaration.metric_parser import parse_metric
from app.scoring.evaluation_input import EvaluationInput
from tests.each_case import for_each
from tests.scoring.case_builder import case, evaluate_metric, results, value
from tests.scoring.strategies import cases
from tests.scoring.test_edit_distance import textbook_distance

MANY = settings(max_examples=80, deadline=None)
Sets = list[tuple[set[int], set[int]]]


def sets_of(of: EvaluationInput) -> Sets:
    """Gold and predicted codes of each instance."""
    found = []
    for row in range(of.gold.n):
        sides = (side.take(np.array([row])).codes.tolist() for side in (of.gold, of.predicted))
        gold, predicted = map(set, sides)
        found.append((gold, predicted))
    return found


def mean(values: list[Fraction]) -> Fraction:
    return sum(values, Fraction(0)) / len(values)


def matrix(of: EvaluationInput, side: int) -> Any:
    m = len(of.spec.classes)
    return np.array([[code in pair[side] for code in range(m)] for pair in sets_of(of)], dtype=int)


def alpha_values(of: EvaluationInput, beta: Fraction, gamma: Fraction) -> list[Fraction | None]:
    return [
        1 - (beta * len(y - p) + gamma * len(p - y)) / Fraction(len(y | p)) if y | p else None for y, p in sets_of(of)
    ]


@given(of=cases("multilabel"), beta=st.sampled_from(["0", "0.25", "1"]), both_empty=st.sampled_from(["0", "1", "skip"]))
@MANY
def test_the_alpha_score_is_the_mean_of_its_ratios(of: EvaluationInput, beta: str, both_empty: str) -> None:
    exact = alpha_values(of, Fraction(beta), Fraction(1))
    filled = [ratio for ratio in exact if ratio is not None]
    if both_empty != "skip":
        filled += [Fraction(both_empty)] * exact.count(None)
    for alpha in ("1", "2", "0.5"):
        found = value(of, f"alpha_score:alpha={alpha},beta={beta},gamma=1", both_empty=both_empty)
        if not filled:
            assert found is None
            continue
        expected = math.fsum(float(ratio) ** float(alpha) for ratio in filled) / len(filled)
        assert found == pytest.approx(expected, rel=1e-11)
        if alpha == "1":
            assert found == float(mean(filled))


@for_each("a, b, c", [(3, 4, 5), (5, 12, 13), (7, 24, 25), (20, 21, 29), (28, 45, 53)])
def test_equal_alpha_scores_are_equal_at_a_boundary_of_rounding_too(a: int, b: int, c: int) -> None:
    """(a/c)² + (b/c)² = 1, and 1 / 2^18 has 13 digits of which the last is 5."""
    names = [f"l{k}" for k in range(c)]
    found = []
    for sizes in ((a, b, 0), (c, 0, 0)):
        predicted = [*(names[:size] for size in sizes[:2]), names[:0]]
        of = case("multilabel", names, [names] * 3, predicted, weights=[1, 1, 2**18 - 2])
        found.append(value(of, "alpha_score:alpha=2,beta=1,gamma=1"))
    assert found == [3.81469726562e-06] * 2


@given(of=cases("multilabel"), alpha=st.sampled_from([2, 3, 7, 1000]))
@MANY
def test_a_whole_power_in_the_alpha_score_is_exact(of: EvaluationInput, alpha: int) -> None:
    ratios = [ratio for ratio in alpha_values(of, Fraction(1, 4), Fraction(1)) if ratio is not None]
    found = value(of, f"alpha_score:alpha={alpha},beta=0.25,gamma=1", both_empty="skip")
    exact = mean([ratio**alpha for ratio in ratios]) if ratios else None
    assert found == (None if exact is None else float(f"{float(exact):.12g}"))


@for_each("alpha", [900, 962, 1000])
def test_what_is_half_right_is_above_0_however_large_alpha_is(alpha: int) -> None:
    of = case("multilabel", ["a", "b"], [["a", "b"]], [["a"]])
    assert value(of, f"alpha_score:alpha={alpha},beta=1,gamma=1") == float(f"{2.0**-alpha:.12g}")


@given(of=cases("multilabel"))
@MANY
def test_with_all_three_1_it_is_the_jaccard_index(of: EvaluationInput) -> None:
    assert value(of, "alpha_score:alpha=1,beta=1,gamma=1") == value(of, "jaccard_samples")
    pooled = value(of, "alpha_score:alpha=1,beta=1,gamma=1,pooled=true")
    if any(y | p for y, p in sets_of(of)):
        assert pooled == value(of, "jaccard_micro")


@given(of=cases("multilabel"), epsilon=st.sampled_from(["0", "1e-5"]))
@MANY
def test_the_pooled_form_sums_counts_first(of: EvaluationInput, epsilon: str) -> None:
    pairs = sets_of(of)
    missed, added = sum(len(y - p) for y, p in pairs), sum(len(p - y) for y, p in pairs)
    below = sum(len(y | p) for y, p in pairs) + Fraction(epsilon)
    found = value(of, f"alpha_score:alpha=1,beta=0.25,gamma=1,pooled=true,epsilon={epsilon}")
    assert found == (float(1 - (Fraction(missed, 4) + added) / below) if below else 1.0)


@for_each(
    "params, fault",
    [("beta=0.5,gamma=0.5", "beta or gamma must be 1"), ("beta=1,gamma=1,epsilon=1e-5", "add pooled=true")],
)
def test_parameters_of_the_alpha_score_that_make_no_sense_are_refused(params: str, fault: str) -> None:
    with pytest.raises(InvalidMetric, match=fault):
        parse_metric(f"alpha_score:alpha=1,{params}")
    assert parse_metric("alpha_score:alpha=1,beta=1,gamma=0.5,epsilon=1e-5,pooled=true")


def test_epsilon_and_weights_do_not_go_together() -> None:
    # weights are known up to a factor only, and a count that is added is not
    of = case("multilabel", ["a", "b"], [["a"], []], [["b"], []], weights=[1, 2])
    loose, plain = (f"alpha_score:alpha=1,beta=1,gamma=1,pooled=true{more}" for more in (",epsilon=1e-5", ""))
    found = results(of, [loose, plain])
    assert found[loose].value is None
    assert "weights" in str(found[loose].reason)
    assert found[plain].value is not None


def test_an_instance_with_one_empty_set_keeps_the_value_of_the_equation() -> None:
    of = case("multilabel", ["a", "b"], [["a"], ["a"]], [[], ["a"]])
    assert value(of, "alpha_score:alpha=1,beta=0.25,gamma=1") == 0.875
    assert value(of, "alpha_score:alpha=1,beta=0.25,gamma=1", one_empty="skip") == 1.0
    assert value(of, "alpha_score:alpha=1,beta=0.25,gamma=1,pooled=true", one_empty="skip") == 1.0
    nothing = case("multilabel", ["a"], [[]], [[]])
    for pooled in ("true", "false"):
        text = f"alpha_score:alpha=2,beta=1,gamma=1,pooled={pooled}"
        assert [value(nothing, text, both_empty=rule) for rule in ("1", "0", "skip")] == [1.0, 0.0, None]


def test_a_call_of_the_alpha_score_shows_its_numbers() -> None:
    shown = describe_call(parse_metric("alpha_score:alpha=2,beta=0.25,gamma=1,pooled=true,epsilon=1e-5"))
    latex = shown["equation"]["latex"]
    assert r"1-\frac{0.25\,\sum" in latex
    assert latex.endswith("+10^{-5}}\\right)^{2}")


@given(of=cases("multilabel"))
@MANY
def test_the_hamming_score_is_that_of_scikit_learn(of: EvaluationInput) -> None:
    gold, predicted = matrix(of, 0), matrix(of, 1)
    assert value(of, "hamming_score") == pytest.approx(1 - hamming_loss(gold, predicted), abs=1e-15)
    assert value(of, "hamming_score") == float(np.sum(gold == predicted)) / gold.size


def meka_harmonic(y: set[int], p: set[int], m: int) -> Fraction | None:
    """MEKA's P_Harmonic for one instance; None where it is NaN there."""
    positives, negatives = len(y), m - len(y)
    if not positives or not negatives:
        return None
    right = Fraction(len(y & p), positives), Fraction(m - len(y | p), negatives)
    return 2 / (1 / right[0] + 1 / right[1]) if all(right) else Fraction(0)


@given(of=cases("multilabel"))
@MANY
def test_harmonic_accuracy_is_that_of_meka(of: EvaluationInput) -> None:
    exact = [meka_harmonic(y, p, len(of.spec.classes)) for y, p in sets_of(of)]
    kept = [each for each in exact if each is not None]
    found = value(of, "harmonic_accuracy", zero_division="skip")
    assert (found is None) == (not kept)
    if found is not None:
        assert found == float(mean(kept))
    assert value(of, "harmonic_accuracy") == float(sum(kept, Fraction(0)) / len(exact))


@given(of=cases("multilabel"))
@MANY
def test_the_levenshtein_distance_is_that_of_meka(of: EvaluationInput) -> None:
    gold, predicted = matrix(of, 0).tolist(), matrix(of, 1).tolist()
    apart = sum(textbook_distance(y, p) for y, p in zip(gold, predicted, strict=True))
    assert value(of, "levenshtein") == apart / (len(gold) * len(of.spec.classes))


def test_the_example_in_meka_itself() -> None:
    # Metrics.main: what its four instances of 15 labels are predicted to be
    gold = [["1", "2"], ["3", "4", "5"], ["6"], ["7"]]
    predicted = [["1", "2", "3", "9"], ["3", "4"], ["6", "12"], ["1"]]
    of = case("multilabel", [str(place) for place in range(15)], gold, predicted)
    assert value(of, "f1_samples") == pytest.approx(8 / 15, abs=1e-15)  # the 0.5333 that it prints
    assert value(of, "levenshtein") == pytest.approx((2 + 1 + 1 + 2) / 60, abs=1e-15)


def test_labels_outside_the_vocabulary_are_wrong_decisions_more() -> None:
    of = case("multilabel", ["a", "b"], [["a"], ["b"]], [["a", "beyond"], ["b"]])
    assert value(of, "hamming_score", unknown_label="count_as_fp") == 3 / 4
    assert value(of, "levenshtein", unknown_label="count_as_fp") == 1 / 4
    assert value(of, "levenshtein", unknown_label="drop") == 0.0
    assert value(of, "label_cardinality_predicted", unknown_label="count_as_fp") == 3 / 2


def test_the_empty_set_as_a_class_is_one_more_position() -> None:
    of = case("multilabel", ["a", "b"], [[], ["b"]], [["a"], ["b"]])
    assert value(of, "levenshtein") == 1 / 4
    assert value(of, "levenshtein", empty_label="as_class") == 2 / 6


@given(of=cases("multilabel"))
@MANY
def test_sizes_and_states_of_the_sets(of: EvaluationInput) -> None:
    pairs, m = sets_of(of), len(of.spec.classes)
    n = len(pairs)
    for at, side in enumerate(("gold", "predicted")):
        size = sum(len(pair[at]) for pair in pairs)
        assert value(of, f"label_cardinality_{side}") == size / n
        assert value(of, f"label_density_{side}") == size / (n * m)
    assert value(of, "empty_predictions") == sum(not p for _, p in pairs)
    assert value(of, "empty_predictions", empty_label="as_class") == sum(not p for _, p in pairs)
    full = sum(y == p for y, p in pairs)
    partial = sum(y != p and bool(y & p) for y, p in pairs)
    found = results(of, ["instance_status", "instance_status_partial", "instance_status_none"])
    data = found["instance_status"].data
    assert [data[name]["count"] for name in ("full", "partial", "none")] == [full, partial, n - full - partial]
    assert data["full"]["share"] == pytest.approx(accuracy_score(matrix(of, 0), matrix(of, 1)), abs=1e-15)
    assert data["partial"]["share"] == found["instance_status_partial"].value == partial / n
    assert data["none"]["share"] == found["instance_status_none"].value
    assert evaluate_metric(of, "instance_status", empty_label="as_class").data == data
