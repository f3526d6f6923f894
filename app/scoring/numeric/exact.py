"""The arithmetic that is part of a metric's definition: the same bits on every machine.

Counts and weights stay integers, of any size, until the last step, and the last step rounds once. A ratio of counts is
one correctly rounded division. Means of ratios and values derived from them use `correct_rounding`, sums of
probabilities use `float_sums`. Sums of logarithms, exponentials or powers are `math.fsum` of their terms, which does
not depend on their order, and are rounded to 12 significant digits.
"""

import math
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[Any]  # int64, or Python integers (dtype object) where int64 could overflow
Floats = NDArray[np.float64]

_MIN_NUMPY_LENGTH = 24  # up to this many values, Python is faster than numpy
_EXACT_INTEGER_LIMIT = 2**53  # integers below it are exact in binary64, so an IEEE division of two of them rounds once


def linear_combination(coefficients: tuple[int, ...], columns: tuple[Integers, ...]) -> Integers:
    """The exact sum of coefficient × column: in int64 if no intermediate sum can overflow, else in Python integers.

    Columns of binary64 hold the counts of many draws; their sum is binary64 too.
    """
    used = [(c, column) for c, column in zip(coefficients, columns, strict=True) if c]
    if _is_binary64(columns[0]):
        return np.asarray(reduce(np.add, (c * column for c, column in used), np.zeros_like(columns[0])))
    # A magnitude of at least 1, because the coefficient itself must fit int64 even if all counts are 0.
    bound = sum(abs(c) * max(1, _max_magnitude(column)) for c, column in used)
    if not used:
        return np.zeros(len(columns[0]), dtype=np.int64)
    terms = ((c, column if bound < _EXACT_INTEGER_LIMIT else column.astype(object)) for c, column in used)
    return np.asarray(reduce(np.add, (column if c == 1 else c * column for c, column in terms)))


def multiply(left: Integers, right: Integers) -> Integers:
    """The exact elementwise product: in int64 below the limit, else in Python integers; in binary64 for counts of draws."""
    if _is_binary64(left):
        return np.asarray(left * right)
    if _max_magnitude(left) * _max_magnitude(right) < _EXACT_INTEGER_LIMIT:
        return np.asarray(left * right)
    return np.asarray(left.astype(object) * right.astype(object))


def divide(numerator: Integers, denominator: Integers) -> Floats:
    """The correctly rounded elementwise quotient; the denominators are not 0.

    Below the limit, both operands are exact in binary64 and IEEE division rounds once. Beyond it, converting them would
    round a second time; Python divides integers of any size with one rounding.
    """
    if _max_magnitude(numerator) < _EXACT_INTEGER_LIMIT and _max_magnitude(denominator) < _EXACT_INTEGER_LIMIT:
        return np.asarray(numerator.astype(np.float64) / denominator.astype(np.float64))
    pairs = zip(numerator.tolist(), denominator.tolist(), strict=True)
    return np.array([a / b for a, b in pairs], dtype=np.float64)


def weighted_terms(values: Floats, weights: NDArray[np.int64] | None) -> list[float]:
    """Terms whose exact sum is the sum of weight × value, for finite values; weights are whole numbers from 0 to 2**53.

    Values and weights are split into halves of at most 27 bits (Veltkamp), whose products binary64 holds exactly. So
    `math.fsum` of the terms returns the same bits as for the values repeated as often as their weights say.
    """
    if weights is None:
        return [*values.tolist()]
    high_bits = weights & -(1 << 27)
    scaled = values * (2.0**27 + 1)
    upper = scaled - (scaled - values)
    halves = [part * (weights - high_bits) for part in (upper, values - upper)]
    if high_bits.any():
        halves += [part * high_bits for part in (upper, values - upper)]
    return [*np.concatenate(halves).tolist()]


def divide_sum(total: float, divisor: int) -> float:
    """A sum divided by an integer of any size, rounded once: a large integer would first be rounded to binary64."""
    return total / divisor if divisor < _EXACT_INTEGER_LIMIT else float(Fraction(total) / divisor)


def total(values: Integers) -> int:
    """The exact sum of integers as a Python integer."""
    if _max_magnitude(values) * len(values) < 2**63:
        return int(values.sum())
    return sum(values.tolist())


def round_to_12_digits(value: float) -> float:
    """Round to 12 significant digits, because libraries disagree on the last bits of logarithms and powers."""
    return float(f"{value:.12g}") + 0.0


def square_root(value: Fraction) -> float:
    """The correctly rounded square root of a rational number ≥ 0, by integer arithmetic only."""
    return quotient_root(value.numerator, value.denominator)


def quotient_root(a: int, b: int) -> float:
    """The correctly rounded square root of a / b ≥ 0, which need not be in lowest terms."""
    if a == 0:
        return 0.0
    shift = max(0, 70 - (a.bit_length() - b.bit_length()) // 2)
    root = math.isqrt((a << 2 * shift) // b)
    inexact = root * root * b != a << 2 * shift
    # The root has at least 69 bits, and the appended sticky bit says whether anything was cut off. Both together round
    # like the true root, so the division is the only rounding.
    return (2 * root + inexact) / (1 << (shift + 1))


def to_fraction(value: float | str | Decimal) -> Fraction:
    """The rational number of a decimal text; a float stands for its shortest decimal text."""
    return Fraction(repr(value) if isinstance(value, float) else value)


def integer_weights(weights: Iterable[float]) -> list[int]:
    """Weights scaled to the smallest integers in exactly the same proportion, from their decimal texts."""
    exact = [to_fraction(weight) for weight in weights]
    scale = math.lcm(*(weight.denominator for weight in exact)) if exact else 1
    whole = [int(weight * scale) for weight in exact]
    common = math.gcd(*whole) or 1
    return [weight // common for weight in whole]


def _is_binary64(column: Integers) -> bool:
    return bool(column.dtype == np.float64)


def _max_magnitude(column: Integers) -> int:
    if len(column) <= _MIN_NUMPY_LENGTH:
        return max(map(abs, column.tolist()), default=0)
    return max(int(np.maximum.reduce(column)), -int(np.minimum.reduce(column)))  # np.abs overflows for the lowest int64
