"""Counts of many draws at once: a draw gives each row of an evaluation input a whole multiplicity.

The multiplicities are a matrix of rows × draws. Counts of a draw are sums of multiplicities, which binary64 holds
exactly, so they do not depend on the order of addition. What follows from them uses + - × ÷ and square roots in a fixed
order only, so the values of draws have the same digits on every machine.
"""

from collections.abc import Callable, Hashable, Mapping
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.scoring.evaluation_input import MISSING_CODE
from app.scoring.numeric.constant_time_search import search_sorted
from app.scoring.tally import ConfusionCounts, EvaluationContext, LabelPairs, sorted_label_pairs

Floats = NDArray[np.float64]
Counts = NDArray[Any]
InstanceValues = tuple[Floats, NDArray[np.bool_]]
"""A value per row, and which rows a mean takes in."""
MAX_MATRIX_CLASSES = 32
"""Up to so many classes a matrix product adds up faster than sorted segments."""
_FLOAT32_LIMIT = 2**24
_FLOAT64_LIMIT = 2**53


class NoDrawForm(Exception):
    """The metric has no form for many draws under these options; the engine evaluates each draw by itself."""


@dataclass(frozen=True)
class DrawTally:
    """The counts of `Tally` for each draw: arrays of classes × draws, and of one number per draw.

    All are whole numbers in binary64.
    """

    n: Floats
    names: tuple[str, ...]
    classes: ConfusionCounts
    outside_fp: Floats
    outside_fn: Floats
    outside_tn: Floats
    without_prediction: Floats
    exact: Floats
    cells: Floats
    wrong_cells: Floats


class DrawContext:
    """The rows of one input with the multiplicities of a block of draws; caches what several metrics need.

    `rows` is the context of the input itself, shared by all blocks: what depends on the rows alone is computed once.
    """

    def __init__(
        self, rows: EvaluationContext, multiplicities: Counts, gold_sums: dict[Hashable, Floats] | None = None
    ) -> None:
        """Multiplicities: rows × draws, whole numbers ≥ 0. Raises NoDrawForm where sums are not exact or cells unknown.

        `gold_sums` is shared by the systems of a board, which have the same gold, weights and multiplicities.
        """
        self._gold_sums = {} if gold_sums is None else gold_sums
        self.rows, self.case, self.spec = rows, rows.case, rows.spec
        if rows.case.unknown is not None:
            raise NoDrawForm
        largest = int(multiplicities.max(initial=0))
        weights = rows.case.weights
        if weights is not None:
            largest *= int(weights.max(initial=0))
        self._bound = largest * max(1, len(multiplicities))
        if self._bound >= _FLOAT64_LIMIT:
            raise NoDrawForm
        kind = np.float32 if self._bound < _FLOAT32_LIMIT else np.float64
        self.weights: Counts = np.ascontiguousarray(multiplicities, dtype=kind)
        if weights is not None:
            self.weights = self.weights * weights.astype(kind)[:, None]
        self._cache: dict[Any, Any] = {}

    def with_rows(self, rows: EvaluationContext) -> "DrawContext":
        """The same draws of other predictions for the same instances; cached, so that metrics share its counts."""

        def make() -> DrawContext:
            other = copy(self)
            other.rows, other.case, other._cache = rows, rows.case, {}  # noqa: SLF001
            return other

        found: DrawContext = self.shared(("with rows", id(rows)), make)
        return found

    def part(self, rows: EvaluationContext, positions: NDArray[np.integer]) -> "DrawContext":
        """The same draws of some of the instances; `rows` is their context."""
        other = copy(self)
        other.__dict__.pop("total", None)
        other.rows, other.case, other._cache = rows, rows.case, {}  # noqa: SLF001
        other.weights, other._gold_sums = self.weights[positions], {}  # noqa: SLF001
        return other

    def columns(self, start: int, end: int) -> "DrawContext":
        """The draws from `start` up to `end` alone."""
        if start == 0 and end >= self.draws:
            return self
        other = copy(self)
        other.weights = np.ascontiguousarray(self.weights[:, start:end])
        other._cache, other._gold_sums = {}, {}  # noqa: SLF001
        other.__dict__.pop("total", None)
        return other

    @property
    def draws(self) -> int:
        """The number of draws in this block."""
        return int(self.weights.shape[1])

    @cached_property
    def total(self) -> Floats:
        """The total weight of each draw."""
        return self.sum_of_gold("total", lambda: self.sum_rows(np.ones(len(self.weights), dtype=bool)))

    def sum_rows(self, mask: NDArray[np.bool_]) -> Floats:
        """The weight of the rows in a mask, for each draw."""
        return self.sum_of(mask.astype(np.int64))

    def sum_of(self, numbers: NDArray[np.int64]) -> Floats:
        """The sum of number × weight over the rows, for each draw, of whole numbers; raises NoDrawForm if inexact."""
        bound = int(np.abs(numbers).max(initial=0)) * self._bound
        if bound >= _FLOAT64_LIMIT:
            raise NoDrawForm
        kind = self.weights.dtype if bound < _FLOAT32_LIMIT else np.float64
        return np.asarray(numbers.astype(kind) @ self.weights.astype(kind, copy=False), dtype=np.float64)

    def sum_of_gold(self, key: Hashable, make: Callable[[], Floats]) -> Floats:
        """A sum that depends on the gold and the weights alone; contexts of several systems may share it."""
        if key not in self._gold_sums:
            self._gold_sums[key] = make()
        return self._gold_sums[key]

    def mean_of(self, values: Floats, counted: NDArray[np.bool_] | None = None) -> Floats:
        """The weighted mean of values of rows, of those that are `counted`, for each draw; NaN where none is.

        Rows are added one by one in their order, so that the digits do not depend on the machine.
        """
        weights = self.weights if counted is None else self.weights[counted]
        values = values if counted is None else values[counted]
        divisor = self.total if counted is None else self.sum_rows(counted)
        return divide_draws(ordered_sum(values, weights), divisor)

    def mean_of_call(self, key: Hashable, make: Callable[[], InstanceValues]) -> Floats:
        """The mean of values of rows that do not depend on the draw; `key` names them in the cache of the rows."""
        values, counted = self.rows.shared(("instance values", key), make)
        return self.mean_of(values, None if counted.all() else counted)

    def sum_by(
        self, key: str, codes: NDArray[np.integer], size: int, rows: NDArray[np.integer] | None = None
    ) -> Floats:
        """The weight of the rows with each code 0 … size - 1: size × draws.

        `key` names the codes for the cache of the rows. `rows` gives the row of each code; None: one code per row. Codes
        outside the range do not count.
        """
        weights = self.weights
        if size <= MAX_MATRIX_CLASSES and rows is None:
            matrix = self.rows.shared(("draws matrix", key), lambda: _indicators(codes, size))
            return np.asarray(matrix.astype(weights.dtype, copy=False) @ weights, dtype=np.float64)
        order, starts, present = self.rows.shared(("draws order", key), lambda: _segments(codes, size, rows))
        sums = np.zeros((size, weights.shape[1]))
        if len(order):
            sums[present] = np.add.reduceat(weights[order], starts, axis=0)
        return sums

    def tally(self, options: Mapping[str, str]) -> DrawTally:
        """The counts of each draw under these options; raises NoDrawForm for options that have no form for draws."""
        multilabel = self.spec.task == "multilabel"
        if multilabel and (options["duplicates"] == "multiset" or options["empty_label"] == "as_class"):
            raise NoDrawForm
        key = ("tally", options["unknown_label"])
        if key not in self._cache:
            make = _tally_label_sets if multilabel else _tally_single_labels
            self._cache[key] = make(self, options)
        tally: DrawTally = self._cache[key]
        return tally

    def shared(self, key: Any, make: Callable[[], Any]) -> Any:
        """A value of this block that several metrics use; computed once."""
        if key not in self._cache:
            self._cache[key] = make()
        return self._cache[key]


