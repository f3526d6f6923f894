"""The arithmetic of values that are rounded once: halfway, at 0, of many terms and of few, against exact fractions."""

import math
import tracemalloc
from collections.abc import Sequence
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from app.scoring.numeric.correct_rounding import Real, power_sum, quotient_sum, root_sum, sum_reals, to_real
from app.scoring.numeric.float_sums import exact_square_sum, exact_sum
from tests.each_case import for_each

FEW = settings(max_examples=60, deadline=None)


def whole(values: Sequence[int]) -> np.ndarray:
    fits = all(abs(number) < 2**62 for number in values)
    return np.array(values, dtype=np.int64 if fits else object)


def mean(pairs: Sequence[tuple[int, int]], divisor: int) -> float:
    above, below = zip(*pairs, strict=True)
    return (quotient_sum(whole(above), whole(below)) / divisor).nearest()


SIZES = st.sampled_from([9, 1000, 2**31, 2**43, 2**50, 2**70])


@st.composite
def quotients(draw: st.DrawFn) -> list[tuple[int, int]]:
    """Few quotients and many, which are summed in different ways, of small integers and of large ones."""
    most = draw(SIZES)
    seed, n = draw(st.integers(0, 2**32)), draw(st.sampled_from([1, 2, 24, 25, 60]))
    rng = np.random.default_rng(seed)
    drawn = [[int(part * most) for part in rng.random(2)] for _ in range(n)]
    return [(a - most // 2, b + 1) for a, b in drawn]


@given(pairs=quotients(), divisor=st.integers(1, 2**60))
@FEW
def test_a_mean_of_quotients_is_the_fraction_rounded_once(pairs: list[tuple[int, int]], divisor: int) -> None:
    exact = sum((Fraction(a, b) for a, b in pairs), Fraction(0)) / divisor
    assert mean(pairs, divisor) == float(exact)
    both = [*pairs, *((-a, b) for a, b in pairs)]
    assert math.copysign(1, mean(both, divisor)) == 1  # neither beside 0 nor below it
    assert mean(both, divisor) == 0


@given(
    odd=st.integers(2**52, 2**53 - 1),
    places=st.integers(54, 120),
    thirds=st.lists(st.tuples(st.integers(1, 10**6), st.sampled_from([3, 7, 30, 997, 10**9 + 7])), max_size=40),
    beside=st.sampled_from([-1, 0, 1]),
)
@example(odd=2**52, places=54, thirds=[], beside=0)
@FEW
def test_what_lies_halfway_is_rounded_to_even(
    odd: int, places: int, thirds: list[tuple[int, int]], beside: int
) -> None:
    # (2·odd + 1) / 2^places lies halfway between two binary64 numbers; the thirds cancel each other
    half = Fraction(2 * odd + 1, 2**places)
    pairs = [(2 * odd + 1, 2**places), *thirds, *((-a, b) for a, b in reversed(thirds)), (beside, 3**200)]
    lower, upper = odd / 2 ** (places - 1), (odd + 1) / 2 ** (places - 1)
    wanted = {-1: lower, 1: upper, 0: lower if odd % 2 == 0 else upper}[beside]
    assert mean(pairs, 1) == wanted == float(half + Fraction(beside, 3**200))


@for_each("n", [30_000, 200_003])
def test_many_quotients_are_rounded_once(n: int) -> None:
    # 1/(k(k+1)) = 1/k - 1/(k+1): the sum is 1 - 1/(n+1) = n/(n+1), whatever is between
    k = np.arange(1, n + 1)
    assert quotient_sum(np.ones(n, dtype=np.int64), k * (k + 1)).nearest() == n / (n + 1)
    assert (quotient_sum(k, np.full(n, 7)) / 3).nearest() == n * (n + 1) / 42
    there_and_back = np.concatenate([k, -k[::-1]]), np.concatenate([k + 1, (k + 1)[::-1]])
    assert quotient_sum(*there_and_back).nearest() == 0


@given(pairs=st.lists(st.tuples(st.integers(0, 50), st.integers(1, 50)), min_size=1, max_size=30))
@FEW
def test_sums_of_roots_are_rounded_once(pairs: list[tuple[int, int]]) -> None:
    above, below = (whole(side) for side in zip(*pairs, strict=True))
    with localcontext() as context:
        context.prec = 80
        exact = sum(((Decimal(a) / Decimal(b)).sqrt() for a, b in pairs), Decimal(0))
        assert root_sum(above, below).nearest() == float(Fraction(exact.quantize(Decimal(10) ** -60)))


@given(
    terms=st.lists(st.tuples(st.integers(0, 10**18), st.integers(1, 10**18), st.integers(1, 2**40)), max_size=12),
    half=st.sampled_from([1, 2, 3, 53]),
    power=st.sampled_from([0, 1, 2, 3, 7, 64, 999, 1000]),
)
@FEW
def test_sums_of_powers_are_rounded_once(terms: list[tuple[int, int, int]], half: int, power: int) -> None:
    terms = [*((min(a, b), b, weight) for a, b, weight in terms), (1, 2**half, 1), (5, 5, 2**20 + 1)]
    above, below, weights = (whole(side) for side in zip(*terms, strict=True))
    found = power_sum(above, below, weights, power=power)
    exact = sum((weight * Fraction(a, b) ** power for a, b, weight in terms), Fraction(0))
    assert found.nearest() == float(exact)
    for bits in (96, 192, 1024):
        low, high = found.bounds(bits)
        assert low <= exact * 2**bits <= high <= low + 3


@for_each("beside", [-1, 0, 1])
def test_a_sum_of_powers_that_lies_halfway_is_rounded_to_even(beside: int) -> None:
    # 1 + 2^-53 lies halfway; a third to the power of 600 is some 2^-951
    above, below, weights = whole([1, 1, 1]), whole([1, 2**53, 3**300]), whole([1, 1, 1])
    if not beside:
        above, below, weights = above[:2], below[:2], weights[:2]
    exact = sum_reals([power_sum(above[:2], below[:2], weights[:2], power=1)])
    assert exact.nearest() == 1.0
    small = power_sum(above[2:], below[2:], weights[2:], power=2)
    assert sum_reals([exact, small * beside]).nearest() == (1.0 if beside < 1 else 1 + 2**-52)


@for_each("quotient", [(1, 2), (13, 25), (12, 25), (1, 3), (1, 10), (10**17 - 1, 2 * 10**17)])
@for_each("power", [295, 600, 680, 962, 1000])
def test_a_value_near_the_smallest_numbers_is_rounded_once_too(quotient: tuple[int, int], power: int) -> None:
    a, b = quotient
    found = power_sum(whole([a, 0]), whole([b, 7]), whole([2, 5]), power=power) / 7
    assert found.nearest() == float(2 * Fraction(a, b) ** power / 7)


def test_what_lies_halfway_between_the_smallest_numbers_is_rounded_to_even() -> None:
    # 2^-1074 is the smallest number; a sum of thirds gives its half and three halves of it exactly
    for halves, wanted in ((1, 0.0), (3, 2.0**-1073)):
        thirds = sum_reals([to_real(Fraction(halves, 3 * 2**1075)), to_real(Fraction(halves * 2, 3 * 2**1075))])
        assert thirds.nearest() == wanted


def test_a_large_power_is_not_written_out() -> None:
    tracemalloc.start()
    try:
        found = power_sum(whole([10**18 - 1]), whole([10**18]), None, power=2**14).nearest()
        assert tracemalloc.get_traced_memory()[1] < 50_000  # a numerator written out takes 120,000 bytes
    finally:
        tracemalloc.stop()
    assert found == pytest.approx(1 - 2**14 * 1e-18, abs=1e-15)


def test_sums_of_roots_that_are_equal_are_the_same_value() -> None:
    # the root of 2 and that of 8 are three times that of 2, that of 1/4 and of 9/4 are 2
    assert root_sum(whole([2, 8]), whole([1, 1])).nearest() == root_sum(whole([18]), whole([1])).nearest()
    assert root_sum(whole([1, 9]), whole([4, 4])).nearest() == 2.0


P = st.fractions(0, 1, max_denominator=60)


@given(p=st.lists(P, min_size=1, max_size=5), r=st.lists(P, min_size=1, max_size=5), beta=st.fractions(0, 5))
@FEW
def test_what_is_made_of_means_is_rounded_once(p: list[Fraction], r: list[Fraction], beta: Fraction) -> None:
    def both(values: list[Fraction]) -> tuple[Real, Fraction]:
        return sum_reals(map(to_real, values)) / len(values), sum(values, Fraction(0)) / len(values)

    (precision, exact_p), (recall, exact_r) = both(p), both(r)
    if exact_r:
        square = beta * beta
        found = precision * recall * (1 + square) / (precision * square + recall)
        assert found.nearest() == float((1 + square) * exact_p * exact_r / (square * exact_p + exact_r))


FLOATS = st.floats(-1, 1) | st.sampled_from([5e-324, 1e-300, 2.0**-600, 1 - 2.0**-53, 0.5 + 2.0**-30])


@given(st.lists(st.tuples(FLOATS, st.integers(0, 2**53)), max_size=20))
@FEW
def test_sums_of_binary64_numbers_and_of_their_squares_are_exact(pairs: list[tuple[float, int]]) -> None:
    values = np.array([value for value, _ in pairs], dtype=np.float64)
    weights = np.array([weight for _, weight in pairs], dtype=np.int64)
    for power, found in ((1, exact_sum), (2, exact_square_sum)):
        assert found(values) == sum((Fraction(value) ** power for value, _ in pairs), Fraction(0))
        assert found(values, weights) == sum(
            (weight * Fraction(value) ** power for value, weight in pairs), Fraction(0)
        )
