"""Where the values of a file stand: one small class per layout turns a row number into a place."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from app.formats.problem import Place, token

Field = Literal["id", "label", "split"]
"""What a value is for; the name that a file gives it may differ."""


class Layout(Protocol):
    """Where the parts of a row stand in its file."""

    def place(self, row: int, field: Field | None = None, item: int | None = None) -> Place:
        """The place of a row, of one of its fields, or of one label in its list of labels."""

    def name(self, field: Field) -> str:
        """How the file calls a field."""


@dataclass(frozen=True, slots=True)
class Names:
    """What records call their fields."""

    id: str
    label: str
    split: str = "split"

    def of(self, field: Field) -> str:
        """The name of a field."""
        return {"id": self.id, "label": self.label, "split": self.split}[field]


def _inside(name: str, item: int | None) -> str:
    return f"/{name}" if item is None else f"/{name}/{item}"


@dataclass(frozen=True, slots=True)
class RecordList:
    """A JSON list of records; rows count from 0."""

    prefix: str
    names: Names

    def place(self, row: int, field: Field | None = None, item: int | None = None) -> Place:
        """Point into the list."""
        return Place(f"{self.prefix}/{row}" + (_inside(self.name(field), item) if field else ""))

    def name(self, field: Field) -> str:
        """How records call a field."""
        return self.names.of(field)


@dataclass(frozen=True, slots=True)
class RecordLines:
    """JSON Lines: rows are line numbers, from 1; the pointer starts at the line's record."""

    names: Names

    def place(self, row: int, field: Field | None = None, item: int | None = None) -> Place:
        """Name the line, and point into its record."""
        return Place(_inside(self.name(field), item) if field else None, row)

    def name(self, field: Field) -> str:
        """How records call a field."""
        return self.names.of(field)


@dataclass(frozen=True, slots=True)
class ColumnLists:
    """JSON columns: one list per field; rows count from 0."""

    names: Names = Names("ids", "labels")

    def place(self, row: int, field: Field | None = None, item: int | None = None) -> Place:
        """Point into a column; a whole row is named by its id."""
        return Place(f"/{self.name(field or 'id')}/{row}" + ("" if item is None else f"/{item}"))

    def name(self, field: Field) -> str:
        """How the object calls a column."""
        return self.names.of(field)


@dataclass(frozen=True, slots=True)
class KeyedMap:
    """A JSON map from id to label; rows count its keys from 0."""

    keys: Sequence[str]

    def place(self, row: int, field: Field | None = None, item: int | None = None) -> Place:  # noqa: ARG002
        """Point to the key's value."""
        return Place(token(self.keys[row]) + ("" if item is None else f"/{item}"))

    def name(self, field: Field) -> str:
        """What the parts of an entry are."""
        return {"id": "the key", "label": "the value", "split": "split"}[field]


@dataclass(frozen=True, slots=True)
class CsvCells:
    """CSV: rows are line numbers, from 1; the column is the number of the field, from 1."""

    header: Sequence[str]
    names: Names

    def place(self, row: int, field: Field | None = None, item: int | None = None) -> Place:  # noqa: ARG002
        """Name the line and the field; the labels of one field share its place."""
        return Place(None, row, self.header.index(self.name(field)) + 1 if field else None)

    def name(self, field: Field) -> str:
        """How the header calls a field."""
        return self.names.of(field)
