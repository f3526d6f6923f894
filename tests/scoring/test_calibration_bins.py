"""Bins of probabilities, held against exact fractions and against scikit-learn's curve."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.calibration import calibration_curve

from app.scoring.calibration_bins import (
    CalibrationBin,
    expected_calibration_error,
    fill_bins,
    maximum_calibration_error,
)
from app.scoring.numeric.exact import weighted_terms

MANY = settings(max_examples=200, deadline=None)
COUNTS = st.integers(1, 40)
Rows = list[tuple[float, bool, int]]


@st.composite
def rows(draw: st.DrawFn, count: int) -> Rows:
    """Probabilities (many of them on an edge or next to one), whether they came true, and weights."""
    edge = st.integers(0, count).map(lambda k: k / count)
    beside = edge.flatmap(lambda p: st.sampled_from([p, math.nextafter(p, 0.0), min(1.0, math.nextafter(p, 2.0))]))
    one = st.tuples(beside | st.floats(0, 1), st.booleans(), st.integers(0, 5))
    return draw(st.lists(one, min_size=1, max_size=15))


def bins_of(of: Rows, count: int, *, weighed: bool) -> tuple[CalibrationBin, ...]:
    probabilities, truths, weights = (np.array(column) for column in zip(*of, strict=True))
    return fill_bins(probabilities.astype(np.float64), truths, weights.astype(np.int64) if weighed else None, count)


def within(p: float, k: int, count: int) -> bool:
    return (k - 1) / count < p <= k / count or (p == 0 and k == 1)


@given(data=st.data(), count=COUNTS, weighed=st.booleans())
@MANY
def test_bins_hold_what_lies_in_them_exactly(data: st.DataObject, count: int, weighed: bool) -> None:
    of = data.draw(rows(count))
    found = bins_of(of, count, weighed=weighed)
    assert len(found) == count
    for k, one in enumerate(found, start=1):
        own = [(Fraction(p), came, weight if weighed else 1) for p, came, weight in of if within(p, k, count)]
        hits = sum(weight for _, came, weight in own if came)
        confidence = sum((p * weight for p, _, weight in own), Fraction(0))
        assert (one.lower, one.upper) == ((k - 1) / count, k / count)
        assert (one.weight, one.hits) == (sum(weight for _, _, weight in own), hits)
        assert one.confidence == confidence
        assert one.excess == confidence - hits


@given(data=st.data(), count=COUNTS)
@MANY
def test_a_weight_is_as_many_repetitions_to_the_bit(data: st.DataObject, count: int) -> None:
    of = data.draw(rows(count))
    copies = [row for row in of for _ in range(row[2])]
    if copies:
        assert bins_of(of, count, weighed=True) == bins_of(copies, count, weighed=False)


@given(data=st.data(), count=COUNTS)
@MANY
def test_gaps_are_exact_in_any_order(data: st.DataObject, count: int) -> None:
    of = data.draw(rows(count))
    found = bins_of(of, count, weighed=False)
    gaps = {}
    for k in range(1, count + 1):
        own = [Fraction(p) - came for p, came, _ in of if within(p, k, count)]
        if own:
            gaps[k] = (abs(sum(own, Fraction(0))), len(own))
    expected = sum((gap for gap, _ in gaps.values()), Fraction(0)) / len(of)
    widest = max(gap / size for gap, size in gaps.values())
    assert expected_calibration_error(found, len(of)) == expected
    assert maximum_calibration_error(found) == widest
    assert bins_of(data.draw(st.permutations(of)), count, weighed=False) == found


def test_edges_are_quotients_and_belong_to_the_bin_below() -> None:
    edges = [k / 5 for k in range(6)]
    found = fill_bins(np.array(edges), np.zeros(6, dtype=bool), None, 5)
    assert [one.weight for one in found] == [2, 1, 1, 1, 1]  # 0 lies in the first
    above = np.array([math.nextafter(edge, 1.0) for edge in edges[1:-1]])
    assert [one.weight for one in fill_bins(above, np.zeros(4, dtype=bool), None, 5)] == [0, 1, 1, 1, 1]
    assert np.linspace(0, 1, 6)[3] != 3 / 5  # where numpy has another edge


@given(seed=st.integers(0, 2**32), count=COUNTS, n=st.integers(2, 60))
@MANY
def test_scikit_learns_curve_goes_through_the_bins_that_are_not_empty(seed: int, count: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    probabilities = rng.random(n)
    truths: NDArray[np.bool_] = rng.random(n) < probabilities
    truths[:2] = [True, False]
    shares, means = calibration_curve(truths, probabilities, n_bins=count, pos_label=True)
    found = [one for one in fill_bins(probabilities, truths, None, count) if one.weight]
    assert [one.hits / one.weight for one in found] == pytest.approx(shares, abs=1e-15)
    assert [float(one.confidence / one.weight) for one in found] == pytest.approx(means, abs=1e-14)


NUMBERS = st.floats(-(2.0**900), 2.0**900)


@given(st.lists(st.tuples(NUMBERS, st.integers(0, 2**49)), min_size=1, max_size=8))
@MANY
def test_terms_of_repeated_values_sum_to_the_exact_product(pairs: list[tuple[float, int]]) -> None:
    values, weights = (np.array(column) for column in zip(*pairs, strict=True))
    terms = weighted_terms(values, weights.astype(np.int64))
    exact = sum(Fraction(value) * weight for value, weight in pairs)
    assert sum(map(Fraction, terms)) == exact
    assert math.fsum(terms) == float(exact)
