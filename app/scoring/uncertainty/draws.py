"""Samplers of resampling: how often each unit or cell occurs in each draw.

A unit is an instance, or a group that is drawn whole. A cell holds instances that a metric cannot tell apart. Draws are
made one after the other, so that the numbers do not depend on how many are made at a time. Units and cells have to be
in an order that does not depend on the files: by id.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from app.scoring.uncertainty.seeds import RandomSource

Counts = NDArray[np.integer]
_MAX_UINT16 = 2**16 - 1
_BLOCK_NUMBERS = 2**22
"""How many numbers are drawn at a time: 32 MB of random words."""


def unit_draws(random: RandomSource, units: int, draws: int) -> Counts:
    """Units × draws: how often each of `units` equal units occurs among as many, drawn with replacement.

    The numbers are uint16, or uint32 for more than 65,535 units.
    """
    result = np.empty((draws, units), dtype=np.uint16 if units <= _MAX_UINT16 else np.uint32)
    step = max(1, _BLOCK_NUMBERS // max(units, 1))
    for start in range(0, draws, step):
        several = min(step, draws - start)
        drawn = random.uniform_indices(units, several * units).reshape(several, units)
        drawn += (np.arange(several, dtype=np.int64) * units)[:, None]
        result[start : start + several] = np.bincount(drawn.ravel(), minlength=several * units).reshape(several, units)
    return result.T


def unit_draw_blocks(random: RandomSource, units: int, draws: int, block: int) -> Iterator[Counts]:
    """The same numbers as `unit_draws`, as arrays of at most `block` draws each."""
    for start in range(0, draws, block):
        yield unit_draws(random, units, min(block, draws - start))


def cell_draws(random: RandomSource, counts: NDArray[np.int64], draws: int) -> NDArray[np.int64]:
    """Cells × draws: how often each cell occurs among all its instances, drawn with replacement (multinomial).

    `counts` has the number of instances of each cell.
    """
    if not counts.sum():
        return np.zeros((len(counts), draws), dtype=np.int64)
    return random.multinomial(counts, draws).T


def swap_draws(random: RandomSource, counts: NDArray[np.int64], draws: int) -> NDArray[np.int64]:
    """Cells × draws: how many of the `counts` instances of each cell are exchanged: each with probability one half."""
    result = np.empty((draws, len(counts)), dtype=np.int64)
    step = max(1, _BLOCK_NUMBERS // max(int((-(-counts // 64)).sum()), len(counts), 1))
    for start in range(0, draws, step):
        several = min(step, draws - start)
        result[start : start + several] = random.binomial_half(counts, several)
    return result.T
