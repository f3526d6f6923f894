"""Labels as arrays, and the exact join of predictions to gold by instance id."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from app.scoring.declaration.task import TaskSpec
from app.scoring.string_table import StringTable

MISSING_CODE = -1


@dataclass(frozen=True, slots=True)
class Labels:
    """Hard labels of n instances, as positions in the declared classes (0 … m-1).

    `codes` equal to m stand for a label outside the vocabulary, m + 1 for the repetition of one within an instance.
    Without `offsets` there is one code per instance, and -1 where nothing was given. With `offsets` (n + 1 numbers)
    instance i owns `codes[offsets[i]:offsets[i + 1]]`, in the order sent, repetitions kept.
    """

    codes: NDArray[np.int32]
    offsets: NDArray[np.int64] | None = None

    @property
    def n(self) -> int:
        """The number of instances."""
        return len(self.codes) if self.offsets is None else len(self.offsets) - 1

    def take(self, rows: NDArray[np.integer]) -> "Labels":
        """The labels of these row numbers, in this order; a row may come several times."""
        if self.offsets is None:
            return Labels(self.codes[rows])
        sizes = np.diff(self.offsets)[rows]
        offsets = np.zeros(len(rows) + 1, dtype=np.int64)
        np.cumsum(sizes, out=offsets[1:])
        within = np.arange(offsets[-1], dtype=np.int64) - np.repeat(offsets[:-1], sizes)
        return Labels(self.codes[np.repeat(self.offsets[:-1][rows], sizes) + within], offsets)

    def as_sets(self) -> "Labels":
        """The same labels with offsets: one label per instance becomes a set of one, or of none."""
        if self.offsets is not None:
            return self
        given = self.codes != MISSING_CODE
        offsets = np.zeros(self.n + 1, dtype=np.int64)
        np.cumsum(given, out=offsets[1:])
        return Labels(self.codes[given], offsets)


@dataclass(frozen=True, slots=True)
class PredictionArrays:
    """What a file of predictions says of n instances: hard labels, scores, or both.

    `scores` are binary64, n × m in the order of the classes, or n × 1 of the positive label; NaN where an instance has
    no prediction.
    """

    labels: Labels | None
    scores: NDArray[np.float64] | None = None


@dataclass(frozen=True, slots=True)
class Grouping:
    """A partition of the instances, such as folds: the position in `names` for each instance."""

    names: Sequence[str]
    codes: NDArray[np.int32]

    def take(self, rows: NDArray[np.integer]) -> "Grouping":
        """The parts of these row numbers."""
        return Grouping(self.names, self.codes[rows])


@dataclass(frozen=True, slots=True)
class EvaluationInput:
    """Gold and predictions of the same instances, row by row.

    In a single-label task, gold with offsets holds sets of acceptable answers. `weights` are whole numbers, one per
    instance, each of so many `weight_unit`s of what gold gives. `folds` and `groups` say to which fold and to which group each instance belongs.
    """

    spec: TaskSpec
    gold: Labels
    predicted: Labels
    scores: NDArray[np.float64] | None = None
    weights: NDArray[np.int64] | None = None
    folds: Grouping | None = None
    groups: Grouping | None = None
    weight_unit: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        if self.gold.n != self.predicted.n:
            raise ValueError(f"gold has {self.gold.n} instances, the predictions {self.predicted.n}")

    def take(self, rows: NDArray[np.integer]) -> "EvaluationInput":
        """The case of these row numbers alone."""
        return EvaluationInput(
            self.spec,
            self.gold.take(rows),
            self.predicted.take(rows),
            None if self.scores is None else self.scores[rows],
            None if self.weights is None else self.weights[rows],
            None if self.folds is None else self.folds.take(rows),
            None if self.groups is None else self.groups.take(rows),
            self.weight_unit,
        )

    def without_zero_weights(self) -> "EvaluationInput":
        """The case without the instances that weigh 0, which are as if they were not there; all, where all do."""
        if self.weights is None or self.weights.all() or not self.weights.any():
            return self
        return self.take(np.flatnonzero(self.weights))

    @property
    def acceptable(self) -> bool:
        """Whether the gold of a single-label task gives sets of acceptable answers."""
        return self.spec.task != "multilabel" and self.gold.offsets is not None


class IdIndex:
    """Instance ids to row numbers; strings are compared exactly, so no collision can score."""

    def __init__(self, ids: Sequence[str]) -> None:
        """Ids in row order; each may come once (ValueError otherwise)."""
        self.ids = list(ids)
        if len(self._row_by_id) != len(self.ids):
            raise ValueError("an id occurs twice")

    @classmethod
    def from_table(cls, table: StringTable) -> "IdIndex":
        """The index of a table's texts; strings are made of them when one is asked for."""
        index = cls.__new__(cls)
        index.table = table
        return index

    @cached_property
    def table(self) -> StringTable | None:
        """The ids as arrays; None where they do not fit (see app.scoring.string_table)."""
        return StringTable.build(self.ids)

    @cached_property
    def ids(self) -> list[str]:
        """The ids in row order."""
        assert self.table is not None
        return self.table.texts()

    @cached_property
    def _row_by_id(self) -> dict[str, int]:
        return {name: row for row, name in enumerate(self.ids)}

    def __len__(self) -> int:
        return len(self.table) if "ids" not in self.__dict__ and self.table is not None else len(self.ids)

    def __contains__(self, name: object) -> bool:
        return name in self._row_by_id

    def rows(self, ids: Sequence[str]) -> NDArray[np.int32]:
        """The row number of each id, -1 where the id is not there."""
        if len(ids) == len(self.ids) and list(ids) == self.ids:
            return np.arange(len(ids), dtype=np.int32)
        look = self._row_by_id.get
        return np.fromiter((look(name, MISSING_CODE) for name in ids), dtype=np.int32, count=len(ids))
