"""One label for each id, laid out alike all through: JSON records, maps and lines, and tables of two columns."""

import re
from dataclasses import dataclass

import numpy as np

from app.formats.vectorized.labels.id_join import IdJoin
from app.formats.vectorized.labels.json_framing import HEAD_BYTES, JsonFraming
from app.formats.vectorized.labels.span_window import SpanWindow, UnsupportedLabelLayout


@dataclass(frozen=True, slots=True)
class SingleLabelPattern:
    """How a file repeats itself: a quoted text, another one, and again.

    `start`: where the first text's quotation mark is. `between` and `after`: from the last mark of one text to the first
    of the next, both of them included, within a unit and behind it. `close`: what follows the last mark of the file.
    """

    start: int
    between: bytes
    after: bytes
    close: "re.Pattern[bytes]"
    is_label_first: bool


def single_label_pattern(head: bytes, frame: JsonFraming) -> SingleLabelPattern:
    """How the file that begins so repeats itself; raises Doubt."""
    close = re.compile(frame.close)
    if not frame.names:
        between = _match_separator(head, frame.start, frame.spaced(b":"))
        after = _match_separator(head, between.end() - 1, frame.joint)
        return SingleLabelPattern(frame.start, between[0], after[0], close, is_label_first=False)
    first = re.compile(rb"\{" + frame.spaced(rb'"(\w+)"', b":") + rb'(?=")').match(head, frame.start)
    if first is None:
        raise UnsupportedLabelLayout
    between = _match_separator(head, first.end(), frame.spaced(b",", rb'"(\w+)"', b":"))
    after = _match_separator(head, between.end() - 1, frame.joint + rb'"' + first[1] + rb'"' + frame.spaced(b":"))
    names = (first[1], between[1])
    if b"label" not in names or not set(names) & set(frame.names):
        raise UnsupportedLabelLayout
    return SingleLabelPattern(first.end(), between[0], after[0], close, is_label_first=first[1] == b"label")


def _match_separator(head: bytes, opening: int, pattern: bytes) -> "re.Match[bytes]":
    """What stands between the text that is opened here and the next; raises Doubt."""
    closing = head.find(b'"', opening + 1)
    found = re.compile(rb'"' + pattern + rb'"').match(head, closing) if closing > 0 else None
    if found is None:
        raise UnsupportedLabelLayout
    return found


def read_single_labels(window: SpanWindow, frame: JsonFraming, join: IdJoin) -> None:
    """Take all ids and labels of a file; raises Doubt."""
    window.fill()
    units = single_label_pattern(window.text(0, HEAD_BYTES), frame)
    window.drop(units.start)
    marks = units.between.count(b'"') + units.after.count(b'"')
    second = units.between.count(b'"')
    while True:
        window.fill()
        if window.ended:
            _check_file_end(window, units)
        quotes = window.quotes()
        count = (len(quotes) - 1) // marks
        if count < 1 or (window.ended and len(quotes) != count * marks + 1):
            raise UnsupportedLabelLayout
        grid = quotes[: count * marks].reshape(count, marks)
        last = quotes[marks::marks][:count]
        if not window.same(grid[:, 1], grid[:, second], units.between):
            raise UnsupportedLabelLayout
        if not window.same(grid[:, second + 1], last, units.after):
            raise UnsupportedLabelLayout
        texts = [window.spans(grid[:, at], grid[:, at + 1]) for at in (0, second)]
        join.take_ids(texts[units.is_label_first])
        join.take_labels(texts[not units.is_label_first])
        if window.ended:
            return
        window.drop(int(last[-1]))


def _check_file_end(window: SpanWindow, units: SingleLabelPattern) -> None:
    """Check how the file ends, and let it end as if another unit followed."""
    last = int(np.flatnonzero(window.data == ord('"'))[-1:].sum())
    if not units.close.match(window.text(last + 1, len(window.data))):
        raise UnsupportedLabelLayout
    window.replace_tail(last, units.after)
