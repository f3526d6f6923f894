"""Records to columns: the shape that JSON records, JSON Lines and the documents body share."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import Any

from app.formats.columns import Cell, Columns, GivenScores, Reading, check_lists, check_rows
from app.formats.layouts import Names, RecordLines, RecordList
from app.formats.normalize import plain
from app.formats.problems import Place, Problem, problem, shorten, show, sound, token
from app.formats.readers.strict_json import ODD, Path, TooDeep, faults, pointer, survey

_SPLITS = frozenset({"split", "splits", "usage"})
_WEIGHTS = frozenset({"weight", "weights", "sample_weight", "sample_weights", "instance_weight", "instance_weights"})
Layout = RecordList | RecordLines
FAULT_MESSAGES = {
    "duplicate_key": "The key is given twice in this object. Keep one.",
    "not_a_number": "This is not a finite number. Write a finite one, or leave the field out.",
    "too_large": "This integer has more digits than any number may have (309). Write a shorter one, or leave the field out.",
}
_NO_TEXT = (
    "An id or a label is a text, and this is a number that JSON does not have: many programs write NaN where a value is "
    "missing. Write the id or label in quotes."
)


def fault_message(code: str, *, text: bool) -> str:
    """What to do about a repeated key or a bad number, where a `text` is due or anywhere else."""
    return _NO_TEXT if text and code == "not_a_number" else FAULT_MESSAGES[code]


def refused_in_gold(name: str, reading: Reading) -> str | None:
    """Why this field of a gold file may not simply be ignored, if so: it would change who sees what, or the score."""
    if not reading.gold or name in {"split", "weight"}:
        return None
    if name in {"label", "labels"}:
        return "Both 'label' and 'labels' are given. Keep the one that is meant: 'labels' for sets."
    if name.casefold() not in _SPLITS | _WEIGHTS:
        return None
    if name.casefold() in _WEIGHTS:
        return f"Did you mean 'weight'? Call it so, with a number for each instance, instead of '{name}'."
    return f"Did you mean 'split'? Call it so, with the values \"public\" and \"private\", instead of '{name}'."


def sound_id(name: object, reading: Reading) -> str | None:
    """An id as far as it is sound, to say whose fault it is."""
    found = plain([name], reading.limits)
    return found[0] if found else None


def from_records(records: Sequence[Any], rows: Sequence[int], layout: Layout, reading: Reading, outer: int) -> Columns:
    """Turn decoded records (see strict_json) into columns.

    `outer` counts the levels around each record. Raises TooDeep and TooManyRows, having reported nothing yet.
    """
    check_rows(len(records), reading)
    columns = transpose(records)
    names = columns.keys() if columns is not None else _all_names(records)
    shape = _Shape.of(names, layout, reading)
    if shape.labelled:
        named = shape.layout.names.label
        labels = (value for record in records if type(record) is tuple for name, value in record if name == named)
        check_lists(labels if columns is None else columns.get(named, ()), shape.reading)
    found = _uniform(columns, rows, shape, outer) if columns is not None else None
    if found is not None:
        return found
    if survey(records)[0] + outer > reading.limits.nesting:
        raise TooDeep
    return _RecordLoop(shape).run(records, rows)


def _all_names(records: Sequence[Any]) -> Collection[str]:
    return {name for record in records if type(record) is tuple for name, _ in record}


@dataclass(frozen=True, slots=True)
class _Shape:
    """What the records of one file give, told from the names of all their fields."""

    reading: Reading
    layout: Layout
    labelled: bool
    score: str | None
    """The field of scores, if it is to be read."""

    @classmethod
    def of(cls, names: Collection[str], layout: Layout, reading: Reading) -> "_Shape":
        if reading.acceptable(names):
            reading = replace(reading, sets=True)
        labelled = not {"label", "labels"}.isdisjoint(names)
        score = reading.score_field(names, labelled=labelled)
        split = reading.split_field(names) if reading.gold else "split"
        called = Names(layout.names.id, reading.due, split, score=score or "scores")
        return cls(reading, replace(layout, names=called), labelled or score is None, score)

    @property
    def used(self) -> list[str]:
        """The names of the fields that are read."""
        names = self.layout.names
        gold = [names.split, names.weight] if self.reading.gold else []
        return [names.id, *([names.label] if self.labelled else []), *([self.score] if self.score else []), *gold]


def transpose(records: Sequence[Any]) -> dict[str, tuple[Any, ...]] | None:
    """Columns of records that all have the same keys in the same order; None where they have not."""
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


def _uniform(columns: Mapping[str, Sequence[Any]], rows: Sequence[int], shape: _Shape, outer: int) -> Columns | None:
    """The quick way, for records that are all alike and hold nothing odd."""
    reading, names = shape.reading, shape.layout.names
    if names.id not in columns or (shape.labelled and names.label not in columns):
        return None
    ignored = [name for name in columns if name not in shape.used]
    if any(refused_in_gold(name, reading) for name in ignored):
        return None
    for values in columns.values():
        if not ODD.isdisjoint(map(type, values)):
            depth, faulty = survey(values)
            if faulty or outer + 1 + depth > reading.limits.nesting:
                return None
    return Columns(
        columns[names.id],
        columns[names.label] if shape.labelled else None,
        rows,
        shape.layout,
        reading,
        splits=columns.get(names.split) if reading.gold else None,
        weights=columns.get(names.weight) if reading.gold else None,
        scores=GivenScores(columns[shape.score]) if shape.score else None,
        ignored=ignored,
    )


@dataclass(slots=True)
class _RecordLoop:
    """The slow way: record by record, reporting every fault where it stands."""

    shape: _Shape
    ids: list[object] = field(default_factory=list)
    labels: list[object] = field(default_factory=list)
    splits: list[object] = field(default_factory=list)
    weights: list[object] = field(default_factory=list)
    scores: list[object] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    ignored: dict[str, None] = field(default_factory=dict)
    unreadable: int = 0

    @property
    def reading(self) -> Reading:
        return self.shape.reading

    @property
    def layout(self) -> Layout:
        return self.shape.layout

    def run(self, records: Sequence[Any], rows: Sequence[int]) -> Columns:
        """Take all records."""
        for row, record in zip(rows, records, strict=True):
            if type(record) is tuple:
                self._take(row, record)
            else:
                self._report("wrong_shape", row, partial(self._no_object, row, record))
                self.unreadable += 1
        return Columns(
            self.ids,
            self.labels if self.shape.labelled else None,
            self.rows,
            self.layout,
            self.reading,
            splits=_unless_absent(self.splits),
            weights=_unless_absent(self.weights),
            scores=GivenScores(self.scores) if self.shape.score else None,
            ignored=tuple(self.ignored),
            unreadable=self.unreadable,
        )

    def _take(self, row: int, record: tuple[Any, ...]) -> None:
        fields = self._checked(row, record)
        shape, names = self.shape, self.layout.names
        self.rows.append(row)
        self.ids.append(fields[names.id] if names.id in fields else self._no_id(row, fields))
        if shape.labelled:
            self.labels.append(fields[names.label] if names.label in fields else self._no_label(row, fields))
        if shape.score:
            self.scores.append(fields[shape.score] if shape.score in fields else self._no_scores(row, fields))
        if self.reading.gold:
            self.splits.append(fields.get(names.split, Cell.ABSENT))
            self.weights.append(fields.get(names.weight, Cell.ABSENT))
        known = {*shape.used, *([] if not shape.labelled or names.label in fields else [self.reading.other])}
        for name in fields:
            if name not in known:
                self._unused(row, name, fields)

    def _checked(self, row: int, record: tuple[Any, ...]) -> dict[str, Any]:
        """The record as a dictionary; values of repeated keys and bad numbers are reported and become faults."""
        fields: dict[str, Any] = dict(record)
        if len(fields) == len(record) and (ODD.isdisjoint(map(type, fields.values())) or not survey([record])[1]):
            return fields
        faulty = set()
        for code, path, value in faults(record, ()):
            self._report(code, row, partial(self._fault, code, row, path, value, fields))
            faulty.add(path[0])
        return {key: Cell.FAULT if key in faulty else value for key, value in fields.items()} if faulty else fields

    def _no_id(self, row: int, fields: Mapping[str, Any]) -> Cell:
        self._report("missing_id", row, partial(self._lacks_id, row, fields))
        return Cell.FAULT

    def _no_label(self, row: int, fields: Mapping[str, Any]) -> Cell:
        self._report("wrong_shape", row, partial(self._lacks_label, row, fields))
        return Cell.FAULT

    def _no_scores(self, row: int, fields: Mapping[str, Any]) -> Cell:
        self._report("wrong_shape", row, partial(self._lacks_scores, row, fields))
        return Cell.FAULT

    def _unused(self, row: int, name: str, fields: Mapping[str, Any]) -> None:
        if refused_in_gold(name, self.reading):
            self._report("wrong_shape", row, partial(self._misnamed, row, name, fields))
        else:
            self.ignored.setdefault(name)

    def _report(self, code: str, row: int, build: Callable[[], Problem]) -> None:
        self.reading.problems.report(code, row, build)

    # ---- the problems, built only for those that are listed --------------------------------------

    def _no_object(self, row: int, record: object) -> Problem:
        value = '["a", "b"]' if self.reading.sets else '"a"'
        example = f'{{"{self.layout.name("id")}": "t1", "{self.reading.due}": {value}}}'
        message = f"A record must be an object. Write it like {example}."
        return problem("wrong_shape", message, self.layout.place(row), expected="an object", got=show(record))

    def _fault(self, code: str, row: int, path: Path, value: object, fields: Mapping[str, Any]) -> Problem:
        place, names = self._inside(row, pointer(path)), self.layout.names
        message = fault_message(code, text=path[0] in {names.id, names.label})
        return problem(code, message, place, instance_id=self._owner(fields), got=show(value))

    def _lacks_id(self, row: int, fields: Mapping[str, Any]) -> Problem:
        name = self.layout.name("id")
        message = f"The record has no '{name}'. Give each record the id of its instance."
        place, expected = self.layout.place(row), f"the field '{name}'"
        return problem("missing_id", message, place, expected=expected, got=_names(fields))

    def _lacks_label(self, row: int, fields: Mapping[str, Any]) -> Problem:
        reading, place = self.reading, self.layout.place(row)
        if reading.other in fields:
            message = f"This task takes {reading.kind} per instance, not '{reading.other}'. {reading.mend_label}"
            place = self._inside(row, f"/{reading.other}")
        elif reading.score_field(fields, labelled=False):
            message = f"Other records have a '{reading.due}', this one has none. Give it to all records or to none."
        else:
            message = f"The record has no '{reading.due}'. {reading.mend_label}"
        return self._lack(place, message, reading.due, fields)

    def _lacks_scores(self, row: int, fields: Mapping[str, Any]) -> Problem:
        name = self.layout.name("score")
        message = f"Other records have '{name}', this one has none. Give a score for each class to all records."
        return self._lack(self.layout.place(row), message, name, fields)

    def _lack(self, place: Place, message: str, due: str, fields: Mapping[str, Any]) -> Problem:
        expected, got = f"the field '{due}'", _names(fields)
        return problem("wrong_shape", message, place, instance_id=self._owner(fields), expected=expected, got=got)

    def _misnamed(self, row: int, name: str, fields: Mapping[str, Any]) -> Problem:
        refusal = refused_in_gold(name, self.reading) or ""
        place, got = self._inside(row, token(name)), show(fields[name])
        return problem("wrong_shape", refusal, place, instance_id=self._owner(fields), got=got)

    def _owner(self, fields: Mapping[str, Any]) -> str | None:
        """The id of a record, as far as it is sound."""
        return sound_id(fields.get(self.layout.name("id")), self.reading)

    def _inside(self, row: int, inner: str) -> Place:
        place = self.layout.place(row)
        return Place((place.pointer or "") + inner, place.line, place.column)


def _unless_absent(values: list[object]) -> list[object] | None:
    """A column that at least one record has."""
    return values if any(value is not Cell.ABSENT for value in values) else None


def _names(fields: Mapping[str, Any]) -> str:
    names = [f"'{sound(shorten(name))}'" for name in islice(fields, 10)]
    return "an object with " + ", ".join(names) if names else "an empty object"
