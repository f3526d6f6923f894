"""Cells of two systems: instances with equal gold, output, weight and fold, which no metric of hard labels tells apart."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from app.scoring.evaluation_input import EvaluationInput, Labels

Int = NDArray[np.int64]


class Cells(NamedTuple):
    """One row of each cell, how many rows it has, and the cell of each row; cells are in the order of the columns."""

    rows: Int
    counts: Int
    of_row: Int


def cells_of(columns: Sequence[Int]) -> Cells:
    """The cells of rows with equal values in all columns, sorted by the first column, then by the second, and so on."""
    order = np.lexsort(tuple(columns)[::-1])
    new = np.zeros(len(order), dtype=bool)
    new[:1] = True
    for column in columns:
        in_order = column[order]
        new[1:] |= in_order[1:] != in_order[:-1]
    starts = np.flatnonzero(new)
    of_row = np.empty(len(order), dtype=np.int64)
    of_row[order] = np.cumsum(new) - 1
    return Cells(order[starts], np.diff(np.append(starts, len(order))), of_row)


def has_single_labels(case: EvaluationInput) -> bool:
    """Whether each instance has at most one gold and one predicted label."""
    return case.spec.task != "multilabel" and case.gold.offsets is None and case.predicted.offsets is None


def text_places(texts: Sequence[str]) -> Int:
    """The place of each text when they are sorted: an order that does not depend on the one in which they are given."""
    places = np.empty(len(texts), dtype=np.int64)
    places[sorted(range(len(texts)), key=texts.__getitem__)] = np.arange(len(texts))
    return places


def label_places(codes: NDArray[np.int32], classes: Sequence[str]) -> Int:
    """Codes of single labels in the order of the texts of the classes; no label comes first, others last."""
    places = np.concatenate([[0], text_places(classes) + 1, [len(classes) + 1, len(classes) + 2]])
    return np.asarray(places[codes.astype(np.int64) + 1])


def division_columns(case: EvaluationInput) -> list[Int]:
    """The fold and the weight of each instance, where there are any."""
    columns = []
    if case.folds is not None:
        columns.append(text_places(case.folds.names)[case.folds.codes])
    if case.weights is not None:
        columns.append(case.weights)
    return columns


def differing_labels(first: Labels, second: Labels, *, in_order: bool) -> NDArray[np.bool_]:
    """The instances whose labels differ; `in_order`: also if only their order does."""
    if first.offsets is None and second.offsets is None:
        return np.asarray(first.codes != second.codes)
    one, other = first.as_sets(), second.as_sets()
    sizes = one.sizes
    differ = np.asarray(sizes != other.sizes)
    same = np.flatnonzero(~differ)
    parts = [_codes_of(labels.take(same), in_order=in_order) for labels in (one, other)]
    owner = np.repeat(same, sizes[same])
    differ[owner[parts[0] != parts[1]]] = True
    return differ


def _codes_of(labels: Labels, *, in_order: bool) -> NDArray[np.int32]:
    return labels.codes if in_order else labels.codes[np.lexsort((labels.codes, labels.rows))]
