"""Interval arithmetic for numbers that are rounded only once, to the nearest binary64 number.

A sum of quotients a/b is a rational number whose denominator may have millions of digits. Instead of computing it, this
module encloses it between two multiples of 2^-bits, and encloses everything derived from it in the same way. If both
ends round to the same binary64 number, that number is the value; otherwise the precision is raised (Ziv 1991, Fast
evaluation of elementary mathematical functions with correctly rounded last bit).

96 binary places are nearly always enough, 192 in most other cases. A number that is still undecided is 0, very small,
or extremely close to halfway between two binary64 numbers. 1152 places decide all but the last case, because the
smallest binary64 number is 2^-1074. Then the middle of the interval is rounded to 1088 places. A number that lies
exactly halfway is a multiple of 2^-1075, so this step recovers it exactly, and it rounds to even.

As a result, numbers that are equal in exact arithmetic have equal values, whatever sums they come from. Every value is
correctly rounded, except for a number within 2^-1088 of a halfway point that is not the halfway point itself; no
fraction with a denominator below 2^500 is such a number.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Union

import numpy as np

from app.scoring.numeric.exact import Integers, multiply, total

Bounds = tuple[int, int]
"""The lower and the upper end of an interval that contains a number, in units of 2^-bits."""
Operand = Union["Real", int, Fraction]

_PRECISION_LEVELS = (96, 192, 1152)
_FINAL_BITS = 1088  # more than 1075: a halfway point between two binary64 numbers is a multiple of 2^-1075
_MIN_NUMPY_LENGTH = 24  # up to this many quotients, Python integers are faster than numpy
_CHUNK_LENGTH = 1 << 14  # quotients per chunk: it fits the processor's cache, and its digits add up to less than 2^53
_EXACT_BITS = 52  # integers of this size are exact in binary64, and so are their sums, products and floored quotients
_MAX_DIGIT_BITS = 38  # a sum of 2^14 digits has at most 38 + 14 = 52 bits, so it does not round in any order
_MIN_DIGIT_BITS = 8  # denominators that leave less for a digit are divided as Python integers


class Real:
    """A number that `bounds` encloses to any requested number of binary places; divisors must be positive."""

    __slots__ = ("_bounds", "_bounds_by_bits")

    def __init__(self, bounds: Callable[[int], Bounds]) -> None:
        self._bounds = bounds
        self._bounds_by_bits: dict[int, Bounds] = {}

    def bounds(self, bits: int) -> Bounds:
        """The ends of the interval in units of 2^-bits; ZeroDivisionError if a divisor's interval contains 0."""
        if bits not in self._bounds_by_bits:
            self._bounds_by_bits[bits] = self._bounds(bits)
        return self._bounds_by_bits[bits]

    def nearest(self) -> float:
        """The nearest binary64 number; of two equally near, the one whose last bit is 0."""
        for bits in _PRECISION_LEVELS:
            try:
                low, high = self.bounds(bits)
            except ZeroDivisionError:
                continue
            # Python divides integers of any size with correct rounding. Rounding is monotonic, so if both ends round
            # to the same number, every number between them does too.
            value = low / (1 << bits)
            if value == high / (1 << bits):
                return value + 0.0  # turns -0.0 into 0.0
        low, high = self.bounds(_PRECISION_LEVELS[-1])
        dropped = _PRECISION_LEVELS[-1] - _FINAL_BITS + 1  # one more bit, because low + high is twice the middle
        return ((low + high + (1 << (dropped - 1))) >> dropped) / (1 << _FINAL_BITS) + 0.0

    def __add__(self, other: Operand) -> "Real":
        return sum_reals([self, other])

    def __mul__(self, other: Operand) -> "Real":
        def bounds(bits: int) -> Bounds:
            ends = [x * y for x in self.bounds(bits) for y in _bounds_of(other, bits)]
            return min(ends) >> bits, -(-max(ends) >> bits)  # rounded down and up, so the product stays enclosed

        return Real(bounds)

    def __truediv__(self, other: Operand) -> "Real":
        def bounds(bits: int) -> Bounds:
            if isinstance(other, int):
                low, high = self.bounds(bits)
                return low // other, -(-high // other)
            divisor = _bounds_of(other, bits)
            if divisor[0] <= 0:
                raise ZeroDivisionError
            ends = [(x << bits, y) for x in self.bounds(bits) for y in divisor]
            return min(x // y for x, y in ends), max(-(-x // y) for x, y in ends)

        return Real(bounds)


def to_real(value: int | Fraction) -> Real:
    """A rational number as a `Real`."""
    return Real(lambda bits: _bounds_of(value, bits))


def _bounds_of(value: Operand, bits: int) -> Bounds:
    if isinstance(value, Real):
        return value.bounds(bits)
    scaled = value.numerator << bits
    return scaled // value.denominator, -(-scaled // value.denominator)


def sum_reals(parts: Iterable[Operand]) -> Real:
    """The sum of numbers."""
    numbers = list(parts)

    def bounds(bits: int) -> Bounds:
        ends = [_bounds_of(number, bits) for number in numbers]
        return sum(low for low, _ in ends), sum(high for _, high in ends)

    return Real(bounds)


def lazy_real(make: Callable[[], Real]) -> Real:
    """A number that is computed anew whenever its bounds are requested, so that it needs no memory in between."""
    return Real(lambda bits: make().bounds(bits))


def quotient_sum(numerators: Integers, denominators: Integers) -> Real:
    """The sum of numerator / denominator over two columns of integers; the denominators are positive.

    The terms are divided once for about every 20 bits: at most about fifty passes over them, and nearly always a few.
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
    """The sum of weight × numerator / denominator; without weights, each weight is 1."""
    return quotient_sum(numerators if weights is None else multiply(weights, numerators), denominators)


def power_sum(numerators: Integers, denominators: Integers, weights: Integers | None, *, power: int) -> Real:
    """The sum of weight × (numerator / denominator) ** power, for quotients from 0 to 1; without weights, each is 1.

    The error of such a power is little more than `power` times the error of the quotient. The guard bits cover that
    factor and the sum of the weights, so the interval of the result is only a few units wide.
    """
    weight_of: Counter[tuple[int, int]] = Counter()
    weight_list = [1] * len(numerators) if weights is None else weights.tolist()
    for a, b, weight in zip(numerators.tolist(), denominators.tolist(), weight_list, strict=True):
        weight_of[a, b] += weight
    guard_bits = (4 * power * sum(weight_list)).bit_length()

    def bounds(bits: int) -> Bounds:
        low = high = 0
        for (a, b), weight in weight_of.items():
            ends = _power(_bounds_of(Fraction(a, b), bits + guard_bits), power, bits + guard_bits)
            low, high = low + weight * ends[0], high + weight * ends[1]
        return low >> guard_bits, -(-high >> guard_bits)

    return Real(bounds)


def _power(ends: Bounds, power: int, bits: int) -> Bounds:
    """A power of a number ≥ 0 between these ends, by repeated squaring; low is rounded down and high up each time."""
    low = high = 1 << bits
    for digit in f"{power:b}":
        low, high = low * low >> bits, -(-high * high >> bits)
        if digit == "1":
            low, high = low * ends[0] >> bits, -(-high * ends[1] >> bits)
    return low, high


def _sum_by_terms(numerators: Integers, denominators: Integers, bits: int) -> Bounds:
    """Floor each term to units of 2^-bits; each term with a remainder adds less than one unit to the upper end."""
    low = inexact = 0
    for a, b in zip(numerators.tolist(), denominators.tolist(), strict=True):
        units, rest = divmod(a << bits, b)
        low += units
        inexact += rest > 0
    return low, low + inexact


def _sum_by_digits(numerators: Integers, denominators: Integers, bits: int, width: int) -> Bounds:
    """The same bounds as `_sum_by_terms`, by long division in digits of `width` bits, many quotients at a time.

    Every step is exact in binary64. A remainder is below its divisor, so remainder × 2^width has at most 52 bits. A
    quotient that is not an integer is at least 1 / divisor away from the next one, which is more than the division
    rounds by, so its floor is the true digit. The product digit × divisor is again below 2^52.
    """
    large = max(int(numerators.max()), -int(numerators.min())) >= 1 << _EXACT_BITS
    widths = [width] * (bits // width) + ([bits % width] if bits % width else [])
    sums, inexact, whole = [0] * len(widths), 0, 0
    for start in range(0, len(numerators), _CHUNK_LENGTH):
        dividend, divisors = numerators[start : start + _CHUNK_LENGTH], denominators[start : start + _CHUNK_LENGTH]
        if large:  # binary64 could not hold the numerators: take the integer parts off in int64 first
            units = dividend // divisors
            whole += total(units)
            dividend = dividend - units * divisors
        rest, divisor = dividend.astype(np.float64), divisors.astype(np.float64)
        if not large:
            digit = np.floor(rest / divisor)
            whole += sum(map(int, digit.tolist())) if len(digit) <= _MIN_NUMPY_LENGTH else total(digit.astype(np.int64))
            rest -= digit * divisor
        for position, size in enumerate(widths):
            rest *= 1 << size
            digit = np.floor(rest / divisor)
            sums[position] += int(digit.sum())
            digit *= divisor
            rest -= digit
        inexact += int(np.count_nonzero(rest))
    low = whole
    for digits, size in zip(sums, widths, strict=True):
        low = (low << size) + digits
    return low, low + inexact


def root_sum(numerators: Integers, denominators: Integers) -> Real:
    """The sum of the square roots of numerator / denominator ≥ 0; the quotients need not be in lowest terms."""
    counts = Counter(zip(numerators.tolist(), denominators.tolist(), strict=True))

    def bounds(bits: int) -> Bounds:
        low = inexact = 0
        for (a, b), count in counts.items():
            units = math.isqrt((a << 2 * bits) // b)  # the root rounded down to units of 2^-bits
            low += count * units
            inexact += count * (units * units * b != a << 2 * bits)
        return low, low + inexact

    return Real(bounds)
