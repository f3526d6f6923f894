"""Layouts of files: one small class per layout turns a row number into the location of a value."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from app.formats.problems import Location, pointer_token

Field = Literal["id", "label", "split", "weight", "score"]
"""The meaning of a value; the file may use another name for it."""
ItemKey = int | str | None
"""The position of an item in a list of labels or scores, or the key of an item in an object of scores."""


class Layout(Protocol):
    """How a file is laid out: the locations of its rows and the names of its fields."""

    def locate(self, row: int, field: Field | None = None, item: ItemKey = None) -> Location:
        """The location of a row, of one of its fields, or of one item of a field."""

    def name(self, field: Field) -> str:
        """The file's name for a field."""

    def column(self, number: int) -> Location:
        """The location of the class name of a column of scores, where the file names the classes once for all rows."""

    def order(self, row: int, item: int | None) -> int:
        """The position of a label in the order of the file, on the scale of row numbers."""


@dataclass(frozen=True, slots=True)
class FieldNames:
    """The names of the fields in the file."""

    id: str
    label: str
    split: str = "split"
    weight: str = "weight"
    score: str = "scores"


def _item_pointer(item: ItemKey) -> str:
    return "" if item is None else pointer_token(str(item))


def _field_pointer(name: str, item: ItemKey) -> str:
    return pointer_token(name) + _item_pointer(item)


class _RowOrderedLayout:
    """What most layouts share: fields have names, a label has the position of its row, and columns have no location."""

    __slots__ = ()
    names: FieldNames

    def name(self, field: Field) -> str:
        """The file's name for a field."""
        return str(getattr(self.names, field))

    def column(self, number: int) -> Location:  # noqa: ARG002
        """No location of its own."""
        return Location()

    def order(self, row: int, item: int | None) -> int:  # noqa: ARG002
        """The row itself."""
        return row


@dataclass(frozen=True, slots=True)
class RecordListLayout(_RowOrderedLayout):
    """A JSON list of records; rows count from 0."""

    prefix: str
    names: FieldNames

    def locate(self, row: int, field: Field | None = None, item: ItemKey = None) -> Location:
        """A pointer into the list."""
        return Location(f"{self.prefix}/{row}" + (_field_pointer(self.name(field), item) if field else ""))

    def column(self, number: int) -> Location:
        """A pointer into the list of classes beside the records."""
        return Location(f"/classes/{number}")


@dataclass(frozen=True, slots=True)
class JsonLinesLayout(_RowOrderedLayout):
    """JSON Lines: rows are line numbers, from 1; the pointer starts at the line's record."""

    names: FieldNames

    def locate(self, row: int, field: Field | None = None, item: ItemKey = None) -> Location:
        """The line, and a pointer into its record."""
        return Location(_field_pointer(self.name(field), item) if field else None, row)


@dataclass(frozen=True, slots=True)
class ColumnListsLayout(_RowOrderedLayout):
    """One list or array per field, as in JSON columns, .npz and Parquet; rows count from 0.

    `score_columns` are the names of the columns if each class has a column of scores; the first one stands for a whole
    row of them. `has_joined_labels`: the labels of a set are one text and so share its location.
    """

    names: FieldNames = FieldNames("ids", "labels")
    score_columns: Sequence[str] = ()
    has_joined_labels: bool = False

    def locate(self, row: int, field: Field | None = None, item: ItemKey = None) -> Location:
        """A pointer into a column; the location of a whole row is that of its id."""
        if field == "score" and self.score_columns:
            return Location(f"{pointer_token(self.score_columns[item if type(item) is int else 0])}/{row}")
        if self.has_joined_labels and field == "label":
            item = None
        return Location(f"{_field_pointer(self.name(field or 'id'), row)}{_item_pointer(item)}")

    def column(self, number: int) -> Location:
        """A pointer into the list of classes, or to the column itself."""
        return Location(pointer_token(self.score_columns[number]) if self.score_columns else f"/classes/{number}")


@dataclass(frozen=True, slots=True)
class KeyedMapLayout(_RowOrderedLayout):
    """A JSON map from id to label; rows count its keys from 0."""

    keys: Sequence[str]

    def locate(self, row: int, field: Field | None = None, item: ItemKey = None) -> Location:  # noqa: ARG002
        """A pointer to the key's value."""
        return Location(_field_pointer(self.keys[row], item))

    def name(self, field: Field) -> str:
        """A description of the part of an entry."""
        return {"id": "the key", "label": "the value", "score": "the value"}.get(field, field)


@dataclass(frozen=True, slots=True)
class DelimitedTableLayout(_RowOrderedLayout):
    """CSV and TSV: rows are line numbers, from 1; the column is the number of the field, from 1."""

    header: Sequence[str]
    names: FieldNames
    score_columns: Sequence[int] = ()
    """The positions of the columns of scores, from 0."""

    def locate(self, row: int, field: Field | None = None, item: ItemKey = None) -> Location:
        """The line and the field; the labels of one field share its location."""
        if field == "score":
            return Location(None, row, self.score_columns[item if type(item) is int else 0] + 1)
        return Location(None, row, self.header.index(self.name(field)) + 1 if field else None)

    def column(self, number: int) -> Location:
        """The field of the header."""
        return Location(None, 1, self.score_columns[number] + 1)


@dataclass(frozen=True, slots=True)
class LongTableLayout:
    """A table with one row per pair: the first row of an instance stands for it, and each label has its own row."""

    table: Layout
    rows_by_first_row: Mapping[int, Sequence[int]]

    def locate(self, row: int, field: Field | None = None, item: ItemKey = None) -> Location:
        """The location in the table; for a label, that of its own row."""
        at = self.rows_by_first_row[row][item] if field == "label" and type(item) is int else row
        return self.table.locate(at, field)

    def name(self, field: Field) -> str:
        """The table's name for a field."""
        return self.table.name(field)

    def column(self, number: int) -> Location:
        """The location in the table."""
        return self.table.column(number)

    def order(self, row: int, item: int | None) -> int:
        """The row of the label."""
        return row if item is None else self.rows_by_first_row[row][item]
