"""Groups tables with one row per pair of instance and label: rows with the same id become one instance."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from app.formats.column_data import MissingValue, RawColumns, ReaderContext, check_pair_counts
from app.formats.content.utf8_decoding import to_nfc
from app.formats.problems import Problem, build_problem, describe_value, quote
from app.formats.value_locations import Field, LongTableLayout


@dataclass(slots=True)
class _InstanceRows:
    """The rows of one id: the positions of rows with a label, and of rows that state that there is none."""

    labelled_rows: list[int] = field(default_factory=list)
    unlabelled_rows: list[int] = field(default_factory=list)

    @property
    def first(self) -> int:
        """The position of the first row."""
        return min((*self.labelled_rows[:1], *self.unlabelled_rows[:1]))


class _InstancesById(dict[object, _InstanceRows]):
    """The instances by the ids as they stand in the file; each distinct id is normalized only once."""

    def __init__(self, max_length: int) -> None:
        super().__init__()
        self._max_length = max_length
        self._by_text: dict[str, _InstanceRows] = {}

    def __missing__(self, value: object) -> _InstanceRows:
        instance = _InstanceRows()
        if type(value) in {str, int}:
            instance = self._by_text.setdefault(to_nfc(str(value), self._max_length), instance)
        self[value] = instance
        return instance


class PairCounter:
    """Counts the ids of a table and the rows of each id while the table is read, so that reading can stop early."""

    def __init__(self, context: ReaderContext) -> None:
        self._context = context
        self._rows: Counter[str] = Counter()

    def add(self, ids: Sequence[str]) -> None:
        """Count the ids of further rows; raises TooManyRows."""
        rows = self._rows
        rows.update(ids)
        check_pair_counts(len(rows) + rows[""], max(map(rows.__getitem__, {*ids} - {""}), default=0), self._context)


def group_by_id(columns: RawColumns) -> RawColumns:
    """One row per instance, in the order in which the ids first occur; the labels of an id keep their order.

    An empty label alone means that an instance has none. It is a problem if rows of one id disagree on its split or
    weight, or have a label beside the empty one. Raises TooManyRows.
    """
    assert columns.labels is not None
    instances = _InstancesById(columns.context.limits.text_length)
    for position, (name, label) in enumerate(zip(_grouping_keys(columns), columns.labels, strict=True)):
        instance = instances[name]
        (instance.unlabelled_rows if label == "" else instance.labelled_rows).append(position)
    distinct = list({id(instance): instance for instance in instances.values()}.values())
    max_rows = max((len(instance.labelled_rows) + len(instance.unlabelled_rows) for instance in distinct), default=0)
    check_pair_counts(len(distinct), max_rows, columns.context)
    for instance in distinct:
        _check_consistent(instance, columns)
    first = [instance.first for instance in distinct]
    label_rows = {
        columns.rows[instance.first]: [columns.rows[at] for at in instance.labelled_rows] for instance in distinct
    }
    return replace(
        columns,
        ids=[columns.ids[at] for at in first],
        labels=[[_label_at(columns, at) for at in instance.labelled_rows] for instance in distinct],
        rows=[columns.rows[at] for at in first],
        layout=LongTableLayout(columns.layout, label_rows),
        splits=None if columns.splits is None else [columns.splits[at] for at in first],
        weights=None if columns.weights is None else [columns.weights[at] for at in first],
    )


class _MissingId:
    """Stands for an invalid id, which is an instance of its own."""


def _grouping_keys(columns: RawColumns) -> Sequence[object]:
    """The key that rows of an instance share; raises TooManyRows."""
    values = columns.ids
    if set(map(type, values)) <= {str, int} and "" not in values:
        return values
    check_pair_counts(sum(type(value) not in {str, int} or value == "" for value in values), 0, columns.context)
    return [value if type(value) in {str, int} and value != "" else _MissingId() for value in values]


def _label_at(columns: RawColumns, at: int) -> object:
    """The label of a row; a list is a problem."""
    assert columns.labels is not None
    value = columns.labels[at]
    if type(value) is not list:
        return value
    message = "With layout=long, each row has one label. Remove layout=long, or write one row for each label."
    _report(columns, at, "wrong_shape", "label", message, expected="one label", got=describe_value(value))
    return MissingValue.FAULT


def _check_consistent(instance: _InstanceRows, columns: RawColumns) -> None:
    """Report rows that contradict the first row of their instance."""
    if instance.labelled_rows:
        for at in instance.unlabelled_rows:
            message = "The label is empty, but other rows give this id labels. Remove this row."
            _report(columns, at, "empty_label", "label", message, got='""')
    else:
        for at in instance.unlabelled_rows[1:]:
            _report(columns, at, "duplicate_id", "id", "Another row gives this id an empty label. Keep one of them.")
    _check_same(instance, columns, "split", columns.splits)
    _check_same(instance, columns, "weight", columns.weights)


def _check_same(instance: _InstanceRows, columns: RawColumns, name: Field, values: Sequence[object] | None) -> None:
    if values is None:
        return
    first = values[instance.first]
    for at in sorted((*instance.labelled_rows, *instance.unlabelled_rows)):
        if values[at] != first:
            message = f"Another row gives this id a different {name}. Give the same {name} on all rows of an id."
            expected, got = describe_value(first), describe_value(values[at])
            _report(columns, at, "wrong_shape", name, message, expected=expected, got=got)


def _report(columns: RawColumns, at: int, code: str, field: Field, message: str, **details: str) -> None:
    row, owner = columns.rows[at], columns.ids[at]

    def build() -> Problem:
        location = columns.layout.locate(row, field)
        instance_id = to_nfc(str(owner), columns.context.limits.text_length) if type(owner) in {str, int} else None
        return build_problem(
            code, message, location, instance_id=instance_id, **{"got": quote(instance_id or ""), **details}
        )

    columns.context.problems.report(code, row, build)
