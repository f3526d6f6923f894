"""JSON with a list of labels per id: records, maps and lines of multi-label tasks."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from app.formats.vectorized.labels.json_framing import NUMBER, JsonFraming
from app.formats.vectorized.labels.json_separators import SeparatorClassifier
from app.formats.vectorized.labels.label_sink import LabelSink
from app.formats.vectorized.span_window import HEAD_BYTES, SpanWindow
from app.formats.vectorized.unsupported import UnsupportedLayout, require, require_match
from app.scoring.string_table import Int

# The meanings of the separator after a string: what is in between, and whether the record ends too.
_COMMA, _COLON, _OPEN = range(3)
_LIST_END, _EMPTY, _NUMBER, _TEXT_END = 3, 4, 5, 6
_OF_RECORD = 4
"""Added to the four meanings above if the record ends, not only the field; a text that a field follows is _COMMA."""
_MEANINGS = _TEXT_END + _OF_RECORD + 1
_MAX_RECORD_WINDOW = 1 << 22
"""Bytes of the window up to which it grows for a long list of labels."""
_LIST_OPEN = rb"\["
_LIST_CLOSE = rb"\]"
_NEVER = rb"(?!)"
_RECORD_SEPARATORS = (b",", b"},{", b"}\n{")
"""A spelling of the record separator of a map, of records and of lines."""


@dataclass(frozen=True, slots=True)
class _FixedString:
    """A string that each record has once besides the key of its labels, and the meaning of the separator after it."""

    field: bytes
    is_name: bool
    meaning: int


@dataclass(frozen=True, slots=True)
class _LabelSetPattern:
    """The layout of a file.

    A record has the strings `before`, then the one whose separator opens the list (`"labels"`, or the id in a map), the
    labels, and the strings `after`. `list_end` and `empty` are the meanings after the last label and of an empty list;
    `ends` holds how a file may end, each with the beginning of a separator of the same meaning.
    """

    start: int
    before: Sequence[_FixedString]
    after: Sequence[_FixedString]
    is_map: bool
    list_end: int
    empty: int
    separators: SeparatorClassifier
    ends: Sequence[tuple[re.Pattern[bytes], bytes]]
    record_separator: bytes


def _label_set_pattern(head: bytes, frame: JsonFraming, sink: LabelSink) -> _LabelSetPattern:
    """The layout of a file with this head; raises UnsupportedLayout."""
    start, names = _first_fields(head, frame, sink) if frame.names else (frame.start, [b"labels"])
    at = names.index(b"labels")
    before, after = _fixed_strings(names[:at], ends_record=False), _fixed_strings(names[at + 1 :], ends_record=True)
    contents = {
        _LIST_END: (frame.join_tokens(_LIST_CLOSE), b"]"),
        _EMPTY: (frame.join_tokens(b":", _LIST_OPEN, _LIST_CLOSE), b":[]"),
        _NUMBER: (frame.join_tokens(b":", NUMBER), b":"),
        _TEXT_END: (b"", b""),
    }
    if len(names) == 1:
        contents = {meaning: contents[meaning] for meaning in (_LIST_END, _EMPTY)}
    patterns = [frame.join_tokens(b","), frame.join_tokens(b":"), frame.join_tokens(b":", _LIST_OPEN)]
    patterns += [_NEVER] * (_MEANINGS - len(patterns))
    for meaning, (content, _) in contents.items():
        patterns[meaning + _OF_RECORD] = content + frame.record_separator
        if len(names) > 1 and meaning != _TEXT_END:
            patterns[meaning] = content + frame.join_tokens(b",")
    ends = [(re.compile(content + frame.file_end), spelling) for content, spelling in contents.values()]
    written = next(each for each in _RECORD_SEPARATORS if re.fullmatch(frame.record_separator, each))
    level = 0 if after else _OF_RECORD
    separators = SeparatorClassifier([re.compile(rb'"' + pattern + rb'"') for pattern in patterns])
    return _LabelSetPattern(
        start, before, after, not frame.names, _LIST_END + level, _EMPTY + level, separators, ends, written
    )


def _first_fields(head: bytes, frame: JsonFraming, sink: LabelSink) -> tuple[int, list[bytes]]:
    """Where the first string of the first record begins, and the names of its fields; raises UnsupportedLayout.

    A list that is longer than the head must be the last field.
    """
    value = rb'(?:"[^"]*+"|' + NUMBER + rb'|\[(?:[^]"]++|"[^"]*+")*+(?:\]|\Z))'
    field = re.compile(rb"[{,]" + frame.join_tokens(rb'"(\w+)"', rb":", value))
    names, at = list[bytes](), frame.start
    while not names or head[at : at + 1] == b",":
        match = require_match(field, head, at)
        names.append(match[1])
        at = match.end()
    allowed = {b"labels", *frame.names, *sink.further_fields}
    require(allowed.issuperset(names) and len(set(names)) == len(names))
    require(b"labels" in names and sum(name in names for name in frame.names) == 1)
    require(not {b"split", b"Usage"}.issubset(names))
    return require_match(re.compile(rb"\{" + frame.space), head, frame.start).end(), names


def _fixed_strings(names: Sequence[bytes], *, ends_record: bool) -> list[_FixedString]:
    """The strings of fields with one value each; a weight is a number, and everything else a string."""
    strings = list[_FixedString]()
    for name in names:
        level = _OF_RECORD if ends_record and name == names[-1] else 0
        if name == b"weight":
            strings.append(_FixedString(name, is_name=True, meaning=_NUMBER + level))
            continue
        strings.append(_FixedString(name, is_name=True, meaning=_COLON))
        strings.append(_FixedString(name, is_name=False, meaning=_TEXT_END + level if level else _COMMA))
    return strings


@dataclass(frozen=True, slots=True)
class _TextSpans:
    """The quotes of strings, and the spelling and meaning of the separator after each string."""

    opening: Int
    closing: Int
    spellings: NDArray[np.int8]
    meanings: NDArray[np.int8]


def read_label_sets(window: SpanWindow, frame: JsonFraming, sink: LabelSink) -> None:
    """Read all ids and labels of a file, and the further fields of its sink; raises UnsupportedLayout.

    The window refuses backslashes, so quotes come in pairs. Every byte outside the strings belongs to a separator, and
    each separator matched the grammar when its spelling was first seen; what remains to check is their order.
    """
    window.fill()
    shape = _label_set_pattern(window.text(0, HEAD_BYTES), frame, sink)
    window.drop(shape.start)
    wanted = 0
    while True:
        window.fill(wanted)
        if window.ended:
            _replace_file_end(window, shape)
        quotes = window.quotes()
        texts = (len(quotes) - 1) // 2
        require(texts >= 1 and not (window.ended and len(quotes) % 2 == 0))
        opening, closing = quotes[: 2 * texts : 2], quotes[1 : 2 * texts : 2]
        spellings, valid = shape.separators.classify(window, closing, quotes[2 : 2 * texts + 1 : 2])
        require(valid == texts)
        meanings = shape.separators.meanings(spellings)
        ends = np.flatnonzero(meanings >= _LIST_END + _OF_RECORD)
        if not len(ends):  # the record is longer than the window
            wanted = 2 * len(window)
            require(not window.ended and wanted <= _MAX_RECORD_WINDOW)
            continue
        # Only whole records are taken; the rest of the window is read again together with what follows.
        count = int(ends[-1]) + 1
        found = _TextSpans(opening[:count], closing[:count], spellings[:count], meanings[:count])
        _take_records(window, shape, sink, found, ends)
        if window.ended:
            require(count == texts)
            return
        window.drop(int(quotes[2 * count]))


def _replace_file_end(window: SpanWindow, shape: _LabelSetPattern) -> None:
    """Check the end of the file, and replace it as if another record followed, so that the last one is like all others."""
    size = len(window.data)
    at = window.text(0, size).rfind(b'"')
    rest = window.text(at + 1, size)
    for pattern, spelling in shape.ends:
        match = pattern.match(rest)
        if match is not None:
            number = match["number"] if pattern.groups else b""
            window.replace_tail(at, b'"' + spelling + number + shape.record_separator + b'"')
            return
    raise UnsupportedLayout


def _take_records(window: SpanWindow, shape: _LabelSetPattern, sink: LabelSink, texts: _TextSpans, ends: Int) -> None:
    """Take whole records, whose last strings are at `ends`; raises UnsupportedLayout unless they have the one layout.

    The expected meanings follow from where records start and end. As all actual meanings must equal them, each record
    has the fields of the first one in the same order, each once, with one list of labels, and nothing else.
    """
    opening, closing = texts.opening, texts.closing
    starts = np.concatenate([[0], ends[:-1] + 1])
    lists = starts + len(shape.before)  # the string whose separator opens the list
    last = ends - len(shape.after)  # the last label; the same string if there is none
    require((lists <= last).all())
    expected = np.full(len(texts.meanings), _COMMA, dtype=np.int8)
    expected[last] = shape.list_end
    expected[lists] = np.where(lists == last, shape.empty, _OPEN)
    is_label = np.ones(len(expected), dtype=bool)
    is_label[lists] = False
    placed = [(starts + offset, string) for offset, string in enumerate(shape.before)]
    placed += [(last + 1 + offset, string) for offset, string in enumerate(shape.after)]
    for at, string in placed:
        expected[at] = string.meaning
        is_label[at] = False
        if string.is_name:
            require(window.all_match(opening[at], closing[at], b'"' + string.field + b'"'))
    require(shape.is_map or window.all_match(opening[lists], closing[lists], b'"labels"'))
    require(np.array_equal(expected, texts.meanings))
    if shape.is_map:
        sink.take_ids(window.spans(opening[lists], closing[lists]))
    for at, string in placed:
        if string.meaning in {_NUMBER, _NUMBER + _OF_RECORD}:
            sink.take_field(string.field, shape.separators.numbers(window, closing[at], texts.spellings[at]))
        elif not string.is_name:
            take = partial(sink.take_field, string.field) if string.field in sink.further_fields else sink.take_ids
            take(window.spans(opening[at], closing[at]))
    sink.take_labels(window.spans(opening[is_label], closing[is_label]))
    sink.counts.append(last - lists)
