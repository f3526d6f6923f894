"""Exact and random tests of pairs against enumeration, scipy and published values."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from app.scoring.uncertainty.pair_tests import (
    McNemarTests,
    SignFlipTests,
    _Pair,
    _upper_bound,
    exact_test,
    sum_distribution,
)
from app.scoring.uncertainty.seeds import derive_seed
from app.scoring.uncertainty.small_samples import PairTest, exact_mcnemar, holm, holm_levels, out_of_reach
from tests.each_case import for_each

SEED = derive_seed("0", "pair", "all", "mean")


def by_enumeration(differences: list[float]) -> float:
    observed = abs(sum(differences))
    sums = [
        abs(sum(a * b for a, b in zip(signs, differences, strict=True)))
        for signs in product((1, -1), repeat=len(differences))
    ]
    return sum(one >= observed - 1e-9 for one in sums) / len(sums)


@for_each("first, second, p", [(18, 18, 1.000), (33, 31, 0.901), (37, 31, 0.545), (26, 25, 1.000), (31, 28, 0.795)])
def test_published_discordant_pairs_have_their_exact_p(first: int, second: int, p: float) -> None:
    assert round(exact_mcnemar(first, second), 3) == p


@given(st.integers(0, 400), st.integers(0, 400))
def test_mcnemar_is_the_binomial_test(first: int, second: int) -> None:
    expected = stats.binomtest(first, first + second).pvalue if first + second else 1.0
    assert exact_mcnemar(first, second) == pytest.approx(expected, rel=1e-9)
    assert exact_mcnemar(second, first) == exact_mcnemar(first, second)


def test_mcnemar_of_many_discordant_instances_is_neither_slow_nor_zero() -> None:
    assert exact_mcnemar(50_000, 51_000) == pytest.approx(stats.binomtest(50_000, 101_000).pvalue, rel=1e-9)
    assert exact_mcnemar(2_480, 2_520) == pytest.approx(exact_mcnemar(2_481, 2_521), rel=0.05)  # both ways to compute
    assert 0 < exact_mcnemar(0, 20_000) < 1e-300


@given(st.lists(st.integers(-4, 4), min_size=1, max_size=9))
def test_exact_tests_enumerate_all_signs(differences: list[int]) -> None:
    found = exact_test(np.array(differences, dtype=float))
    assert found is not None
    assert found.p_value == pytest.approx(by_enumeration([float(one) for one in differences]))
    assert found.smallest == 2.0 ** (1 - max(1, sum(map(bool, differences)))) or not any(differences)


@given(st.lists(st.integers(1, 5), min_size=17, max_size=20), st.integers(0, 2**20))
def test_whole_numbers_are_tested_exactly_beyond_enumeration(sizes: list[int], signs: int) -> None:
    differences = np.array([size if signs >> at & 1 else -size for at, size in enumerate(sizes)], dtype=float)
    found = exact_test(differences)
    assert found is not None
    sums = np.zeros(1)
    for size in sizes:
        sums = np.concatenate([sums + size, sums - size])
    assert found.p_value == pytest.approx(float((np.abs(sums) >= abs(differences.sum())).mean()))


@given(st.lists(st.integers(1, 6), min_size=1, max_size=8))
def test_the_distribution_of_a_sum_is_a_distribution(sizes: list[int]) -> None:
    chances = sum_distribution(np.array(sizes))
    assert chances.sum() == pytest.approx(1)
    assert np.allclose(chances, chances[::-1])
    assert chances[-1] == 2.0 ** -len(sizes)


@given(st.lists(st.integers(1, 40), min_size=1, max_size=11), st.integers(0, 2**11))
def test_the_bound_is_never_below_the_exact_p(sizes: list[int], signs: int) -> None:
    differences = np.array([size if signs >> at & 1 else -size for at, size in enumerate(sizes)], dtype=float)
    exact = by_enumeration(differences.tolist())
    assert _upper_bound(_Pair(differences, abs(float(differences.sum())))) >= exact - 1e-12


def test_random_signs_come_close_to_the_exact_p_and_never_below_one_round() -> None:
    generator = np.random.default_rng(1)
    totals = np.array([generator.normal(0.25, 1, 60), np.zeros(60), np.full(60, -9.0)]) + generator.normal(0, 0.1, 60)
    close, far = SignFlipTests(totals, SEED)([(0, 1), (0, 2)], family=3)
    assert close.rounds == 9_999
    assert close.p_value == pytest.approx(stats.ttest_1samp(totals[0] - totals[1], 0).pvalue, abs=0.01)
    assert 0 < far.p_value < 1e-10  # from the bound
    assert far.rounds is None


def test_more_rounds_are_made_where_the_adjusted_level_needs_them() -> None:
    generator = np.random.default_rng(7)
    totals = np.array([generator.normal(0, 1, 80) + 0.6, np.zeros(80)])
    few, many = (SignFlipTests(totals, SEED)([(0, 1)], family=family)[0] for family in (1, 5_000))
    assert few.rounds == 9_999
    assert many.rounds == 200_000
    assert many.p_value == pytest.approx(few.p_value, abs=3e-4)
    assert many.smallest <= holm_levels(5_000, 1).strictest


def test_pairs_do_not_depend_on_the_pairs_tested_beside_them() -> None:
    totals = np.random.default_rng(2).normal(0, 1, (5, 40)) + np.arange(5)[:, None] * 0.2
    tests = SignFlipTests(totals, SEED)
    pairs = [(4, 0), (3, 0), (4, 1), (2, 1)]
    assert tests(pairs, family=10) == [tests([pair], family=10)[0] for pair in pairs]


def test_groups_are_exchanged_whole() -> None:
    """Ten groups in which one system is better: the smallest p that ten signs can give, however many instances."""
    totals = np.array([np.linspace(1, 1.9, 10), np.zeros(10)])
    assert SignFlipTests(totals, SEED)([(0, 1)], family=1) == [PairTest(2.0**-9, 2.0**-9)]


def test_right_and_wrong_are_tested_by_mcnemar() -> None:
    right = np.array([[1] * 9 + [0] * 2 + [1] * 5, [0] * 9 + [1] * 2 + [1] * 5])
    assert McNemarTests(right)([(0, 1)], family=1) == [PairTest(exact_mcnemar(9, 2), 2.0**-10)]
    assert SignFlipTests(right.astype(float), SEED)([(0, 1)], family=1)[0].p_value == exact_mcnemar(9, 2)


@for_each("alpha", [0.01, 0.05, 0.1, 0.5])
def test_exchangeable_systems_reach_a_level_no_more_often_than_it_says(alpha: float) -> None:
    generator = np.random.default_rng(11)
    reached = []
    for _ in range(400):
        totals = generator.exponential(1, 25) * generator.choice([-1, 1], 25)
        reached.append(SignFlipTests(np.array([totals, np.zeros(25)]), SEED)([(0, 1)], family=1)[0].p_value <= alpha)
    error = 3 * (alpha * (1 - alpha) / 400) ** 0.5
    assert alpha - error <= np.mean(reached) <= alpha + error


def test_holm_stops_at_the_first_p_above_its_level() -> None:
    tests = {(0, at): PairTest(p, 1e-9) for at, p in enumerate([0.004, 0.0065, 0.03, 0.0001])}
    confirmed, level = holm(tests, family=10)
    assert confirmed == {(0, 3), (0, 0)}
    assert level == 0.05 / 8
    assert holm(tests, family=9)[0] == {(0, 3), (0, 0), (0, 1)}
    assert out_of_reach({(0, 1): PairTest(0.5, 0.1)}, set(), 0.05) == {(0, 1)}
