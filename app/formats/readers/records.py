"""Converts records to columns, for JSON records, JSON Lines and the documents body."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import Any

from app.formats.column_data import (
    MissingValue,
    RawColumns,
    RawScores,
    ReaderContext,
    check_label_lists,
    check_row_count,
)
from app.formats.normalize import normalize_clean_texts
from app.formats.problems import (
    Location,
    Problem,
    build_problem,
    describe_value,
    pointer_token,
    replace_surrogates,
    shorten,
)
from app.formats.readers.gold_fields import gold_field_refusal
from app.formats.readers.strict_json import (
    NESTED_OR_BAD_TYPES,
    KeyPath,
    TooDeep,
    inspect_nesting,
    iter_faults,
    json_pointer,
)
from app.formats.value_locations import FieldNames, JsonLinesLayout, RecordListLayout

RecordsLayout = RecordListLayout | JsonLinesLayout
RecordFields = Mapping[str, Any]
ProblemBuilder = Callable[[int, RecordFields], Problem]
"""Builds the problem of a record from its row and fields."""
FAULT_MESSAGES = {
    "duplicate_key": "The key occurs twice in this object. Keep one.",
    "not_a_number": "The value is not a finite number. Write a finite number, or remove the field.",
    "too_large": "The integer has more digits than a number may have (309). Shorten it, or remove the field.",
}
_NUMBER_AS_TEXT_MESSAGE = (
    "An id or label must be a string, but this is not even a finite number. Many programs write NaN for a missing value. "
    "Write the id or label in double quotes."
)


def fault_message(code: str, *, text: bool) -> str:
    """The message for a repeated key or an invalid number; `text`: the value should be a text."""
    return _NUMBER_AS_TEXT_MESSAGE if text and code == "not_a_number" else FAULT_MESSAGES[code]


def valid_id(name: object, context: ReaderContext) -> str | None:
    """An id if it is valid, to name the instance of a problem."""
    texts = normalize_clean_texts([name], context.limits)
    return texts[0] if texts else None


def columns_from_records(
    records: Sequence[Any], rows: Sequence[int], layout: RecordsLayout, context: ReaderContext, outer: int
) -> RawColumns:
    """Convert decoded records (see strict_json) to columns.

    `outer` is the number of levels around each record. Raises TooDeep and TooManyRows before reporting any problem.
    """
    check_row_count(len(records), context)
    columns = transpose_records(records)
    names: Collection[str] = columns or {name for record in records if type(record) is tuple for name, _ in record}
    shape = _RecordFields.of(names, layout, context)
    if shape.has_labels:
        label_field = shape.layout.names.label
        labels = (value for record in records if type(record) is tuple for name, value in record if name == label_field)
        check_label_lists(labels if columns is None else columns.get(label_field, ()), shape.context)
    uniform = _columns_from_uniform_records(columns, rows, shape, outer) if columns is not None else None
    if uniform is not None:
        return uniform
    if inspect_nesting(records)[0] + outer > context.limits.nesting:
        raise TooDeep
    return _RecordParser(shape).run(records, rows)


@dataclass(frozen=True, slots=True)
class _RecordFields:
    """The fields of the records of one file, from the names of all their fields."""

    context: ReaderContext
    layout: RecordsLayout
    has_labels: bool
    score: str | None
    """The field of scores, if it is read."""

    @classmethod
    def of(cls, names: Collection[str], layout: RecordsLayout, context: ReaderContext) -> "_RecordFields":
        if context.acceptable(names):
            context = replace(context, sets=True)
        has_labels = not {"label", "labels"}.isdisjoint(names)
        score = context.score_field(names, has_labels=has_labels)
        split = context.split_field(names) if context.gold else "split"
        field_names = FieldNames(layout.names.id, context.answer_field, split, score=score or "scores")
        return cls(context, replace(layout, names=field_names), has_labels or score is None, score)

    @property
    def used(self) -> list[str]:
        """The names of the fields that are read."""
        names = self.layout.names
        gold = [names.split, names.weight] if self.context.gold else []
        return [names.id, *([names.label] if self.has_labels else []), *([self.score] if self.score else []), *gold]


def transpose_records(records: Sequence[Any]) -> dict[str, tuple[Any, ...]] | None:
    """The columns of records with the same keys in the same order; None for any other records."""
    if set(map(type, records)) != {tuple}:
        return None
    columns: dict[str, tuple[Any, ...]] = {}
    try:
        for column in zip(*records, strict=True):
            keys, values = zip(*column, strict=True)
            if keys[0] in columns or len(set(keys)) != 1:
                return None
            columns[keys[0]] = values
    except ValueError:
        return None
    return columns


def _columns_from_uniform_records(
    columns: Mapping[str, Sequence[Any]], rows: Sequence[int], shape: _RecordFields, outer: int
) -> RawColumns | None:
    """The fast path, for records that have the same fields and no problem."""
    context, names = shape.context, shape.layout.names
    if names.id not in columns or (shape.has_labels and names.label not in columns):
        return None
    ignored = [name for name in columns if name not in shape.used]
    if any(gold_field_refusal(name, context) for name in ignored):
        return None
    for values in columns.values():
        if not NESTED_OR_BAD_TYPES.isdisjoint(map(type, values)):
            depth, faulty = inspect_nesting(values)
            if faulty or outer + 1 + depth > context.limits.nesting:
                return None
    return RawColumns(
        columns[names.id],
        columns[names.label] if shape.has_labels else None,
        rows,
        shape.layout,
        context,
        splits=columns.get(names.split) if context.gold else None,
        weights=columns.get(names.weight) if context.gold else None,
        scores=RawScores(columns[shape.score]) if shape.score else None,
        ignored=ignored,
    )


@dataclass(slots=True)
class _RecordParser:
    """The slow path: record by record, reporting every problem with its location."""

    shape: _RecordFields
    ids: list[object] = field(default_factory=list)
    labels: list[object] = field(default_factory=list)
    splits: list[object] = field(default_factory=list)
    weights: list[object] = field(default_factory=list)
    scores: list[object] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    ignored: dict[str, None] = field(default_factory=dict)
    unreadable_rows: int = 0

    @property
    def context(self) -> ReaderContext:
        return self.shape.context

    @property
    def layout(self) -> RecordsLayout:
        return self.shape.layout

    def run(self, records: Sequence[Any], rows: Sequence[int]) -> RawColumns:
        """Read all records."""
        for row, record in zip(rows, records, strict=True):
            if type(record) is tuple:
                self._take(row, record)
            else:
                self._report("wrong_shape", row, partial(self._not_an_object_problem, row, record))
                self.unreadable_rows += 1
        return RawColumns(
            self.ids,
            self.labels if self.shape.has_labels else None,
            self.rows,
            self.layout,
            self.context,
            splits=_none_if_absent(self.splits),
            weights=_none_if_absent(self.weights),
            scores=RawScores(self.scores) if self.shape.score else None,
            ignored=tuple(self.ignored),
            unreadable_rows=self.unreadable_rows,
        )

    def _take(self, row: int, record: tuple[Any, ...]) -> None:
        fields = self._without_faults(row, record)
        shape, names = self.shape, self.layout.names
        self.rows.append(row)
        value = partial(self._required_value, row, fields)
        self.ids.append(value(names.id, "missing_id", self._missing_id_problem))
        if shape.has_labels:
            self.labels.append(value(names.label, "wrong_shape", self._missing_label_problem))
        if shape.score:
            self.scores.append(value(shape.score, "wrong_shape", self._missing_scores_problem))
        if self.context.gold:
            self.splits.append(fields.get(names.split, MissingValue.ABSENT))
            self.weights.append(fields.get(names.weight, MissingValue.ABSENT))
        known = set(shape.used)
        if shape.has_labels and names.label not in fields:
            known.add(self.context.other_answer_field)  # which is part of the problem of the missing label
        for name in fields:
            if name not in known:
                self._handle_unused_field(row, name, fields)

    def _without_faults(self, row: int, record: tuple[Any, ...]) -> dict[str, Any]:
        """The record as a dictionary; repeated keys and invalid numbers are reported and replaced by a marker."""
        fields: dict[str, Any] = dict(record)
        is_flat = NESTED_OR_BAD_TYPES.isdisjoint(map(type, fields.values()))
        if len(fields) == len(record) and (is_flat or not inspect_nesting([record])[1]):
            return fields
        faulty = set()
        for code, path, value in iter_faults(record, ()):
            self._report(code, row, partial(self._fault, code, row, path, value, fields))
            faulty.add(path[0])
        return {key: MissingValue.FAULT if key in faulty else value for key, value in fields.items()}

    def _required_value(self, row: int, fields: RecordFields, name: str, code: str, build: ProblemBuilder) -> object:
        """The value of a field; a marker, and a problem, where the record does not have it."""
        if name in fields:
            return fields[name]
        self._report(code, row, partial(build, row, fields))
        return MissingValue.FAULT

    def _handle_unused_field(self, row: int, name: str, fields: RecordFields) -> None:
        if gold_field_refusal(name, self.context):
            self._report("wrong_shape", row, partial(self._misnamed_field_problem, row, name, fields))
        else:
            self.ignored.setdefault(name)

    def _report(self, code: str, row: int, build: Callable[[], Problem]) -> None:
        self.context.problems.report(code, row, build)

    # ---- the problems, built only for those that are listed --------------------------------------

    def _not_an_object_problem(self, row: int, record: object) -> Problem:
        value = '["a", "b"]' if self.context.sets else '"a"'
        example = f'{{"{self.layout.name("id")}": "t1", "{self.context.answer_field}": {value}}}'
        message = f"A record must be an object. Write it as {example}."
        location, got = self.layout.locate(row), describe_value(record)
        return build_problem("wrong_shape", message, location, expected="an object", got=got)

    def _fault(self, code: str, row: int, path: KeyPath, value: object, fields: RecordFields) -> Problem:
        location, names = self._location_within(row, json_pointer(path)), self.layout.names
        message = fault_message(code, text=path[0] in {names.id, names.label})
        return build_problem(code, message, location, instance_id=self._record_id(fields), got=describe_value(value))

    def _missing_id_problem(self, row: int, fields: RecordFields) -> Problem:
        name = self.layout.name("id")
        message = f"The record has no '{name}'. Give each record the id of its instance."
        location, expected = self.layout.locate(row), f"the field '{name}'"
        return build_problem("missing_id", message, location, expected=expected, got=_describe_fields(fields))

    def _missing_label_problem(self, row: int, fields: RecordFields) -> Problem:
        context, location, name = self.context, self.layout.locate(row), self.context.answer_field
        if context.other_answer_field in fields:
            message = f"This task needs {context.kind} for each instance, not '{context.other_answer_field}'. {context.label_remedy}"
            location = self._location_within(row, f"/{context.other_answer_field}")
        elif context.score_field(fields, has_labels=False):
            message = f"This record has no '{name}', but other records do. Give it to all records or to none."
        else:
            message = f"The record has no '{name}'. {context.label_remedy}"
        return self._missing_field_problem(location, message, name, fields)

    def _missing_scores_problem(self, row: int, fields: RecordFields) -> Problem:
        name = self.layout.name("score")
        message = f"This record has no '{name}', but other records do. Give every record a score for each class."
        return self._missing_field_problem(self.layout.locate(row), message, name, fields)

    def _missing_field_problem(self, location: Location, message: str, name: str, fields: RecordFields) -> Problem:
        expected, got, owner = f"the field '{name}'", _describe_fields(fields), self._record_id(fields)
        return build_problem("wrong_shape", message, location, instance_id=owner, expected=expected, got=got)

    def _misnamed_field_problem(self, row: int, name: str, fields: RecordFields) -> Problem:
        refusal = gold_field_refusal(name, self.context) or ""
        location, got = self._location_within(row, pointer_token(name)), describe_value(fields[name])
        return build_problem("wrong_shape", refusal, location, instance_id=self._record_id(fields), got=got)

    def _record_id(self, fields: RecordFields) -> str | None:
        """The id of a record, if it is valid."""
        return valid_id(fields.get(self.layout.name("id")), self.context)

    def _location_within(self, row: int, inner: str) -> Location:
        location = self.layout.locate(row)
        return Location((location.pointer or "") + inner, location.line, location.column)


def _none_if_absent(values: list[object]) -> list[object] | None:
    """A column that at least one record has; else None."""
    return values if any(value is not MissingValue.ABSENT for value in values) else None


def _describe_fields(fields: RecordFields) -> str:
    names = [f"'{replace_surrogates(shorten(name))}'" for name in islice(fields, 10)]
    return "an object with " + ", ".join(names) if names else "an empty object"
