"""JSON with one label per id and the same spacing throughout: records, maps and lines."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from app.formats.vectorized.labels.json_framing import NUMBER, JsonFraming
from app.formats.vectorized.labels.label_sink import LabelSink
from app.formats.vectorized.span_window import HEAD_BYTES, SpanWindow
from app.formats.vectorized.unsupported import require, require_match
from app.scoring.string_table import Int, Spans


@dataclass(frozen=True, slots=True)
class _Separator:
    """What is between two strings that are values, from the closing quote of one to the opening quote of the next.

    If a field with a number is in between, `number` is its name, and `before` and `after` are the bytes around the
    number; otherwise `before` is the whole separator.
    """

    before: bytes
    number: bytes = b""
    after: bytes = b""

    @classmethod
    def of(cls, match: re.Match[bytes], number: bytes) -> "_Separator":
        """The separator that a pattern matched, with the number as its only group."""
        if not number:
            return cls(match[0])
        start, end = match.start(1) - match.start(), match.end(1) - match.start()
        return cls(match[0][:start], number, match[0][end:])

    @property
    def quotes(self) -> int:
        """How many quotation marks it contains."""
        return self.before.count(b'"') + self.after.count(b'"')

    def check(self, window: SpanWindow, begins: Int, ends: Int) -> Spans | None:
        """The numbers in these separators, given by their first and last bytes; raises UnsupportedLayout for others."""
        if not self.number:
            require(window.all_match(begins, ends, self.before))
            return None
        starts, stops = begins + len(self.before), ends + 1 - len(self.after)
        require((stops > starts).all() and window.matches_at(begins, self.before).all())
        require(window.matches_at(stops, self.after).all())
        return Spans(window.view, starts, stops - starts)


@dataclass(frozen=True, slots=True)
class _RecordPattern:
    """The repeated unit of a file: values that are strings, each with the separator that follows it.

    `start` is the offset of the first string's opening quote. The last separator reaches to the next unit, and
    `file_end` matches what follows the last closing quote of the file.
    """

    start: int
    names: Sequence[bytes]
    separators: Sequence[_Separator]
    file_end: re.Pattern[bytes]

    @property
    def quotes(self) -> int:
        """How many quotation marks a unit contains."""
        return sum(separator.quotes for separator in self.separators)


def _record_pattern(head: bytes, frame: JsonFraming, sink: LabelSink) -> _RecordPattern:
    """The pattern of a file with this head, learned from its first two units; raises UnsupportedLayout."""
    if not frame.names:
        names, first = [(b"id", True), (b"label", True)], frame.start
        patterns = [(frame.join_tokens(b":"), b""), (frame.record_separator, b"")]
        file_end = frame.file_end
    else:
        names, first = _first_fields(head, frame)
        used = [name for name, _ in names]
        allowed = {b"label", *frame.names, *sink.further_fields}
        is_known = allowed.issuperset(used) and len(set(used)) == len(used)
        # A weight is a number, and everything else a string.
        require(all(is_text is (name != b"weight") for name, is_text in names))
        require(is_known and b"label" in used and sum(name in used for name in frame.names) == 1)
        require(not {b"split", b"Usage"}.issubset(used))
        patterns, file_end = _separator_patterns(names, frame)
    separators, at = [], first
    for pattern, number in patterns:
        closing = head.find(b'"', at + 1)
        require(closing > 0)
        match = require_match(re.compile(rb'"' + pattern + rb'"'), head, closing)
        separators.append(_Separator.of(match, number))
        at = match.end() - 1
    texts = [name for name, is_text in names if is_text]
    return _RecordPattern(first, texts, separators, re.compile(file_end))


def _first_fields(head: bytes, frame: JsonFraming) -> tuple[list[tuple[bytes, bool]], int]:
    """The names of the first record's fields, whether each is a string, and where the first value begins."""
    value = rb'(?:("[^"]*+")|' + NUMBER + rb")"
    field = re.compile(rb"[{,]" + frame.join_tokens(rb'"(\w+)"', b":") + value + frame.space)
    names, at, first = list[tuple[bytes, bool]](), frame.start, 0
    while not names or head[at : at + 1] == b",":
        match = require_match(field, head, at)
        first = first or match.start(2)
        names.append((match[1], match[2] is not None))
        at = match.end()
    # A number at the start would belong to no separator of the first record.
    require(names[0][1])
    return names, first


def _separator_patterns(
    names: Sequence[tuple[bytes, bool]], frame: JsonFraming
) -> tuple[list[tuple[bytes, bytes]], bytes]:
    """The patterns of the separators, each with the name of the number in it, and that of the end of the file."""
    patterns, inner, number = list[tuple[bytes, bytes]](), b"", b""
    for name, is_text in names[1:]:
        inner += frame.join_tokens(b",", b'"' + name + b'"', b":")
        if is_text:
            patterns.append((inner, number))
            inner, number = b"", b""
        else:
            require(not number)
            inner, number = inner + NUMBER, name
    following = frame.record_separator + b'"' + names[0][0] + b'"' + frame.join_tokens(b":")
    patterns.append((inner + following, number))
    return patterns, inner + frame.file_end


def read_single_labels(window: SpanWindow, frame: JsonFraming, sink: LabelSink) -> None:
    """Read all ids and labels of a file, and the further fields of its sink; raises UnsupportedLayout.

    The window refuses backslashes, so each quote opens or closes a string. Every unit has the same number of quotes, and
    all bytes between its strings and up to the next unit equal those of the first unit, which matched the grammar. Only
    the strings and numbers can differ, and these the sink checks.
    """
    window.fill()
    units = _record_pattern(window.text(0, HEAD_BYTES), frame, sink)
    window.drop(units.start)
    quotes_per_unit = units.quotes
    while True:
        window.fill()
        if window.ended:
            _replace_file_end(window, units)
        quotes = window.quotes()
        count = (len(quotes) - 1) // quotes_per_unit
        require(count >= 1 and (not window.ended or len(quotes) == count * quotes_per_unit + 1))
        _take_units(window, units, sink, quotes[: count * quotes_per_unit + 1])
        if window.ended:
            return
        window.drop(int(quotes[count * quotes_per_unit]))


def _take_units(window: SpanWindow, units: _RecordPattern, sink: LabelSink, quotes: Int) -> None:
    """Take whole units; `quotes` ends with the opening quote of the next one."""
    at, step = 0, units.quotes
    found: list[tuple[bytes, Spans]] = []
    for name, separator in zip(units.names, units.separators, strict=True):
        opening, closing = quotes[at:-1:step], quotes[at + 1 :: step]
        found.append((name, window.spans(opening, closing)))
        at += separator.quotes
        numbers = separator.check(window, closing, quotes[at::step])
        if numbers is not None:
            found.append((separator.number, numbers))
    for name, spans in found:
        if name == b"label":
            sink.take_labels(spans)
        elif name in sink.further_fields:
            sink.take_field(name, spans)
        else:
            sink.take_ids(spans)


def _replace_file_end(window: SpanWindow, units: _RecordPattern) -> None:
    """Check the end of the file, and replace it as if another unit followed, so that the last unit is like all others."""
    number = units.separators[-1].number
    size = len(window.data)
    # The quotes of the field with the number follow the last value.
    last = window.text(0, size).rsplit(b'"', 3 if number else 1)
    at = len(last[0])
    match = require_match(units.file_end, window.text(at + 1, size))
    separator = units.separators[-1]
    window.replace_tail(at, separator.before + (match[1] + separator.after if number else b""))
