"""Collects the rows of a file into a matrix in the order of the ids and classes, each instance once."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from app.formats.vectorized.unsupported import UnsupportedLayout, require
from app.scoring.declaration.task import TaskSpec
from app.scoring.numeric.exact import Floats
from app.scoring.probability_rows import sums_to_one
from app.scoring.string_table import Spans, StringTable


class ScoreRowCollector:
    """The ids and scores of n rows, which come together (records, tables) or one after the other (JSON columns)."""

    def __init__(self, ids: StringTable, spec: TaskSpec, *, probabilities: bool) -> None:
        self.expected_rows = len(ids)
        self.max_width = len(spec.classes)
        """The most scores that a row can have."""
        self.targets = np.empty(self.expected_rows, dtype=np.int32)
        """The instance of each row of the file."""
        self.id_rows = 0
        """How many rows have given their ids."""
        self.score_rows = 0
        """How many rows have given their scores."""
        self._matrix: Floats | None = None
        self._is_in_id_order = True
        """Whether the rows of the matrix are in the order of the ids already, as the ids came before the scores."""
        self._ids = ids
        self._task = spec.task
        self._probabilities = probabilities

    def take_ids(self, spans: Spans) -> None:
        """Add the ids of the next rows; raises UnsupportedLayout if one is unknown or there are too many."""
        end = self.id_rows + len(spans)
        require(end <= self.expected_rows)
        likely = int(self.targets[self.id_rows - 1]) + 1 if self.id_rows else 0
        rows = self._ids.rows(spans, likely)
        if rows is None:
            raise UnsupportedLayout
        self.targets[self.id_rows : end] = rows
        self.id_rows = end

    def take_scores(self, scores: Floats, order: Sequence[int] | None) -> None:
        """Add the scores of the next rows (R × k); `order` gives the position of each class in a row.

        Raises UnsupportedLayout for scores that the strict reader would refuse, and for a changing number of columns.
        """
        end = self.score_rows + len(scores)
        require(end <= self.expected_rows and self._are_valid(scores))
        if order is not None:
            scores = scores[:, order]
        part = slice(self.score_rows, end)
        if self._matrix is None:
            self._matrix = np.empty((self.expected_rows, scores.shape[1]))
            self._is_in_id_order = self.id_rows >= end
        require(self._matrix.shape[1] == scores.shape[1] and (not self._is_in_id_order or self.id_rows >= end))
        self._matrix[self.targets[part] if self._is_in_id_order else part] = scores
        self.score_rows = end

    def _are_valid(self, scores: Floats) -> bool:
        """Whether the scores are finite, and probabilities where these are required."""
        if not self._probabilities:
            return bool(np.isfinite(scores).all())
        if not (float(scores.min()) >= 0 and float(scores.max()) <= 1):  # NaN fails the comparisons
            return False
        is_single = self._task == "multilabel" or scores.shape[1] == 1
        return is_single or bool(sums_to_one(scores).all())

    def matrix(self) -> Floats | None:
        """The scores, n × m in the order of the classes or n × 1; None unless every instance has come exactly once."""
        is_complete = self.id_rows == self.score_rows == self.expected_rows
        if not is_complete or self._matrix is None or not _is_permutation(self.targets):
            return None
        if self._is_in_id_order:
            return self._matrix
        matrix = np.empty_like(self._matrix)
        matrix[self.targets] = self._matrix
        return matrix


def _is_permutation(targets: NDArray[np.int32]) -> bool:
    """Whether n row numbers below n are all different."""
    occurs = np.zeros(len(targets), dtype=bool)
    occurs[targets] = True
    return bool(occurs.all())


def class_order(names: Sequence[str], classes: Sequence[str]) -> list[int] | None:
    """For each class the position of its name; None where the order is the same.

    Raises UnsupportedLayout unless the names are the classes, each once.
    """
    if tuple(names) == tuple(classes):
        return None
    positions = {name: at for at, name in enumerate(names)}
    require(len(positions) == len(names) and positions.keys() == set(classes))
    return [positions[name] for name in classes]
