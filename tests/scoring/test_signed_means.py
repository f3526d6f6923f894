"""Means of terms of both signs: they are 0 where terms cancel, and correctly rounded elsewhere."""

import math
from fractions import Fraction

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from app.scoring.numeric.correct_rounding import quotient_sum
from tests.each_case import for_each
from tests.scoring.case_builder import case, value

GOLD, PREDICTED = list("ababba"), list("aaacbb")


@for_each("weights", [None, [1] * 6, [7] * 6, [10**12] * 6])
def test_a_mean_of_recalls_that_is_chance_is_0_when_adjusted(weights: list[int] | None) -> None:
    # recalls of 2/3 and 1/3: their doubles and -1 sum to -1.1e-16 in some orders, to 0 in others
    of = case("multiclass", list("abc"), GOLD, PREDICTED, weights=weights)
    assert value(of, "balanced_accuracy:adjusted=true") == 0.0


@for_each(
    "key, gold, predicted",
    [
        ("balanced_accuracy:adjusted=true", "ababba", "bcabbb"),
        ("informedness_macro", "bbba", "cbaa"),
        ("informedness_macro", "aacaaa", "cacbbb"),
        ("markedness_macro", "cbac", "bbbc"),
        ("informedness_weighted", "bcba", "cabc"),
        ("informedness_lfb_test", "babbcb", "ccbcac"),
        ("markedness_weighted", "bcabbc", "baaaaa"),
    ],
)
def test_measures_of_both_signs_that_cancel_give_0(key: str, gold: str, predicted: str) -> None:
    # summed as rounded quotients each of these is off by about 1e-17
    assert value(case("multiclass", list("abc"), list(gold), list(predicted)), key) == 0.0


def informedness(gold: list[str], predicted: list[str], weights: list[int], label: str) -> Fraction:
    rates = []
    for side in (True, False):
        inside = [
            (guess, w) for truth, guess, w in zip(gold, predicted, weights, strict=True) if (truth == label) is side
        ]
        hit = sum(w for guess, w in inside if (guess == label) is side)
        size = sum(w for _, w in inside)
        rates.append(Fraction(hit, size))
    return sum(rates, Fraction(-1))


ROW = st.tuples(st.sampled_from("abc"), st.sampled_from("abc"), st.integers(1, 10**9))


@example([("c", "b", 2516915)])  # a value of 1.6e-13
@given(st.lists(ROW, min_size=0, max_size=12))
def test_values_of_both_signs_are_the_fraction_rounded_once(rows: list[tuple[str, str, int]]) -> None:
    rows = [*rows, ("a", "b", 1), ("b", "b", 2), ("c", "a", 3)]  # each class occurs
    gold, predicted, weights = [row[0] for row in rows], [row[1] for row in rows], [row[2] for row in rows]
    of = case("multiclass", list("abc"), gold, predicted, weights=weights)
    terms = [informedness(gold, predicted, weights, label) for label in "abc"]
    recalls = [
        Fraction(
            sum(w for truth, guess, w in rows if truth == guess == label),
            sum(w for truth, _, w in rows if truth == label),
        )
        for label in "abc"
    ]
    for key, exact in (
        ("informedness_macro", sum(terms, Fraction(0)) / 3),
        ("balanced_accuracy:adjusted=true", sum(recalls, Fraction(-1)) / 2),
    ):
        found = value(of, key)
        assert found == float(exact), key


@given(
    st.lists(st.tuples(st.integers(-(10**18), 10**18), st.integers(1, 10**18)), min_size=1, max_size=9),
    st.integers(-3, 3),
    st.integers(1, 10**6),
)
def test_pairs_of_opposite_terms_leave_what_stands_beside_them(
    pairs: list[tuple[int, int]], extra: int, divisor: int
) -> None:
    both = [*pairs, *((-a, b) for a, b in reversed(pairs))]
    above, below = (np.array(side, dtype=object) for side in zip(*both, strict=True))
    found = ((quotient_sum(above, below) + extra) / divisor).nearest()
    assert found == extra / divisor
    assert math.copysign(1, found) == (-1 if extra < 0 else 1)  # no negative zero


@for_each("weights", [None, [5] * 4])
def test_sets_of_both_signs_cancel_over_instances(weights: list[int] | None) -> None:
    # 3/5 for the first set, -1/5 for each of the others
    predicted = [["a", "b", "c"], ["b"], ["b"], ["b"]]
    of = case("multilabel", list("abcdef"), [["a"]] * 4, predicted, weights=weights)
    assert value(of, "informedness_samples") == 0.0
