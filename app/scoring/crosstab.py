"""Tables of gold against predicted labels: counts of single labels, and the split counts of label sets."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.scoring.evaluation_input import MISSING_CODE, EvaluationInput
from app.scoring.numeric.exact import Floats, divide, total
from app.scoring.tally import NO_LABEL, Int, sorted_label_pairs

MAX_DENSE_CELLS = 1_000_000
"""A table of more cells is written as a list of those that are not 0."""
OUTSIDE_VOCABULARY = "(outside the vocabulary)"
_MAX_LABEL_PAIRS = 10_000_000
_CHUNK_CELLS = 1 << 14  # cells whose long integers are held at once


class TooManyLabelPairsError(Exception):
    """The sets are so large that their pairs of labels are too many to count."""


def confusion(case: EvaluationInput) -> dict[str, Any]:
    """The m × m counts of single-label data, rows gold and columns predicted, in declared order.

    `outside` and `nothing` count per gold row what stands in no column: labels outside the vocabulary, and
    instances without a prediction.
    """
    if case.spec.task == "multilabel" or case.acceptable:
        raise ValueError("a confusion matrix needs one label per instance")
    m = len(case.spec.classes)
    gold, predicted, weights = case.gold.codes, case.predicted.codes, case.weights
    known = (gold >= 0) & (gold < m)
    if not known.all():
        gold, predicted = gold[known], predicted[known]
        weights = None if weights is None else weights[known]
    places = gold.astype(np.int64)  # in place from here on: there may be ten million of them
    places *= m + 2
    places += predicted
    places -= MISSING_CODE
    cells = np.bincount(places, weights=weights, minlength=m * (m + 2)).astype(np.int64, copy=False)
    table = cells.reshape(m, m + 2)
    return {
        "rows": "gold",
        "columns": "predicted",
        "labels": list(case.spec.classes),
        "matrix": table[:, 1 : m + 1].tolist(),
        "outside": table[:, m + 1].tolist(),
        "nothing": table[:, 0].tolist(),
    }


def sparse_confusion(case: EvaluationInput) -> dict[str, Any]:
    """The same without zeros: `cells` holds (gold position, predicted position, count) in place of `matrix`."""
    m = len(case.spec.classes)
    gold, predicted = case.gold.codes, case.predicted.codes
    known = (gold >= 0) & (gold < m)
    inside = known & (predicted >= 0) & (predicted < m)
    cells = gold[inside].astype(np.int64)
    cells *= m
    cells += predicted[inside]
    places, counts = sum_by_key(cells, None if case.weights is None else case.weights[inside])

    def beyond(code: int) -> list[int]:
        rows = known & (predicted == code)
        weights = None if case.weights is None else case.weights[rows]
        return [int(count) for count in np.bincount(gold[rows], weights=weights, minlength=m)]

    return {
        "rows": "gold",
        "columns": "predicted",
        "labels": list(case.spec.classes),
        "cells": np.stack([places // m, places % m, counts], axis=1).tolist(),
        "outside": beyond(m),
        "nothing": beyond(MISSING_CODE),
    }


def sum_by_key(places: Int, weights: Int | None) -> tuple[Int, Int]:
    """The distinct places in order, and the sum of the weights at each, or how often each occurs; reorders `places`."""
    if weights is None:
        places.sort()
        first = _first_of_runs(places)
        return places[first], np.diff(first, append=len(places))
    order = np.argsort(places, kind="stable")
    places, weights = places[order], weights[order]
    first = _first_of_runs(places)
    return places[first], np.add.reduceat(weights, first) if len(first) else weights


def _first_of_runs(places: Int) -> Int:
    """Where in a sorted array each distinct value comes first."""
    return np.flatnonzero(np.concatenate([[True], places[1:] != places[:-1]])[: len(places)])


@dataclass(frozen=True, slots=True)
class SplitTable:
    """A confusion matrix of label sets, whose cells hold a row count and a column count.

    `names` are the classes, then the names for labels outside the vocabulary and for an empty set; `cells` holds the
    positions of the gold and of the predicted label of each cell that is not 0. What cells hold is in the unit of the weights
    of gold, for it is rounded; the totals are exact sums of the whole numbers that stand for weights, one per name.
    """

    names: tuple[str, ...]
    cells: Int
    row_counts: list[float]
    column_counts: list[float]
    row_totals: list[int]
    column_totals: list[int]


@dataclass(frozen=True, slots=True)
class _Side:
    """The labels of all instances, instance by instance: an empty set holds the one label 'none'."""

    rows: Int
    codes: Int
    starts: Int
    sizes: Int


def _label_side(case: EvaluationInput, *, gold: bool, options: Mapping[str, str]) -> _Side:
    """One side as sets; position m is a label outside the vocabulary, m + 1 the empty set."""
    m, n = len(case.spec.classes), case.gold.n
    reading = {"duplicates": "set", "empty_label": "not_a_label"}
    drop = not gold and options["unknown_label"] == "drop"
    pairs = sorted_label_pairs(case.gold if gold else case.predicted, m, reading, drop_unknown=drop)
    sizes = np.bincount(pairs.rows, minlength=n) + pairs.outside
    empty = np.flatnonzero(sizes == 0)
    rows = np.concatenate([pairs.rows, np.repeat(np.arange(n), pairs.outside), empty])
    codes = np.concatenate([pairs.codes, np.full(int(pairs.outside.sum()), m), np.full(len(empty), m + 1)])
    order = np.argsort(rows, kind="stable")
    sizes = np.maximum(sizes, 1)
    return _Side(rows[order], codes[order], np.cumsum(sizes) - sizes, sizes)


def split_confusion(case: EvaluationInput, options: Mapping[str, str]) -> SplitTable:
    """The confusion matrix of label sets with split counts (Van Asch 2013, sec 5.2, Table 7).

    A label that both sides have adds 1 to the diagonal. If one gold and one predicted label are left, they are an
    ordinary cell. Else each gold label that is left spreads 1 over all predicted labels of the instance, in the row
    counts, and each predicted one over all gold labels, in the column counts; an empty side is the one label 'none'.
    Rows sum to how often a label is gold, columns to how often it is predicted. Raises TooLargeError.
    """
    m = len(case.spec.classes)
    wide = m + 2
    gold, predicted = _label_side(case, gold=True, options=options), _label_side(case, gold=False, options=options)
    weights = np.ones(case.gold.n, dtype=np.int64) if case.weights is None else case.weights
    left, right = _unmatched(gold, predicted, m), _unmatched(predicted, gold, m)
    rest = (
        np.bincount(gold.rows[left], minlength=case.gold.n),
        np.bincount(predicted.rows[right], minlength=case.gold.n),
    )
    plain = (rest[0] == 1) & (rest[1] == 1)
    alone_left, alone_right = left & plain[gold.rows], right & plain[predicted.rows]
    both = gold.rows[~left], gold.codes[~left] * (wide + 1)
    ordinary = gold.rows[alone_left], gold.codes[alone_left] * wide + predicted.codes[alone_right]
    whole = np.concatenate([both[0], ordinary[0]]), np.concatenate([both[1], ordinary[1]])
    row, own, other = _cross_pairs(gold, left & ~alone_left, predicted)
    down, theirs, across = _cross_pairs(predicted, right & ~alone_right, gold)
    unit = case.weight_unit
    by_row = _sum_cells(whole, (row, own * wide + other), predicted.sizes, weights, unit)
    by_column = _sum_cells(whole, (down, across * wide + theirs), gold.sizes, weights, unit)
    cells = np.sort(np.concatenate([by_row[0], by_column[0]]))
    cells = cells[_first_of_runs(cells)]
    return SplitTable(
        (*case.spec.classes, OUTSIDE_VOCABULARY, NO_LABEL),
        np.stack([cells // wide, cells % wide], axis=1),
        _values_at(cells, by_row),
        _values_at(cells, by_column),
        _label_totals(gold, weights, wide),
        _label_totals(predicted, weights, wide),
    )


def _unmatched(side: _Side, other: _Side, m: int) -> NDArray[np.bool_]:
    """Which labels the other side lacks; one outside the vocabulary is never the same as another."""
    wide = m + 2
    mine, theirs = side.rows * wide + side.codes, np.sort(other.rows * wide + other.codes)
    at = np.minimum(np.searchsorted(theirs, mine), len(theirs) - 1)
    return np.asarray((theirs[at] != mine) | (side.codes == m))


def _cross_pairs(side: _Side, chosen: NDArray[np.bool_], other: _Side) -> tuple[Int, Int, Int]:
    """Each chosen label with every label of the other side in its instance: instance, label, other label."""
    rows, codes = side.rows[chosen], side.codes[chosen]
    often = other.sizes[rows]
    if int(often.sum()) > _MAX_LABEL_PAIRS:
        raise TooManyLabelPairsError
    at = np.repeat(other.starts[rows] - np.cumsum(often) + often, often) + np.arange(int(often.sum()))
    return np.repeat(rows, often), np.repeat(codes, often), other.codes[at]


def _sum_cells(
    whole: tuple[Int, Int], spread: tuple[Int, Int], sizes: Int, weights: Int, unit: Fraction
) -> tuple[Int, Floats]:
    """The exact sum of each cell, rounded once: 1 for what is whole, 1 / size for what is spread, times weights and unit."""
    rows, cells = (np.concatenate(parts) for parts in zip(whole, spread, strict=True))
    below = np.concatenate([np.ones(len(whole[0]), dtype=np.int64), sizes[spread[0]]])
    most = int(sizes.max(initial=1)) + 1
    places, counts = sum_by_key(cells * most + below, weights[rows])
    cells, below = places // most, places % most
    common = math.lcm(*np.flatnonzero(np.bincount(below)).tolist())
    first = _first_of_runs(cells)
    if max(unit.numerator * common * total(counts), unit.denominator * common) < 2**62:  # the usual sets and weights
        sums = np.add.reduceat(counts * (common // below), first) if len(first) else counts
        return cells[first], divide(sums * unit.numerator, np.full(len(sums), common * unit.denominator))
    return cells[first], _sum_as_big_integers(counts, below, first, common, unit)


def _sum_as_big_integers(counts: Int, below: Int, first: Int, common: int, unit: Fraction) -> Floats:
    """The sums of counts / below in units from each of `first` on, where their `common` denominator is no small number."""
    over = common * unit.denominator
    factors = np.zeros(int(below.max()) + 1, dtype=object)
    for size in np.unique(below).tolist():
        factors[size] = common // size
    ends = np.append(first, len(counts))
    found = np.empty(len(first))
    for start in range(0, len(first), _CHUNK_CELLS):
        cells = first[start : start + _CHUNK_CELLS]
        own = slice(int(cells[0]), int(ends[min(start + _CHUNK_CELLS, len(first))]))
        sums = np.add.reduceat(counts[own].astype(object) * factors[below[own]], cells - cells[0])
        found[start : start + len(cells)] = [value * unit.numerator / over for value in sums.tolist()]
    return found


def _values_at(cells: Int, found: tuple[Int, Floats]) -> list[float]:
    """The values at these cells, 0 where there is none."""
    values = np.zeros(len(cells))
    values[np.searchsorted(cells, found[0])] = found[1]
    return [float(value) for value in values.tolist()]


def _label_totals(side: _Side, weights: Int, wide: int) -> list[int]:
    found = np.zeros(wide, dtype=np.int64)
    np.add.at(found, side.codes, weights[side.rows])
    return [int(count) for count in found]
