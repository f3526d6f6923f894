"""Special functions, intervals and tests of counts: against exact sums, and against scipy to 13 digits."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
import scipy.special
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from app.scoring.numeric import special_functions
from app.scoring.numeric.exact import round_to_12_digits
from app.scoring.numeric.exact_intervals import binomial_tail, bowker_test, clopper_pearson
from tests.each_case import for_each

SOME = settings(max_examples=150, deadline=None)
PARAMETER = st.floats(0.5, 3000)


def close(found: Decimal, expected: float) -> bool:
    """To 13 digits, but for those that scipy loses where it takes the exponential of a large logarithm."""
    lost = max(1.0, -math.log(expected)) if expected > 1e-300 else math.inf
    return math.isclose(float(found), expected, rel_tol=1e-13 * lost, abs_tol=1e-300)


@given(z=st.floats(0.01, 1e9))
@SOME
def test_the_logarithm_of_the_gamma_function(z: float) -> None:
    assert float(special_functions.log_gamma(Decimal(z))) == pytest.approx(math.lgamma(z), rel=1e-13, abs=1e-14)


@for_each("n", [1, 2, 5, 39, 40, 41, 1000, 20_000])
def test_the_gamma_function_of_whole_numbers_is_a_factorial(n: int) -> None:
    exact = special_functions.DECIMAL_CONTEXT.ln(Decimal(math.factorial(n - 1)))
    assert abs(special_functions.log_gamma(Decimal(n)) - exact) <= Decimal("1e-40") * max(Decimal(1), exact)


@given(n=st.integers(1, 300), data=st.data())
@SOME
def test_the_incomplete_beta_function_is_the_binomial_tail_to_thirty_digits(n: int, data: st.DataObject) -> None:
    k, percent = data.draw(st.integers(1, n)), data.draw(st.integers(1, 99))
    p = Fraction(percent, 100)
    exact = sum(math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(k, n + 1))
    found = special_functions.incomplete_beta(Decimal(k), Decimal(n - k + 1), Decimal(percent) / 100)
    assert abs(Fraction(found) / exact - 1) < Fraction(1, 10**30)


@given(a=PARAMETER, b=PARAMETER, x=st.floats(0.01, 0.99))
@SOME
def test_the_incomplete_beta_function_is_that_of_scipy(a: float, b: float, x: float) -> None:
    assert close(special_functions.incomplete_beta(Decimal(a), Decimal(b), Decimal(x)), scipy.special.betainc(a, b, x))


@given(a=PARAMETER, times=st.floats(0.05, 4))
@SOME
def test_the_incomplete_gamma_function_is_that_of_scipy(a: float, times: float) -> None:
    x = a * times
    assert close(special_functions.upper_incomplete_gamma(Decimal(a), Decimal(x)), scipy.special.gammaincc(a, x))


@for_each("x", [0, 1])
def test_the_ends(x: int) -> None:
    assert special_functions.incomplete_beta(Decimal(3), Decimal(4), Decimal(x)) == x
    assert special_functions.upper_incomplete_gamma(Decimal(3), Decimal(0)) == 1


def test_the_gamma_function_of_small_whole_numbers_is_a_sum() -> None:
    x = Decimal("7.5")
    exact = special_functions.DECIMAL_CONTEXT.exp(-x) * sum((x**k / math.factorial(k) for k in range(6)), Decimal(0))
    assert abs(special_functions.upper_incomplete_gamma(Decimal(6), x) / exact - 1) < Decimal("1e-27")


@given(n=st.integers(1, 5000), data=st.data())
@SOME
def test_quantiles_undo_the_distribution(n: int, data: st.DataObject) -> None:
    k = data.draw(st.integers(1, n))
    share = Decimal(data.draw(st.sampled_from(["0.025", "0.5", "0.9", "0.000001"])))
    a, b = Decimal(k), Decimal(n - k + 1)
    found = special_functions.beta_quantile(share, a, b)
    assert abs(special_functions.incomplete_beta(a, b, found) / share - 1) < Decimal("1e-30")


@for_each("n", [2826, 93_356, 167_146])
def test_a_quantile_may_lie_on_the_bracket_of_its_search(n: int) -> None:
    share = Decimal("0.025")
    with localcontext(special_functions.DECIMAL_CONTEXT):
        exact = (share.ln() / n).exp()  # the n-th root
        assert abs(special_functions.beta_quantile(share, Decimal(n), Decimal(1)) / exact - 1) < Decimal("1e-40")


@given(n=st.integers(1, 20_000), data=st.data())
@SOME
def test_intervals_and_tails_are_those_of_scipy(n: int, data: st.DataObject) -> None:
    k, likely = data.draw(st.integers(0, n)), data.draw(st.integers(1, n))
    interval = scipy.stats.binomtest(k, n).proportion_ci(0.95, "exact")
    assert clopper_pearson(k, n) == pytest.approx((interval.low, interval.high), rel=1e-11)
    tail = scipy.stats.binomtest(k, n, likely / n, "greater").pvalue
    assert binomial_tail(k, n, likely) == pytest.approx(tail, rel=1e-9, abs=1e-200)


def test_intervals_of_none_and_all() -> None:
    assert clopper_pearson(0, 10) == (0.0, round_to_12_digits(1 - 0.025**0.1))
    assert clopper_pearson(10, 10) == (round_to_12_digits(0.025**0.1), 1.0)
    assert binomial_tail(0, 5, 2) == 1.0
    assert binomial_tail(3, 5, 5) == 1.0
    assert binomial_tail(5, 5, 1) == round_to_12_digits(0.2**5)


def test_ten_million_trials_take_no_time() -> None:
    low, high = clopper_pearson(5_000_000, 10_000_000)
    assert (low, high) == (0.499690052521, 0.500309947479)
    assert binomial_tail(9_000_000, 10_000_000, 1_000_000) == 0.0  # too small for binary64


@for_each(
    "pairs, statistic, degrees",
    [
        ([(5, 1)], 1.5, 1),
        ([(2, 2)], 0.0, 1),
        ([(1, 2)], 0.0, 1),
        ([(300, 10)], 289**2 / 310, 1),
        ([(5, 1), (3, 3), (0, 7)], 16 / 6 + 7, 3),
        ([(1, 0)] * 45, 45.0, 45),
    ],
)
def test_the_test_of_symmetry_is_chi_squared(pairs: list[tuple[int, int]], statistic: float, degrees: int) -> None:
    assert bowker_test(pairs) == pytest.approx(scipy.stats.chi2.sf(statistic, degrees), rel=1e-11)
