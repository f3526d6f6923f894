"""The values of a file as columns, first as written in the file, then normalized."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from app.formats.problems import (
    END_OF_FILE_ROW,
    REDUCE_SIZE_REMEDY,
    Location,
    Problems,
    build_problem,
    pointer_token,
    shorten,
)
from app.formats.reading_rules import Limits
from app.formats.value_locations import Layout
from app.scoring.declaration.metric_syntax import pluralize
from app.scoring.declaration.task import TaskKind


class MissingValue(Enum):
    """A marker for a cell without a value."""

    ABSENT = "absent"
    """The record does not have this field."""
    FAULT = "fault"
    """The value is invalid, and the problem has been reported already."""


@dataclass(frozen=True, slots=True)
class ReaderContext:
    """What a reader needs to know: the task, the limits, and where to report problems.

    `sets`: each instance has a set of labels. `classes` is the vocabulary (NFC) if it is known. `is_long_table`: the
    upload declares one row per pair. `wants_scores`: a metric uses scores, even beside labels.
    """

    task: TaskKind
    gold: bool
    limits: Limits
    problems: Problems
    sets: bool = False
    classes: Sequence[str] | None = None
    is_long_table: bool = False
    wants_scores: bool = False
    known_classes: Collection[str] = ()
    """Some classes, where the vocabulary is not known."""
    notes: list[str] = field(default_factory=list)
    """What a reader tolerated, for the user to know."""

    @property
    def answer_field(self) -> str:
        """The field that must hold the answer."""
        return "labels" if self.sets else "label"

    @property
    def other_answer_field(self) -> str:
        """The field that holds the answer in the other kind of task."""
        return "label" if self.sets else "labels"

    @property
    def kind(self) -> str:
        """A description of an answer in this task."""
        return "a list of labels" if self.sets else "one label"

    @property
    def label_remedy(self) -> str:
        """Advice on how to write an answer in this task."""
        if self.sets:
            return 'Give a list of labels, such as "labels": ["a", "b"] or [].'
        return 'Give one label as a string, such as "label": "a".'

    def acceptable(self, names: Collection[str]) -> bool:
        """Whether fields with these names give sets of acceptable answers, which gold with one label each may do."""
        return self.gold and self.task == "multiclass" and "labels" in names and "label" not in names

    def score_field(self, names: Collection[str], *, has_labels: bool) -> str | None:
        """The field of scores among these names; None if there is none, or if it is not used beside labels."""
        if self.gold or (has_labels and not self.wants_scores):
            return None
        if "scores" in names:
            return "scores"
        return "score" if self.task == "binary" and "score" in names else None

    def split_field(self, names: Collection[str]) -> str:
        """The file's name for the split, which Kaggle's solution files call Usage."""
        return "Usage" if "Usage" in names and "split" not in names else "split"


class TooManyRows(Exception):
    """The file has more rows or values than its phase can use, so reading stops."""

    def __init__(self, message: str, expected: str, got: str) -> None:
        super().__init__(message)
        self.problem = build_problem("too_many_rows", message, expected=expected, got=got)


def _excess_message(subject: str, got: str, limits: Limits, stopped_after: str, remedy: str) -> str:
    reason = "" if limits.instances is None else f", but {_phase_text(limits.instances)}"
    return f"{subject} {got}{reason}. Reading stopped after {stopped_after}. {remedy}"


def _phase_text(instances: int) -> str:
    return f"the phase has {pluralize(instances, 'instance', 'instances')}"


def check_row_count(count: int, context: ReaderContext) -> None:
    """Raise TooManyRows for so many rows, before any of them is processed."""
    limits = context.limits
    by_pair = context.is_long_table and context.sets
    max_rows = limits.records if limits.pairs is None or not by_pair else limits.pairs
    if count <= max_rows:
        return
    got, expected = f"at least {count} rows", f"at most {max_rows} rows"
    if limits.instances is None:
        raise TooManyRows(
            f"The file has {got}; at most {max_rows} are allowed. Split the task into smaller ones.", expected, got
        )
    remedy = "Give one row for each pair of instance and label." if by_pair else "Give each instance one row."
    message = (
        f"The file has {got}, but {_phase_text(limits.instances)}. Reading stopped after {max_rows} rows. {remedy}"
    )
    raise TooManyRows(message, expected, got)


def check_pair_counts(ids: int, rows: int, context: ReaderContext) -> None:
    """Raise TooManyRows for a table of pairs with too many ids, or with too many rows of one id."""
    limits = context.limits
    if limits.instances is None or limits.labels is None:
        return
    if ids > limits.records:
        got = f"at least {ids} ids or rows without an id"
        phase = _phase_text(limits.instances)
        message = f"The file has {got}, but {phase}. Use only the ids of the template."
        raise TooManyRows(message, f"at most {limits.records} ids", got)
    if rows > limits.labels:
        message = (
            f"An id has at least {rows} rows; at most {limits.labels} are allowed. Give each pair of id and label once."
        )
        raise TooManyRows(message, f"at most {limits.labels} rows of an id", f"at least {rows} rows")


def check_value_count(count: int, limits: Limits) -> None:
    """Raise TooManyRows for so many values, before any of them is processed."""
    max_values, got = limits.values, f"at least {count} values"
    if count <= max_values:
        return
    message = _excess_message("The file has", got, limits, f"{max_values} values", REDUCE_SIZE_REMEDY)
    raise TooManyRows(message, f"at most {max_values} values", got)


def check_set_label_count(count: int, limits: Limits) -> None:
    """Raise TooManyRows for so many labels in the sets of all instances, before any of them is processed."""
    max_labels = limits.values if limits.sets is None else limits.sets
    if count <= max_labels:
        return
    got = f"at least {count} labels"
    remedy = "Give each label once per set."
    message = _excess_message("The label sets of the file have", got, limits, f"{max_labels} labels", remedy)
    raise TooManyRows(message, f"at most {max_labels} labels", got)


def check_label_lists(answers: Iterable[object], context: ReaderContext) -> None:
    """Raise TooManyRows if the lists among these answers have more labels than the phase can use in its sets."""
    if context.sets:
        check_set_label_count(sum(len(answer) for answer in answers if type(answer) is list), context.limits)


def check_common_length(lengths: Mapping[str, int], count: int, problems: Problems) -> int:
    """The number of rows that all columns have; a problem for each column whose length differs from that of the ids."""
    for name, length in lengths.items():
        if length != count:
            message = f"'ids' has {count} values, but '{name}' has {length}. Give one value for each id."
            expected, got = f"{count} values", f"{length} values"
            problems.add_new("wrong_shape", message, Location(pointer_token(name)), expected=expected, got=got)
    return min((count, *lengths.values()))


def split_joined_labels(cells: Sequence[object], limits: Limits) -> list[object]:
    """The labels of sets that are given as one text each, joined by |; other values are returned unchanged.

    Raises TooManyRows, before any text is split, if they have more labels than the phase can use.
    """
    check_set_label_count(sum(cell.count("|") + 1 for cell in cells if isinstance(cell, str) and cell), limits)
    return [(cell.split("|") if cell else []) if isinstance(cell, str) else cell for cell in cells]


@dataclass(slots=True)
class RawScores:
    """The scores of a file as written there, row by row.

    `values` are decoded objects (tuples of pairs), lists or numbers (see strict_json), or an array of rows (n × k, NaN
    where a problem has been reported). `names` are the classes if the file names them for all rows; otherwise a list or
    array has the order of the vocabulary, and a single score is that of the positive label.
    """

    values: Sequence[object] | NDArray[np.float64]
    names: Sequence[object] | None = None


@dataclass(slots=True)
class RawColumns:
    """The values of a file by column, row by row; `rows` are row numbers as the layout counts them.

    `labels` is None where the file has scores alone.
    """

    ids: Sequence[object]
    labels: Sequence[object] | None
    rows: Sequence[int]
    layout: Layout
    context: ReaderContext
    """The context, adapted to the file: gold with one label each may give sets."""
    splits: Sequence[object] | None = None
    weights: Sequence[object] | None = None
    scores: RawScores | None = None
    ignored: Sequence[str] = ()
    """The names of unused fields, in the order of their first use."""
    unreadable_rows: int = 0
    """The number of rows that could not be read, whose ids are unknown."""
    has_typed_values: bool = True
    """Whether the file distinguishes numbers from texts, which text tables do not."""
    has_invalid_bytes: bool = False
    """Whether invalid bytes were reported and appear in texts as lone surrogates (see utf8_decoding.decode_utf8)."""


@dataclass(slots=True)
class NormalizedTable:
    """The normalized texts of a file, row by row; None stands for a value with a reported problem.

    `labels` holds one label per row, or with `counts` the concatenated labels of all rows; it is None where the file
    has scores alone. `scores` are still raw, as interpreting their names needs the vocabulary.
    """

    ids: Sequence[str | None]
    labels: Sequence[str | None] | None
    counts: Sequence[int] | None
    rows: Sequence[int]
    layout: Layout
    splits: Sequence[str | None] | None = None
    weights: Sequence[Fraction] | None = None
    scores: RawScores | None = None
    unreadable_rows: int = 0
    """The number of ids that could not be read; END_OF_FILE_ROW if nothing could."""
    notes: list[str] = field(default_factory=list)

    @property
    def whole(self) -> bool:
        """Whether every id and label could be read."""
        return None not in self.ids and (self.labels is None or None not in self.labels)


def ignored_field_notes(names: Sequence[str]) -> list[str]:
    """A note for each unused field; beyond 20, one note for all others.

    pandas and R write the row numbers as a column without a name.
    """
    notes = [
        f"field '{shorten(name)}' is not used by this task's metrics and was ignored"
        if name
        else "the column without a name was ignored"
        for name in names[:20]
    ]
    if len(names) > 20:
        notes.append(f"{len(names) - 20} more fields are not used by this task's metrics and were ignored")
    return notes


def empty_table(layout: Layout, *, sets: bool) -> NormalizedTable:
    """The table of a file that cannot be read at all."""
    return NormalizedTable([], [], [] if sets else None, [], layout, unreadable_rows=END_OF_FILE_ROW)
