"""JSON columns: the ids in one list and their labels in another, or for sets in a list of lists."""

import re
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from app.formats.vectorized.labels.id_join import IdJoin
from app.formats.vectorized.labels.json_framing import HEAD_BYTES, WHITESPACE
from app.formats.vectorized.labels.separators import SeparatorClassifier
from app.formats.vectorized.labels.span_window import SpanWindow, UnsupportedLabelLayout
from app.scoring.string_table import Int

_COMMA, _NEXT = range(2)
_EMPTY_LIST = WHITESPACE.join([rb"\[", rb"\]", b",", b""])
"""An empty list, and the comma behind it."""
_OPENING = re.compile(WHITESPACE.join([b"", rb"\{", rb'"(ids|labels)"', b":", rb"\[", b""]))
_FIRST_LIST = re.compile(rb"(?P<empty>(?:" + _EMPTY_LIST + rb")*+)\[" + WHITESPACE + rb'(?=")')
"""From the first list of labels to the first label."""
_NEXT_COLUMN = re.compile(WHITESPACE.join([rb'"', rb"\]", b",", rb'"(ids|labels)"', b":", rb"\[", b""]))
_CLOSE = re.compile(WHITESPACE.join([rb'"', rb"\]", rb"\}", rb"\Z"]))
_SET_END = re.compile(
    rb'"'
    + WHITESPACE
    + rb"\]"
    + WHITESPACE
    + rb"(?P<empty>(?:,"
    + WHITESPACE
    + rb"\["
    + WHITESPACE
    + rb"\]"
    + WHITESPACE
    + rb")*+)"
)
_NEXT_TEXT = re.compile(rb'"' + WHITESPACE.join([b"", b",", b""]) + rb'"')
_NEXT_LIST = re.compile(
    rb'"'
    + WHITESPACE.join([b"", rb"\]", b",", b""])
    + rb"(?P<empty>(?:"
    + _EMPTY_LIST
    + rb")*+)"
    + rb"\["
    + WHITESPACE
    + rb'"'
)


def is_json_columns(head: bytes) -> bool:
    """Whether a JSON file that begins so is one of columns."""
    return _OPENING.match(head) is not None


@dataclass(slots=True)
class _JsonColumn:
    """One of the two lists: its name, and whether it is one of lists."""

    name: bytes
    is_nested: bool
    gaps: SeparatorClassifier
    open: int = 0
    """Texts so far of the list that is not at its end yet."""
    counts: list[Int] = field(default_factory=list)

    @classmethod
    def of(cls, name: bytes, *, sets: bool) -> "_JsonColumn":
        nested = sets and name == b"labels"
        return cls(name, nested, SeparatorClassifier([_NEXT_TEXT, _NEXT_LIST] if nested else [_NEXT_TEXT]))

    def count_lists(self, texts: int, told: NDArray[np.int8]) -> None:
        """Count the lists that so many texts fill, from what stands behind each of them (if need be but the last)."""
        if not self.is_nested:
            return
        at = np.flatnonzero(self.gaps.meanings(told) == _NEXT)
        sizes = np.diff(at, prepend=-1 - self.open)
        if len(at):
            self.open = texts - 1 - int(at[-1])
            self._add(sizes, self.gaps.empty_list_counts(told)[at])
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


def read_json_columns(window: SpanWindow, join: IdJoin, *, sets: bool) -> None:
    """Take all ids and labels of a file; raises Doubt."""
    window.fill()
    found = _OPENING.match(window.text(0, HEAD_BYTES))
    if found is None:
        raise UnsupportedLabelLayout
    window.drop(found.end())
    first = _read_column(window, join, _JsonColumn.of(found[1], sets=sets))
    turn = _NEXT_COLUMN.match(first)
    if turn is None or turn[1] == found[1]:
        raise UnsupportedLabelLayout
    window.drop(turn.end())
    _read_column(window, join, _JsonColumn.of(turn[1], sets=sets))
    window.fill()
    # Only where the file has ended is the end of what is here the end of the file.
    if not window.ended or not _CLOSE.match(b'"' + window.text(1, len(window.data))):
        raise UnsupportedLabelLayout


def _read_column(window: SpanWindow, join: IdJoin, column: _JsonColumn) -> bytes:
    """Take the texts of one list; gives what follows, from the last text's closing mark on, and leaves it in the window."""
    window.fill()
    if column.is_nested:
        _begin_lists(window, column)
    while True:
        window.fill()
        quotes = window.quotes()
        if len(quotes) < 2 or quotes[0] != 0:
            raise UnsupportedLabelLayout
        count = (len(quotes) - 1) // 2  # gaps that are whole
        opening, closing, following = quotes[0::2], quotes[1::2], quotes[2::2]
        told, sound = column.gaps.tell(window, closing[:count], following[:count])
        last = sound < count or (window.ended and len(quotes) == 2 * count + 2)
        texts = sound + 1 if last else sound
        if not texts:
            raise UnsupportedLabelLayout
        spans = window.spans(opening[:texts], closing[:texts])
        (join.take_ids if column.name == b"ids" else join.take_labels)(spans)
        column.count_lists(texts, told[:sound])
        if last:
            return _end_column(window, join, column, int(closing[sound]))
        window.drop(int(quotes[2 * texts]))


def _begin_lists(window: SpanWindow, column: _JsonColumn) -> None:
    found = _FIRST_LIST.match(window.text(0, HEAD_BYTES))
    if found is None:
        raise UnsupportedLabelLayout
    column.counts.append(np.zeros(found["empty"].count(b"["), dtype=np.int64))
    window.drop(found.end())


def _end_column(window: SpanWindow, join: IdJoin, column: _JsonColumn, closing: int) -> bytes:
    """What follows the column; of lists, the end of the last of them is taken away."""
    window.drop(closing)
    window.fill()
    rest = window.text(0, HEAD_BYTES)
    if not column.is_nested:
        return rest
    found = _SET_END.match(rest)
    if found is None:
        raise UnsupportedLabelLayout
    column.end(found["empty"].count(b"["))
    join.counts.extend(column.counts)
    window.drop(found.end() - 1)
    return b'"' + window.text(1, HEAD_BYTES)
