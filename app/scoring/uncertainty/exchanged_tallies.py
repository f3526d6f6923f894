"""Exchanges for metrics of the one-vs-rest counts alone: the counts of each part, without any rows.

Such a metric does not see which gold label an instance has that both systems get wrong. So these instances are one cell
for each pair of labels, whatever their gold. The counts of a part are a constant plus a sum over the cells of a whole
number times the instances that have the first of the two outputs, which is exact in binary64.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.scoring.draw_context import Counts, DrawContext, DrawTally, Floats, NoDrawForm
from app.scoring.evaluation_input import EvaluationInput
from app.scoring.tally import ConfusionCounts, EvaluationContext
from app.scoring.uncertainty.cells import Int, cells_of
from app.scoring.uncertainty.exchange import Exchange, Pair
from app.scoring.uncertainty.resampling import group_places

_MAX_TABLE = 2**23
"""Classes × cells; with more, the rows are faster."""
_MAX_SUM = 2**53


class TallyDraws(DrawContext):
    """Draws of which only the counts are known; a metric that needs anything else has no form for them."""

    def __init__(self, rows: EvaluationContext, tally: DrawTally) -> None:  # without the weights of rows
        """The counts of each draw, and the context of an input with the same gold."""
        self.rows, self.case, self.spec = rows, rows.case, rows.spec
        self._tally = tally
        self.total = tally.n
        self._cache: dict[Any, Any] = {}

    def __getattr__(self, name: str) -> Any:
        """The weights of rows are not known."""
        if name == "weights":
            raise NoDrawForm
        raise AttributeError(name)

    @property
    def draws(self) -> int:
        """The number of draws."""
        return len(self._tally.n)

    def tally(self, options: Mapping[str, str]) -> DrawTally:
        """The counts, which depend on no option: all labels are known."""
        del options
        return self._tally

    def sum_by(self, *_: Any, **__: Any) -> Floats:
        """Not known: raises NoDrawForm."""
        raise NoDrawForm

    def sum_of(self, *_: Any, **__: Any) -> Floats:
        """Not known: raises NoDrawForm."""
        raise NoDrawForm

    def mean_of(self, *_: Any, **__: Any) -> Floats:
        """Not known: raises NoDrawForm."""
        raise NoDrawForm

    def with_rows(self, *_: Any, **__: Any) -> DrawContext:
        """Not known: raises NoDrawForm."""
        raise NoDrawForm


@dataclass(frozen=True)
class ExchangedTallies:
    """The counts of both parts after an exchange.

    `steps` (2 · (classes + 1) × cells) is what one instance of a cell adds to the predictions of each class (the last
    one counts instances without a prediction) and to the right ones if it has the first instead of the second output;
    `start` is what the first part has if every instance has the second, `both` the sum of both parts.
    """

    context: EvaluationContext
    exchange: Exchange
    support: Floats
    n: float
    start: Floats
    steps: Floats
    both: Floats

    @property
    def rows(self) -> int:
        """The number of cells, which bounds the memory of a draw."""
        return len(self.exchange.counts) + len(self.start)

    def parts(self, numbers: Int) -> tuple[TallyDraws, TallyDraws]:
        """The counts of the first and the second part, for cells × draws."""
        sums = self.start[:, None] + self.steps @ numbers.astype(np.float64)
        return self._draws(sums), self._draws(self.both[:, None] - sums)

    def _draws(self, sums: Floats) -> TallyDraws:
        m = len(self.support)
        chosen, tp, support = sums[:m], sums[m + 1 : -1], self.support[:, None]
        n, nothing = np.full(sums.shape[1], self.n), np.zeros(sums.shape[1])
        counts = ConfusionCounts(tp=tp, fp=chosen - tp, fn=support - tp, tn=self.n - support - chosen + tp)
        tally = DrawTally(
            n=n,
            names=self.context.spec.classes,
            classes=counts,
            outside_fp=nothing,
            outside_fn=nothing,
            outside_tn=nothing,
            without_prediction=sums[m],
            exact=np.add.reduce(tp, axis=0),
            cells=n * m,
            wrong_cells=np.add.reduce(counts.fp, axis=0) + np.add.reduce(counts.fn, axis=0),
        )
        return TallyDraws(self.context, tally)


def exchanged_tallies(pair: Pair) -> ExchangedTallies | None:
    """The counts of a pair; None where labels outside the vocabulary or the size call for rows."""
    case, m = pair.first, len(pair.first.spec.classes)
    gold, outputs = case.gold.codes, (pair.first.predicted.codes, pair.second.predicted.codes)
    if not pair.collapses or any((codes >= m).any() for codes in (gold, *outputs)):
        return None
    weights = np.ones(case.gold.n, dtype=np.int64) if case.weights is None else case.weights
    if float(weights.sum()) * max(2, m) >= _MAX_SUM:
        return None
    observed = [_class_sums(gold, codes, weights, m) for codes in outputs]
    cells = _group_cells(pair, weights) if case.groups is not None else _label_cells(pair, weights)
    if 2 * (m + 1) * len(cells[0].counts) > _MAX_TABLE:
        return None
    exchange, steps = cells
    start = observed[0] - steps @ exchange.observed.astype(np.float64)
    support = np.bincount(gold[gold >= 0], weights=weights[gold >= 0], minlength=m).astype(np.float64)
    context = EvaluationContext(case)
    return ExchangedTallies(context, exchange, support, float(weights.sum()), start, steps, observed[0] + observed[1])


def _class_sums(gold: NDArray[np.int32], predicted: NDArray[np.int32], weights: Int, m: int) -> Floats:
    """The weight of each predicted class, of no prediction, and of the right predictions of each class (and a 0)."""
    chosen = np.bincount(np.where(predicted < 0, m, predicted), weights=weights, minlength=m + 1)
    hit = (gold == predicted) & (gold >= 0)
    return np.concatenate([chosen, np.bincount(gold[hit], weights=weights[hit], minlength=m + 1)])


def _label_cells(pair: Pair, weights: Int) -> tuple[Exchange, Floats]:
    """Cells of the two labels, of the one that is right, if any, and of the weight."""
    case, differ = pair.first, np.flatnonzero(pair.differ)
    one, other = (part[differ] for part in pair.outputs())
    codes = [system.predicted.codes[differ] for system in (pair.first, pair.second)]
    gold = case.gold.codes[differ]
    low, high = np.minimum(one, other), np.maximum(one, other)
    swapped = one != low
    low_codes, high_codes = np.where(swapped, codes[1], codes[0]), np.where(swapped, codes[0], codes[1])
    known = gold >= 0
    right = np.where(known & (gold == low_codes), 1, np.where(known & (gold == high_codes), 2, 0))
    cells = cells_of([low, high, right, weights[differ]])
    observed = np.bincount(cells.of_row, weights=~swapped, minlength=len(cells.rows)).astype(np.int64)
    rows = cells.rows
    steps = _steps(low_codes[rows], high_codes[rows], right[rows], weights[differ][rows], case)
    return Exchange(cells.counts, observed, len(differ)), steps


def _steps(low: Counts, high: Counts, right: Counts, weights: Int, case: EvaluationInput) -> Floats:
    """What one instance of each cell adds with the lower label instead of the higher one."""
    m, at = len(case.spec.classes), np.arange(len(low))
    steps = np.zeros((2 * (m + 1), len(low)))
    for codes, sign, is_right in ((low, 1, right == 1), (high, -1, right == 2)):
        steps[np.where(codes < 0, m, codes), at] += sign * weights
        hit = np.flatnonzero(is_right)
        steps[m + 1 + codes[hit], hit] += sign * weights[hit]
    return steps


def _group_cells(pair: Pair, weights: Int) -> tuple[Exchange, Floats]:
    """One cell for each group on which the systems differ: all its instances are exchanged, or none."""
    case, differ = pair.first, np.flatnonzero(pair.differ)
    assert case.groups is not None
    group = np.unique(group_places(case.groups).of_row[differ], return_inverse=True)[1].astype(np.int64)
    m, units = len(case.spec.classes), int(group.max(initial=-1)) + 1
    steps = np.zeros((2 * (m + 1), units))
    gold, weight = case.gold.codes[differ], weights[differ]
    for system, sign in ((pair.first, 1), (pair.second, -1)):
        codes = system.predicted.codes[differ]
        np.add.at(steps, (np.where(codes < 0, m, codes), group), sign * weight)
        hit = (codes == gold) & (codes >= 0)
        np.add.at(steps, (m + 1 + codes[hit], group[hit]), sign * weight[hit])
    ones = np.ones(units, dtype=np.int64)
    return Exchange(ones, ones, units, np.arange(units)), steps
