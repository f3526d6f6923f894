"""Exact sums of binary64 numbers and of their squares, as fractions: nothing is rounded before the caller's last step.

Each number is cut into short digits. Sums of digits are integers small enough to be exact in binary64 in any order, so
numpy may add them in whatever order is fastest. The sums of the digits are then combined as Python integers.
"""

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from app.scoring.numeric.exact import Floats

Int = NDArray[np.int64]

_CHUNK_LENGTH = 1 << 14  # numbers per chunk: they fit the processor's cache
_DIGIT_BITS = 36  # a sum of 2^14 digits stays below 2^52, so it is exact in binary64 in any order
_WEIGHT_DIGIT_BITS = 13  # weights are cut into digits too; a digit of a number is shorter by this, so products fit
_SPLITTER = 2.0**27 + 1  # Veltkamp's constant: it splits a number into two halves of 26 bits
_TINY, _SCALE = (
    2.0**-450,
    400,
)  # below _TINY, the low half of a square might underflow, so the number is scaled up first


class _DigitAccumulator:
    """Sums of numbers from -1 to 1 in each of `count` bins, digit by digit."""

    def __init__(self, count: int, *, weighted: bool) -> None:
        self._count = count
        self._width = _DIGIT_BITS - _WEIGHT_DIGIT_BITS if weighted else _DIGIT_BITS
        self._sums: list[list[int]] = []  # level k in units of 2^-(k × width), one sum per bin

    def add(self, values: Floats, bins: Int | None, weights: Int | None, *, level: int = 0) -> None:
        """Add numbers to their bins (to the only one, without `bins`); digits before `level` must be 0.

        In each round, the nearest integer is cut off every number as a digit, and the rest is scaled up by the width of
        a digit. Both steps are exact: the rest needs no more bits than the number had, and the scale is a power of two.
        So the rests become 0 after a few rounds.
        """
        weight_digits = None if weights is None else _split_weights(weights)
        rest = values * 2.0 ** (level * self._width)
        while True:
            digits = np.rint(rest)
            self._add_digits(level, digits, bins, weight_digits)
            rest -= digits
            left = np.count_nonzero(rest)
            if not left:
                return
            if 2 * left < len(rest):  # drop the finished numbers
                rows = np.flatnonzero(rest)
                rest, bins = rest[rows], None if bins is None else bins[rows]
                weight_digits = None if weight_digits is None else [part[rows] for part in weight_digits]
            rest *= 2.0**self._width
            level += 1

    def _add_digits(self, level: int, digits: Floats, bins: Int | None, weight_digits: list[Floats] | None) -> None:
        while len(self._sums) <= level:
            self._sums.append([0] * self._count)
        sums = self._sums[level]
        for number, part in enumerate([None] if weight_digits is None else weight_digits):
            products = digits if part is None else digits * part
            units = [products.sum()] if bins is None else np.bincount(bins, products, self._count).tolist()
            for at, unit in enumerate(units):  # each further digit of the weights counts 2^13 times as much
                sums[at] += int(unit) << (number * _WEIGHT_DIGIT_BITS)

    def sums(self) -> list[Fraction]:
        """The sum in each bin."""
        totals = [0] * self._count
        for units in self._sums:
            totals = [(total << self._width) + unit for total, unit in zip(totals, units, strict=True)]
        return [Fraction(units, 1 << (max(0, len(self._sums) - 1) * self._width)) for units in totals]


def _split_weights(weights: Int) -> list[Floats]:
    """Weights as digits of 13 bits, the lowest first."""
    highest = int(weights.max(initial=0)).bit_length()
    return [
        ((weights >> low) & ((1 << _WEIGHT_DIGIT_BITS) - 1)).astype(np.float64)
        for low in range(0, max(1, highest), _WEIGHT_DIGIT_BITS)
    ]


def _chunks(n: int) -> Iterator[slice]:
    return (slice(start, start + _CHUNK_LENGTH) for start in range(0, n, _CHUNK_LENGTH))


def exact_sum(values: Floats, weights: Int | None = None) -> Fraction:
    """The sum of weight × value, for values from -1 to 1; weights are whole numbers from 0 to 2^53, or 1 if absent."""
    return _sum_by_bin(values, None, 1, weights)[0]


def exact_sums(values: Floats, bins: Int, count: int, weights: Int | None = None) -> list[Fraction]:
    """The sum of weight × value in each of `count` bins, for values from -1 to 1; see `exact_sum`."""
    return _sum_by_bin(values, bins, count, weights)


def _sum_by_bin(values: Floats, bins: Int | None, count: int, weights: Int | None) -> list[Fraction]:
    accumulator = _DigitAccumulator(count, weighted=weights is not None)
    for chunk in _chunks(len(values)):
        own_bins, own_weights = (None if column is None else column[chunk] for column in (bins, weights))
        accumulator.add(values[chunk], own_bins, own_weights)
    return accumulator.sums()


def exact_square_sum(values: Floats, weights: Int | None = None) -> Fraction:
    """The sum of weight × value², for values from -1 to 1; see `exact_sum`.

    A square is the exact sum of two binary64 numbers: the rounded square and its rounding error (Veltkamp; Dekker
    1971).
    """
    accumulator, tiny_sum = _DigitAccumulator(1, weighted=weights is not None), Fraction(0)
    for chunk in _chunks(len(values)):
        part, heavy = values[chunk], None if weights is None else weights[chunk]
        tiny = (np.abs(part) < _TINY) & (part != 0)
        if tiny.any():
            tiny_weights = None if heavy is None else heavy[tiny]
            tiny_sum += exact_square_sum(part[tiny] * 2.0**_SCALE, tiny_weights) / (1 << 2 * _SCALE)
            part = np.where(tiny, 0.0, part)
        scaled = part * _SPLITTER
        upper = scaled - (scaled - part)
        lower = part - upper
        squares = part * part
        error = ((upper * upper - squares) + 2 * upper * lower) + lower * lower
        accumulator.add(squares, None, heavy)
        accumulator.add(error, None, heavy, level=1)  # at most 2^-54, so its digits of level 0 are 0
    return accumulator.sums()[0] + tiny_sum
