"""Validates tables: checks every id and label against the known ids and classes, and builds arrays.

It needs no gold labels, so that a dry run, the command line and scoring give the same answer, and no message depends on
a gold label.
"""

import re
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from app.formats.column_data import NormalizedTable
from app.formats.problems import (
    END_OF_FILE_ROW,
    MAX_LISTED_PROBLEMS,
    Problem,
    Problems,
    TooManyProblems,
    build_problem,
    quote,
)
from app.formats.reading_rules import ReadingRules
from app.formats.validation.accepted_rows import (
    build_accepted_matrix,
    other_rows,
    without_repeated,
    without_void_rows,
)
from app.formats.validation.class_names import ClassNumberAdvice, Vocabulary
from app.formats.validation.score_matrix import build_score_matrix
from app.formats.validation.suggestions import SuggestionFinder
from app.formats.value_locations import DelimitedTableLayout, KeyedMapLayout
from app.scoring.declaration.metric_syntax import pluralize
from app.scoring.declaration.task import TaskSpec
from app.scoring.evaluation_input import MISSING_CODE, IdIndex, Labels, PredictionArrays
from app.scoring.probability_rows import are_probabilities

Int32s = NDArray[np.int32]

_SHORTENED_NUMBER = re.compile(r"\d(?:[.,]\d+)?E\+\d+")  # as spreadsheet programs show long numbers
_LABEL_SEPARATOR = re.compile(r"[|,;]")
"""Characters that join labels, in some files wrongly."""
EMPTY_COUNTED = "each counts as an empty prediction, or metrics that are not defined for one are null"


def validate_table(
    table: NormalizedTable,
    index: IdIndex,
    spec: TaskSpec,
    *,
    rules: ReadingRules,
    void: Collection[str] = (),
    problems: Problems,
) -> PredictionArrays | None:
    """Join a table with the known ids; labels become codes (positions in the classes), scores become a matrix.

    Returns the arrays for n instances in the order of `index`; None if a problem prevents scoring. `void` ids are
    ignored and may be absent.
    """
    codes = {label: code for code, label in enumerate(spec.classes)}
    with suppress(TooManyProblems):
        join = _join_clean_table(table, index, codes)
        if join is None:
            join = _RowValidator(table, index, codes, rules, void, problems).run()
        scores = None
        vocabulary = Vocabulary(spec.classes, spec.positive_label, exclusive=spec.task != "multilabel")
        if rules.accepted:
            return _accepted_arrays(table, join, vocabulary, rules, len(index), problems=problems)
        if table.scores is not None:
            scored_table = without_void_rows(table, void)
            matrix = build_score_matrix(scored_table, vocabulary, probabilities=rules.probabilities, problems=problems)
            scores = None if problems else join.place(matrix, len(index))
        elif rules.scores == "due" and table.unreadable_rows != END_OF_FILE_ROW:
            example = '"score": 0.7' if spec.task == "binary" else '"scores": {"a": 0.7, "b": 0.3}'
            message = (
                "The primary metric needs scores, but the file has none. Give each instance a score for each class"
            )
            problems.add_new("wrong_shape", f"{message}, such as {example}.", expected="scores", got="labels alone")
        return None if problems else PredictionArrays(join.labels, scores)
    return None


def _accepted_arrays(
    table: NormalizedTable,
    join: "_JoinedRows",
    vocabulary: Vocabulary,
    rules: ReadingRules,
    n: int,
    *,
    problems: Problems,
) -> PredictionArrays | None:
    """The arrays of a file that was accepted before; rows with a fault are left out (ReadingRules.of_accepted_file)."""
    targets, scores, probabilities = join.targets, None, True
    positions = range(len(table.ids)) if join.positions is None else join.positions
    found = None if table.scores is None else build_accepted_matrix(table, positions, vocabulary)
    if found is not None:
        matrix, kept = found
        rows = matrix if vocabulary.exclusive else matrix.reshape(-1, 1)
        probabilities = not rules.probabilities or are_probabilities(rows)
        scores = replace(join, targets=join.targets[kept]).place(matrix, n)
        targets = join.targets[kept] if join.labels is None else targets
    elif join.labels is None:  # no row that is needed has scores
        scores, targets = np.full((n, len(vocabulary.codes)), np.nan), targets[:0]
    empty = other_rows(targets, n)
    if empty is not None and not problems:
        subject = pluralize(len(empty), "instance has", "instances have")
        table.notes.append(
            f"{subject} no prediction in this file, which was accepted under other gold: {EMPTY_COUNTED}"
        )
    return None if problems else PredictionArrays(join.labels, scores, empty, probabilities)


