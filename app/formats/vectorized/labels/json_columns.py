"""JSON columns: the ids in one list and their labels in another, for sets as a list of lists; then perhaps the splits."""

import re
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from app.formats.vectorized.labels.json_framing import WHITESPACE
from app.formats.vectorized.labels.json_separators import SeparatorClassifier
from app.formats.vectorized.labels.label_sink import LabelSink, take_values
from app.formats.vectorized.span_window import HEAD_BYTES, SpanWindow
from app.formats.vectorized.unsupported import UnsupportedLayout, require, require_match
from app.scoring.string_table import Int

_COMMA, _NEXT = range(2)


def _join_tokens(*tokens: bytes) -> bytes:
    """A pattern of tokens with white space between them."""
    return WHITESPACE.join(tokens)


_EMPTY_LISTS = rb"(?P<empty>(?:" + _join_tokens(rb"\[", rb"\]", b",", b"") + rb")*+)"
"""Empty lists, each with the comma after it."""
_OPENING = re.compile(_join_tokens(b"", rb"\{", rb'"(ids|labels)"', b":", rb"\[", b""))
_FIRST_LIST = re.compile(_EMPTY_LISTS + _join_tokens(rb"\[", rb'(?=")'))
"""From the first list of labels to the first label."""
_NEXT_COLUMN = re.compile(_join_tokens(rb'"', rb"\]", b",", rb'"(\w+)"', b":", rb"\[", b""))
_CLOSE = re.compile(_join_tokens(rb'"', rb"\]", rb"\}", rb"\Z"))
_LIST_OPENING = re.compile(_join_tokens(b"", rb"\[", rb'(?=")'))
_LIST_CLOSE = re.compile(_join_tokens(rb'"', rb"\]", rb"\Z"))
_SET_END = re.compile(
    _join_tokens(rb'"', rb"\]", rb"(?P<empty>(?:" + _join_tokens(b",", rb"\[", rb"\]", b"") + rb")*+)")
)
_NEXT_TEXT = re.compile(_join_tokens(rb'"', b",", rb'"'))
_NEXT_LIST = re.compile(_join_tokens(rb'"', rb"\]", b",", _EMPTY_LISTS + rb"\[", rb'"'))


def is_json_columns(head: bytes) -> bool:
    """Whether a JSON file with this head consists of columns."""
    return _OPENING.match(head) is not None


@dataclass(slots=True)
class _JsonColumn:
    """One of the lists: its name, and whether it is a list of lists."""

    name: bytes
    is_nested: bool
    separators: SeparatorClassifier
    open_texts: int = 0
    """Strings so far in the inner list that has not ended yet."""
    counts: list[Int] = field(default_factory=list)

    @classmethod
    def of(cls, name: bytes, *, sets: bool) -> "_JsonColumn":
        is_nested = sets and name == b"labels"
        return cls(name, is_nested, SeparatorClassifier([_NEXT_TEXT, _NEXT_LIST] if is_nested else [_NEXT_TEXT]))

    def count_lists(self, texts: int, spellings: NDArray[np.int8]) -> None:
        """Count the inner lists that these strings fill, by the separators after them (the last may have none yet)."""
        if not self.is_nested:
            return
        ends = np.flatnonzero(self.separators.meanings(spellings) == _NEXT)
        sizes = np.diff(ends, prepend=-1 - self.open_texts)
        if len(ends):
            self.open_texts = texts - 1 - int(ends[-1])
            self._add(sizes, self.separators.empty_list_counts(spellings)[ends])
        else:
            self.open_texts += texts

    def _add(self, sizes: Int, empty: Int) -> None:
        """Add lists of these sizes, each followed by a number of empty lists."""
        counts = np.zeros(len(sizes) + int(empty.sum()), dtype=np.int64)
        counts[np.arange(len(sizes)) + np.cumsum(empty) - empty] = sizes
        self.counts.append(counts)

    def end(self, empty: int) -> None:
        """End the last list, which is followed by `empty` empty lists."""
        self._add(np.array([self.open_texts]), np.array([empty]))


class NoLabelColumn(UnsupportedLayout):
    """A column without labels follows the ids; the window begins behind the last id."""


