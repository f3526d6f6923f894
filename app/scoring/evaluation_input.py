"""Gold labels and predictions as arrays, and the exact join of predictions to gold by instance id."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from app.scoring.declaration.task import TaskSpec
from app.scoring.lazy_texts import LazyTexts
from app.scoring.numeric.constant_time_search import search_sorted
from app.scoring.string_table import StringTable

Int = NDArray[np.int64]
MISSING_CODE = -1
"""The code of an instance without a label, and the row number of an unknown id."""


@dataclass(frozen=True, slots=True)
class Labels:
    """Hard labels of n instances, as positions in the declared classes (0 … m-1).

    Code m stands for a label outside the vocabulary, code m + 1 for a repetition of one within the same instance.
    Without `offsets` there is one code per instance, and -1 where there is no label. With `offsets` (n + 1 numbers)
    instance i owns `codes[offsets[i]:offsets[i + 1]]`, in the order of the file, repetitions included.
    """

    codes: NDArray[np.int32]
    offsets: Int | None = None

    @property
    def n(self) -> int:
        """The number of instances."""
        return len(self.codes) if self.offsets is None else len(self.offsets) - 1

    @property
    def sizes(self) -> Int:
        """The number of labels of each instance."""
        offsets = self.as_sets().offsets
        assert offsets is not None
        return np.diff(offsets)

    @property
    def rows(self) -> Int:
        """The row number of the instance that each code of `as_sets()` belongs to."""
        return np.repeat(np.arange(self.n, dtype=np.int64), self.sizes)

    def take(self, rows: NDArray[np.integer]) -> "Labels":
        """The labels of these row numbers, in this order; a row may occur several times."""
        if self.offsets is None:
            return Labels(self.codes[rows])
        sizes = np.diff(self.offsets)[rows]
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        within = np.arange(offsets[-1], dtype=np.int64) - np.repeat(offsets[:-1], sizes)
        return Labels(self.codes[np.repeat(self.offsets[:-1][rows], sizes) + within], offsets)

    def overlap(self, other: "Labels", m: int) -> NDArray[np.bool_]:
        """For each code of `as_sets()`, whether the same instance has it in `other` too; both count m classes."""
        own, others = self.as_sets(), other.as_sets()
        keys = others.rows * (m + 2) + others.codes
        keys.sort()
        return search_sorted(own.rows * (m + 2) + own.codes, keys)[1]

    def without(self, cells: "Labels", m: int) -> "Labels":
        """The same label sets without the labels that `cells` has for their instance."""
        own, kept = self.as_sets(), ~self.overlap(cells, m)
        assert own.offsets is not None
        return Labels(own.codes[kept], np.concatenate([[0], np.cumsum(kept)])[own.offsets])

    def as_sets(self) -> "Labels":
        """The same labels with offsets: a single label becomes a set of one, a missing label an empty set."""
        if self.offsets is not None:
            return self
        present = self.codes != MISSING_CODE
        return Labels(self.codes[present], np.concatenate([[0], np.cumsum(present)]))


@dataclass(frozen=True, slots=True)
class PredictionArrays:
    """The predictions for n instances: hard labels, scores, or both.

    `scores` are binary64: n × m in the order of the classes, or n × 1 for the positive label only. They are NaN where
    an instance has no prediction.
    """

    labels: Labels | None
    scores: NDArray[np.float64] | None = None
    empty: Int | None = None
    """The rows that have no prediction in a file that was accepted before; None if there are none."""
    probabilities: bool = True
    """False only if a metric needs probabilities and the scores of a file that was accepted before are none."""

    def first(self, n: int) -> "PredictionArrays":
        """The predictions for the first n instances."""
        labels = None if self.labels is None else self.labels.take(np.arange(n))
        return replace(self, labels=labels, scores=None if self.scores is None else self.scores[:n])


@dataclass(frozen=True, slots=True)
class Grouping:
    """A partition of the instances, such as folds: `codes` has the position in `names` for each instance."""

    names: Sequence[str]
    codes: NDArray[np.int32]

    def take(self, rows: NDArray[np.integer]) -> "Grouping":
        """The same partition restricted to these row numbers, in this order."""
        return Grouping(self.names, self.codes[rows])


@dataclass(frozen=True, slots=True)
class EvaluationInput:
    """Gold and predictions of the same instances, row by row.

    In a single-label task, gold with offsets holds sets of acceptable answers. `weights` has one whole number per
    instance: the weight given in the gold divided by `weight_unit`. Whole numbers keep every weighted count exact.
    `folds` and `groups` assign each instance to a fold and to a group. `unknown` has the labels of each instance of which
    the gold does not say whether they apply, for label sets; None where it says so of all.
    """

    spec: TaskSpec
    gold: Labels
    predicted: Labels
    scores: NDArray[np.float64] | None = None
    weights: Int | None = None
    folds: Grouping | None = None
    groups: Grouping | None = None
    weight_unit: Fraction = Fraction(1)
    unknown: Labels | None = None
    probabilities: bool = True
    """Whether the scores, if there are any, may be taken as probabilities."""

    def __post_init__(self) -> None:
        if self.gold.n != self.predicted.n:
            raise ValueError(f"gold has {self.gold.n} instances, the predictions {self.predicted.n}")

    def take(self, rows: NDArray[np.integer]) -> "EvaluationInput":
        """The input restricted to these row numbers, in this order."""
        return EvaluationInput(
            self.spec,
            self.gold.take(rows),
            self.predicted.take(rows),
            None if self.scores is None else self.scores[rows],
            None if self.weights is None else self.weights[rows],
            None if self.folds is None else self.folds.take(rows),
            None if self.groups is None else self.groups.take(rows),
            self.weight_unit,
            None if self.unknown is None else self.unknown.take(rows),
            self.probabilities,
        )

    def over_known_cells(self) -> "EvaluationInput":
        """The input without the instances that have no known cell, and without the predicted labels of unknown cells.

        The rest of `unknown` stays, because it counts among neither the positives nor the negatives.
        """
        if self.unknown is None:
            return self
        m = len(self.spec.classes)
        partly_known = np.flatnonzero(self.unknown.sizes < m)
        case = self if len(partly_known) == self.gold.n else self.take(partly_known)
        assert case.unknown is not None
        return replace(case, predicted=case.predicted.without(case.unknown, m))

    def without_zero_weights(self) -> "EvaluationInput":
        """The input without the instances that must not count: those of weight 0, and those without a known cell.

        If all have weight 0, they stay.
        """
        if self.weights is None or self.weights.all() or not self.weights.any():
            return self.over_known_cells()
        return self.take(np.flatnonzero(self.weights)).over_known_cells()

    @property
    def acceptable(self) -> bool:
        """Whether the gold of a single-label task has sets of acceptable answers."""
        return self.spec.task != "multilabel" and self.gold.offsets is not None


class IdIndex:
    """Maps instance ids to row numbers. Ids are compared as whole strings, so a hash collision cannot match two ids."""

    def __init__(self, ids: Sequence[str]) -> None:
        """Ids in row order; raises ValueError if one occurs twice."""
        self.ids = list(ids)
        if len(self._row_by_id) != len(self.ids):
            raise ValueError("an id occurs twice")

    @classmethod
    def from_table(cls, table: StringTable) -> "IdIndex":
        """The index of a table's strings; Python strings are created only when `ids` is first read."""
        index = cls.__new__(cls)
        index.table = table
        return index

    @cached_property
    def table(self) -> StringTable | None:
        """The ids as arrays; None if they do not fit a table (see app.scoring.string_table)."""
        return StringTable.build(self.ids)

    @cached_property
    def ids(self) -> list[str]:
        """The ids in row order."""
        assert self.table is not None
        return self.table.texts()

    @property
    def lazy_ids(self) -> LazyTexts:
        """The same, as strings that are created only when one of them is read."""
        return LazyTexts(len(self), lambda: self.ids)

    @cached_property
    def _row_by_id(self) -> dict[str, int]:
        return {name: row for row, name in enumerate(self.ids)}

    def __len__(self) -> int:
        return len(self.table) if "ids" not in self.__dict__ and self.table is not None else len(self.ids)

    def __contains__(self, name: object) -> bool:
        return name in self._row_by_id

    def rows(self, ids: Sequence[str]) -> NDArray[np.int32]:
        """The row number of each id, -1 for an unknown id."""
        if len(ids) == len(self.ids) and list(ids) == self.ids:
            return np.arange(len(ids), dtype=np.int32)
        row_of = self._row_by_id.get
        return np.fromiter((row_of(name, MISSING_CODE) for name in ids), dtype=np.int32, count=len(ids))
