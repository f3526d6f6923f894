"""Confusion matrices: counts of gold against predicted labels, and split counts of label sets."""

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
"""A table with more cells is written as a list of the cells that are not 0."""
OUTSIDE_VOCABULARY = "(outside the vocabulary)"
_MAX_LABEL_PAIRS = 10_000_000
_CHUNK_CELLS = 1 << 14  # cells summed as Python integers at a time, which bounds the memory


class TooManyLabelPairsError(Exception):
    """The label sets are so large that they have too many pairs of labels to count."""


def confusion(case: EvaluationInput) -> dict[str, Any]:
    """The m × m counts of single-label data, rows gold and columns predicted, in declared order.

    `outside` and `nothing` count per gold row the predictions that have no column: labels outside the vocabulary, and
    missing predictions.
    """
    if case.spec.task == "multilabel" or case.acceptable:
        raise ValueError("a confusion matrix needs one label per instance")
    m = len(case.spec.classes)
    gold, predicted, weights = case.gold.codes, case.predicted.codes, case.weights
    known = (gold >= 0) & (gold < m)
    if not known.all():
        gold, predicted = gold[known], predicted[known]
        weights = None if weights is None else weights[known]
    keys = gold.astype(np.int64)  # computed in place, because there may be ten million of them
    keys *= m + 2
    keys += predicted
    keys -= MISSING_CODE
    table = np.bincount(keys, weights=weights, minlength=m * (m + 2)).astype(np.int64, copy=False).reshape(m, m + 2)
    return {
        "rows": "gold",
        "columns": "predicted",
        "labels": list(case.spec.classes),
        "matrix": table[:, 1 : m + 1].tolist(),
        "outside": table[:, m + 1].tolist(),
        "nothing": table[:, 0].tolist(),
    }


def sparse_confusion(case: EvaluationInput) -> dict[str, Any]:
    """The same without zeros: `cells` has (gold position, predicted position, count) in place of `matrix`."""
    m = len(case.spec.classes)
    gold, predicted = case.gold.codes, case.predicted.codes
    known = (gold >= 0) & (gold < m)
    inside = known & (predicted >= 0) & (predicted < m)
    cells = gold[inside].astype(np.int64)
    cells *= m
    cells += predicted[inside]
    keys, counts = sum_by_key(cells, None if case.weights is None else case.weights[inside])

    def beyond(code: int) -> list[int]:
        rows = known & (predicted == code)
        weights = None if case.weights is None else case.weights[rows]
        return [int(count) for count in np.bincount(gold[rows], weights=weights, minlength=m)]

    return {
        "rows": "gold",
        "columns": "predicted",
        "labels": list(case.spec.classes),
        "cells": np.stack([keys // m, keys % m, counts], axis=1).tolist(),
        "outside": beyond(m),
        "nothing": beyond(MISSING_CODE),
    }


def sum_by_key(keys: Int, weights: Int | None) -> tuple[Int, Int]:
    """The distinct keys in order, and the sum of the weights of each, or its number; may sort `keys` in place."""
    if weights is None:
        keys.sort()
        first = _first_of_runs(keys)
        return keys[first], np.diff(first, append=len(keys))
    order = np.argsort(keys, kind="stable")
    keys, weights = keys[order], weights[order]
    first = _first_of_runs(keys)
    return keys[first], np.add.reduceat(weights, first) if len(first) else weights


def _first_of_runs(keys: Int) -> Int:
    """The position in a sorted array at which each distinct value first occurs."""
    return np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]])[: len(keys)])


@dataclass(frozen=True, slots=True)
class SplitTable:
    """A confusion matrix of label sets, whose cells have a row count and a column count.

    `names` are the classes, followed by the names for labels outside the vocabulary and for an empty set. `cells` has
    the positions of the gold and of the predicted label of each cell that is not 0. The counts of the cells are in the
    unit of the weights of the gold, because they are rounded; the totals (one per name) are exact sums of integer
    weights.
    """

    names: tuple[str, ...]
    cells: Int
    row_counts: list[float]
    column_counts: list[float]
    row_totals: list[int]
    column_totals: list[int]


@dataclass(frozen=True, slots=True)
class _Side:
    """The labels of all instances, instance by instance; an empty set has the single label 'none'."""

    rows: Int
    codes: Int
    starts: Int
    sizes: Int


