"""What each system answered on each instance, as one matrix of codes, and whether the gold takes it as right.

An answer of a single-label task is a label. An answer of a multi-label task is the whole set: it is right if it equals
the gold without its unknown cells, and the view of single labels is kept beside it (`LabelErrors`).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from app.scoring.declaration.task import TaskKind
from app.scoring.evaluation_input import MISSING_CODE, EvaluationInput, Labels

OTHER_LABEL = "(a label outside the classes)"
Bool = NDArray[np.bool_]
Int32 = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class LabelErrors:
    """Of each of m labels over all systems and instances: in the gold, missed there, given without being there."""

    positives: NDArray[np.int64]
    missed: NDArray[np.int64]
    false: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class AnswerMatrix:
    """The answers of S systems on n instances.

    `codes` (S × n) are positions in `texts`, or -1 where a system gave no answer. `right` (S × n) says what the gold
    accepts. `gold` has the accepted labels of each instance as sets, `right_labels` (n) the sum over the systems of the
    share of labels that each decided right, for label sets. `contents` is one value per system, equal where two files
    have the same answers and scores.
    """

    systems: Sequence[str]
    ids: Sequence[str]
    task: TaskKind
    classes: Sequence[str]
    codes: Int32
    right: Bool
    texts: Sequence[tuple[str, ...]]
    gold: Labels
    contents: Sequence[bytes]
    label_errors: LabelErrors | None = None
    right_labels: NDArray[np.float64] | None = None

    def gold_labels(self, row: int) -> list[str]:
        """The labels that the gold has, or accepts, for an instance."""
        offsets = self.gold.offsets
        assert offsets is not None
        codes = self.gold.codes[offsets[row] : offsets[row + 1]].tolist()
        return sorted({self.classes[code] for code in codes if 0 <= code < len(self.classes)})


def answer_matrix(systems: Iterable[tuple[str, EvaluationInput]], ids: Sequence[str]) -> AnswerMatrix:
    """The answers of these systems, whose inputs have the same gold in the order of `ids`; one input is held at a time.

    Instances that do not count are left out: those of weight 0, and those of which every cell is unknown.
    """
    builder: _Builder | None = None
    for name, case in systems:
        if builder is None:
            builder = _Builder(case, ids)
        builder.add(name, case)
    if builder is None:
        raise ValueError("there are no systems")
    return builder.build()


def rows_that_count(case: EvaluationInput) -> NDArray[np.int64]:
    """The row numbers of the instances that may move a score."""
    counted = np.ones(case.gold.n, dtype=np.bool_)
    if case.weights is not None and case.weights.any():
        counted &= case.weights > 0
    if case.unknown is not None:
        counted &= case.unknown.sizes < len(case.spec.classes)
    return np.flatnonzero(counted)


class _Builder:
    def __init__(self, case: EvaluationInput, ids: Sequence[str]) -> None:
        self._rows = rows_that_count(case)
        self._ids = [ids[row] for row in self._rows.tolist()]
        self._spec = case.spec
        self._gold = case.gold.take(self._rows)
        self._sets = case.spec.task == "multilabel"
        self._numbers: dict[bytes, int] = {}
        self._gold_codes = self._set_codes(self._gold) if self._sets else None
        m = len(case.spec.classes)
        self._errors = LabelErrors(*(np.zeros(m, dtype=np.int64) for _ in range(3))) if self._sets else None
        self._right_labels = np.zeros(len(self._rows)) if self._sets else None
        self._names: list[str] = []
        self._codes: list[Int32] = []
        self._right: list[Bool] = []
        self._contents: list[bytes] = []

    def add(self, name: str, case: EvaluationInput) -> None:
        part = case.take(self._rows)
        codes = self._set_answers(part) if self._sets else part.predicted.codes.astype(np.int32)
        right = codes == self._gold_codes if self._sets else _right_labels(part)
        self._names.append(name)
        self._codes.append(codes)
        self._right.append(right)
        content = sha256(codes.tobytes())
        if part.scores is not None:
            content.update(np.ascontiguousarray(part.scores).tobytes())
        self._contents.append(content.digest())

    def _set_answers(self, part: EvaluationInput) -> Int32:
        m = len(self._spec.classes)
        predicted = part.predicted if part.unknown is None else part.predicted.without(part.unknown, m)
        predicted = distinct(predicted, m)
        assert self._errors is not None
        assert self._right_labels is not None
        gold = distinct(self._gold, m)
        missed, false = ~gold.overlap(predicted, m), ~predicted.overlap(gold, m)
        known = predicted.codes < m
        self._errors.positives[:] += np.bincount(gold.codes, minlength=m)[:m]
        self._errors.missed[:] += np.bincount(gold.codes[missed], minlength=m)[:m]
        self._errors.false[:] += np.bincount(predicted.codes[false & known], minlength=m)[:m]
        wrong = np.bincount(gold.rows[missed], minlength=part.gold.n)
        wrong += np.bincount(predicted.rows[false], minlength=part.gold.n)
        cells = np.full(part.gold.n, m) if part.unknown is None else m - part.unknown.sizes
        self._right_labels += 1 - np.minimum(wrong / np.maximum(cells, 1), 1)
        return self._set_codes(predicted)

    def _set_codes(self, labels: Labels) -> Int32:
        """One number for each set of labels, the same for equal ones."""
        sets, numbers = distinct(labels, len(self._spec.classes)), self._numbers
        assert sets.offsets is not None
        data, width = sets.codes.astype(np.int32).tobytes(), 4
        ends = (sets.offsets * width).tolist()
        found = (numbers.setdefault(data[a:b], len(numbers)) for a, b in pairwise(ends))
        return np.fromiter(found, dtype=np.int32, count=sets.n)

    def build(self) -> AnswerMatrix:
        names = (*self._spec.classes, OTHER_LABEL)
        if self._sets:
            codes = (np.frombuffer(key, dtype=np.int32).tolist() for key in self._numbers)
            texts = [tuple(names[min(code, len(names) - 1)] for code in each) for each in codes]
        else:
            texts = [(name,) for name in names]
        return AnswerMatrix(
            self._names,
            self._ids,
            self._spec.task,
            self._spec.classes,
            np.stack(self._codes),
            np.stack(self._right),
            texts,
            self._gold.as_sets(),
            self._contents,
            self._errors,
            self._right_labels,
        )


def distinct(labels: Labels, m: int) -> Labels:
    """The same label sets with sorted codes, each once; the code of repetitions (m + 1) is left out."""
    sets = labels.as_sets()
    kept = (sets.codes >= 0) & (sets.codes <= m)
    keys = np.unique(sets.rows[kept] * (m + 2) + sets.codes[kept])
    rows, codes = np.divmod(keys, m + 2)
    sizes = np.bincount(rows, minlength=sets.n)
    return Labels(codes.astype(np.int32), np.concatenate([[0], np.cumsum(sizes)]))


def _right_labels(case: EvaluationInput) -> Bool:
    """Whether each instance of a single-label task has a label that the gold accepts."""
    predicted = case.predicted.codes
    if case.gold.offsets is None:
        return np.asarray((predicted == case.gold.codes) & (predicted != MISSING_CODE))
    right = np.zeros(len(predicted), dtype=np.bool_)
    present = predicted != MISSING_CODE
    right[present] = case.predicted.overlap(case.gold, len(case.spec.classes))
    return right
