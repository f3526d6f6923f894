"""Sums of binary64 numbers and of their squares as exact fractions: nothing is rounded before the last step."""

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from app.scoring.numeric.exact import Floats

Int = NDArray[np.int64]

_CHUNK_LENGTH = 1 << 14  # numbers taken at a time: they stay in the cache
_DIGIT_BITS = 36  # bits of a digit: sums of 2^14 of them stay below 2^52, so they are exact in binary64 in any order
_WEIGHT_DIGIT_BITS = 13  # bits of a weight taken at a time, by which a digit has to be shorter
_SPLITTER = 2.0**27 + 1  # Veltkamp's: it cuts a number into two halves of 26 bits
_TINY, _SCALE = 2.0**-450, 400  # below it the low half of a square might not be a binary64 number


class _DigitAccumulator:
    """Sums of numbers from -1 to 1 at each of `count` places, digit by digit."""

    def __init__(self, count: int, *, weighed: bool) -> None:
        self._count = count
        self._width = _DIGIT_BITS - _WEIGHT_DIGIT_BITS if weighed else _DIGIT_BITS
        self._sums: list[list[int]] = []  # of level k in units of 2^-(k × width)

    def add(self, values: Floats, places: Int | None, weights: Int | None, *, level: int = 0) -> None:
        """Add numbers; those of which the digits before `level` are 0 may begin there.

        Digit after digit is cut off all numbers, as the nearest whole number of the next smaller unit: what is left of
        each is exact, and in the end nothing is.
        """
        heavy = None if weights is None else _weight_digits(weights)
        rest = values * 2.0 ** (level * self._width)
        while True:
            digits = np.rint(rest)
            self._add_digits(level, digits, places, heavy)
            rest -= digits
            left = np.count_nonzero(rest)
            if not left:
                return
            if 2 * left < len(rest):
                kept = np.flatnonzero(rest)
                rest, places = rest[kept], None if places is None else places[kept]
                heavy = None if heavy is None else [part[kept] for part in heavy]
            rest *= 2.0**self._width
            level += 1

    def _add_digits(self, level: int, digits: Floats, places: Int | None, heavy: list[Floats] | None) -> None:
        while len(self._sums) <= level:
            self._sums.append([0] * self._count)
        own = self._sums[level]
        for number, part in enumerate([None] if heavy is None else heavy):
            whole = digits if part is None else digits * part
            units = [whole.sum()] if places is None else np.bincount(places, whole, self._count).tolist()
            for at, found in enumerate(units):
                own[at] += int(found) << (number * _WEIGHT_DIGIT_BITS)

    def sums(self) -> list[Fraction]:
        """The sum at each place."""
        found = [0] * self._count
        for units in self._sums:
            found = [(sofar << self._width) + more for sofar, more in zip(found, units, strict=True)]
        return [Fraction(units, 1 << (max(0, len(self._sums) - 1) * self._width)) for units in found]


def _weight_digits(weights: Int) -> list[Floats]:
    """Weights as digits of 13 bits, the lowest first."""
    highest = int(weights.max(initial=0)).bit_length()
    return [
        ((weights >> low) & ((1 << _WEIGHT_DIGIT_BITS) - 1)).astype(np.float64)
        for low in range(0, max(1, highest), _WEIGHT_DIGIT_BITS)
    ]


def _chunks(n: int) -> Iterator[slice]:
    return (slice(start, start + _CHUNK_LENGTH) for start in range(0, n, _CHUNK_LENGTH))


def exact_sum(values: Floats, weights: Int | None = None) -> Fraction:
    """The sum of numbers from -1 to 1, each as often as it weighs; weights are whole numbers from 0 to 2^53."""
    found = _DigitAccumulator(1, weighed=weights is not None)
    for piece in _chunks(len(values)):
        found.add(values[piece], None, None if weights is None else weights[piece])
    return found.sums()[0]


def exact_sums(values: Floats, places: Int, count: int, weights: Int | None = None) -> list[Fraction]:
    """The sums of numbers from -1 to 1 at each of `count` places, each as often as it weighs."""
    found = _DigitAccumulator(count, weighed=weights is not None)
    for piece in _chunks(len(values)):
        found.add(values[piece], places[piece], None if weights is None else weights[piece])
    return found.sums()


def exact_square_sum(values: Floats, weights: Int | None = None) -> Fraction:
    """The sum of the squares of numbers from -1 to 1, each as often as it weighs.

    A square is the sum of two binary64 numbers, itself rounded and what that lost (Veltkamp; Dekker 1971).
    """
    found, beside = _DigitAccumulator(1, weighed=weights is not None), Fraction(0)
    for piece in _chunks(len(values)):
        some, heavy = values[piece], None if weights is None else weights[piece]
        tiny = (np.abs(some) < _TINY) & (some != 0)
        if tiny.any():
            own = None if heavy is None else heavy[tiny]
            beside += exact_square_sum(some[tiny] * 2.0**_SCALE, own) / (1 << 2 * _SCALE)
            some = np.where(tiny, 0.0, some)
        scaled = some * _SPLITTER
        upper = scaled - (scaled - some)
        lower = some - upper
        squares = some * some
        lost = ((upper * upper - squares) + 2 * upper * lower) + lower * lower
        found.add(squares, None, heavy)
        found.add(lost, None, heavy, level=1)  # at most 2^-54
    return found.sums()[0] + beside