def read_json_columns(window: SpanWindow, sink: LabelSink, *, sets: bool) -> None:
    """Read all ids and labels of a file; raises UnsupportedLayout.

    The window refuses backslashes, so quotes come in pairs. Every byte outside the strings is matched by a pattern: the
    opening, the separators, the change to the other column, and the end of the file.
    """
    window.fill()
    opening = require_match(_OPENING, window.text(0, HEAD_BYTES))
    window.drop(opening.end())
    names = [opening[1]]
    rest = _read_column(window, sink, _JsonColumn.of(opening[1], sets=sets))
    while following := _NEXT_COLUMN.match(rest):
        # A column of weights has no strings.
        allowed = {b"ids", b"labels", *sink.further_fields} - {b"weight"}
        if names == [b"ids"] and following[1] not in allowed:
            window.drop(1)
            raise NoLabelColumn
        names.append(following[1])
        require(names[-1] in allowed and len(set(names)) == len(names))
        window.drop(following.end())
        rest = _read_column(window, sink, _JsonColumn.of(names[-1], sets=sets))
    require({b"ids", b"labels"} <= set(names) and not {b"split", b"Usage"} <= set(names))
    window.fill()
    # The end of the window is the end of the file only if the file has ended.
    require(window.ended)
    require_match(_CLOSE, b'"' + window.text(1, len(window.data)))


def read_id_column(window: SpanWindow, sink: LabelSink) -> None:
    """Read a list of ids, from the first opening quote to the last closing one; raises UnsupportedLayout."""
    _read_column(window, sink, _JsonColumn.of(b"ids", sets=False))
    window.drop(1)


def read_json_id_list(window: SpanWindow, sink: LabelSink) -> None:
    """Read a file that is a list of ids; raises UnsupportedLayout."""
    window.fill()
    window.drop(require_match(_LIST_OPENING, window.text(0, HEAD_BYTES)).end())
    _read_column(window, sink, _JsonColumn.of(b"ids", sets=False))
    window.fill()
    require(window.ended)
    require_match(_LIST_CLOSE, window.text(0, len(window.data)))


def _read_column(window: SpanWindow, sink: LabelSink, column: _JsonColumn) -> bytes:
    """Read the strings of one list; returns what follows from the last closing quote on, which stays in the window."""
    window.fill()
    if column.is_nested:
        _begin_lists(window, column)
    while True:
        window.fill()
        quotes = window.quotes()
        require(len(quotes) >= 2 and quotes[0] == 0)
        count = (len(quotes) - 1) // 2  # separators that are complete
        opening, closing, following = quotes[0::2], quotes[1::2], quotes[2::2]
        spellings, valid = column.separators.classify(window, closing[:count], following[:count])
        # The column ends at the first separator that matches no pattern. The caller checks what it is.
        is_last = valid < count or (window.ended and len(quotes) == 2 * count + 2)
        texts = valid + 1 if is_last else valid
        require(texts > 0)
        spans = window.spans(opening[:texts], closing[:texts])
        take_values(sink, column.name, spans)
        column.count_lists(texts, spellings[:valid])
        if is_last:
            return _end_column(window, sink, column, int(closing[valid]))
        window.drop(int(quotes[2 * texts]))


def _begin_lists(window: SpanWindow, column: _JsonColumn) -> None:
    first = require_match(_FIRST_LIST, window.text(0, HEAD_BYTES))
    column.counts.append(np.zeros(first["empty"].count(b"["), dtype=np.int64))
    window.drop(first.end())


def _end_column(window: SpanWindow, sink: LabelSink, column: _JsonColumn, closing: int) -> bytes:
    """What follows the column; of nested lists, the end of the last one is removed, so that both kinds end alike."""
    window.drop(closing)
    window.fill()
    rest = window.text(0, HEAD_BYTES)
    if not column.is_nested:
        return rest
    end = require_match(_SET_END, rest)
    column.end(end["empty"].count(b"["))
    sink.counts.extend(column.counts)
    window.drop(end.end() - 1)
    return b'"' + window.text(1, HEAD_BYTES)
