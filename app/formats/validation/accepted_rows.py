"""Rows of a file that was accepted under earlier gold: one with a fault has no scores, whatever the fault is.

Rows of instances that were void when the file was received were not checked, so they may hold anything.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from app.formats.column_data import NormalizedTable, RawScores
from app.formats.problems import Location, Problem, Problems
from app.formats.validation.class_names import Vocabulary
from app.formats.validation.score_matrix import build_score_matrix
from app.scoring.evaluation_input import MISSING_CODE


class _FaultyRows(Problems):
    """Records which rows have a fault instead of describing it; `is_whole_file`: a fault concerns the class names."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: set[int] = set()
        self.is_whole_file = False

    def report(self, code: str, row: int, _build: Callable[[], Problem]) -> None:
        """Record the row."""
        self.total[code] = self.total.get(code, 0) + 1
        self.rows.add(row)

    def report_all(self, code: str, rows: Sequence[int], _build: Callable[[int], Problem], _count: int) -> None:
        """Record the rows that are given, which are the first ones."""
        self.total[code] = self.total.get(code, 0) + len(rows)
        self.rows.update(rows)

    def add_new(self, code: str, _message: str, _location: Location | None = None, **_: object) -> None:  # type: ignore[override]
        """Record that all rows are affected."""
        self.total[code] = 1
        self.is_whole_file = True


def take_rows(table: NormalizedTable, positions: Sequence[int]) -> NormalizedTable:
    """The ids and scores of these rows of a table alone."""
    assert table.scores is not None
    values = table.scores.values
    scores = values[positions] if isinstance(values, np.ndarray) else [values[at] for at in positions]
    ids, rows = [table.ids[at] for at in positions], [table.rows[at] for at in positions]
    return replace(table, ids=ids, rows=rows, scores=RawScores(scores, table.scores.names))


def without_void_rows(table: NormalizedTable, void: Collection[str]) -> NormalizedTable:
    """The table without the rows of void ids, whose scores are ignored and not checked."""
    if table.scores is None or not any(name in void for name in table.ids):
        return table
    return take_rows(table, [at for at, name in enumerate(table.ids) if name not in void])


def build_accepted_matrix(
    table: NormalizedTable, positions: Sequence[int], vocabulary: Vocabulary
) -> tuple[NDArray[np.float64], list[int]] | None:
    """The scores of the rows without a fault among these, and the places of those in `positions`.

    None where the class names or the shape of the file do not fit, so that no row has scores.
    """
    kept = list(range(len(positions)))
    while kept:
        part = take_rows(table, [positions[at] for at in kept])
        faulty = _FaultyRows()
        matrix = build_score_matrix(part, vocabulary, probabilities=False, problems=faulty)
        if not faulty:
            return matrix, kept
        if faulty.is_whole_file:
            return None
        kept = [at for at, row in zip(kept, part.rows, strict=True) if row not in faulty.rows]
    return None


def without_repeated(rows: NDArray[np.int32]) -> NDArray[np.int32]:
    """The row numbers with MISSING_CODE for those that occur several times: it is not known which one is meant."""
    if not len(rows):
        return rows
    counts = np.bincount(rows[rows >= 0], minlength=max(1, int(rows.max()) + 1))
    return np.where((rows >= 0) & (counts[rows] == 1), rows, np.int32(MISSING_CODE))


def other_rows(rows: NDArray[np.int32], n: int) -> NDArray[np.int64] | None:
    """The rows of n that are not among these; None if there are none."""
    if len(rows) == n:
        return None
    is_other = np.ones(n, dtype=bool)
    is_other[rows] = False
    return np.flatnonzero(is_other)
