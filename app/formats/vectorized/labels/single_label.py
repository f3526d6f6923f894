"""One label for each id, laid out alike all through: JSON records, maps and lines, and tables of two columns."""

import re
from dataclasses import dataclass

import numpy as np

from app.formats.vectorized.labels.id_join import Join
from app.formats.vectorized.labels.json_framing import HEAD, Frame
from app.formats.vectorized.labels.span_window import Doubt, Window


@dataclass(frozen=True, slots=True)
class Units:
    """How a file repeats itself: a quoted text, another one, and again.

    `start`: where the first text's quotation mark is. `between` and `after`: from the last mark of one text to the first
    of the next, both of them included, within a unit and behind it. `close`: what follows the last mark of the file.
    """

    start: int
    between: bytes
    after: bytes
    close: "re.Pattern[bytes]"
    label_first: bool


def units_of(head: bytes, frame: Frame) -> Units:
    """How the file that begins so repeats itself; raises Doubt."""
    close = re.compile(frame.close)
    if not frame.names:
        between = _gap(head, frame.start, frame.spaced(b":"))
        after = _gap(head, between.end() - 1, frame.joint)
        return Units(frame.start, between[0], after[0], close, label_first=False)
    first = re.compile(rb"\{" + frame.spaced(rb'"(\w+)"', b":") + rb'(?=")').match(head, frame.start)
    if first is None:
        raise Doubt
    between = _gap(head, first.end(), frame.spaced(b",", rb'"(\w+)"', b":"))
    after = _gap(head, between.end() - 1, frame.joint + rb'"' + first[1] + rb'"' + frame.spaced(b":"))
    names = (first[1], between[1])
    if b"label" not in names or not set(names) & set(frame.names):
        raise Doubt
    return Units(first.end(), between[0], after[0], close, label_first=first[1] == b"label")


def _gap(head: bytes, opening: int, pattern: bytes) -> "re.Match[bytes]":
    """What stands between the text that is opened here and the next; raises Doubt."""
    closing = head.find(b'"', opening + 1)
    found = re.compile(rb'"' + pattern + rb'"').match(head, closing) if closing > 0 else None
    if found is None:
        raise Doubt
    return found


def read_units(window: Window, frame: Frame, join: Join) -> None:
    """Take all ids and labels of a file; raises Doubt."""
    window.fill()
    units = units_of(window.text(0, HEAD), frame)
    window.drop(units.start)
    marks = units.between.count(b'"') + units.after.count(b'"')
    second = units.between.count(b'"')
    while True:
        window.fill()
        if window.ended:
            _close(window, units)
        quotes = window.quotes()
        count = (len(quotes) - 1) // marks
        if count < 1 or (window.ended and len(quotes) != count * marks + 1):
            raise Doubt
        grid = quotes[: count * marks].reshape(count, marks)
        last = quotes[marks::marks][:count]
        if not window.same(grid[:, 1], grid[:, second], units.between):
            raise Doubt
        if not window.same(grid[:, second + 1], last, units.after):
            raise Doubt
        texts = [window.spans(grid[:, at], grid[:, at + 1]) for at in (0, second)]
        join.take_ids(texts[units.label_first])
        join.take_labels(texts[not units.label_first])
        if window.ended:
            return
        window.drop(int(last[-1]))


def _close(window: Window, units: Units) -> None:
    """Check how the file ends, and let it end as if another unit followed."""
    last = int(np.flatnonzero(window.data == ord('"'))[-1:].sum())
    if not units.close.match(window.text(last + 1, len(window.data))):
        raise Doubt
    window.end_with(last, units.after)