@dataclass(frozen=True, slots=True)
class _JoinedRows:
    """The instance of each row of a file (without void rows), and the labels by instance if the file has labels."""

    labels: Labels | None
    targets: Int32s
    positions: Sequence[int] | None = None
    """The positions of these rows in the file; None: it has no others."""

    def place(self, values: NDArray[np.float64], n: int) -> NDArray[np.float64]:
        """The scores of file rows in the order of the instances; NaN for instances without a row."""
        if np.array_equal(self.targets, np.arange(n)):
            return values
        aligned = np.full((n, values.shape[1]), np.nan)
        aligned[self.targets] = values
        return aligned


def _join_clean_table(table: NormalizedTable, index: IdIndex, codes: dict[str, int]) -> _JoinedRows | None:
    """The join of a table without any problem; None for any other table."""
    if len(table.ids) != len(index) or None in table.ids or table.unreadable_rows:
        return None
    ids = [name for name in table.ids if name is not None]
    targets = index.rows(ids)
    if len(targets) and (int(targets.min()) < 0 or int(np.bincount(targets, minlength=len(index)).max()) > 1):
        return None
    if table.labels is None:
        return _JoinedRows(None, targets)
    code_of = codes.get
    try:
        label_codes = np.fromiter(map(code_of, table.labels), dtype=np.int32, count=len(table.labels))  # type: ignore[arg-type]
    except TypeError:  # an unknown label has the code None
        return None
    if table.counts is not None and has_repeated_labels(label_codes, table.counts, len(codes)):
        return None
    return _JoinedRows(assemble_labels(targets, label_codes, table.counts, len(index)), targets)


def has_repeated_labels(codes: Int32s, counts: Sequence[int], m: int) -> bool:
    """Whether any set of labels (of m classes) contains a label twice."""
    if counts and max(counts) > m:
        return True
    owner = np.repeat(np.arange(len(counts), dtype=np.int64), counts)
    keys = np.sort(owner * m + codes)
    return bool((keys[1:] == keys[:-1]).any())


def assemble_labels(targets: Int32s, codes: Int32s, counts: Sequence[int] | None, n: int) -> Labels:
    """The labels of file rows in the order of the instances: file row i describes instance targets[i] of n."""
    if counts is None:
        aligned = np.full(n, MISSING_CODE, dtype=np.int32)
        aligned[targets] = codes
        return Labels(aligned)
    sizes = np.asarray(counts, dtype=np.int64)
    offsets = np.zeros(len(sizes) + 2, dtype=np.int64)
    np.cumsum(sizes, out=offsets[1:-1])
    offsets[-1] = offsets[-2]  # an empty row at the end, for instances without a row
    source = np.full(n, len(sizes), dtype=np.int64)
    source[targets] = np.arange(len(sizes))
    return Labels(codes, offsets).take(source)


