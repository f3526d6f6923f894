"""Records to columns: the shape that JSON records, JSON Lines and the documents body share."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from app.formats.columns import Cell, Columns, Reading, check_count
from app.formats.layout import Layout
from app.formats.problem import Place, problem, shorten, show, sound, token
from app.formats.strict_json import ODD, TooDeep, faults, survey
from app.formats.tidy import plain

_NEVER_IGNORED = frozenset({"split", "splits", "usage", "weight", "weights"})
FAULT_MESSAGES = {
    "duplicate_key": "The key is given twice in this object. Keep one.",
    "not_a_number": "This is not a finite number. Write a finite one, or leave the field out.",
    "too_large": "This integer has more digits than allowed. Write it as a shorter one, or leave the field out.",
}


def refused_in_gold(name: str, reading: Reading) -> str | None:
    """Why this field of a gold file may not simply be ignored, if so: it would change who sees what, or the score."""
    if not reading.gold or name == "split" or name.casefold() not in _NEVER_IGNORED:
        return None
    if name.casefold().startswith("weight"):
        return "Instance weights are not supported. Leave the field out."
    return f"Did you mean 'split'? Call it so, with the values \"public\" and \"private\", instead of '{name}'."


def from_records(records: Sequence[Any], rows: Sequence[int], layout: Layout, reading: Reading, outer: int) -> Columns:
    """Turn decoded records (see strict_json) into columns.

    `outer` counts the levels around each record. Raises TooDeep and TooManyRecords, having reported nothing yet.
    """
    check_count(len(records), reading.limits)
    columns = _uniform(records, rows, layout, reading, outer)
    if columns is not None:
        return columns
    if survey(records)[0] + outer > reading.limits.nesting:
        raise TooDeep
    return _RecordLoop(layout, reading).run(records, rows)


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


def _uniform(
    records: Sequence[Any], rows: Sequence[int], layout: Layout, reading: Reading, outer: int
) -> Columns | None:
    """The quick way, for records that are all alike and hold nothing odd."""
    columns = transpose(records)
    id_name, label_name = layout.name("id"), layout.name("label")
    if columns is None or id_name not in columns or label_name not in columns:
        return None
    used = {id_name, label_name, *(("split",) if reading.gold else ())}
    ignored = [name for name in columns if name not in used]
    if any(refused_in_gold(name, reading) for name in ignored):
        return None
    for values in columns.values():
        if not ODD.isdisjoint(map(type, values)):
            depth, faulty = survey(values)
            if faulty or outer + 1 + depth > reading.limits.nesting:
                return None
    splits = columns.get("split") if reading.gold else None
    return Columns(columns[id_name], columns[label_name], splits, rows, layout, ignored)


@dataclass(slots=True)
class _RecordLoop:
    """The slow way: record by record, reporting every fault where it stands."""

    layout: Layout
    reading: Reading
    ids: list[object] = field(default_factory=list)
    labels: list[object] = field(default_factory=list)
    splits: list[object] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    ignored: dict[str, None] = field(default_factory=dict)
    unreadable: int = 0

    def run(self, records: Sequence[Any], rows: Sequence[int]) -> Columns:
        """Take all records."""
        for row, record in zip(rows, records, strict=True):
            if type(record) is tuple:
                self._take(row, record)
            else:
                message = f"A record must be an object. Write it like {self._example()}."
                self._report(
                    row, "wrong_shape", self.layout.place(row), message, expected="an object", got=show(record)
                )
                self.unreadable += 1
        splits = self.splits if any(value is not Cell.ABSENT for value in self.splits) else None
        return Columns(self.ids, self.labels, splits, self.rows, self.layout, tuple(self.ignored), self.unreadable)

    def _take(self, row: int, record: tuple[Any, ...]) -> None:
        fields = self._checked(row, record)
        id_name, label_name = self.layout.name("id"), self.layout.name("label")
        self.rows.append(row)
        self.ids.append(fields[id_name] if id_name in fields else self._no_id(row, fields))
        self.labels.append(fields[label_name] if label_name in fields else self._no_label(row, fields))
        self.splits.append(fields.get("split", Cell.ABSENT) if self.reading.gold else Cell.ABSENT)
        known = {id_name, label_name if label_name in fields else self.reading.other}
        for name in fields:
            if name not in known and not (self.reading.gold and name == "split"):
                self._unused(row, name, fields)

    def _checked(self, row: int, record: tuple[Any, ...]) -> dict[str, Any]:
        """The record as a dictionary; values of repeated keys and bad numbers are reported and become faults."""
        fields: dict[str, Any] = dict(record)
        if len(fields) == len(record) and ODD.isdisjoint(map(type, fields.values())):
            return fields
        faulty: set[str] = set()
        owner = self._owner(fields)
        for code, pointer, value in faults(record, ""):
            place = self._inside(row, pointer)
            self._report(row, code, place, FAULT_MESSAGES[code], expected=None, got=show(value), owner=owner)
            faulty.add("/" + pointer.split("/", 2)[1])
        return (
            {key: Cell.FAULT if token(key) in faulty else value for key, value in fields.items()} if faulty else fields
        )

    def _no_id(self, row: int, fields: Mapping[str, Any]) -> Cell:
        name = self.layout.name("id")
        message = f"The record has no '{name}'. Give each record the id of its instance."
        self._report(
            row, "missing_id", self.layout.place(row), message, expected=f"the field '{name}'", got=_names(fields)
        )
        return Cell.FAULT

    def _no_label(self, row: int, fields: Mapping[str, Any]) -> Cell:
        reading = self.reading
        if reading.other in fields:
            message = f"This task takes {reading.kind} per instance, not '{reading.other}'. {reading.mend_label}"
            place = self._inside(row, f"/{reading.other}")
        else:
            message = f"The record has no '{reading.due}'. {reading.mend_label}"
            place = self.layout.place(row)
        expected, owner = f"the field '{reading.due}'", self._owner(fields)
        self._report(row, "wrong_shape", place, message, expected=expected, got=_names(fields), owner=owner)
        return Cell.FAULT

    def _owner(self, fields: Mapping[str, Any]) -> str | None:
        """The id of a record, as far as it is sound, to say whose fault it is."""
        found = plain([fields.get(self.layout.name("id"))], self.reading.limits)
        return found[0] if found else None

    def _unused(self, row: int, name: str, fields: Mapping[str, Any]) -> None:
        if refusal := refused_in_gold(name, self.reading):
            place, got = self._inside(row, token(name)), show(fields[name])
            self._report(row, "wrong_shape", place, refusal, expected=None, got=got, owner=self._owner(fields))
        else:
            self.ignored.setdefault(name)

    def _inside(self, row: int, pointer: str) -> Place:
        place = self.layout.place(row)
        return Place((place.pointer or "") + pointer, place.line, place.column)

    def _example(self) -> str:
        value = '["a", "b"]' if self.reading.multilabel else '"a"'
        return f'{{"{self.layout.name("id")}": "t1", "{self.reading.due}": {value}}}'

    def _report(
        self,
        row: int,
        code: str,
        place: Place,
        message: str,
        *,
        expected: str | None,
        got: str,
        owner: str | None = None,
    ) -> None:
        build = partial(problem, code, message, place, instance_id=owner, expected=expected, got=got)
        self.reading.problems.report(code, row, build)


def _names(fields: Mapping[str, Any]) -> str:
    names = [f"'{sound(shorten(name))}'" for name in list(fields)[:10]]
    return "an object with " + ", ".join(names) if names else "an empty object"
