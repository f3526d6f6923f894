"""JSON with one label per id and the same spacing throughout: records, maps and lines."""

import re
from dataclasses import dataclass

import numpy as np

from app.formats.vectorized.labels.id_join import IdJoin
from app.formats.vectorized.labels.json_framing import HEAD_BYTES, JsonFraming
from app.formats.vectorized.labels.span_window import SpanWindow
from app.formats.vectorized.unsupported import require, require_match


@dataclass(frozen=True, slots=True)
class SingleLabelPattern:
    """The repeated unit of a file: two strings, the id and the label, in either order.

    `start` is the offset of the first string's opening quote. `inner_separator` is within a unit and `outer_separator` between two
    units, both from the closing quote of a string to the opening quote of the next, inclusive. `file_end` matches what
    follows the last closing quote of the file.
    """

    start: int
    inner_separator: bytes
    outer_separator: bytes
    file_end: re.Pattern[bytes]
    is_label_first: bool


def single_label_pattern(head: bytes, frame: JsonFraming) -> SingleLabelPattern:
    """The pattern of a file with this head, learned from its first two units; raises UnsupportedLayout."""
    file_end = re.compile(frame.file_end)
    if not frame.names:
        inner_separator = _match_separator(head, frame.start, frame.join_tokens(b":"))
        outer_separator = _match_separator(head, inner_separator.end() - 1, frame.record_separator)
        return SingleLabelPattern(frame.start, inner_separator[0], outer_separator[0], file_end, is_label_first=False)
    first = require_match(re.compile(rb"\{" + frame.join_tokens(rb'"(\w+)"', b":") + rb'(?=")'), head, frame.start)
    inner_separator = _match_separator(head, first.end(), frame.join_tokens(b",", rb'"(\w+)"', b":"))
    outer_separator = _match_separator(
        head, inner_separator.end() - 1, frame.record_separator + rb'"' + first[1] + rb'"' + frame.join_tokens(b":")
    )
    names = {first[1], inner_separator[1]}
    require(b"label" in names and not names.isdisjoint(frame.names))
    return SingleLabelPattern(
        first.end(), inner_separator[0], outer_separator[0], file_end, is_label_first=first[1] == b"label"
    )


def _match_separator(head: bytes, opening: int, pattern: bytes) -> re.Match[bytes]:
    """The separator between the string with this opening quote and the next one; raises UnsupportedLayout."""
    closing = head.find(b'"', opening + 1)
    require(closing > 0)
    return require_match(re.compile(rb'"' + pattern + rb'"'), head, closing)


def read_single_labels(window: SpanWindow, frame: JsonFraming, join: IdJoin) -> None:
    """Read all ids and labels of a file; raises UnsupportedLayout.

    The window refuses backslashes, so each quote opens or closes a string. Every unit has the same number of quotes, and
    all bytes between its id and label and up to the next unit equal those of the first unit, which matched the grammar.
    Only the ids and labels can differ, and these are looked up.
    """
    window.fill()
    units = single_label_pattern(window.text(0, HEAD_BYTES), frame)
    window.drop(units.start)
    second = units.inner_separator.count(b'"')
    quotes_per_unit = second + units.outer_separator.count(b'"')
    while True:
        window.fill()
        if window.ended:
            _replace_file_end(window, units)
        quotes = window.quotes()
        count = (len(quotes) - 1) // quotes_per_unit
        require(count >= 1 and (not window.ended or len(quotes) == count * quotes_per_unit + 1))
        grid = quotes[: count * quotes_per_unit].reshape(count, quotes_per_unit)
        next_units = quotes[quotes_per_unit::quotes_per_unit][:count]
        require(window.all_match(grid[:, 1], grid[:, second], units.inner_separator))
        require(window.all_match(grid[:, second + 1], next_units, units.outer_separator))
        texts = [window.spans(grid[:, at], grid[:, at + 1]) for at in (0, second)]
        join.take_ids(texts[units.is_label_first])
        join.take_labels(texts[not units.is_label_first])
        if window.ended:
            return
        window.drop(int(next_units[-1]))


def _replace_file_end(window: SpanWindow, units: SingleLabelPattern) -> None:
    """Check the end of the file, and replace it as if another unit followed, so that the last unit is like all others."""
    last = int(np.flatnonzero(window.data == ord('"'))[-1:].sum())
    require_match(units.file_end, window.text(last + 1, len(window.data)))
    window.replace_tail(last, units.outer_separator)
