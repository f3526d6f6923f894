"""Scores as probabilities: checks which rows sum to one, and normalizes them."""

import math

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]

SUM_ROUNDING_SLACK = 1e-9
"""Added to the tolerance, because decimals such as 0.499 and 0.5 do not sum to exactly 0.999 in binary."""
_DECIMAL_SCALE = 1e12
_CHUNK_CELLS = 1 << 15  # scores summed at a time: they fit the processor's cache
_MAX_EXACT_COLUMNS = 1 << 12  # this many parts of a row add up without rounding, see _chunk_row_sums
_SPLITTER = 1.5 * 2.0**12
"""Adding and subtracting it rounds a number from 0 to 1 to a multiple of 2^-40."""
_ERROR_BOUND = 2.0**-100
"""More than the rounding error in the sum of the remainders, and far below the last bit of a sum near one."""


def sum_tolerance(m: int) -> float:
    """How far from one the sum of m probabilities may be: 1e-3, or m millionths if that is more."""
    return max(1e-3, m * 1e-6)


def sums_to_one(scores: Matrix) -> NDArray[np.bool_]:
    """For each row of n × m scores, whether its correctly rounded sum is one within the tolerance.

    Only sums very close to the limit, where the order of the additions could matter, are computed by `math.fsum`.
    """
    limit = sum_tolerance(scores.shape[1]) + SUM_ROUNDING_SLACK
    gaps = np.abs(scores.sum(axis=1) - 1)
    passes: NDArray[np.bool_] = gaps <= limit
    for row in np.flatnonzero(np.abs(gaps - limit) < 1e-9).tolist():
        passes[row] = abs(math.fsum(scores[row].tolist()) - 1) <= limit
    return passes


def are_probabilities(scores: Matrix) -> bool:
    """Whether n × m scores of exclusive classes are all from 0 to 1 and each row sums to one within the tolerance.

    A single column belongs to the positive label; its rows need not sum to anything.
    """
    within = bool(((scores >= 0) & (scores <= 1)).all())
    return within and (scores.shape[1] == 1 or bool(sums_to_one(scores).all()))


def row_sums(scores: Matrix) -> NDArray[np.float64]:
    """The correctly rounded sum of each row of n × m finite numbers, as from `math.fsum`, for many rows at once."""
    sums = np.empty(len(scores))
    step = max(1, _CHUNK_CELLS // max(1, scores.shape[1]))
    for start in range(0, len(scores), step):
        sums[start : start + step] = _chunk_row_sums(np.ascontiguousarray(scores[start : start + step]))
    return sums


def _chunk_row_sums(scores: Matrix) -> NDArray[np.float64]:
    """Sum numbers from 0 to 1 by splitting each into parts whose sums are exact (Rump, Ogita & Oishi 2008).

    The parts are multiples of 2^-40 and of 2^-81, so 2^12 of each add up without rounding in any order. The remainder
    of a number is below 2^-81, so the sum of the remainders is off by less than _ERROR_BOUND. If adding and subtracting
    that bound rounds to the same sum, the sum is correctly rounded; otherwise, and for other numbers, `fsum` decides.
    """
    if scores.size and scores.shape[1] <= _MAX_EXACT_COLUMNS and scores.min() >= 0 and scores.max() <= 1:
        upper = (scores + _SPLITTER) - _SPLITTER
        rest = scores - upper
        middle = (rest + _SPLITTER * 2.0**-41) - _SPLITTER * 2.0**-41
        rest -= middle
        large, small = upper.sum(axis=1), middle.sum(axis=1)
        rounded = large + small
        back = rounded - large
        error = (large - (rounded - back)) + (small - back) + rest.sum(axis=1)
        sums: NDArray[np.float64] = rounded + (error - _ERROR_BOUND)
        undecided = np.flatnonzero(sums != rounded + (error + _ERROR_BOUND))
    else:
        sums, undecided = np.empty(len(scores)), np.arange(len(scores))
    for row in undecided.tolist():
        sums[row] = math.fsum(scores[row].tolist())
    return sums


def normalize_rows(scores: Matrix) -> tuple[Matrix, int]:
    """Rows of n × m scores divided by their sums, and how many rows did not sum to exactly one.

    A single column (that of the positive label) stays as it is. The sums are correctly rounded and each quotient is one
    division, so the values are the same on every machine.
    """
    if scores.shape[1] == 1:
        return scores, 0
    sums = row_sums(scores)
    changed = int((sums != 1).sum())
    return (scores / sums[:, None] if changed else scores), changed


def complements(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """1 minus each score, computed in decimal if the score has at most 12 decimal places.

    In binary64, 1 - 0.7 is 0.30000000000000004 and not 0.3. With such complements, ties and the bin of a probability
    would depend on which of the two classes a file gives the scores for.
    """
    units = np.rint(np.clip(scores, -1, 1) * _DECIMAL_SCALE)
    return np.where(units / _DECIMAL_SCALE == scores, (_DECIMAL_SCALE - units) / _DECIMAL_SCALE, 1.0 - scores)


def scores_of_both_classes(scores: NDArray[np.float64], positive: int) -> Matrix:
    """The n × 2 scores of a binary task, from the scores of the positive class (0 or 1)."""
    both = (scores, complements(scores))
    return np.stack(both if positive == 0 else both[::-1], axis=1)
