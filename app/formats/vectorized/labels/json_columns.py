"""JSON columns: the ids in one list and their labels in another, or for sets in a list of lists."""

import re
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from app.formats.vectorized.labels.id_join import Join
from app.formats.vectorized.labels.json_framing import HEAD, SPACE
from app.formats.vectorized.labels.separators import Gaps
from app.formats.vectorized.labels.span_window import Doubt, Window
from app.scoring.string_table import Int

_COMMA, _NEXT = range(2)
_NONE = SPACE.join([rb"\[", rb"\]", b",", b""])
"""An empty list, and the comma behind it."""
_OPENING = re.compile(SPACE.join([b"", rb"\{", rb'"(ids|labels)"', b":", rb"\[", b""]))
_LISTS = re.compile(rb"(?P<empty>(?:" + _NONE + rb")*+)\[" + SPACE + rb'(?=")')
"""From the first list of labels to the first label."""
_TURN = re.compile(SPACE.join([rb'"', rb"\]", b",", rb'"(ids|labels)"', b":", rb"\[", b""]))
_CLOSE = re.compile(SPACE.join([rb'"', rb"\]", rb"\}", rb"\Z"]))
_SET_END = re.compile(
    rb'"' + SPACE + rb"\]" + SPACE + rb"(?P<empty>(?:," + SPACE + rb"\[" + SPACE + rb"\]" + SPACE + rb")*+)"
)
_BETWEEN = re.compile(rb'"' + SPACE.join([b"", b",", b""]) + rb'"')
_NEXT_LIST = re.compile(
    rb'"' + SPACE.join([b"", rb"\]", b",", b""]) + rb"(?P<empty>(?:" + _NONE + rb")*+)" + rb"\[" + SPACE + rb'"'
)


def is_columns(head: bytes) -> bool:
    """Whether a JSON file that begins so is one of columns."""
    return _OPENING.match(head) is not None


@dataclass(slots=True)
class _Column:
    """One of the two lists: its name, and whether it is one of lists."""

    name: bytes
    nested: bool
    gaps: Gaps
    open: int = 0
    """Texts so far of the list that is not at its end yet."""
    counts: list[Int] = field(default_factory=list)

    @classmethod
    def of(cls, name: bytes, *, sets: bool) -> "_Column":
        nested = sets and name == b"labels"
        return cls(name, nested, Gaps([_BETWEEN, _NEXT_LIST] if nested else [_BETWEEN]))

    def took(self, texts: int, told: NDArray[np.int8]) -> None:
        """Count the lists that so many texts fill, from what stands behind each of them (if need be but the last)."""
        if not self.nested:
            return
        at = np.flatnonzero(self.gaps.meanings(told) == _NEXT)
        sizes = np.diff(at, prepend=-1 - self.open)
        if len(at):
            self.open = texts - 1 - int(at[-1])
            self._add(sizes, self.gaps.empties(told)[at])
        else:
            self.open += texts

    def _add(self, sizes: Int, empty: Int) -> None:
        """Lists of these sizes, each with so many empty ones behind it."""
        found = np.zeros(len(sizes) + int(empty.sum()), dtype=np.int64)
        found[np.arange(len(sizes)) + np.cumsum(empty) - empty] = sizes
        self.counts.append(found)

    def end(self, empty: int) -> None:
        """The last list is at its end, with so many empty ones behind it."""
        self._add(np.array([self.open]), np.array([empty]))


def read_lists(window: Window, join: Join, *, sets: bool) -> None:
    """Take all ids and labels of a file; raises Doubt."""
    window.fill()
    found = _OPENING.match(window.text(0, HEAD))
    if found is None:
        raise Doubt
    window.drop(found.end())
    first = _read_column(window, join, _Column.of(found[1], sets=sets))
    turn = _TURN.match(first)
    if turn is None or turn[1] == found[1]:
        raise Doubt
    window.drop(turn.end())
    _read_column(window, join, _Column.of(turn[1], sets=sets))
    window.fill()
    # Only where the file has ended is the end of what is here the end of the file.
    if not window.ended or not _CLOSE.match(b'"' + window.text(1, len(window.data))):
        raise Doubt


def _read_column(window: Window, join: Join, column: _Column) -> bytes:
    """Take the texts of one list; gives what follows, from the last text's closing mark on, and leaves it in the window."""
    window.fill()
    if column.nested:
        _begin_lists(window, column)
    while True:
        window.fill()
        quotes = window.quotes()
        if len(quotes) < 2 or quotes[0] != 0:
            raise Doubt
        count = (len(quotes) - 1) // 2  # gaps that are whole
        opening, closing, following = quotes[0::2], quotes[1::2], quotes[2::2]
        told, sound = column.gaps.tell(window, closing[:count], following[:count])
        last = sound < count or (window.ended and len(quotes) == 2 * count + 2)
        texts = sound + 1 if last else sound
        if not texts:
            raise Doubt
        spans = window.spans(opening[:texts], closing[:texts])
        (join.take_ids if column.name == b"ids" else join.take_labels)(spans)
        column.took(texts, told[:sound])
        if last:
            return _end_column(window, join, column, int(closing[sound]))
        window.drop(int(quotes[2 * texts]))


def _begin_lists(window: Window, column: _Column) -> None:
    found = _LISTS.match(window.text(0, HEAD))
    if found is None:
        raise Doubt
    column.counts.append(np.zeros(found["empty"].count(b"["), dtype=np.int64))
    window.drop(found.end())


def _end_column(window: Window, join: Join, column: _Column, closing: int) -> bytes:
    """What follows the column; of lists, the end of the last of them is taken away."""
    window.drop(closing)
    window.fill()
    rest = window.text(0, HEAD)
    if not column.nested:
        return rest
    found = _SET_END.match(rest)
    if found is None:
        raise Doubt
    column.end(found["empty"].count(b"["))
    join.counts.extend(column.counts)
    window.drop(found.end() - 1)
    return b'"' + window.text(1, HEAD)
