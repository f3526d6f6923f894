"""Scores as probabilities: which rows are distributions, and how those are made exact ones (catalogue, c2)."""

import math

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]


SLACK = 1e-9
"""So much more is let pass, for decimals such as 0.499 and 0.5 do not sum to 0.999 in binary."""


def tolerance(m: int) -> float:
    """How far from one the sum of m probabilities may be: 1e-3, or m millionths where that is more."""
    return max(1e-3, m * 1e-6)


def sums_to_one(scores: Matrix) -> NDArray[np.bool_]:
    """For each row of n × m scores whether its sum is one within the tolerance; the sum is correctly rounded."""
    most = tolerance(scores.shape[1]) + SLACK
    gaps = np.abs(scores.sum(axis=1) - 1)
    found: NDArray[np.bool_] = gaps <= most
    for row in np.flatnonzero(np.abs(gaps - most) < 1e-9).tolist():  # where the order of summing may decide
        found[row] = abs(math.fsum(scores[row].tolist()) - 1) <= most
    return found


def distributions(scores: Matrix) -> tuple[Matrix, int]:
    """Rows of n × m scores divided by their sums, and how many of them did not sum to exactly one.

    A single column (the positive label's) is left as it is. The sums are correctly rounded, and each quotient is one
    division, so that the values are the same on every machine.
    """
    if scores.shape[1] == 1:
        return scores, 0
    sums = np.array([math.fsum(row.tolist()) for row in scores])
    changed = int((sums != 1).sum())
    return (scores / sums[:, None] if changed else scores), changed


def true_class(scores: Matrix, gold: NDArray[np.int32], positive: int | None) -> NDArray[np.float64]:
    """The probability that each row gives to its gold class; of a single column, that of the positive class or 1 less it.

    `positive` is None where the task is not binary.
    """
    if scores.shape[1] == 1 and positive is not None:
        own = scores[:, 0]
        return np.where(gold == positive, own, 1 - own)
    return scores[np.arange(len(gold)), gold]