def _label_side(case: EvaluationInput, *, gold: bool, options: Mapping[str, str]) -> _Side:
    """Gold or prediction as sets; code m is a label outside the vocabulary, m + 1 the empty set."""
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

    A label that both sides have adds 1 to the diagonal. If exactly one gold and one predicted label remain, they add 1
    to an ordinary cell. Otherwise each remaining gold label distributes 1 over all predicted labels of the instance, in
    the row counts, and each remaining predicted label over all gold labels, in the column counts. An empty side is the
    single label 'none'. Rows sum to how often a label is gold, columns to how often it is predicted. Raises
    TooManyLabelPairsError.
    """
    m, n = len(case.spec.classes), case.gold.n
    wide = m + 2
    gold, predicted = _label_side(case, gold=True, options=options), _label_side(case, gold=False, options=options)
    weights = np.ones(n, dtype=np.int64) if case.weights is None else case.weights
    left, right = _unmatched(gold, predicted, m), _unmatched(predicted, gold, m)
    left_count, right_count = (np.bincount(rows, minlength=n) for rows in (gold.rows[left], predicted.rows[right]))
    ordinary = (left_count == 1) & (right_count == 1)
    one_left, one_right = left & ordinary[gold.rows], right & ordinary[predicted.rows]
    ordinary_cells = gold.codes[one_left] * wide + predicted.codes[one_right]
    whole = (
        np.concatenate([gold.rows[~left], gold.rows[one_left]]),
        np.concatenate([gold.codes[~left] * (wide + 1), ordinary_cells]),
    )
    instance, gold_code, predicted_code = _cross_pairs(gold, left & ~one_left, predicted)
    row_shares = instance, gold_code * wide + predicted_code
    instance, predicted_code, gold_code = _cross_pairs(predicted, right & ~one_right, gold)
    column_shares = instance, gold_code * wide + predicted_code
    unit = case.weight_unit
    by_row = _sum_cells(whole, row_shares, predicted.sizes, weights, unit)
    by_column = _sum_cells(whole, column_shares, gold.sizes, weights, unit)
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
    """Which labels the other side lacks; two labels outside the vocabulary never match."""
    wide = m + 2
    keys, other_keys = side.rows * wide + side.codes, np.sort(other.rows * wide + other.codes)
    at = np.minimum(np.searchsorted(other_keys, keys), len(other_keys) - 1)
    return np.asarray((other_keys[at] != keys) | (side.codes == m))


def _cross_pairs(side: _Side, chosen: NDArray[np.bool_], other: _Side) -> tuple[Int, Int, Int]:
    """Pairs of each chosen label with every label of the other side in its instance: instance, label, other label."""
    rows, codes = side.rows[chosen], side.codes[chosen]
    sizes = other.sizes[rows]
    if int(sizes.sum()) > _MAX_LABEL_PAIRS:
        raise TooManyLabelPairsError
    at = np.repeat(other.starts[rows] - np.cumsum(sizes) + sizes, sizes) + np.arange(int(sizes.sum()))
    return np.repeat(rows, sizes), np.repeat(codes, sizes), other.codes[at]


def _sum_cells(
    whole: tuple[Int, Int], shares: tuple[Int, Int], sizes: Int, weights: Int, unit: Fraction
) -> tuple[Int, Floats]:
    """The exact sum of each cell, rounded once: weight × unit for a whole count, weight × unit / size for a share.

    Weights are added per cell and per size first. Then the sums of a cell are brought to the least common multiple of
    all sizes, so that a cell is one quotient of integers.
    """
    rows, cells = (np.concatenate(parts) for parts in zip(whole, shares, strict=True))
    denominators = np.concatenate([np.ones(len(whole[0]), dtype=np.int64), sizes[shares[0]]])
    base = int(sizes.max(initial=1)) + 1
    keys, counts = sum_by_key(cells * base + denominators, weights[rows])
    cells, denominators = keys // base, keys % base
    common = math.lcm(*np.flatnonzero(np.bincount(denominators)).tolist())
    first = _first_of_runs(cells)
    if max(unit.numerator * common * total(counts), unit.denominator * common) < 2**62:  # int64 is enough, as usual
        sums = np.add.reduceat(counts * (common // denominators), first) if len(first) else counts
        return cells[first], divide(sums * unit.numerator, np.full(len(sums), common * unit.denominator))
    return cells[first], _sum_as_big_integers(counts, denominators, first, common, unit)


def _sum_as_big_integers(counts: Int, denominators: Int, first: Int, common: int, unit: Fraction) -> Floats:
    """The same sums in Python integers, for a large `common` denominator; the sum of a cell begins at its `first`."""
    divisor = common * unit.denominator
    factors = np.zeros(int(denominators.max()) + 1, dtype=object)
    for size in np.unique(denominators).tolist():
        factors[size] = common // size
    ends = np.append(first, len(counts))
    values = np.empty(len(first))
    for start in range(0, len(first), _CHUNK_CELLS):
        cells = first[start : start + _CHUNK_CELLS]
        own = slice(int(cells[0]), int(ends[min(start + _CHUNK_CELLS, len(first))]))
        sums = np.add.reduceat(counts[own].astype(object) * factors[denominators[own]], cells - cells[0])
        values[start : start + len(cells)] = [value * unit.numerator / divisor for value in sums.tolist()]
    return values


def _values_at(cells: Int, sums: tuple[Int, Floats]) -> list[float]:
    """The values of these cells, from the cells that have a sum; 0 for the others."""
    values = np.zeros(len(cells))
    values[np.searchsorted(cells, sums[0])] = sums[1]
    return [*values.tolist()]


def _label_totals(side: _Side, weights: Int, wide: int) -> list[int]:
    totals = np.zeros(wide, dtype=np.int64)
    np.add.at(totals, side.codes, weights[side.rows])
    return [*totals.tolist()]
