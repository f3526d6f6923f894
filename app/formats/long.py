"""Tables with one row per pair of instance and label: rows with the same id become one instance."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from app.formats.columns import Cell, Columns
from app.formats.layout import Field, LongRows
from app.formats.problem import problem, quote, show
from app.formats.text import composed


@dataclass(slots=True)
class _Instance:
    """The rows of one id: positions of those that carry a label, and of those that say there is none."""

    first: int
    labelled: list[int] = field(default_factory=list)
    empty: list[int] = field(default_factory=list)


def grouped(columns: Columns) -> Columns:
    """One row per instance, in the order in which the ids first come; the labels of an id keep their order.

    An empty label alone says that an instance has none. Rows of one id that disagree on its split or weight, or that
    give a label beside the empty one, are problems.
    """
    assert columns.labels is not None
    instances: dict[object, _Instance] = {}
    most = columns.reading.limits.text_length
    for position, value in enumerate(columns.ids):
        found = instances.setdefault(_key(value, position, most), _Instance(position))
        (found.empty if columns.labels[position] == "" else found.labelled).append(position)
    for one in instances.values():
        _check(one, columns)
    chosen = [one.first for one in instances.values()]
    rows = columns.rows
    return replace(
        columns,
        ids=[columns.ids[at] for at in chosen],
        labels=[[_one(columns, at) for at in one.labelled] for one in instances.values()],
        rows=[rows[at] for at in chosen],
        layout=LongRows(
            columns.layout, {rows[one.first]: [rows[at] for at in one.labelled] for one in instances.values()}
        ),
        splits=None if columns.splits is None else [columns.splits[at] for at in chosen],
        weights=None if columns.weights is None else [columns.weights[at] for at in chosen],
    )


def _key(value: object, position: int, most: int) -> object:
    """What rows of one instance share; a value that is no id is an instance of its own."""
    if type(value) not in {str, int} or value == "":
        return position, None
    return composed(str(value), most)


def _one(columns: Columns, at: int) -> object:
    """The label of a row; a list has no place there."""
    assert columns.labels is not None
    value = columns.labels[at]
    if type(value) is not list:
        return value
    message = "With layout=long, each row gives one label. Leave the layout away, or write one row for each label."
    _report(columns, at, "wrong_shape", "label", message, expected="one label", got=show(value))
    return Cell.FAULT


def _check(one: _Instance, columns: Columns) -> None:
    """Report rows that contradict the first one of their instance."""
    if one.labelled:
        for at in one.empty:
            message = "The label is empty, but other rows give this id labels. Leave this row out."
            _report(columns, at, "empty_label", "label", message, got='""')
    else:
        for at in one.empty[1:]:
            _report(columns, at, "duplicate_id", "id", "This id has an empty label already. Keep one of the rows.")
    for name, values in (("split", columns.splits), ("weight", columns.weights)):
        _check_same(one, columns, "split" if name == "split" else "weight", values)


def _check_same(one: _Instance, columns: Columns, name: Field, values: Sequence[object] | None) -> None:
    if values is None:
        return
    for at in sorted((*one.labelled, *one.empty)):
        if values[at] != values[one.first]:
            message = f"Another row gives this id another {name}. Give the same {name} on all rows of an id."
            expected, got = show(values[one.first]), show(values[at])
            _report(columns, at, "wrong_shape", name, message, expected=expected, got=got)


def _report(
    columns: Columns,
    at: int,
    code: str,
    name: Field,
    message: str,
    *,
    expected: str | None = None,
    got: str | None = None,
) -> None:
    row, owner = columns.rows[at], columns.ids[at]
    place = columns.layout.place(row, name)
    known = composed(str(owner), columns.reading.limits.text_length) if type(owner) in {str, int} else None
    found = problem(code, message, place, instance_id=known, expected=expected, got=got or quote(known or ""))
    columns.reading.problems.add(found, row)
