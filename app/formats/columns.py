"""What a format hands over: the values of a file as columns, still as they stand there, with their places."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

from app.formats.layout import Layout
from app.formats.problem import END, Problems, shorten
from app.formats.rules import Limits


class Cell(Enum):
    """What a column holds where it has no value."""

    ABSENT = "absent"
    """The record does not have this field."""
    FAULT = "fault"
    """There is a value, but a problem says already what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What a reader must know: what is due, what is allowed, and where problems go."""

    multilabel: bool
    gold: bool
    limits: Limits
    problems: Problems

    @property
    def due(self) -> str:
        """The field that must hold the answer."""
        return "labels" if self.multilabel else "label"

    @property
    def other(self) -> str:
        """The field that holds the answer in the other kind of task."""
        return "label" if self.multilabel else "labels"

    @property
    def kind(self) -> str:
        """What an answer is in this task."""
        return "a list of labels" if self.multilabel else "one label"

    @property
    def mend_label(self) -> str:
        """How an answer looks in this task."""
        if self.multilabel:
            return 'Give a list of labels, such as "labels": ["a", "b"] or [].'
        return 'Give one label as a string, such as "label": "a".'


class TooManyRecords(Exception):
    """The file holds more records than are allowed; nothing more of it is worth looking at."""


def check_count(count: int, limits: Limits) -> None:
    """Raise TooManyRecords before any work is spent on so many records."""
    if count > limits.records:
        raise TooManyRecords(f"The file has {count} records; at most {limits.records} are allowed. Split the task.")


@dataclass(slots=True)
class Columns:
    """Values by column, row by row; `rows` are row numbers as the layout counts them."""

    ids: Sequence[object]
    labels: Sequence[object]
    splits: Sequence[object] | None
    rows: Sequence[int]
    layout: Layout
    ignored: Sequence[str] = ()
    """Names of fields that were not used, in the order in which they came."""
    unreadable: int = 0
    """How many rows gave nothing: their ids are unknown."""


@dataclass(slots=True)
class Table:
    """The checked texts of a file, row by row; None stands where a problem says what is wrong.

    `labels` holds one label a row, or with `counts` the labels of all rows one after the other.
    """

    ids: Sequence[str | None]
    labels: Sequence[str | None]
    counts: Sequence[int] | None
    splits: Sequence[str | None] | None
    rows: Sequence[int]
    layout: Layout
    unreadable: int = 0
    """How many ids could not be read (END: nothing could)."""
    notes: list[str] = field(default_factory=list)

    @property
    def whole(self) -> bool:
        """Whether every cell was read."""
        return None not in self.ids and None not in self.labels


def notes_on_ignored(names: Sequence[str]) -> list[str]:
    """Say once for each unused field that it was not used; many are summed up."""
    notes = [f"field '{shorten(name)}' is not used by this task's metrics and was ignored" for name in names[:20]]
    if len(names) > 20:
        notes.append(f"{len(names) - 20} more fields are not used by this task's metrics and were ignored")
    return notes


def nothing(layout: Layout, *, multilabel: bool) -> Table:
    """The table of a file that cannot be read at all."""
    return Table([], [], [] if multilabel else None, None, [], layout, unreadable=END)
