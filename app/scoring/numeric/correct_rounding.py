"""Numbers that are rounded once, however they are made: each is known as narrowly as its nearest binary64 number takes.

A sum of quotients a/b is a rational number whose denominator may have millions of digits. It is not written out but
enclosed between two multiples of 2^-bits, and what is computed of it is enclosed too. Where both ends are nearest to the
same binary64 number, that is the value (Ziv 1991, Fast evaluation of elementary mathematical functions with correctly
rounded last bit). 96 places nearly always do, 192 where they do not. What is still open then is 0, very small, or as good as
halfway between two binary64 numbers. 1152 places tell all but the last, as binary64 has 1074; of these, 1088 are kept,
which gives what is halfway exactly, and it is rounded to even.

So numbers that are equal in exact arithmetic have equal values, whatever sums they come from. Values are correctly
rounded, but for those within 2^-1088 of a number halfway that they are not: no common denominator below 2^500 has one.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Union

import numpy as np

from app.scoring.numeric.exact import Integers, multiply, total

Bounds = tuple[int, int]
"""A number lies from the first to the second, in units of 2^-bits."""
Operand = Union["Real", int, Fraction]

_PRECISION_LEVELS = (96, 192, 1152)
_FINAL_BITS = 1088  # what is halfway between two binary64 numbers is a multiple of 2^-1075
_MIN_NUMPY_LENGTH = 24  # up to so many quotients Python is quicker than numpy
_CHUNK_LENGTH = 1 << 14  # quotients divided at a time: they stay in the cache, and their digits add up below 2^53
_EXACT_BITS = (
    52  # integers of so many bits are exact as binary64, and so are their sums, products and floored quotients
)
_MAX_DIGIT_BITS = 38  # bits of a digit at most: 2^14 of them add up without rounding
_MIN_DIGIT_BITS = 8


class Real:
    """A number that `bounds` encloses to so many binary places; a divisor has to be above 0."""

    __slots__ = ("_bounds", "_known")

    def __init__(self, bounds: Callable[[int], Bounds]) -> None:
        self._bounds = bounds
        self._known: dict[int, Bounds] = {}

    def bounds(self, bits: int) -> Bounds:
        """Two whole numbers of units of 2^-bits between which it lies; ZeroDivisionError where that is too wide."""
        if bits not in self._known:
            self._known[bits] = self._bounds(bits)
        return self._known[bits]

    def nearest(self) -> float:
        """The nearest binary64 number, that with the even last place where two are as near."""
        for bits in _PRECISION_LEVELS:
            try:
                low, high = self.bounds(bits)
            except ZeroDivisionError:
                continue
            found = low / (1 << bits)
            if found == high / (1 << bits):
                return found + 0.0
        low, high = self.bounds(_PRECISION_LEVELS[-1])
        dropped = _PRECISION_LEVELS[-1] - _FINAL_BITS + 1  # of the sum of both ends, which is twice the middle
        return ((low + high + (1 << (dropped - 1))) >> dropped) / (1 << _FINAL_BITS) + 0.0

    def __add__(self, other: Operand) -> "Real":
        return sum_reals([self, other])

    def __mul__(self, other: Operand) -> "Real":
        def bounds(bits: int) -> Bounds:
            ends = [x * y for x in self.bounds(bits) for y in _bounds_of(other, bits)]
            return min(ends) >> bits, -(-max(ends) >> bits)

        return Real(bounds)

    def __truediv__(self, other: Operand) -> "Real":
        def bounds(bits: int) -> Bounds:
            if isinstance(other, int):
                low, high = self.bounds(bits)
                return low // other, -(-high // other)
            below = _bounds_of(other, bits)
            if below[0] <= 0:
                raise ZeroDivisionError
            ends = [(x << bits, y) for x in self.bounds(bits) for y in below]
            return min(x // y for x, y in ends), max(-(-x // y) for x, y in ends)

        return Real(bounds)


def to_real(value: int | Fraction) -> Real:
    """A rational number as a real one."""
    return Real(lambda bits: _bounds_of(value, bits))


def _bounds_of(value: Operand, bits: int) -> Bounds:
    if isinstance(value, Real):
        return value.bounds(bits)
    above = value.numerator << bits
    return above // value.denominator, -(-above // value.denominator)


def sum_reals(parts: Iterable[Operand]) -> Real:
    """The sum of numbers."""
    every = list(parts)

    def bounds(bits: int) -> Bounds:
        ends = [_bounds_of(part, bits) for part in every]
        return sum(low for low, _ in ends), sum(high for _, high in ends)

    return Real(bounds)


def lazy_real(make: Callable[[], Real]) -> Real:
    """A number that is made anew each time that its bounds are asked for, and takes no memory in between."""
    return Real(lambda bits: make().bounds(bits))


def quotient_sum(numerators: Integers, denominators: Integers) -> Real:
    """The sum of numerator / denominator over integers side by side; the denominators are above 0.

    It takes a division of all terms for every 20 bits or so: at most some fifty passes over them, and nearly always few.
    """
    assert len(numerators) == len(denominators)
    if not len(numerators):
        return to_real(0)
    widest = int(denominators.max()).bit_length()
    width = min(_MAX_DIGIT_BITS, _EXACT_BITS - widest)
    wide = np.object_ in {numerators.dtype.type, denominators.dtype.type}
    if len(numerators) <= _MIN_NUMPY_LENGTH or wide or width < _MIN_DIGIT_BITS:
        return Real(lambda bits: _sum_by_terms(numerators, denominators, bits))
    return Real(lambda bits: _sum_by_digits(numerators, denominators, bits, width))


def weighted_sum(numerators: Integers, denominators: Integers, weights: Integers | None) -> Real:
    """The sum of weight × numerator / denominator; without weights each term counts once."""
    return quotient_sum(numerators if weights is None else multiply(weights, numerators), denominators)


def power_sum(numerators: Integers, denominators: Integers, weights: Integers | None, *, power: int) -> Real:
    """The sum of weight × (numerator / denominator) ** power, for quotients from 0 to 1; without weights each is 1.

    A power of such a quotient is off by little more than `power` times what the quotient is: no more digits are kept of
    any than show in the sum.
    """
    often: Counter[tuple[int, int]] = Counter()
    heavy = [1] * len(numerators) if weights is None else weights.tolist()
    for a, b, weight in zip(numerators.tolist(), denominators.tolist(), heavy, strict=True):
        often[a, b] += weight
    more = (4 * power * sum(heavy)).bit_length()

    def bounds(bits: int) -> Bounds:
        low = high = 0
        for (a, b), weight in often.items():
            ends = _power(_bounds_of(Fraction(a, b), bits + more), power, bits + more)
            low, high = low + weight * ends[0], high + weight * ends[1]
        return low >> more, -(-high >> more)

    return Real(bounds)


def _power(ends: Bounds, power: int, bits: int) -> Bounds:
    """A power of a number of at least 0 that lies between these ends, by squaring."""
    low = high = 1 << bits
    for digit in f"{power:b}":
        low, high = low * low >> bits, -(-high * high >> bits)
        if digit == "1":
            low, high = low * ends[0] >> bits, -(-high * ends[1] >> bits)
    return low, high


def _sum_by_terms(numerators: Integers, denominators: Integers, bits: int) -> Bounds:
    low = inexact = 0
    for a, b in zip(numerators.tolist(), denominators.tolist(), strict=True):
        units, rest = divmod(a << bits, b)
        low += units
        inexact += rest > 0
    return low, low + inexact


def _sum_by_digits(numerators: Integers, denominators: Integers, bits: int, width: int) -> Bounds:
    """The same by digits of `width` bits, many quotients at a time; every step is exact in binary64."""
    large = max(int(numerators.max()), -int(numerators.min())) >= 1 << _EXACT_BITS
    widths = [width] * (bits // width) + ([bits % width] if bits % width else [])
    sums, inexact, whole = [0] * len(widths), 0, 0
    for at in range(0, len(numerators), _CHUNK_LENGTH):
        above, below = numerators[at : at + _CHUNK_LENGTH], denominators[at : at + _CHUNK_LENGTH]
        if large:
            units = above // below
            whole += total(units)
            above = above - units * below
        rest, divisor = above.astype(np.float64), below.astype(np.float64)
        if not large:
            digit = np.floor(rest / divisor)
            whole += sum(map(int, digit.tolist())) if len(digit) <= _MIN_NUMPY_LENGTH else total(digit.astype(np.int64))
            rest -= digit * divisor
        for place, size in enumerate(widths):
            rest *= 1 << size
            digit = np.floor(rest / divisor)
            sums[place] += int(digit.sum())
            digit *= divisor
            rest -= digit
        inexact += int(np.count_nonzero(rest))
    low = whole
    for digits, size in zip(sums, widths, strict=True):
        low = (low << size) + digits
    return low, low + inexact


def root_sum(numerators: Integers, denominators: Integers) -> Real:
    """The sum of the square roots of numerator / denominator ≥ 0; common factors may stay."""
    often: dict[tuple[int, int], int] = {}
    for pair in zip(numerators.tolist(), denominators.tolist(), strict=True):
        often[pair] = often.get(pair, 0) + 1

    def bounds(bits: int) -> Bounds:
        low = inexact = 0
        for (a, b), count in often.items():
            units = math.isqrt((a << 2 * bits) // b)
            low += count * units
            inexact += count * (units * units * b != a << 2 * bits)
        return low, low + inexact

    return Real(bounds)
