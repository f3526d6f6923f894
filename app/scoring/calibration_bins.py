"""Equal-width bins of probabilities, with the exact sum of the probabilities and of the events in each.

Bin k of B has the probabilities p with (k - 1) / B < p ≤ k / B; the first bin includes 0. The edges are the binary64
quotients k / B, compared as binary64 (catalogue, row 29).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from app.scoring.numeric.exact import Floats
from app.scoring.numeric.float_sums import exact_sums

Int = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class CalibrationBin:
    """One bin: its edges, its total weight, the weight of the events that occurred, and the sum of the probabilities.

    `confidence` is that exact sum, weighted.
    """

    lower: float
    upper: float
    weight: int
    hits: int
    confidence: Fraction

    @property
    def excess(self) -> Fraction:
        """By how much the sum of the probabilities exceeds the events that occurred."""
        return self.confidence - self.hits

    @property
    def gap(self) -> Fraction:
        """By how much the mean probability exceeds the share of events that occurred; the bin must not be empty."""
        return self.excess / self.weight


def fill_bins(
    probabilities: Floats, truths: NDArray[np.bool_], weights: Int | None, count: int
) -> tuple[CalibrationBin, ...]:
    """All `count` bins of n probabilities from 0 to 1, the lowest first; `truths` (n) are the events that occurred.

    `weights` (n) are whole numbers. Source: Guo et al. 2017, On calibration of modern neural networks, sec 2; Naeini et
    al. 2015, Obtaining well calibrated probabilities using Bayesian binning.
    """
    edges = [k / count for k in range(count + 1)]
    bins = np.searchsorted(edges[1:-1], probabilities, side="left")
    weight = np.bincount(bins, weights, count)  # exact in binary64: all weights together stay below 2**53
    hits = np.bincount(bins[truths], None if weights is None else weights[truths], count)
    return tuple(
        CalibrationBin(edges[k], edges[k + 1], int(weight[k]), int(hits[k]), confidence)
        for k, confidence in enumerate(exact_sums(probabilities, bins, count, weights))
    )


def expected_calibration_error(bins: Iterable[CalibrationBin], weight: int) -> Fraction:
    """The weighted mean of the absolute gaps of the bins; `weight` is the total weight of all bins."""
    return sum((abs(part.excess) for part in bins), Fraction(0)) / weight


def maximum_calibration_error(bins: Iterable[CalibrationBin]) -> Fraction:
    """The largest absolute gap of a bin that is not empty."""
    return max(abs(part.gap) for part in bins if part.weight)
