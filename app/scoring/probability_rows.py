"""Scores as probabilities: which rows are distributions, and how those are made exact ones (catalogue, c2)."""

import math

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]


SUM_ROUNDING_SLACK = 1e-9
"""So much more is let pass, for decimals such as 0.499 and 0.5 do not sum to 0.999 in binary."""


_DECIMAL_SCALE = 1e12
_CHUNK_CELLS = 1 << 15
_MAX_EXACT_COLUMNS = 1 << 12
_SPLITTER = 1.5 * 2.0**12
"""Numbers from 0 to 1 become multiples of 2^-40 when it is added to them and taken away again."""
_ERROR_BOUND = 2.0**-100
"""More than is lost in adding what is left, and far below the last place of sums near one."""


def sum_tolerance(m: int) -> float:
    """How far from one the sum of m probabilities may be: 1e-3, or m millionths where that is more."""
    return max(1e-3, m * 1e-6)


def sums_to_one(scores: Matrix) -> NDArray[np.bool_]:
    """For each row of n × m scores whether its sum is one within the tolerance; the sum is correctly rounded."""
    most = sum_tolerance(scores.shape[1]) + SUM_ROUNDING_SLACK
    gaps = np.abs(scores.sum(axis=1) - 1)
    found: NDArray[np.bool_] = gaps <= most
    for row in np.flatnonzero(np.abs(gaps - most) < 1e-9).tolist():  # where the order of summing may decide
        found[row] = abs(math.fsum(scores[row].tolist()) - 1) <= most
    return found


def are_probabilities(scores: Matrix) -> bool:
    """Whether n × m scores of exclusive classes are all from 0 to 1, and each row's sum is one within the tolerance.

    A single column is that of the positive label, which needs no sum.
    """
    within = bool(((scores >= 0) & (scores <= 1)).all())
    return within and (scores.shape[1] == 1 or bool(sums_to_one(scores).all()))


def row_sums(scores: Matrix) -> NDArray[np.float64]:
    """The correctly rounded sum of each row of n × m finite numbers: `math.fsum`, many rows at once where they permit it."""
    found = np.empty(len(scores))
    step = max(1, _CHUNK_CELLS // max(1, scores.shape[1]))
    for start in range(0, len(scores), step):
        found[start : start + step] = _chunk_row_sums(np.ascontiguousarray(scores[start : start + step]))
    return found


def _chunk_row_sums(scores: Matrix) -> NDArray[np.float64]:
    """Of numbers from 0 to 1 by cutting each into parts whose sums are exact (Rump, Ogita & Oishi 2008).

    Parts are multiples of 2^-40 and of 2^-81, so that 2^12 of each add up without rounding in any order; what is left of
    a number is below 2^-81. Where the last rounding is not certain `fsum` decides.
    """
    if scores.size and scores.shape[1] <= _MAX_EXACT_COLUMNS and scores.min() >= 0 and scores.max() <= 1:
        upper = (scores + _SPLITTER) - _SPLITTER
        rest = scores - upper
        middle = (rest + _SPLITTER * 2.0**-41) - _SPLITTER * 2.0**-41
        rest -= middle
        large, small = upper.sum(axis=1), middle.sum(axis=1)
        found = large + small
        back = found - large
        error = (large - (found - back)) + (small - back) + rest.sum(axis=1)
        sums: NDArray[np.float64] = found + (error - _ERROR_BOUND)
        open_ = np.flatnonzero(sums != found + (error + _ERROR_BOUND))
    else:
        sums, open_ = np.empty(len(scores)), np.arange(len(scores))
    for row in open_.tolist():
        sums[row] = math.fsum(scores[row].tolist())
    return sums


def normalize_rows(scores: Matrix) -> tuple[Matrix, int]:
    """Rows of n × m scores divided by their sums, and how many of them did not sum to exactly one.

    A single column (the positive label's) is left as it is. The sums are correctly rounded, and each quotient is one
    division, so that the values are the same on every machine.
    """
    if scores.shape[1] == 1:
        return scores, 0
    sums = row_sums(scores)
    changed = int((sums != 1).sum())
    return (scores / sums[:, None] if changed else scores), changed


def complements(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """1 less each number, as a file would give it beside the number: where that has at most 12 decimal places, as decimals.

    In binary64 1 - 0.7 is 0.30000000000000004, so that 0.3 would be another score: ties, and the bin in which a number
    lies, would follow from which of the two classes the scores are of.
    """
    places = np.rint(np.clip(scores, -1, 1) * _DECIMAL_SCALE)
    return np.where(places / _DECIMAL_SCALE == scores, (_DECIMAL_SCALE - places) / _DECIMAL_SCALE, 1.0 - scores)


def scores_of_both_classes(scores: NDArray[np.float64], positive: int) -> Matrix:
    """The n × 2 scores of a binary task of which those of the positive class (0 or 1) were given."""
    both = (scores, complements(scores))
    return np.stack(both if positive == 0 else both[::-1], axis=1)
