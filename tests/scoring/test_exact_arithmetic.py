"""The arithmetic: rounded once, independent of order, of any size."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from app.scoring.numeric import exact
from tests.scoring.case_builder import case, value

COUNT = st.integers(0, 10**18)


@given(st.lists(st.tuples(COUNT, st.integers(1, 10**18)), min_size=1, max_size=8))
def test_quotients_are_correctly_rounded_at_every_size(pairs: list[tuple[int, int]]) -> None:
    above, below = (np.array(side, dtype=np.int64) for side in zip(*pairs, strict=True))
    expected = [float(Fraction(a, b)) for a, b in pairs]
    assert exact.divide(above, below).tolist() == expected


@given(st.fractions(min_value=0, max_value=10**12))
def test_square_roots_are_correctly_rounded(square: Fraction) -> None:
    root = exact.square_root(square)
    with localcontext() as context:
        context.prec = 60
        reference = (Decimal(square.numerator) / Decimal(square.denominator)).sqrt()
        for neighbour in (math.nextafter(root, math.inf), math.nextafter(root, -math.inf)):
            assert abs(Decimal(root) - reference) <= abs(Decimal(neighbour) - reference)


def test_products_beyond_64_bits_stay_exact() -> None:
    big = np.array([2**40, 3], dtype=np.int64)
    assert exact.multiply(big, big).tolist() == [2**80, 9]
    assert exact.linear_combination((10**20, 0, 1, 0), (big, big, big, big)).tolist() == [
        10**20 * 2**40 + 2**40,
        3 * 10**20 + 3,
    ]


def test_a_beta_of_many_digits_is_taken_exactly() -> None:
    of = case("binary", ["y", "n"], ["y", "y", "y", "n", "n"], ["y", "y", "n", "y", "n"])
    square = Fraction("1.2345678901234567") ** 2
    assert value(of, "f_beta:beta=1.2345678901234567") == float((1 + square) * 2 / ((1 + square) * 2 + 1 + square * 1))


@given(st.lists(st.decimals(0, 1000, places=3), min_size=1, max_size=6))
def test_weights_become_integers_in_the_same_proportion(weights: list[Decimal]) -> None:
    whole = exact.integer_weights(float(weight) for weight in weights)
    total, scaled = sum(weights), sum(whole)
    assert all(Fraction(weight) * scaled == part * Fraction(total) for weight, part in zip(weights, whole, strict=True))


@given(st.lists(st.integers(min_value=0, max_value=2**62), max_size=40))
def test_the_sum_of_integers_is_exact_however_large(values: list[int]) -> None:
    assert exact.total(np.array(values, dtype=np.int64)) == sum(values)
