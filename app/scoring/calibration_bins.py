"""Equal-width bins of probabilities: how much lies in each, how sure it was and how much of it came true, exactly.

Bin k of B holds the probabilities p with (k - 1) / B < p ≤ k / B, the first one 0 too. The edges are the binary64
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
    """One bin: its edges, what is in it weighs, what of that came true weighs, and the exact sum of the probabilities."""

    lower: float
    upper: float
    weight: int
    hits: int
    confidence: Fraction

    @property
    def excess(self) -> Fraction:
        """By how much the probabilities exceed what came true."""
        return self.confidence - self.hits

    @property
    def gap(self) -> Fraction:
        """By how much the mean probability exceeds the share that came true; only where something is in the bin."""
        return self.excess / self.weight


def fill_bins(
    probabilities: Floats, truths: NDArray[np.bool_], weights: Int | None, count: int
) -> tuple[CalibrationBin, ...]:
    """All `count` bins of n probabilities from 0 to 1, the lowest first; `truths` says which of them came true.

    `weights` (whole numbers) are how often each counts. Source: Guo et al. 2017, On calibration of modern neural
    networks, sec 2; Naeini et al. 2015, Obtaining well calibrated probabilities using Bayesian binning.
    """
    edges = [k / count for k in range(count + 1)]
    places = np.searchsorted(edges[1:-1], probabilities, side="left")
    inside = np.bincount(places, weights, count)  # exact: all weights together stay below 2**53
    hits = np.bincount(places[truths], None if weights is None else weights[truths], count)
    found = []
    for own, given in enumerate(exact_sums(probabilities, places, count, weights)):
        found.append(CalibrationBin(edges[own], edges[own + 1], int(inside[own]), int(hits[own]), given))
    return tuple(found)


def expected_calibration_error(bins: Iterable[CalibrationBin], weight: int) -> Fraction:
    """The mean over everything (which weighs `weight`) of the gap of its bin, taken without sign."""
    return sum((abs(one.excess) for one in bins), Fraction(0)) / weight


def maximum_calibration_error(bins: Iterable[CalibrationBin]) -> Fraction:
    """The widest gap of a bin that is not empty, taken without sign."""
    return max(abs(one.gap) for one in bins if one.weight)