def ordered_sum(values: Floats, weights: Counts) -> Floats:
    """The sum over rows of value × weight for each draw, rows in order; blocks of rows bound the memory."""
    sums = np.zeros(weights.shape[1])
    for start in range(0, len(values), 1024):
        part = values[start : start + 1024, None] * weights[start : start + 1024].astype(np.float64, copy=False)
        sums = sums + added_in_order(part)
    return sums


def added_in_order(terms: Floats) -> Floats:
    """The sum over the first axis, one term after the other: numpy adds a single column in another order."""
    if terms.shape[1] == 1:
        return np.asarray(np.add.reduce(np.repeat(terms, 2, axis=1), axis=0)[:1])
    return np.asarray(np.add.reduce(terms, axis=0))


def divide_draws(numerator: Floats, denominator: Floats) -> Floats:
    """The quotient of each draw, NaN where the denominator is 0."""
    out = np.full(np.broadcast(numerator, denominator).shape, np.nan)
    np.divide(numerator, denominator, out=out, where=np.broadcast_to(denominator, out.shape) != 0)
    return out


def _indicators(codes: NDArray[np.integer], size: int) -> NDArray[np.float32]:
    """Whether each row has each code: size × rows."""
    return np.ascontiguousarray(np.arange(size)[:, None] == codes[None, :], dtype=np.float32)


def _segments(
    codes: NDArray[np.integer], size: int, rows: NDArray[np.integer] | None
) -> tuple[NDArray[np.integer], NDArray[np.integer], NDArray[np.integer]]:
    """The rows sorted by code, where each code begins, and the codes that occur."""
    inside = np.flatnonzero((codes >= 0) & (codes < size))
    order = inside[np.argsort(codes[inside], kind="stable")]
    in_order = codes[order]
    starts = (
        np.flatnonzero(np.append(True, in_order[1:] != in_order[:-1])) if len(order) else np.zeros(0, dtype=np.int64)
    )
    return (order if rows is None else rows[order]), starts, in_order[starts]


