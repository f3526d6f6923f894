"""How many (instance, label) cells the gold leaves unknown, and exact histograms, from which counts are made."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.scoring.evaluation_input import EvaluationInput
from app.scoring.numeric.exact import total

Int = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class UnknownCells:
    """How many cells the gold leaves unknown: of each class and in all by weight, and of each instance."""

    by_class: Int | int
    by_instance: Int | int
    total: int


def count_unknown_cells(case: EvaluationInput, size: int) -> UnknownCells:
    """The unknown cells of label sets over `size` labels; numbers instead of arrays where all cells are known."""
    unknown = case.unknown
    if unknown is None:
        return UnknownCells(0, 0, 0)
    heavy = None if case.weights is None else case.weights[unknown.rows]
    by_class = histogram(unknown.codes.astype(np.int64), heavy, size)
    return UnknownCells(by_class, unknown.sizes, total(by_class))


def histogram(bins: Int, weights: Int | None, size: int) -> Int:
    """The exact sum of the weights in each bin, or the number of entries.

    `np.bincount` adds weights in binary64. That is exact while all of them together stay below 2**53, because every
    partial sum is then an integer that binary64 holds; beyond it Python integers add up.
    """
    if weights is None or total(weights) < 2**53:
        return np.bincount(bins, weights=weights, minlength=size).astype(np.int64)
    sums = np.zeros(size, dtype=object)
    np.add.at(sums, bins, weights.astype(object))
    return sums if max(sums, default=0) >= 2**62 else sums.astype(np.int64)
