"""Collects the rows of a file into a matrix in the order of the ids and classes."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from app.formats.vectorized.id_join import IdJoin
from app.formats.vectorized.unsupported import UnsupportedLayout, require
from app.scoring.declaration.task import TaskSpec
from app.scoring.numeric.exact import Floats
from app.scoring.probability_rows import sums_to_one


@dataclass(slots=True)
class ScoreCollector:
    """The scores of n rows; their ids come with them (records, tables), or before or after all of them (JSON columns)."""

    join: IdJoin
    spec: TaskSpec
    probabilities: bool
    """Whether scores must be probabilities."""
    score_rows: int = 0
    """How many rows have given their scores."""
    _matrix: Floats | None = None
    _is_in_id_order: bool = field(init=False, default=True)
    """Whether the rows of the matrix are in the order of the ids already, as the ids came before the scores."""

    @property
    def max_width(self) -> int:
        """The most scores that a row can have."""
        return len(self.spec.classes)

    @property
    def missing_rows(self) -> int:
        """How many rows have not given their scores yet."""
        return len(self.join.rows) - self.score_rows

    def take_scores(self, scores: Floats, order: Sequence[int] | None) -> None:
        """Add the scores of the next rows (R × k); `order` gives the position of each class in a row.

        Raises UnsupportedLayout for scores that the strict reader would refuse, and for a changing number of columns.
        """
        end = self.score_rows + len(scores)
        require(len(scores) <= self.missing_rows and self._are_valid(scores))
        if order is not None:
            scores = scores[:, order]
        part = slice(self.score_rows, end)
        if self._matrix is None:
            self._matrix = np.empty((len(self.join.rows), scores.shape[1]))
            self._is_in_id_order = self.join.id_count >= end
        require(self._matrix.shape[1] == scores.shape[1])
        require(not self._is_in_id_order or self.join.id_count >= end)
        self._matrix[self.join.rows[part] if self._is_in_id_order else part] = scores
        self.score_rows = end

    def _are_valid(self, scores: Floats) -> bool:
        """Whether the scores are finite, and probabilities where these are required."""
        if not self.probabilities:
            return bool(np.isfinite(scores).all())
        if not (float(scores.min()) >= 0 and float(scores.max()) <= 1):  # NaN fails the comparisons
            return False
        is_single = self.spec.task == "multilabel" or scores.shape[1] == 1
        return is_single or bool(sums_to_one(scores).all())

    def finish(self) -> Floats:
        """The scores, n × m in the order of the classes or n × 1.

        Raises UnsupportedLayout unless the file describes each instance exactly once.
        """
        self.join.check_ids()
        if self._matrix is None or self.missing_rows:
            raise UnsupportedLayout
        if self._is_in_id_order:
            return self._matrix
        matrix = np.empty_like(self._matrix)
        matrix[self.join.rows] = self._matrix
        return matrix


def class_order(names: Sequence[str], classes: Sequence[str]) -> list[int] | None:
    """For each class the position of its name; None where the order is the same.

    Raises UnsupportedLayout unless the names are the classes, each once.
    """
    if tuple(names) == tuple(classes):
        return None
    positions = {name: at for at, name in enumerate(names)}
    require(len(positions) == len(names) and positions.keys() == set(classes))
    return [positions[name] for name in classes]


def check_single_score(spec: TaskSpec) -> None:
    """One score per instance is that of the positive label; raises UnsupportedLayout where there is none."""
    require(spec.task == "binary" and spec.positive_label is not None)
