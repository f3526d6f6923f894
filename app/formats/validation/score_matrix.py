"""Builds one matrix in the order of the classes from the scores of a file, in any of their shapes."""

import contextlib
import math
from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from app.formats.column_data import MissingValue, NormalizedTable, RawScores
from app.formats.content.utf8_decoding import to_nfc
from app.formats.problems import (
    MAX_LISTED_PROBLEMS,
    WHOLE_FILE_ROW,
    Location,
    Problem,
    Problems,
    build_problem,
    describe_value,
    quote,
)
from app.formats.readers.strict_json import BadNumber
from app.formats.validation.class_names import ProblemText, Vocabulary
from app.formats.value_locations import ItemKey
from app.scoring.probability_rows import sum_tolerance, sums_to_one

ScoreMatrix = NDArray[np.float64]
ScorePairs = tuple[tuple[str, object], ...]
"""An object of scores as strict_json decodes it: pairs of class and score."""
_NUMBER_TYPES = frozenset({float, int})
_PERCENT_TOLERANCE = 1.0
_PERCENT_REMEDY = " If these are percentages, divide them by 100."
_MAX_NAME_LENGTH = 1000
"""Characters of the longest class name that is compared in NFC."""


def build_score_matrix(
    table: NormalizedTable, vocabulary: Vocabulary, *, probabilities: bool, problems: Problems
) -> ScoreMatrix:
    """The scores of all rows, binary64: n × m in the order of the classes, or n × 1 of the positive label.

    Every fault is a problem with its location (then the values mean nothing): a wrong number of scores, a value that is
    not a number, an unknown class, and with `probabilities` values outside [0, 1] and rows that do not sum to one.
    """
    return _ScoreMatrixBuilder(table, vocabulary, probabilities, problems).run()


def named_classes(scores: RawScores) -> list[str]:
    """The classes that a file has scores for, as far as it names them (NFC)."""
    if scores.names is not None:
        names = [name for name in scores.names if type(name) in {str, int}]
    else:
        rows = [] if isinstance(scores.values, np.ndarray) else scores.values
        names = [key for row in rows if type(row) is tuple for key, _ in row]
    return list(dict.fromkeys(to_nfc(str(name), _MAX_NAME_LENGTH) for name in names))