def _tally_single_labels(draws: DrawContext, options: Mapping[str, str]) -> DrawTally:
    """The counts of `_tally_single_label` in `tally`, for each draw."""
    case, m = draws.case, len(draws.spec.classes)
    gold, predicted = case.gold.codes, case.predicted.codes
    rule = options["unknown_label"]
    if rule == "drop":
        predicted = np.where(predicted == m, np.int32(MISSING_CODE), predicted)
    right = np.where(gold == predicted, gold, -1)
    n = draws.total
    support = draws.sum_of_gold("gold", lambda: draws.sum_by("gold", gold, m))
    chosen = draws.sum_by(f"predicted {rule}", predicted, m)
    tp = draws.sum_by(f"right {rule}", right, m)
    counts = ConfusionCounts(tp=tp, fp=chosen - tp, fn=support - tp, tn=n - support - chosen + tp)
    outside_gold, outside_predicted, no_prediction = gold == m, predicted == m, predicted == MISSING_CODE
    nothing = np.zeros(draws.draws)
    displaced = nothing
    if outside_gold.any() or outside_predicted.any():
        known = ((gold >= 0) & (gold < m)).astype(np.int64) + ((predicted >= 0) & (predicted < m))
        outside = outside_gold.astype(np.int64) + outside_predicted
        displaced = draws.sum_of(np.minimum(outside, m - known) * (outside > 0))
    return DrawTally(
        n=n,
        names=draws.spec.classes,
        classes=counts,
        outside_fp=draws.sum_rows(outside_predicted) if outside_predicted.any() else nothing,
        outside_fn=draws.sum_rows(outside_gold) if outside_gold.any() else nothing,
        outside_tn=displaced,
        without_prediction=draws.sum_rows(no_prediction) if no_prediction.any() else nothing,
        exact=np.add.reduce(tp, axis=0),
        cells=n * m,
        wrong_cells=np.add.reduce(counts.fp, axis=0) + np.add.reduce(counts.fn, axis=0) + displaced,
    )


def _tally_label_sets(draws: DrawContext, options: Mapping[str, str]) -> DrawTally:
    """The counts of `_tally_multilabel` in `tally`, for each draw."""
    m, n = len(draws.spec.classes), draws.total
    rule = options["unknown_label"]
    sets = draws.rows.shared(("draws sets", rule), lambda: _LabelSets.of(draws.rows, options))
    gold, predicted, shared = sets.gold, sets.predicted, sets.shared
    support = draws.sum_of_gold("gold", lambda: draws.sum_by("gold", gold.codes, m, gold.rows))
    chosen = draws.sum_by(f"predicted {rule}", predicted.codes, m, predicted.rows)
    tp = draws.sum_by(f"right {rule}", predicted.codes[shared], m, predicted.rows[shared])
    counts = ConfusionCounts(tp=tp, fp=chosen - tp, fn=support - tp, tn=n - support - chosen + tp)
    return DrawTally(
        n=n,
        names=draws.spec.classes,
        classes=counts,
        outside_fp=draws.sum_of(predicted.outside),
        outside_fn=draws.sum_of(gold.outside),
        outside_tn=draws.sum_of(sets.displaced),
        without_prediction=np.zeros(draws.draws),
        exact=draws.sum_rows(sets.equal),
        cells=n * m,
        wrong_cells=draws.sum_of(sets.wrong),
    )


@dataclass(frozen=True, slots=True)
class _LabelSets:
    """The label pairs of gold and prediction, which predicted pairs are right, and counts of each row."""

    gold: LabelPairs
    predicted: LabelPairs
    shared: NDArray[np.bool_]
    equal: NDArray[np.bool_]
    wrong: NDArray[np.int64]
    displaced: NDArray[np.int64]

    @classmethod
    def of(cls, rows: EvaluationContext, options: Mapping[str, str]) -> "_LabelSets":
        case, m = rows.case, len(rows.spec.classes)
        gold = sorted_label_pairs(case.gold, m, options, drop_unknown=False)
        predicted = sorted_label_pairs(case.predicted, m, options, drop_unknown=options["unknown_label"] == "drop")
        _, shared = search_sorted(predicted.keys, gold.keys)
        n = case.gold.n
        sizes = [np.bincount(part, minlength=n) for part in (gold.rows, predicted.rows, predicted.rows[shared])]
        outside = gold.outside + predicted.outside
        wrong = sizes[0] + sizes[1] - 2 * sizes[2]
        equal = (wrong == 0) & (outside == 0)
        either = sizes[0] + sizes[1] - sizes[2]
        displaced = np.minimum(outside, m - either)
        return cls(gold, predicted, shared, equal, np.minimum(wrong + outside, m), displaced)
