"""Where the values of a file stand: one small class per layout turns a row number into a place."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from app.formats.problems import Location, pointer_token

Field = Literal["id", "label", "split", "weight", "score"]
"""What a value is for; the name that a file gives it may differ."""
ItemKey = int | str | None
"""One label in a list of labels, one score in a list of scores, or the key of one in an object of scores."""


class Layout(Protocol):
    """Where the parts of a row stand in its file."""

    def locate(self, row: int, field: Field | None = None, item: ItemKey = None) -> Location:
        """The place of a row, of one of its fields, or of one item of a field."""

    def name(self, field: Field) -> str:
        """How the file calls a field."""

    def column(self, number: int) -> Location:
        """The place that names the class of a column of scores, where the file names them once for all rows."""

    def order(self, row: int, item: int | None) -> int:
        """Where a label comes in the order of the file, on the scale of the rows."""


@dataclass(frozen=True, slots=True)
class FieldNames:
    """What records call their fields."""

    id: str
    label: str
    split: str = "split"
    weight: str = "weight"
    score: str = "scores"

    def of(self, field: Field) -> str:
        """The name of a field."""
        return str(getattr(self, field))


def _field_pointer(name: str, item: ItemKey) -> str:
    return pointer_token(name) + ("" if item is None else pointer_token(str(item)))


@dataclass(frozen=True, slots=True)
class _RowOrderedLayout:
    """What most layouts share: a label comes where its row does, and no columns are named."""

    def column(self, number: int) -> Location:  # noqa: ARG002
        """No place of its own."""
        return Location()

    def order(self, row: int, item: int | None) -> int:  # noqa: ARG002
        """As the row."""
        return row


@dataclass(frozen=True, slots=True)
class RecordListLayout(_RowOrderedLayout):
    """A JSON list of records; rows count from 0."""

    prefix: str
    names: FieldNames

    def locate(self, row: int, field: Field | None = None, item: ItemKey = None) -> Location:
        """Point into the list."""
        return Location(f"{self.prefix}/{row}" + (_field_pointer(self.name(field), item) if field else ""))

    def name(self, field: Field) -> str:
        """How records call a field."""
        return self.names.of(field)

    def column(self, number: int) -> Location:
        """Point into the list of classes beside the records."""
        return Location(f"/classes/{number}")


@dataclass(frozen=True, slots=True)
class JsonLinesLayout(_RowOrderedLayout):
    """JSON Lines: rows are line numbers, from 1; the pointer starts at the line's record."""

    names: FieldNames

    def locate(self, row: int, field: Field | None = None, item: ItemKey = None) -> Location:
        """Name the line, and point into its record."""
        return Location(_field_pointer(self.name(field), item) if field else None, row)

    def name(self, field: Field) -> str:
        """How records call a field."""
        return self.names.of(field)


@dataclass(frozen=True, slots=True)
class ColumnListsLayout(_RowOrderedLayout):
    """One list or array per field, as in JSON columns, .npz and Parquet; rows count from 0.

    `wide` names the columns of scores where each class has one of its own; the first one stands for a whole row of them.
    `joined` says that the labels of a set are one text, and so share its place.
    """

    names: FieldNames = FieldNames("ids", "labels")
    score_columns: Sequence[str] = ()
    has_joined_labels: bool = False

    def locate(self, row: int, field: Field | None = None, item: ItemKey = None) -> Location:
        """Point into a column; a whole row is named by its id."""
        if field == "score" and self.score_columns:
            return Location(f"{pointer_token(self.score_columns[item if type(item) is int else 0])}/{row}")
        if self.has_joined_labels and field == "label":
            item = None
        return Location(
            f"{pointer_token(self.name(field or 'id'))}/{row}" + ("" if item is None else pointer_token(str(item)))
        )

    def name(self, field: Field) -> str:
        """How the object calls a column."""
        return self.names.of(field)

    def column(self, number: int) -> Location:
        """Point into the list of classes, or to the column itself."""
        return Location(pointer_token(self.score_columns[number]) if self.score_columns else f"/classes/{number}")


@dataclass(frozen=True, slots=True)
class KeyedMapLayout(_RowOrderedLayout):
    """A JSON map from id to label; rows count its keys from 0."""

    keys: Sequence[str]

    def locate(self, row: int, field: Field | None = None, item: ItemKey = None) -> Location:  # noqa: ARG002
        """Point to the key's value."""
        return Location(pointer_token(self.keys[row]) + ("" if item is None else pointer_token(str(item))))

    def name(self, field: Field) -> str:
        """What the parts of an entry are."""
        return {"id": "the key", "label": "the value", "score": "the value"}.get(field, field)


@dataclass(frozen=True, slots=True)
class DelimitedTableLayout(_RowOrderedLayout):
    """CSV and TSV: rows are line numbers, from 1; the column is the number of the field, from 1."""

    header: Sequence[str]
    names: FieldNames
    score_columns: Sequence[int] = ()
    """The positions of the columns of scores, from 0."""

    def locate(self, row: int, field: Field | None = None, item: ItemKey = None) -> Location:
        """Name the line and the field; the labels of one field share its place."""
        if field == "score":
            return Location(None, row, self.score_columns[item if type(item) is int else 0] + 1)
        return Location(None, row, self.header.index(self.name(field)) + 1 if field else None)

    def name(self, field: Field) -> str:
        """How the header calls a field."""
        return self.names.of(field)

    def column(self, number: int) -> Location:
        """The field of the header."""
        return Location(None, 1, self.score_columns[number] + 1)


@dataclass(frozen=True, slots=True)
class LongTableLayout:
    """A table with one row per pair: an instance is known by the first of its rows, each label by its own."""

    table: Layout
    rows_by_first_row: Mapping[int, Sequence[int]]

    def locate(self, row: int, field: Field | None = None, item: ItemKey = None) -> Location:
        """The place in the table, for a label that of its own row."""
        at = self.rows_by_first_row[row][item] if field == "label" and type(item) is int else row
        return self.table.locate(at, field)

    def name(self, field: Field) -> str:
        """How the table calls a field."""
        return self.table.name(field)

    def column(self, number: int) -> Location:
        """As in the table."""
        return self.table.column(number)

    def order(self, row: int, item: int | None) -> int:
        """The label's own row."""
        return row if item is None else self.rows_by_first_row[row][item]