@dataclass(slots=True)
class _ScoreMatrixBuilder:
    table: NormalizedTable
    vocabulary: Vocabulary
    probabilities: bool
    problems: Problems
    scores: RawScores = field(init=False)
    codes: Mapping[str, int] = field(init=False)
    file_rows: Sequence[int] | None = None
    """The file rows of the rows of the matrix; None: all rows."""

    def __post_init__(self) -> None:
        assert self.table.scores is not None
        self.scores = self.table.scores
        self.codes = self.vocabulary.codes

    def run(self) -> ScoreMatrix:
        values, names = self.scores.values, self.scores.names
        order = None if names is None else self._class_order(names)
        if names is not None and order is None:
            return np.zeros((len(self.table.rows), 1))
        matrix = self._check_array(values, order) if isinstance(values, np.ndarray) else self._rows(values, order)
        if order is not None and len(order) == matrix.shape[1] and order != list(range(len(order))):
            matrix = matrix[:, order]
        if self.probabilities:
            self._check_probabilities(matrix, order)
        return matrix

    # ---- the classes named once for all rows ---------------------------------------------------

    def _class_order(self, names: Sequence[object]) -> list[int] | None:
        """For each class the column that holds it; None unless the names are the classes, each once."""
        before = self.problems.count
        location_of = self.table.layout.column
        positions: dict[str, int] = {}
        for at, raw_name in enumerate(names):
            if type(raw_name) not in {str, int}:
                message = "The name of a class must be a string."
                self._fault("wrong_shape", location_of(at), (message, None, _describe(raw_name)))
                continue
            name = self.vocabulary.normalize_name(str(raw_name))
            if name in positions:
                message = f"The class {quote(name)} is named twice. Name it once."
                self._fault("duplicate_label", location_of(at), (message, None, quote(name)))
            elif name not in self.codes:
                self._fault("unknown_label", location_of(at), self.vocabulary.unknown_class_text(name))
            positions.setdefault(name, at)
        known_names = [name for name in positions if name in self.codes]
        if self.vocabulary.positive_label is not None and known_names == list(positions) == [
            self.vocabulary.positive_label
        ]:
            return [0] if self.problems.count == before else None
        if self.vocabulary.is_missing_class(positions, len(known_names)):
            text = self.vocabulary.missing_classes_text(positions, f"{len(known_names)} classes")
            self._fault("wrong_class_count", self._class_names_location(), text)
        return [positions[name] for name in self.codes] if self.problems.count == before else None

    def _class_names_location(self) -> Location:
        """The location of the class names: a list, or a line."""
        first = self.table.layout.column(0)
        return Location("/classes" if first.pointer == "/classes/0" else None, first.line)

    def _fault(self, code: str, location: Location, text: ProblemText) -> None:
        """Report a problem of the class names or of a whole array."""
        message, expected, got = text
        row = location.line if location.line is not None else WHOLE_FILE_ROW
        self.problems.add_new(code, message, location, row=row, expected=expected, got=got)

    # ---- values that are numbers already ---------------------------------------------------------

    def _check_array(self, values: ScoreMatrix, order: Sequence[int] | None) -> ScoreMatrix:
        """Check the width of an array, and that all its numbers are finite."""
        matrix = values[:, None] if values.ndim == 1 else values
        width, expected = matrix.shape[1], len(self.codes) if order is None else len(order)
        if width != expected and not (order is None and width == 1 and self.vocabulary.positive_label is not None):
            message = f"There are {width} scores for each instance. Give one score for each class."
            location = self.table.layout.locate(0, "score") if len(values) else Location()
            pointer = None if location.pointer is None else location.pointer.rsplit("/", 1)[0]
            self._fault("wrong_class_count", Location(pointer), (message, self.vocabulary.width, f"{width} scores"))
        elif not np.isfinite(matrix).all() and not self.problems.total.get("not_a_number"):
            rows, at = np.nonzero(~np.isfinite(matrix))
            self._report("not_a_number", rows, lambda n: self._not_finite_problem(matrix, int(rows[n]), int(at[n])))
        return matrix

    def _not_finite_problem(self, matrix: ScoreMatrix, row: int, at: int) -> Problem:
        message = "The score is not a finite number. Write a finite number."
        got = f"{matrix[row, at]:g}"
        return self._problem_at("not_a_number", row, self._column(at), message, expected="a finite number", got=got)

    def _column(self, at: int) -> int | None:
        """The file's reference to a column of scores; a single score has none."""
        values = self.scores.values
        return at if not isinstance(values, np.ndarray) or values.ndim > 1 else None

    def _report(self, code: str, rows: NDArray[np.intp], build: Callable[[int], Problem]) -> None:
        """Report a problem for each of these positions, which ascend."""
        table_rows = self.table.rows
        first = [table_rows[self._row_of(int(row))] for row in rows[:MAX_LISTED_PROBLEMS]]
        self.problems.report_all(code, first, build, len(rows))

    def _row_of(self, row: int) -> int:
        """The file row of a row of the matrix."""
        return row if self.file_rows is None else self.file_rows[row]

    def _problem_at(self, code: str, row: int, item: ItemKey, message: str, **details: str | None) -> Problem:
        location = self.table.layout.locate(self.table.rows[row], "score", item)
        return build_problem(code, message, location, instance_id=self.table.ids[row], **details)

    # ---- values from JSON --------------------------------------------------------------------------

    def _rows(self, values: Sequence[object], order: Sequence[int] | None) -> ScoreMatrix:
        """The scores in the order of the file: that of its own class names, or of the classes."""
        width = len(self.codes) if order is None else len(order)
        may_be_single = order is None or len(order) == 1
        is_single = may_be_single and bool(values) and self._positive_score(values[0]) is not None
        uniform = self._clean_matrix(values, 1 if is_single else width, has_class_names=order is not None)
        if uniform is not None:
            return uniform
        is_single = may_be_single and self._is_mostly_single(values)
        numbers, valid_rows = array("d"), []  # of valid rows alone: a file may have many rows without any number
        for row, value in enumerate(values):
            row_numbers = self._single_score(row, value) if is_single else self._row_scores(row, value, order)
            if row_numbers is not None:
                numbers.extend(row_numbers)
                valid_rows.append(row)
        self.file_rows = valid_rows if len(valid_rows) < len(values) else None
        return np.array(numbers, dtype=np.float64).reshape(len(valid_rows), 1 if is_single else width)

    def _clean_matrix(self, values: Sequence[object], width: int, *, has_class_names: bool) -> ScoreMatrix | None:
        """The matrix of rows with the same shape and only finite numbers; None for any other rows."""
        kinds = set(map(type, values))
        cells: list[object] = list(values)
        order: Sequence[int] | None = None
        if kinds == {tuple} and not has_class_names:
            keys, cells = _transpose_objects(values)
            order = self._key_order(keys) if len(keys) == width else None
            if order is None:
                return None
        elif kinds == {list}:
            lists: Sequence[list[object]] = values  # type: ignore[assignment]
            if set(map(len, lists)) != {width}:
                return None
            cells = list(chain.from_iterable(lists))
        if not cells or not set(map(type, cells)) <= _NUMBER_TYPES:
            return None
        try:
            matrix = np.array(cells, dtype=np.float64).reshape(len(values), width)
        except (OverflowError, ValueError):
            return None
        if not np.isfinite(matrix).all():
            return None
        return matrix if order is None else matrix[:, order]

    def _key_order(self, keys: Sequence[str]) -> list[int] | None:
        """For each class the position of its key; None unless the keys are the classes."""
        positions = {self.vocabulary.normalize_name(key): at for at, key in enumerate(keys)}
        return [positions[name] for name in self.codes] if positions.keys() == self.codes.keys() else None

    def _positive_score(self, value: object) -> tuple[ItemKey, object] | None:
        """The file's reference to the score of the positive label, and the score: a number, or the only item of an object."""
        if self.vocabulary.positive_label is None:
            return None
        if type(value) is tuple and len(value) == 1:
            key, item = value[0]
            return (key, item) if self.vocabulary.normalize_name(key) == self.vocabulary.positive_label else None
        return None if type(value) in {list, tuple} or value is None else (None, value)

    def _is_mostly_single(self, values: Sequence[object]) -> bool:
        """Whether most rows with scores have a single score, so that a faulty row does not decide for the others."""
        if self.vocabulary.positive_label is None:
            return False
        present = [value for value in values if value is not None and type(value) is not MissingValue]
        if not present:
            return self.table.layout.name("score") == "score"
        return 2 * sum(self._positive_score(value) is not None for value in present) > len(present)

    def _single_score(self, row: int, value: object) -> list[float] | None:
        """The single score of a row, that of the positive label."""
        score = (None, value) if value is None else self._positive_score(value)
        if score is None:
            message = "Other rows have one score, for the positive label. Give all rows the same kind of score."
            self._add("wrong_class_count", row, None, lambda: (message, "a number", _describe(value)))
            return None
        number = self._number(row, *score)
        return None if number is None else [number]

    def _row_scores(self, row: int, value: object, order: Sequence[int] | None) -> list[float] | None:
        """The scores of a row: a list of the right width, or an object of all classes."""
        width = len(self.codes) if order is None else len(order)
        if value is MissingValue.FAULT:
            return None
        if type(value) is tuple:
            return self._scores_by_name(row, value, order)
        if type(value) is not list:
            message = "This is neither an object nor a list of scores. "
            message += "Give an object with a number for each class, or a list in the order of the classes."
            got = "nothing" if value is MissingValue.ABSENT else _describe(value)
            self._add("wrong_shape", row, None, lambda: (message, self.vocabulary.width, got))
            return None
        if len(value) != width:
            got = f"{len(value)} scores"
            message = f"The instance has {got}. Give exactly one score for each class."
            self._add("wrong_class_count", row, None, lambda: (message, self.vocabulary.width, got))
            return None
        numbers = [self._number(row, at, item) for at, item in enumerate(value)]
        return None if None in numbers else [item for item in numbers if item is not None]

    def _scores_by_name(self, row: int, pairs: ScorePairs, order: Sequence[int] | None) -> list[float] | None:
        """The scores of an object of all classes, in the order of the file's lists."""
        if order is not None and len(order) != len(self.codes):
            message = "The file names one class for all rows, but this row names its own. Name all classes, or none."
            expected, got = f"{len(order)} scores", f"{len(pairs)} scores"
            self._add("wrong_class_count", row, None, lambda: (message, expected, got))
            return None
        scores = self._object(row, pairs)
        if scores is None or order is None:
            return scores
        return [value for _, value in sorted(zip(order, scores, strict=True))]

    def _object(self, row: int, pairs: ScorePairs) -> list[float] | None:
        scores: dict[str, float | None] = {}
        for key, item in pairs:
            name = self.vocabulary.normalize_name(key)
            if name not in self.codes:
                self._add("unknown_label", row, key, partial(self.vocabulary.unknown_class_text, name))
            elif name in scores:
                self._add("duplicate_label", row, key, partial(_repeated_class_text, name))
            else:
                scores[name] = self._number(row, key, item)
        names = {self.vocabulary.normalize_name(key) for key, _ in pairs}
        if self.vocabulary.is_missing_class(names, len(scores)):
            build_text = partial(self.vocabulary.missing_classes_text, names, f"{len(scores)} scores")
            self._add("wrong_class_count", row, None, build_text)
        values = [scores.get(name) for name in self.codes]
        return None if None in values else [value for value in values if value is not None]

    def _number(self, row: int, item: ItemKey, value: object) -> float | None:
        if value is MissingValue.FAULT:
            return None
        if type(value) in _NUMBER_TYPES:
            with contextlib.suppress(OverflowError):
                if math.isfinite(number := float(value)):  # type: ignore[arg-type]
                    return number
        message = "The score is not a finite number. Write a finite number without quotes."
        self._add("not_a_number", row, item, lambda: (message, "a number", _describe(value)))
        return None

    def _add(self, code: str, row: int, item: ItemKey, build_text: Callable[[], ProblemText]) -> None:
        """Report a problem of a row; its text is built only if it will be listed."""

        def build() -> Problem:
            message, expected, got = build_text()
            return self._problem_at(code, row, item, message, expected=expected, got=got)

        self.problems.report(code, self.table.rows[row], build)

    # ---- probabilities -----------------------------------------------------------------------------

    def _check_probabilities(self, matrix: ScoreMatrix, order: Sequence[int] | None) -> None:
        """Check probabilities: each within [0, 1]; those of exclusive classes sum to one."""
        is_outside = (matrix < 0) | (matrix > 1)
        if is_outside.any():
            rows, at = np.nonzero(is_outside)
            build = partial(self._not_a_probability_problem, matrix, rows, at, order)
            self._report("not_a_probability", rows, build)
        if self.vocabulary.exclusive and matrix.shape[1] > 1:
            is_valid = np.asarray(np.isfinite(matrix).all(axis=1) & ~is_outside.any(axis=1))
            (rows,) = np.nonzero(is_valid & ~sums_to_one(np.where(is_valid[:, None], matrix, 0.0)))
            self._report("not_a_probability", rows, partial(self._sum_not_one_problem, matrix, rows))

    def _not_a_probability_problem(
        self, matrix: ScoreMatrix, rows: NDArray[np.intp], at: NDArray[np.intp], order: Sequence[int] | None, n: int
    ) -> Problem:
        row, column = int(rows[n]), int(at[n])
        value = matrix[row, column]
        message = "A metric of this challenge needs probabilities, so each score must be from 0 to 1."
        message += _PERCENT_REMEDY if self._are_percentages(matrix, matrix[row]) else ""
        item = self._item_of_class(self._row_of(row), column, order)
        got = repr(float(value))
        return self._problem_at("not_a_probability", self._row_of(row), item, message, expected="0 to 1", got=got)

    def _are_percentages(self, matrix: ScoreMatrix, row: NDArray[np.float64]) -> bool:
        """Whether these scores seem to be percentages: of exclusive classes they then sum to about 100."""
        if self.vocabulary.exclusive and matrix.shape[1] > 1:
            return bool((row >= 0).all() and abs(float(row.sum()) - 100) <= _PERCENT_TOLERANCE)
        return bool((row >= 0).all() and (row <= 100).all())

    def _item_of_class(self, row: int, column: int, order: Sequence[int] | None) -> ItemKey:
        """The file's reference to the score of a class, given by its position in the vocabulary."""
        values = self.scores.values
        if isinstance(values, np.ndarray):
            return self._column(column if order is None else order[column])
        value = values[row]
        if type(value) is tuple and len(value) == 1:  # the score of the positive label alone, whatever its code
            return str(value[0][0])
        if type(value) is tuple:
            return next(str(key) for key, _ in value if self.codes.get(self.vocabulary.normalize_name(key)) == column)
        return (column if order is None else order[column]) if type(value) is list else None

    def _sum_not_one_problem(self, matrix: ScoreMatrix, rows: NDArray[np.intp], n: int) -> Problem:
        row = int(rows[n])
        message = "A metric of this challenge needs probabilities, so the scores of an instance must sum to 1."
        got = f"a sum of {math.fsum(matrix[row].tolist()):.6g}"
        expected = f"a sum of 1, within {sum_tolerance(matrix.shape[1]):g}"
        return self._problem_at("not_a_probability", self._row_of(row), None, message, expected=expected, got=got)


def _transpose_objects(values: Sequence[object]) -> tuple[Sequence[str], list[object]]:
    """The keys that all objects share in the same order, and all values row by row; no keys where they differ."""
    first = values[0]
    assert isinstance(first, tuple)
    keys = tuple(key for key, _ in first)
    cells: list[object] = []
    for row in values:
        assert isinstance(row, tuple)
        if tuple([key for key, _ in row]) != keys:
            return (), []
        cells.extend([value for _, value in row])
    return keys, cells


def _repeated_class_text(name: str) -> ProblemText:
    return f"The class {quote(name)} has two scores. Give one score for each class.", None, quote(name)


def _describe(value: object) -> str:
    return str(value) if isinstance(value, BadNumber) else describe_value(value)
