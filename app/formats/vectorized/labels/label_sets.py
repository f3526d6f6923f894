"""A list of labels for each id: JSON records, maps and lines of multi-label tasks."""

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.formats.vectorized.labels.id_join import IdJoin
from app.formats.vectorized.labels.json_framing import HEAD_BYTES, JsonFraming
from app.formats.vectorized.labels.separators import SeparatorClassifier
from app.formats.vectorized.labels.span_window import SpanWindow, UnsupportedLabelLayout
from app.scoring.string_table import Int

_COMMA, _OPEN, _END, _EMPTY, _COLON = range(5)
_LIST_OPEN = rb"\["
_LIST_CLOSE = rb"\]"


@dataclass(frozen=True, slots=True)
class _LabelSetPattern:
    """`before`: texts of a record before its labels. `name`: what it calls its id. `ends`: how a file may end."""

    start: int
    before: int
    name: bytes
    gaps: SeparatorClassifier
    ends: "dict[int, re.Pattern[bytes]]"


def _label_set_pattern(head: bytes, frame: JsonFraming) -> _LabelSetPattern:
    """How the file that begins so is laid out; raises Doubt."""
    end, empty = frame.spaced(_LIST_CLOSE), frame.spaced(b":", _LIST_OPEN, _LIST_CLOSE)
    patterns = {
        _COMMA: frame.spaced(b","),
        _OPEN: frame.spaced(b":", _LIST_OPEN),
        _END: end + frame.joint,
        _EMPTY: empty + frame.joint,
        _COLON: frame.spaced(b":"),
    }
    gaps = SeparatorClassifier([re.compile(rb'"' + patterns[meaning] + rb'"') for meaning in sorted(patterns)])
    ends = {meaning: re.compile(pattern + frame.close) for meaning, pattern in ((_END, end), (_EMPTY, empty))}
    if not frame.names:
        return _LabelSetPattern(frame.start, 1, b"", gaps, ends)
    first = re.compile(rb"\{" + frame.space + rb'(?="(\w+)")').match(head, frame.start)
    if first is None or first[1] not in frame.names:
        raise UnsupportedLabelLayout
    return _LabelSetPattern(first.end(), 3, first[1], gaps, ends)


@dataclass(frozen=True, slots=True)
class _TextSpans:
    """Where texts begin and end, and what stands behind each."""

    opening: Int
    closing: Int
    meanings: NDArray[np.int8]


def read_label_sets(window: SpanWindow, frame: JsonFraming, join: IdJoin) -> None:
    """Take all ids and labels of a file; raises Doubt."""
    window.fill()
    shape = _label_set_pattern(window.text(0, HEAD_BYTES), frame)
    window.drop(shape.start)
    while True:
        window.fill()
        quotes = window.quotes()
        if len(quotes) < 2 or (window.ended and len(quotes) % 2):
            raise UnsupportedLabelLayout
        texts = len(quotes) // 2
        opening, closing = quotes[: 2 * texts : 2], quotes[1 : 2 * texts : 2]
        gaps = min(texts, (len(quotes) - 1) // 2)
        told, sound = shape.gaps.tell(window, closing[:gaps], quotes[2 : 2 * gaps + 1 : 2])
        if sound != gaps:
            raise UnsupportedLabelLayout
        meanings = shape.gaps.meanings(told)
        if window.ended:
            meanings = np.append(meanings, _meaning_of_end(window, shape, int(closing[-1])))
        ends = np.flatnonzero((meanings == _END) | (meanings == _EMPTY))
        if not len(ends):
            raise UnsupportedLabelLayout
        taken = int(ends[-1]) + 1
        _take_records(window, shape, join, _TextSpans(opening[:taken], closing[:taken], meanings[:taken]), ends)
        if window.ended:
            if taken != texts:
                raise UnsupportedLabelLayout
            return
        window.drop(int(quotes[2 * taken]))


def _meaning_of_end(window: SpanWindow, shape: _LabelSetPattern, closing: int) -> np.int8:
    """What follows the last text of the file."""
    rest = window.text(closing + 1, len(window.data))
    found = next((meaning for meaning, pattern in shape.ends.items() if pattern.match(rest)), None)
    if found is None:
        raise UnsupportedLabelLayout
    return np.int8(found)


def _take_records(window: SpanWindow, shape: _LabelSetPattern, join: IdJoin, texts: _TextSpans, ends: Int) -> None:
    """Take whole records, whose last texts are at `ends`; raises Doubt where their gaps are not as they must be."""
    opening, closing, meanings = texts.opening, texts.closing, texts.meanings
    starts = np.concatenate([[0], ends[:-1] + 1])
    ids = starts + shape.before // 2
    lists = starts + shape.before - 1  # the text whose gap opens the list
    if (lists > ends).any():
        raise UnsupportedLabelLayout
    due = np.full(len(meanings), _COMMA, dtype=np.int8)
    if shape.name:
        due[starts] = _COLON
        names = ((starts, shape.name), (lists, b"labels"))
        if not all(window.same(opening[at], closing[at], b'"' + name + b'"') for at, name in names):
            raise UnsupportedLabelLayout
    empty = lists == ends
    due[ends] = _END
    due[lists] = np.where(empty, _EMPTY, _OPEN)
    if not np.array_equal(due, meanings):
        raise UnsupportedLabelLayout
    label = np.ones(len(meanings), dtype=bool)
    for at in range(shape.before):
        label[starts + at] = False
    join.take_ids(window.spans(opening[ids], closing[ids]))
    join.take_labels(window.spans(opening[label], closing[label]))
    join.counts.append(ends - lists)
