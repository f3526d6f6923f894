"""Sums of binary64 numbers and of their squares as exact fractions: nothing is rounded before the last step."""

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from app.scoring.exact import Floats, total

Int = NDArray[np.int64]

_BITS = 52  # sums of whole numbers that stay below 2^52 are exact in binary64, in any order
_WIDEST = 26
_PART = 13  # bits of a weight taken at a time
_SPLITTER = 2.0**27 + 1  # Veltkamp's: it cuts a number into two halves of 26 bits
_TINY, _SCALE = 2.0**-450, 400  # below it the low half of a square might not be a binary64 number


def exact_sum(values: Floats, weights: Int | None = None) -> Fraction:
    """The sum of numbers from -1 to 1, each as often as it weighs; weights are whole numbers ≥ 0."""
    return exact_sums(values, np.zeros(len(values), dtype=np.int64), 1, weights)[0]


def exact_sums(values: Floats, places: Int, count: int, weights: Int | None = None) -> list[Fraction]:
    """The sums of numbers from -1 to 1 at each of `count` places, each as often as it weighs.

    Digit after digit is cut off all numbers at once, as the nearest whole number of the next smaller unit; what is
    left of a number is exact, and in the end nothing is.
    """
    room = _BITS - len(values).bit_length()
    width = min(_WIDEST, room if weights is None else room - _PART)
    heavy = [] if weights is None else _parts(weights)
    found, shift = [0] * count, 0
    rest = values
    while True:
        digits = np.rint(rest)
        found = [units << width for units in found] if shift else found
        for own, more in enumerate(_totals(digits, places, count, heavy)):
            found[own] += more
        rest = rest - digits
        left = np.flatnonzero(rest)
        if not len(left):
            return [Fraction(units, 1 << shift) for units in found]
        rest, places, heavy = rest[left] * 2.0**width, places[left], [part[left] for part in heavy]
        shift += width


def _parts(weights: Int) -> list[Floats]:
    """Weights as digits of 13 bits, the lowest first."""
    highest = int(weights.max(initial=0)).bit_length()
    return [((weights >> low) & ((1 << _PART) - 1)).astype(np.float64) for low in range(0, max(1, highest), _PART)]


def _totals(digits: Floats, places: Int, count: int, heavy: list[Floats]) -> list[int]:
    if not heavy:
        return _at_places(digits, places, count)
    found = [0] * count
    for number, part in enumerate(heavy):
        for own, units in enumerate(_at_places(digits * part, places, count)):
            found[own] += units << (number * _PART)
    return found


def _at_places(whole: Floats, places: Int, count: int) -> list[int]:
    sums = [whole.sum()] if count == 1 else np.bincount(places, whole, count).tolist()
    return [int(units) for units in sums]


def exact_square_sum(values: Floats, weights: Int | None = None) -> Fraction:
    """The sum of the squares of numbers from -1 to 1, each as often as it weighs.

    A square is the sum of two binary64 numbers, itself rounded and what that lost (Veltkamp; Dekker 1971).
    """
    tiny = (np.abs(values) < _TINY) & (values != 0)
    if tiny.any():
        others = values[~tiny], None if weights is None else weights[~tiny]
        own = values[tiny] * 2.0**_SCALE, None if weights is None else weights[tiny]
        return exact_square_sum(*others) + exact_square_sum(*own) / (1 << 2 * _SCALE)
    scaled = values * _SPLITTER
    upper = scaled - (scaled - values)
    lower = values - upper
    squares = values * values
    lost = ((upper * upper - squares) + 2 * upper * lower) + lower * lower
    return exact_sum(squares, weights) + exact_sum(lost, weights)


def exact_weight(weights: Int | None, mask: NDArray[np.bool_]) -> int:
    """How much the instances of a mask weigh."""
    return int(mask.sum()) if weights is None else total(weights[mask])
