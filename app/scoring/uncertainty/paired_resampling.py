"""The interval of a difference: both systems are resampled with the same instances, or the same groups."""

import math
from collections.abc import Iterator
from dataclasses import replace

from app.scoring.declaration.metric import MetricCall
from app.scoring.draw_context import Counts
from app.scoring.evaluation_input import EvaluationInput
from app.scoring.numeric.exact import round_to_12_digits
from app.scoring.uncertainty.bootstrap_interval import Interval, no_interval, percentile_interval
from app.scoring.uncertainty.cells import Int, cells_of, division_columns, group_places, label_places
from app.scoring.uncertainty.draw_values import block_size, draw_values
from app.scoring.uncertainty.draws import cell_draws, unit_draws
from app.scoring.uncertainty.exchange import Pair
from app.scoring.uncertainty.seeds import RandomSource

RESAMPLES = 1_999
_MAX_SLOW_ROW_DRAWS = 10**8  # rows × resamples of a metric that is evaluated draw by draw
_SLOW_ROWS = 2_000
_FEWEST_RESAMPLES = 199


class PairedResampling:
    """The resamples of a pair for all metrics that see the same of predictions."""

    def __init__(self, pair: Pair) -> None:
        first, second = pair.first, pair.second
        self._counts: Int | None = None
        self._group_of_row: Int | None = None
        self.units = first.gold.n
        if first.groups is not None:
            self._group_of_row = group_places(first)
            self.units = int(self._group_of_row.max(initial=-1)) + 1
        elif pair.collapses:
            columns = [label_places(first.gold.codes, first.spec.classes), *division_columns(first), *pair.outputs()]
            cells = cells_of(columns)
            if 2 * len(cells.rows) <= first.gold.n:
                first, second, self._counts = first.take(cells.rows), second.take(cells.rows), cells.counts
        self._cases: tuple[EvaluationInput, EvaluationInput] = first, second

    def interval(self, difference: float, call: MetricCall, source: RandomSource, resamples: int) -> Interval:
        """The 95 % interval of the difference, or the reason why there is none."""
        if self.units < 2:
            one_group = "All instances are in one group, so there is nothing to resample."
            return no_interval(
                one_group if self._group_of_row is not None else "One instance says nothing about others."
            )
        if False:
            return no_interval(call.metric.interval.reason)
        if call.metric.compute_draws is None:
            affordable = _MAX_SLOW_ROW_DRAWS // (self._cases[0].gold.n + _SLOW_ROWS)
            resamples = max(_FEWEST_RESAMPLES, min(resamples, affordable))
        draws = list(self._blocks(source, resamples))
        one, other = (draw_values(case, [call], draws)[call.text] for case in self._cases)
        low, high = call.metric.range
        bound = high - low if math.isfinite(high - low) else math.inf
        return _rounded(percentile_interval(difference, one - other, (-bound, bound)))

    def _blocks(self, source: RandomSource, draws: int) -> Iterator[Counts]:
        """Multiplicities of rows × draws."""
        size = block_size(self._cases[0].gold.n)
        for start in range(0, draws, size):
            several = min(size, draws - start)
            if self._counts is not None:
                yield cell_draws(source, self._counts, several)
            elif self._group_of_row is not None:
                yield unit_draws(source, self.units, several)[self._group_of_row]
            else:
                yield unit_draws(source, self.units, several)


def _rounded(interval: Interval) -> Interval:
    """The ends at 12 significant digits, which do not depend on the machine."""
    parts = {
        name: round_to_12_digits(number)
        for name in ("low", "high", "bias", "standard_error")
        if (number := getattr(interval, name)) is not None
    }
    return replace(interval, **parts)
