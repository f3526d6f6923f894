"""Exchanging the outputs of two systems at random: what each system's part is after an exchange.

Both systems have the same instances. Where their outputs are the same, nothing changes. Where they differ, an exchange
gives each of the two parts one of the two outputs. Instances are exchanged one by one, or whole groups.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from app.scoring.draw_context import Counts
from app.scoring.evaluation_input import EvaluationInput
from app.scoring.uncertainty.cells import (
    Int,
    cells_of,
    differing_labels,
    division_columns,
    has_single_labels,
    label_places,
)
from app.scoring.uncertainty.draws import swap_draws
from app.scoring.uncertainty.rank_scores import Seen, as_seen
from app.scoring.uncertainty.resampling import group_places
from app.scoring.uncertainty.seeds import RandomSource

_BLOCK_WORDS = 2**20


@dataclass(frozen=True, slots=True)
class Exchange:
    """Cells of instances whose two outputs are exchanged.

    `counts` has the number of instances of each cell, `observed` how many of them have the first of the two outputs in
    the part of the first system. Without `unit_of_cell` each instance is exchanged by itself; else all instances of a
    unit are, and `units` is the number of units.
    """

    counts: Int
    observed: Int
    units: int
    unit_of_cell: Int | None = None

    def identity(self) -> Int:
        """What was observed: cells × 1, how many instances have the first output in the first part."""
        return self.observed[:, None]

    def random(self, source: RandomSource, draws: int) -> Int:
        """The same after random exchanges: cells × draws."""
        if self.unit_of_cell is None:
            return swap_draws(source, self.counts, draws)
        return self._exchanged(coins(source, self.units, draws))

    def every(self) -> Int:
        """The same after each of the 2^units exchanges, the identity among them."""
        numbers = np.arange(2**self.units, dtype=np.int64)
        return self._exchanged((numbers[None, :] >> np.arange(self.units)[:, None]) & 1)

    def _exchanged(self, swapped: Counts) -> Int:
        """The numbers if the units with a 1 are exchanged: units × draws."""
        assert self.unit_of_cell is not None
        observed, other = self.observed[:, None], (self.counts - self.observed)[:, None]
        return np.where(swapped[self.unit_of_cell] == 1, other, observed)


def coins(source: RandomSource, units: int, draws: int) -> NDArray[np.uint8]:
    """Units × draws of fair coins, 0 or 1; each draw begins with a new word, so the size of blocks does not matter."""
    words = -(-units // 64)
    tossed = np.empty((draws, units), dtype=np.uint8)
    step = max(1, _BLOCK_WORDS // max(1, words))
    for start in range(0, draws, step):
        several = min(step, draws - start)
        raw = source.words(several * words).astype("<u8", copy=False).view(np.uint8).reshape(several, words * 8)
        tossed[start : start + several] = np.unpackbits(raw, axis=1, count=units, bitorder="little")
    return tossed.T


@dataclass(frozen=True, slots=True)
class Pair:
    """Two systems on the same instances, with their scores as a metric sees them."""

    first: EvaluationInput
    second: EvaluationInput
    differ: NDArray[np.bool_]
    seen: Seen

    @classmethod
    def of(cls, first: EvaluationInput, second: EvaluationInput, seen: Seen) -> "Pair":
        """The pair for metrics that see this of predictions."""
        if seen in {"labels", "lists"}:
            differ = differing_labels(first.predicted, second.predicted, in_order=seen == "lists")
            return cls(replace(first, scores=None), replace(second, scores=None), differ, seen)
        assert first.scores is not None
        assert second.scores is not None
        columns = max(first.scores.shape[1], second.scores.shape[1])
        one, other = (as_seen(case, seen, columns=columns) for case in (first, second))
        return cls(replace(first, scores=one), replace(second, scores=other), (one != other).any(axis=1), seen)

    @property
    def collapses(self) -> bool:
        """Whether the metrics see one label an instance, so that equal instances are one cell."""
        return self.seen == "labels" and has_single_labels(self.first) and has_single_labels(self.second)

    @property
    def discordant(self) -> int:
        """The number of instances on which the systems differ."""
        return int(self.differ.sum())

    @property
    def units(self) -> int:
        """The number of instances, or of groups if there are any, on which the systems differ."""
        if self.first.groups is None:
            return self.discordant
        return len(np.unique(self.first.groups.codes[self.differ]))

    def outputs(self) -> tuple[Int, Int]:
        """The labels of both systems as numbers whose order does not depend on that of the classes."""
        classes = self.first.spec.classes
        return label_places(self.first.predicted.codes, classes), label_places(self.second.predicted.codes, classes)


@dataclass(frozen=True)
class DoubledRows:
    """Rows whose multiplicities give either part after an exchange: shared rows, then those that differ, twice.

    The rows that differ come first with one of their two outputs, then with the other.
    """

    case: EvaluationInput
    shared: Int
    exchange: Exchange

    def parts(self, numbers: Int) -> tuple[Counts, Counts]:
        """The multiplicities of the rows in the first and the second part, rows × draws."""
        counts = self.exchange.counts
        kind = np.min_scalar_type(max(counts.max(initial=0), self.shared.max(initial=0)))  # a byte for single instances
        shared = np.broadcast_to(self.shared[:, None].astype(kind), (len(self.shared), numbers.shape[1]))
        others = (counts[:, None] - numbers).astype(kind)
        numbers = numbers.astype(kind)
        return np.concatenate([shared, numbers, others]), np.concatenate([shared, others, numbers])

    @cached_property
    def rows(self) -> int:
        """The number of rows."""
        return self.case.gold.n


def doubled_rows(pair: Pair, *, one_by_one: bool = False) -> DoubledRows:
    """The rows of a pair; `one_by_one`: every instance or group that differs is a unit, to enumerate all exchanges."""
    grouped = pair.first.groups is not None
    differ = np.flatnonzero(pair.differ)
    unit = _units_of(pair, differ) if grouped or one_by_one or not pair.collapses else None
    if not pair.collapses:
        same = np.flatnonzero(~pair.differ)
        ones = np.ones(len(differ), dtype=np.int64)
        units = len(differ) if not grouped else pair.units
        exchange = Exchange(ones, ones, units, unit)
        return DoubledRows(_stacked(pair, same, differ, differ), np.ones(len(same), dtype=np.int64), exchange)
    return _collapsed(pair, differ, unit)


def _units_of(pair: Pair, differ: Int) -> Int:
    """The unit of each instance that differs: itself, or its group."""
    if pair.first.groups is None:
        return np.arange(len(differ))
    return np.unique(group_places(pair.first.groups).of_row[differ], return_inverse=True)[1].astype(np.int64)


def _collapsed(pair: Pair, differ: Int, unit: Int | None) -> DoubledRows:
    case, classes = pair.first, pair.first.spec.classes
    gold = label_places(case.gold.codes, classes)
    one, other = pair.outputs()
    kept = [gold, *division_columns(case)]
    same = np.flatnonzero(~pair.differ)
    places = [] if case.groups is None else [group_places(case.groups).of_row]  # metrics of groups need them
    shared = cells_of([column[same] for column in (*kept, one, *places)])
    low, high = np.minimum(one, other), np.maximum(one, other)
    columns = [column[differ] for column in (*kept, low, high)]
    cells = cells_of(columns if unit is None else [*columns, unit])
    is_low = (one == low)[differ]
    observed = np.bincount(cells.of_row, weights=is_low, minlength=len(cells.rows)).astype(np.int64)
    # A representative row of each cell whose first system has the lower label, and one whose second system has it.
    rows = differ[cells.rows]
    exchange = Exchange(
        cells.counts,
        observed,
        len(differ) if unit is None else int(unit.max(initial=-1)) + 1,
        None if unit is None else unit[cells.rows],
    )
    swapped = ~is_low[cells.rows]
    return DoubledRows(_stacked(pair, same[shared.rows], rows, rows, swapped), shared.counts, exchange)


def _stacked(pair: Pair, same: Int, one: Int, other: Int, swapped: NDArray[np.bool_] | None = None) -> EvaluationInput:
    """The rows `same` of either system, `one` of the first and `other` of the second, exchanged where `swapped`."""
    both = _concatenated(pair.first, pair.second)
    n = pair.first.gold.n
    flip = np.zeros(len(one), dtype=np.int64) if swapped is None else swapped * n
    return both.take(np.concatenate([same, one + flip, other + n - flip]))


def _concatenated(first: EvaluationInput, second: EvaluationInput) -> EvaluationInput:
    """The rows of the first input, then those of the second."""
    n = first.gold.n
    twice = first.take(np.tile(np.arange(n), 2))
    predicted = first.predicted
    if predicted.offsets is None and second.predicted.offsets is None:
        labels = replace(predicted, codes=np.concatenate([predicted.codes, second.predicted.codes]))
    else:
        one, other = predicted.as_sets(), second.predicted.as_sets()
        assert one.offsets is not None
        assert other.offsets is not None
        offsets = np.concatenate([one.offsets, other.offsets[1:] + one.offsets[-1]])
        labels = replace(one, codes=np.concatenate([one.codes, other.codes]), offsets=offsets)
    scores = None
    if first.scores is not None and second.scores is not None:
        scores = np.concatenate([first.scores, second.scores])
    return replace(twice, predicted=labels, scores=scores)


def exchange_blocks(exchange: Exchange, source: RandomSource, rounds: int, size: int) -> Iterator[Int]:
    """Random exchanges in blocks of at most `size` draws."""
    for start in range(0, rounds, size):
        yield exchange.random(source, min(size, rounds - start))
