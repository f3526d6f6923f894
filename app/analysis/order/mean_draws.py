"""The means of systems in bootstrap draws: the same digits on every machine, although matrix products make them."""

import math

import numpy as np
from numpy.typing import NDArray

from app.scoring.uncertainty.draws import unit_draw_blocks
from app.scoring.uncertainty.seeds import RandomSource

Floats = NDArray[np.float64]
_SLICE_BITS = 26
_BLOCK_NUMBERS = 2**22


def mean_draws(random: RandomSource, totals: Floats, sizes: Floats, draws: int) -> Floats:
    """Systems × draws: the mean of each system when units are drawn with replacement.

    `totals` (systems × units) has the sum over the instances of each unit, `sizes` (units,) their number. Each total is
    split into two whole numbers of 26 bits, relative to the largest of its system, so that every sum is exact.
    """
    systems, units = totals.shape
    result = np.empty((systems, draws))
    slices, scale = _whole_slices(totals)
    at = 0
    for block in unit_draw_blocks(random, units, draws, max(1, _BLOCK_NUMBERS // max(units, systems))):
        counts = block.astype(np.float64)
        sums = slices[0] @ counts
        if len(slices) > 1:
            sums += (slices[1] @ counts) * 2.0**-_SLICE_BITS
        result[:, at : at + block.shape[1]] = sums * scale[:, None] / (sizes @ counts)
        at += block.shape[1]
    return result


def exact_mean(values: Floats) -> float:
    """The mean of the values, from their exact sum."""
    return math.fsum(values) / len(values)


def _whole_slices(totals: Floats) -> tuple[list[Floats], Floats]:
    """Tables of whole numbers, each next one in units of 2^-26 of the last; and the unit of the first for each row."""
    largest = np.abs(totals).max(axis=1)
    if (totals == np.floor(totals)).all() and largest.max() < 2.0**_SLICE_BITS:
        return [totals], np.ones(len(totals))
    _, exponents = np.frexp(largest)
    scale = np.ldexp(1.0, exponents - _SLICE_BITS)
    scaled = totals / scale[:, None]
    first = np.rint(scaled)
    return [first, np.rint((scaled - first) * 2.0**_SLICE_BITS)], scale
