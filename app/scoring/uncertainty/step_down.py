"""Romano-Wolf step-down test of all ordered pairs of rows: which rows are significantly better than which.

Source: Romano & Wolf 2005, Exact and approximate stepdown methods for multiple hypothesis testing, algorithm 4.2 with
studentised statistics; the family of ordered hypotheses θ_i ≤ θ_j is that of Mogstad, Romano, Shaikh & Wilhelm 2024,
Inference for ranks. A rejected hypothesis leaves its reverse in the family.

Rows are sorted, the best first. Each pair (a, b) with a above b has two hypotheses: that a is not better (statistic
t ≥ 0) and that b is not better (-t ≤ 0, which is never rejected). The critical value of a step is the quantile of the
largest centred statistic over the hypotheses that are left. Two quantities bound it: that of the first step from above,
and that of the hypotheses with statistics of at most 0, which stay, from below. Only hypotheses between the bounds need
further steps. Blocks of pairs are small enough for the cache; nothing of the size pairs × draws is stored.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
ALPHA_INVERSE = 20
"""One error in so many boards: the level of 5 %."""
MIN_STANDARD_ERROR = 1e-12
"""Differences with a smaller standard error are never significant."""
_TOLERANCE = 1e-12  # values this close to the critical value are not above it
_BLOCK_NUMBERS = 2**17  # 1 MB


@dataclass(frozen=True, slots=True)
class StepDown:
    """`rejected` (leaders × rows): the row of this leader is significantly better than the later row.

    `statistics` has the studentised differences, -inf for pairs outside the family, and `critical_value` that of the
    last step; None if there are too few draws for the level or no pairs.
    """

    rejected: Mask
    statistics: Floats
    standard_errors: Floats
    critical_value: float | None
    steps: int


def step_down(values: Floats, draws: Floats, allowed: Mask) -> StepDown:
    """The test for rows sorted by descending value, larger is better.

    `values` (T,) and `draws` (T × R) have no NaN. `allowed` (leaders × T) says which pairs may be different; pairs
    that are not of a row and a later one are ignored. The first `leaders` rows are compared with all later rows.
    """
    leaders, size = allowed.shape
    kept = np.triu(allowed, 1)
    errors = _standard_errors(draws, leaders)
    kept &= errors > MIN_STANDARD_ERROR
    statistics = np.full((leaders, size), -np.inf)
    differences = values[:leaders, None] - values[None, :]
    statistics[kept] = differences[kept] / errors[kept]
    rejected = np.zeros((leaders, size), dtype=bool)
    rank = (draws.shape[1] + 1) // ALPHA_INVERSE  # so many draws may reach a statistic that is rejected
    if not rank or not kept.any():
        return StepDown(rejected, statistics, errors, None, 0)
    scales = np.zeros((leaders, size))
    scales[kept] = 1 / errors[kept]
    critical, steps = _reject(_Family(draws - values[:, None], scales), statistics, rejected, rank)
    return StepDown(rejected, statistics, errors, critical, steps)


@dataclass(frozen=True, slots=True)
class _Family:
    """Centred draws (T × R), and 1 / standard error of each pair, 0 for pairs outside the family."""

    centred: Floats
    scales: Floats

    def extremes(self, pairs: Mask) -> tuple[Floats, Floats]:
        """Per draw, the largest and the smallest centred statistic of these pairs."""
        size = self.centred.shape[1]
        largest, smallest = np.full(size, -np.inf), np.full(size, np.inf)
        for leader, rows, block in _difference_blocks(self.centred, pairs):
            np.multiply(block, self.scales[leader, rows][:, None], out=block)
            np.maximum(largest, block.max(axis=0), out=largest)
            np.minimum(smallest, block.min(axis=0), out=smallest)
        return largest, smallest


def _reject(family: _Family, statistics: Floats, rejected: Mask, rank: int) -> tuple[float, int]:
    """Mark the rejected hypotheses; the last critical value and the number of steps."""
    kept = family.scales > 0
    largest, smallest = family.extremes(kept)
    reverse = -smallest  # the hypotheses with statistics of at most 0
    critical = _critical_value(np.maximum(largest, reverse), rank)
    least = _critical_value(reverse, rank)
    rejected |= statistics > _above(critical)
    undecided = kept & ~rejected & (statistics > _above(least))
    steps = 1
    if not undecided.any() or not rejected.any():
        return critical, steps
    always = kept & (statistics <= _above(least))
    base = np.maximum(reverse, family.extremes(always)[0])
    while undecided.any():
        steps += 1
        critical = _critical_value(np.maximum(base, family.extremes(undecided)[0]), rank)
        newly = undecided & (statistics > _above(critical))
        if not newly.any():
            return critical, steps
        rejected |= newly
        undecided &= ~newly
    return _critical_value(base, rank), steps + 1


def _critical_value(largest: Floats, rank: int) -> float:
    """The `rank`-th largest of the maxima, not below 0: a row is never better than one with a higher value."""
    return max(0.0, float(np.partition(largest, len(largest) - rank)[len(largest) - rank]))


def _above(critical: float) -> float:
    return critical + _TOLERANCE * max(1.0, critical)


def _standard_errors(draws: Floats, leaders: int) -> Floats:
    """Leaders × T: the standard deviation of the difference of two rows over the draws; 0 but for later rows."""
    size, count = draws.shape
    errors = np.zeros((leaders, size))
    if count < 2:
        return errors
    centred = draws - (draws.sum(axis=1) / count)[:, None]
    later = np.triu(np.ones((leaders, size), dtype=bool), 1)
    for leader, rows, block in _difference_blocks(centred, later):
        np.multiply(block, block, out=block)
        errors[leader, rows] = np.sqrt(block.sum(axis=1) / (count - 1))
    return errors


def _difference_blocks(draws: Floats, pairs: Mask) -> Iterator[tuple[int, NDArray[np.intp], Floats]]:
    """The draws of a leader minus those of other rows, in blocks: the leader, the rows, an array rows × R to use up."""
    step = max(1, _BLOCK_NUMBERS // max(draws.shape[1], 1))
    buffer = np.empty((step, draws.shape[1]))
    for leader in range(len(pairs)):
        rows = np.flatnonzero(pairs[leader])
        for start in range(0, len(rows), step):
            some = rows[start : start + step]
            block = buffer[: len(some)]
            whole = some[-1] - some[0] + 1 == len(some)
            np.subtract(draws[leader], draws[some[0] : some[-1] + 1] if whole else draws[some], out=block)
            yield leader, some, block
