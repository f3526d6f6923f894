"""What a file gives row by row, put where it belongs: scores in the order of the ids and classes, each instance once."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from app.scoring.declaration.task import TaskSpec
from app.scoring.numeric.exact import Floats
from app.scoring.probability_rows import sums_to_one
from app.scoring.string_table import Spans, StringTable


class ScoreRowCollector:
    """The ids and scores of n rows, which may come together or one after the other."""

    def __init__(self, ids: StringTable, spec: TaskSpec, *, probabilities: bool) -> None:
        self.due = len(ids)
        self.width = len(spec.classes)
        """The most scores that a row can have."""
        self.targets = np.empty(self.due, dtype=np.int32)
        self.known = 0
        """How many rows have told their ids."""
        self.given = 0
        """How many rows have given their scores."""
        self._matrix: Floats | None = None
        self._is_placed = True
        self._ids = ids
        self._task = spec.task
        self._probabilities = probabilities

    @property
    def whole(self) -> bool:
        """Whether all rows have come, with ids and scores."""
        return self.known == self.given == self.due

    def take_ids(self, asked: Spans | None) -> bool:
        """Take the ids of the next rows; False where one is not known."""
        if asked is None or self.known + len(asked) > self.due:
            return False
        likely = int(self.targets[self.known - 1]) + 1 if self.known else 0
        rows = self._ids.rows(asked, likely)
        if rows is None:
            return False
        self.targets[self.known : self.known + len(rows)] = rows
        self.known += len(rows)
        return True

    def take_scores(self, scores: Floats, order: Sequence[int] | None) -> bool:
        """Take the scores of the next rows (R × k), where `order` says for each class where it stands; False where odd."""
        if self.given + len(scores) > self.due or not self._sound(scores):
            return False
        if order is not None:
            scores = scores[:, order]
        part = slice(self.given, self.given + len(scores))
        if self._matrix is None:
            self._matrix = np.empty((self.due, scores.shape[1]))
            self._is_placed = self.known >= part.stop
        if self._matrix.shape[1] != scores.shape[1] or (self._is_placed and self.known < part.stop):
            return False
        self._matrix[self.targets[part] if self._is_placed else part] = scores
        self.given = part.stop
        return True

    def _sound(self, scores: Floats) -> bool:
        """Whether the scores are finite, and probabilities where they have to be."""
        if not self._probabilities:
            return bool(np.isfinite(scores).all())
        if not (float(scores.min()) >= 0 and float(scores.max()) <= 1):  # NaN is neither
            return False
        alone = self._task == "multilabel" or scores.shape[1] == 1
        return alone or bool(sums_to_one(scores).all())

    def matrix(self) -> Floats | None:
        """The scores, n × m in the order of the classes or n × 1; None unless every instance has come exactly once."""
        if not self.whole or self._matrix is None or not _is_permutation(self.targets):
            return None
        if self._is_placed:
            return self._matrix
        placed = np.empty_like(self._matrix)
        placed[self.targets] = self._matrix
        return placed


def _is_permutation(targets: NDArray[np.int32]) -> bool:
    """Whether n row numbers below n are all there are."""
    seen = np.zeros(len(targets), dtype=bool)
    seen[targets] = True
    return bool(seen.all())


def class_order(names: Sequence[str], classes: Sequence[str]) -> list[int] | None:
    """For each class the place of its name, None where that is the order already; ValueError where names are others."""
    if tuple(names) == tuple(classes):
        return None
    found = {name: at for at, name in enumerate(names)}
    if len(found) != len(names) or found.keys() != set(classes):
        raise ValueError("the names are not the classes, each once")
    return [found[name] for name in classes]