@dataclass(slots=True)
class _RowValidator:
    """Validates row by row and reports every problem, in file order."""

    table: NormalizedTable
    index: IdIndex
    codes: dict[str, int]
    rules: ReadingRules
    void: Collection[str]
    problems: Problems
    id_suggestions: SuggestionFinder = field(init=False)
    label_suggestions: SuggestionFinder = field(init=False)
    number_advice: ClassNumberAdvice = field(init=False)
    rows_by_id: dict[str, int] = field(default_factory=dict)
    unknown_labels: int = 0

    def __post_init__(self) -> None:
        self.id_suggestions = SuggestionFinder(self.index.ids)
        self.label_suggestions = SuggestionFinder(self.codes)
        self.number_advice = ClassNumberAdvice(self.codes)

    def run(self) -> _JoinedRows:
        """Check all rows, then look for missing ids."""
        table = self.table
        targets: list[int] = []
        positions: list[int] = []
        codes: list[int] = []
        counts: list[int] | None = None if table.counts is None else []
        start = 0
        found = self.index.rows([name or "" for name in table.ids])  # no id is empty
        accepted = self.rules.accepted
        if accepted:
            found = without_repeated(found)
        rows = found.tolist()
        for number, (row, name) in enumerate(zip(table.rows, table.ids, strict=True)):
            size = 1 if table.counts is None else table.counts[number]
            labels = None if table.labels is None else table.labels[start : start + size]
            start += size
            target = self._target_row(row, name, rows[number])
            if name is not None and target == MISSING_CODE and (accepted or name in self.void):
                continue
            row_codes = [] if labels is None else self._label_codes(row, name, labels, several=counts is not None)
            if row_codes is None:
                continue
            if target != MISSING_CODE:
                targets.append(target)
                positions.append(number)
                codes.extend(row_codes)
                if counts is not None:
                    counts.append(len(row_codes))
        self._report_missing_ids(targets)
        self._note_tolerated(len(self.index) - len(targets))
        instances = np.asarray(targets, dtype=np.int32)
        if table.labels is None:
            return _JoinedRows(None, instances, positions)
        aligned = assemble_labels(instances, np.asarray(codes, dtype=np.int32), counts, len(self.index))
        return _JoinedRows(aligned, instances, positions)

    def _target_row(self, row: int, name: str | None, target: int) -> int:
        """The instance of a row; MISSING_CODE if there is none, or if another row described it already."""
        if name is None:
            return MISSING_CODE
        if target == MISSING_CODE:
            if name not in self.void and not self.rules.accepted:
                self.problems.report("unknown_id", row, lambda: self._unknown_id_problem(row, name))
        elif name in self.rows_by_id:
            first = self.rows_by_id[name]
            code = "duplicate_key" if self._is_same_key(row, first) else "duplicate_id"
            self.problems.report(code, row, lambda: self._repeated_id_problem(code, row, first, name))
            return MISSING_CODE
        else:
            self.rows_by_id[name] = row
        return target

    def _is_same_key(self, row: int, first: int) -> bool:
        layout = self.table.layout
        return isinstance(layout, KeyedMapLayout) and layout.keys[row] == layout.keys[first]

    def _label_codes(
        self, row: int, name: str | None, labels: Sequence[str | None], *, several: bool
    ) -> list[int] | None:
        """The codes of the labels of a row; None where a fault makes a row of an accepted file an empty prediction."""
        codes: Sequence[int | None] = list(map(self.codes.get, labels))  # type: ignore[arg-type]
        are_distinct = len(set(labels)) == len(labels)
        if are_distinct and None in codes and self.rules.unknown_label != "reject" and None not in labels:
            self.unknown_labels += codes.count(None)
            if self.rules.unknown_label == "drop":
                codes = [code for code in codes if code is not None]
            else:
                codes = [len(self.codes) if code is None else code for code in codes]
        elif not are_distinct or None in codes:
            if self.rules.accepted and self._refuses(labels, codes):
                return None
            codes = self._codes_of_faulty_labels(row, name, labels, codes, several=several)
        return codes if several or codes else [MISSING_CODE]  # type: ignore[return-value]

    def _refuses(self, labels: Sequence[str | None], codes: Sequence[int | None]) -> bool:
        """Whether the rules refuse these labels, some of which are unknown or repeated."""
        has_unknown = None in codes and (self.rules.unknown_label == "reject" or None in labels)
        return has_unknown or (self.rules.duplicates == "reject" and len(set(labels)) < len(labels))

    def _codes_of_faulty_labels(
        self,
        row: int,
        name: str | None,
        labels: Sequence[str | None],
        label_codes: Sequence[int | None],
        *,
        several: bool,
    ) -> list[int]:
        """The codes of labels, some of which are unknown or repeated: these follow the rules or are reported."""
        rules, codes, earlier_labels = self.rules, list[int](), set[str]()
        order, report = self.table.layout.order, self.problems.report
        for item, (label, code) in enumerate(zip(labels, label_codes, strict=True)):
            if label is None:
                continue
            at = item if several else None
            is_repeated = label in earlier_labels
            if is_repeated and rules.duplicates != "multiset":
                if rules.duplicates == "reject":
                    build = partial(self._repeated_label_problem, row, at, name, label)
                    report("duplicate_label", order(row, at), build)
                continue
            earlier_labels.add(label)
            if code is not None:
                codes.append(code)
            elif rules.unknown_label == "reject":
                report("unknown_label", order(row, at), partial(self._unknown_label_problem, row, at, name, label))
            else:
                self.unknown_labels += 1
                if rules.unknown_label == "count_as_fp":
                    # A repeated unknown label has the code m + 1 instead of m.
                    codes.append(len(self.codes) + is_repeated)
        return codes

    def _note_tolerated(self, absent: int) -> None:
        """Note what the options of the recipe tolerated, so that nothing is dropped silently."""
        if self.unknown_labels:
            treatment = "dropped" if self.rules.unknown_label == "drop" else "counted as false positives"
            subject = pluralize(
                self.unknown_labels, "label outside the vocabulary was", "labels outside the vocabulary were"
            )
            rule = f"unknown_label={self.rules.unknown_label}"
            self.table.notes.append(f"{subject} {treatment} ({rule})")
        if absent > 0 and self.rules.missing != "reject" and not self.rules.accepted:
            rule = f"missing={self.rules.missing}"
            subject = pluralize(absent, "instance without a prediction counts", "instances without a prediction count")
            self.table.notes.append(f"{subject} as empty predictions ({rule})")

    def _report_missing_ids(self, targets: list[int]) -> None:
        """Report known ids without a row, unless nothing of the file could be read."""
        absent = np.ones(len(self.index), dtype=bool)
        absent[np.asarray(targets, dtype=np.int64)] = False
        rows = np.flatnonzero(absent)
        if self.rules.missing != "reject" or self.table.unreadable_rows == END_OF_FILE_ROW:
            return
        first = rows[:MAX_LISTED_PROBLEMS].tolist()
        ends = [END_OF_FILE_ROW] * len(first)
        build = partial(self._missing_id_problem, [self.index.ids[row] for row in first])
        self.problems.report_all("missing_instances", ends, build, len(rows))

    # ---- the problems, built only for those that are listed --------------------------------------

    def _unknown_id_problem(self, row: int, name: str) -> Problem:
        suggestion = self.id_suggestions.find(name)
        expected = None if suggestion is None else quote(suggestion)
        remedy = "Use the ids of the template or of the list of ids."
        if suggestion is not None:
            remedy = f"Did you mean {expected}?"
        elif _SHORTENED_NUMBER.fullmatch(name):
            remedy = "A spreadsheet program has shortened this number: format the column of ids as text."
        message = f"{quote(name)} is not among the expected ids. {remedy}"
        location = self.table.layout.locate(row, "id")
        return build_problem("unknown_id", message, location, instance_id=name, expected=expected, got=quote(name))

    def _missing_id_problem(self, names: Sequence[str], position: int) -> Problem:
        name = names[position]
        message = f"There is no prediction for {quote(name)}. Add one; every expected id needs exactly one."
        if self.table.unreadable_rows:
            message += " (It may be on a row whose id could not be read.)"
        return build_problem("missing_instances", message, instance_id=name)

    def _repeated_id_problem(self, code: str, row: int, first: int, name: str) -> Problem:
        earlier = self.table.layout.locate(first, "id")
        where = f"on line {earlier.line}" if earlier.line else f"at {earlier.pointer}"
        message = f"{quote(name)} already occurs {where}. Give each id once (ids are compared in Unicode NFC)."
        if self.table.counts is not None and isinstance(self.table.layout, DelimitedTableLayout):
            message += " If the table has one row per instance and label, send it with layout=long."
        return build_problem(code, message, self.table.layout.locate(row, "id"), instance_id=name, got=quote(name))

    def _repeated_label_problem(self, row: int, item: int | None, name: str | None, label: str) -> Problem:
        message = f"{quote(label)} is given twice for this instance. Give each label once."
        location = self.table.layout.locate(row, "label", item)
        return build_problem("duplicate_label", message, location, instance_id=name, got=quote(label))

    def _unknown_label_problem(self, row: int, item: int | None, name: str | None, label: str) -> Problem:
        parts = [part.strip() for part in _LABEL_SEPARATOR.split(label)]
        is_joined = len(parts) > 1 and all(part in self.codes for part in parts)
        suggestion = None if is_joined else self.label_suggestions.find(label)
        remedy = (
            f"Did you mean {quote(suggestion)}?"
            if suggestion is not None
            else "Use one of the labels of the vocabulary."
        )
        if (number_remedy := self.number_advice.remedy(label)) is not None:
            remedy, suggestion = number_remedy, None
        if is_joined:
            separate = "Give each label separately: in a list, or in a table joined by |."
            remedy = separate if self.table.counts is not None else "Give exactly one label."
        message = f"{quote(label)} is not in the vocabulary (labels are compared exactly). {remedy}"
        location = self.table.layout.locate(row, "label", item)
        expected = _describe_vocabulary(list(self.codes)) if suggestion is None else quote(suggestion)
        return build_problem("unknown_label", message, location, instance_id=name, expected=expected, got=quote(label))


def _describe_vocabulary(classes: Sequence[str]) -> str:
    labels = ", ".join(quote(label) for label in classes[:10])
    return labels if len(classes) <= 10 else f"{labels}, … ({len(classes)} labels)"
