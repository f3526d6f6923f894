"""JSON with a list of labels per id: records, maps and lines of multi-label tasks."""

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.formats.vectorized.labels.json_framing import HEAD_BYTES, JsonFraming
from app.formats.vectorized.labels.json_separators import SeparatorClassifier
from app.formats.vectorized.labels.label_sink import LabelSink
from app.formats.vectorized.span_window import SpanWindow
from app.formats.vectorized.unsupported import UnsupportedLayout, require, require_match
from app.scoring.string_table import Int

_COMMA, _OPEN, _END, _EMPTY, _COLON = range(5)
"""The meanings of the separator after a string: next label, start of a list, end of a record, empty list, key."""
_MAX_RECORD_WINDOW = 1 << 22
"""Bytes of the window up to which it grows for a long list of labels."""
_LIST_OPEN = rb"\["
_LIST_CLOSE = rb"\]"


@dataclass(frozen=True, slots=True)
class _LabelSetPattern:
    """The layout of a file.

    `strings_before_labels` is the number of strings in a record before its labels, `id_name` the name of its id (empty in a map), and
    `ends` holds the patterns of how a file may end, by the meaning of that end.
    """

    start: int
    strings_before_labels: int
    id_name: bytes
    separators: SeparatorClassifier
    ends: dict[int, re.Pattern[bytes]]


def _label_set_pattern(head: bytes, frame: JsonFraming) -> _LabelSetPattern:
    """The layout of a file with this head; raises UnsupportedLayout."""
    end, empty = frame.join_tokens(_LIST_CLOSE), frame.join_tokens(b":", _LIST_OPEN, _LIST_CLOSE)
    patterns = {
        _COMMA: frame.join_tokens(b","),
        _OPEN: frame.join_tokens(b":", _LIST_OPEN),
        _END: end + frame.record_separator,
        _EMPTY: empty + frame.record_separator,
        _COLON: frame.join_tokens(b":"),
    }
    separators = SeparatorClassifier([re.compile(rb'"' + patterns[meaning] + rb'"') for meaning in sorted(patterns)])
    ends = {meaning: re.compile(pattern + frame.file_end) for meaning, pattern in ((_END, end), (_EMPTY, empty))}
    if not frame.names:
        return _LabelSetPattern(frame.start, 1, b"", separators, ends)
    first = require_match(re.compile(rb"\{" + frame.space + rb'(?="(\w+)")'), head, frame.start)
    require(first[1] in frame.names)
    return _LabelSetPattern(first.end(), 3, first[1], separators, ends)


@dataclass(frozen=True, slots=True)
class _TextSpans:
    """The quotes of strings, and the meaning of the separator after each string."""

    opening: Int
    closing: Int
    meanings: NDArray[np.int8]


def read_label_sets(window: SpanWindow, frame: JsonFraming, sink: LabelSink) -> None:
    """Read all ids and labels of a file; raises UnsupportedLayout.

    The window refuses backslashes, so quotes come in pairs. Every byte outside the strings belongs to a separator, and
    each separator matched the grammar when its spelling was first seen; what remains to check is their order.
    """
    window.fill()
    shape = _label_set_pattern(window.text(0, HEAD_BYTES), frame)
    window.drop(shape.start)
    wanted = 0
    while True:
        window.fill(wanted)
        quotes = window.quotes()
        require(len(quotes) >= 2 and not (window.ended and len(quotes) % 2))
        texts = len(quotes) // 2
        opening, closing = quotes[: 2 * texts : 2], quotes[1 : 2 * texts : 2]
        count = min(texts, (len(quotes) - 1) // 2)
        spellings, valid = shape.separators.classify(window, closing[:count], quotes[2 : 2 * count + 1 : 2])
        require(valid == count)
        meanings = shape.separators.meanings(spellings)
        if window.ended:
            meanings = np.append(meanings, _meaning_of_end(window, shape, int(closing[-1])))
        ends = np.flatnonzero((meanings == _END) | (meanings == _EMPTY))
        if not len(ends):  # the record is longer than the window
            wanted = 2 * len(window)
            require(not window.ended and wanted <= _MAX_RECORD_WINDOW)
            continue
        # Only whole records are taken; the rest of the window is read again together with what follows.
        text_count = int(ends[-1]) + 1
        _take_records(
            window, shape, sink, _TextSpans(opening[:text_count], closing[:text_count], meanings[:text_count]), ends
        )
        if window.ended:
            require(text_count == texts)
            return
        window.drop(int(quotes[2 * text_count]))


def _meaning_of_end(window: SpanWindow, shape: _LabelSetPattern, closing: int) -> np.int8:
    """The meaning of what follows the last string of the file; raises UnsupportedLayout."""
    rest = window.text(closing + 1, len(window.data))
    for meaning, pattern in shape.ends.items():
        if pattern.match(rest):
            return np.int8(meaning)
    raise UnsupportedLayout


def _take_records(window: SpanWindow, shape: _LabelSetPattern, sink: LabelSink, texts: _TextSpans, ends: Int) -> None:
    """Take whole records, whose last strings are at `ends`; raises UnsupportedLayout unless they have the one layout.

    The expected meanings follow from where records start and end. As all actual meanings must equal them, each record
    has its id, its key 'labels' and one list, in this order and nothing else.
    """
    opening, closing, meanings = texts.opening, texts.closing, texts.meanings
    starts = np.concatenate([[0], ends[:-1] + 1])
    ids = starts + shape.strings_before_labels // 2
    lists = starts + shape.strings_before_labels - 1  # the string whose separator opens the list
    require((lists <= ends).all())
    expected = np.full(len(meanings), _COMMA, dtype=np.int8)
    if shape.id_name:
        expected[starts] = _COLON
        for at, name in ((starts, shape.id_name), (lists, b"labels")):
            require(window.all_match(opening[at], closing[at], b'"' + name + b'"'))
    expected[ends] = _END
    expected[lists] = np.where(lists == ends, _EMPTY, _OPEN)
    require(np.array_equal(expected, meanings))
    is_label = np.ones(len(meanings), dtype=bool)
    for offset in range(shape.strings_before_labels):
        is_label[starts + offset] = False
    sink.take_ids(window.spans(opening[ids], closing[ids]))
    sink.take_labels(window.spans(opening[is_label], closing[is_label]))
    sink.counts.append(ends - lists)
