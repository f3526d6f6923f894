"""Equal-width bins of probabilities: how much lies in each, how sure it was and how much of it came true, exactly.

Bin k of B holds the probabilities p with (k - 1) / B < p ≤ k / B, the first one 0 too. The edges are the binary64
quotients k / B, compared as binary64 (catalogue, row 29).
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.scoring.exact import Floats, over, repeated, total

Int = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Bin:
    """One bin: its edges, the weight of what is in it, the weight of what of that came true, and two sums.

    `confidence` is the sum of the probabilities, `excess` that sum less `hits`; both are correctly rounded.
    """

    lower: float
    upper: float
    weight: int
    hits: int
    confidence: float
    excess: float

    @property
    def gap(self) -> float:
        """By how much the mean probability exceeds the share that came true; only where something is in the bin."""
        return over(self.excess, self.weight)


def fill(probabilities: Floats, truths: NDArray[np.bool_], weights: Int | None, count: int) -> tuple[Bin, ...]:
    """All `count` bins of n probabilities from 0 to 1, the lowest first; `truths` says which of them came true.

    `weights` (whole numbers) are how often each counts. Source: Guo et al. 2017, On calibration of modern neural
    networks, sec 2; Naeini et al. 2015, Obtaining well calibrated probabilities using Bayesian binning.
    """
    edges = [k / count for k in range(count + 1)]
    places = np.searchsorted(edges[1:-1], probabilities, side="left")
    order = np.argsort(places, kind="stable")
    bounds = np.searchsorted(places[order], np.arange(count + 1))
    found = []
    for own, end in enumerate(edges[1:]):
        rows = order[bounds[own] : bounds[own + 1]]
        shares = None if weights is None else weights[rows]
        found.append(_bin((edges[own], end), probabilities[rows], truths[rows], shares))
    return tuple(found)


def _bin(edges: tuple[float, float], probabilities: Floats, truths: NDArray[np.bool_], weights: Int | None) -> Bin:
    weight = len(truths) if weights is None else total(weights)
    hits = int(truths.sum()) if weights is None else total(weights[truths])
    terms = repeated(probabilities, weights)
    return Bin(*edges, weight, hits, math.fsum(terms), math.fsum([*terms, -hits]))


def expected_gap(bins: Iterable[Bin], weight: int) -> float:
    """The mean over everything (which weighs `weight`) of the gap of its bin, taken without sign."""
    return over(math.fsum(abs(one.excess) for one in bins), weight)


def widest_gap(bins: Iterable[Bin]) -> float:
    """The widest gap of a bin that is not empty, taken without sign."""
    return max(abs(one.gap) for one in bins if one.weight)
