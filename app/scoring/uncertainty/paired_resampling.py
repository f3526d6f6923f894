"""The interval of a difference: both systems are resampled with the same instances, or the same groups."""

import math
from collections.abc import Iterable

from app.scoring.declaration.metric import MetricCall
from app.scoring.draw_context import Counts
from app.scoring.uncertainty.bootstrap_interval import Interval, no_interval, percentile_interval
from app.scoring.uncertainty.cells import cells_of, division_columns, label_places
from app.scoring.uncertainty.draw_values import draw_values
from app.scoring.uncertainty.exchange import Pair
from app.scoring.uncertainty.resampling import Resampling, group_places
from app.scoring.uncertainty.seeds import random_source

RESAMPLES = 1_999
_MAX_SLOW_ROW_DRAWS = 10**8  # rows × resamples of a metric that is evaluated draw by draw
_SLOW_ROWS = 2_000  # that cost as much as one evaluation of any size
_FEWEST_RESAMPLES = 199
_MAX_KEPT = 2**24
"""Up to so many multiplicities are kept in memory for the second system; more are drawn again."""


class PairedResampling:
    """The resamples of a pair for all metrics that see the same of predictions."""

    def __init__(self, pair: Pair) -> None:
        first, second = pair.first, pair.second
        self._second = second
        if first.groups is not None:
            groups = group_places(first.groups)
            self._resampling = Resampling(first, "group", groups.count, None, groups.of_row)
            return
        self._resampling = Resampling(first, "instance", first.gold.n)
        if not pair.collapses:
            return
        columns = [label_places(first.gold.codes, first.spec.classes), *division_columns(first), *pair.outputs()]
        cells = cells_of(columns)
        if 2 * len(cells.rows) <= first.gold.n:
            self._resampling = Resampling(first.take(cells.rows), "instance", first.gold.n, cells.counts)
            self._second = second.take(cells.rows)

    def interval(self, difference: float, call: MetricCall, seed: bytes, resamples: int) -> Interval:
        """The 95 % interval of the difference, or the reason why there is none."""
        resampling = self._resampling
        if resampling.units < 2:
            one_group = "All instances are in one group, so there is nothing to resample."
            return no_interval(one_group if resampling.unit == "group" else "One instance says nothing about others.")
        if call.metric.interval.kind == "none":
            return no_interval(call.metric.interval.reason)
        if call.metric.compute_draws is None:
            affordable = _MAX_SLOW_ROW_DRAWS // (resampling.case.gold.n + _SLOW_ROWS)
            resamples = min(resamples, max(_FEWEST_RESAMPLES, affordable))
        one, other = (
            draw_values(case, [call], blocks)[call.text]
            for case, blocks in zip((resampling.case, self._second), self._twice(seed, resamples), strict=True)
        )
        low, high = call.metric.range
        bound = high - low if math.isfinite(high - low) else math.inf
        return percentile_interval(difference, one - other, (-bound, bound))

    def _twice(self, seed: bytes, resamples: int) -> tuple[Iterable[Counts], Iterable[Counts]]:
        """The same multiplicities for each of the two systems."""
        first, again = (self._resampling.blocks(random_source(seed), resamples) for _ in range(2))
        if self._resampling.case.gold.n * resamples > _MAX_KEPT:
            return first, again
        kept = list(first)
        return kept, kept
