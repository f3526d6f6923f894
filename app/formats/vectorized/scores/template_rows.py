"""Reads all rows of a list, of lines or of a table by the template of the first row, one window at a time."""

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

import numpy as np

from app.formats.vectorized.scores.decimal_parsing import LEADING_PAD_BYTES, parse_binary64
from app.formats.vectorized.scores.file_window import ByteWindow
from app.formats.vectorized.scores.row_template import FirstRow, IncompleteRow, RowTemplate, TemplateMatcher, ValueSlot
from app.formats.vectorized.scores.score_collector import ScoreRowCollector
from app.formats.vectorized.unsupported import UnsupportedLayout, require
from app.scoring.string_table import Bytes, Int, words_of

_LIST_SEPARATOR: Final = re.compile(rb"([ \t\r\n]*),([ \t\r\n]*)")
_LINE_END: Final = re.compile(rb"([ \t\r]*)\n()")
_VALUE_PATTERNS: Final = {
    "score": re.compile(rb"[0-9.eE+-]+"),
    "id": re.compile(rb'[^"\\\x00-\x1f]+'),
    "": re.compile(rb""),
}
_WHITESPACE: Final = re.compile(rb"[ \t\r\n]*")
OrderResolver = Callable[[FirstRow], Sequence[int] | None]
"""Determines from the first row the position of each class in a row.

Raises UnsupportedLayout unless a row has exactly one score per class.
"""


def skip_whitespace(window: ByteWindow) -> None:
    """Move to the next byte that is not JSON white space."""
    while True:
        match = _WHITESPACE.match(window.ahead())
        assert match is not None
        window.position += match.end()
        if window.position < window.end or not window.read_more():
            return


def read_list_rows(window: ByteWindow, collector: ScoreRowCollector, order: OrderResolver) -> None:
    """Read the values of a JSON list, from the first to the end of the last; raises UnsupportedLayout."""
    first_row, space_before, space_after = _first_row(window, _LIST_SEPARATOR, collector.max_width)
    require(len(space_after) <= LEADING_PAD_BYTES)
    row = space_after + first_row.text[: first_row.position] + space_before
    shift = len(space_after)
    slots: list[ValueSlot] = [(start + shift, end + shift, kind) for start, end, kind in first_row.value_slots]
    # All rows but the first begin with the white space that follows a comma. It is written before the first row, too.
    window.position -= shift
    window.text[window.position : window.position + shift] = np.frombuffer(space_after, dtype=np.uint8)
    read_template_rows(window, RowTemplate.of(row, slots, b","), b",", collector, order(first_row))


def read_line_rows(window: ByteWindow, collector: ScoreRowCollector, order: OrderResolver) -> None:
    """Read the values of JSON Lines, from the first to the end of the last; raises UnsupportedLayout."""
    first_row, space_before, _ = _first_row(window, _LINE_END, collector.max_width)
    row = first_row.text[: first_row.position] + space_before
    read_template_rows(window, RowTemplate.of(row, first_row.value_slots, b",\n"), b",\n", collector, order(first_row))


def _first_row(window: ByteWindow, separator: re.Pattern[bytes], max_scores: int) -> tuple[FirstRow, bytes, bytes]:
    """The first row, and the white space before and after the separator that follows it."""
    size = 1 << 16
    while True:
        text = window.ahead(size)
        with suppress(IncompleteRow):
            first_row = FirstRow.parse(text, max_scores)
            match = separator.match(text, first_row.position)
            if match is not None and match.end() < len(text):
                return first_row, match[1], match[2]
        require(len(text) >= size or window.read_more())
        size *= 2


def read_template_rows(
    window: ByteWindow,
    template: RowTemplate,
    separators: bytes,
    collector: ScoreRowCollector,
    order: Sequence[int] | None,
) -> None:
    """Read all rows of a template.

    `separators` end the pieces of a row: a comma or tab, and for rows that are lines also a line end.
    """
    _TemplateRowReader(window, TemplateMatcher(template), separators, collector, order).run()


class _TemplateRowReader:
    """Reads rows from a window until the expected number is reached.

    Rows are cut at every separator byte. A separator too many or too few shifts all later pieces; then a piece does
    not match the template, or its value is no number or no known id, and the file is left to the strict reader.
    """

    def __init__(
        self,
        window: ByteWindow,
        matcher: TemplateMatcher,
        separators: bytes,
        collector: ScoreRowCollector,
        order: Sequence[int] | None,
    ) -> None:
        self.window, self.matcher, self.separators = window, matcher, separators
        self.collector, self.order = collector, order
        self.has_scores = matcher.score_pieces is not None

    def run(self) -> None:
        """Read all rows; no separator follows the last one."""
        collector = self.collector
        remaining = collector.expected_rows - (collector.score_rows if self.has_scores else collector.id_rows)
        pieces = len(self.matcher.template)
        while remaining > 1:
            positions = self._separator_positions()
            count = min(len(positions) // pieces, remaining - 1)
            if count:
                self._take_rows(positions[: count * pieces].reshape(count, pieces))
                remaining -= count
            if (not count or remaining > 1) and not self.window.read_more():
                require(count > 0)
        if remaining:
            self._take_last_row(pieces)

    def _separator_positions(self) -> Int:
        """The positions of all separators in the window."""
        window = self.window
        text = window.text[window.position : window.end]
        is_separator = text == self.separators[0]
        for byte in self.separators[1:]:
            is_separator |= text == byte
        positions = np.flatnonzero(is_separator)
        positions += window.position
        return positions

    def _take_rows(self, stops: Int) -> None:
        """Read rows whose pieces stop at these positions (R × D)."""
        text, first = self.window.text, self.window.position
        starts = np.empty_like(stops)
        flat = starts.reshape(-1)
        flat[0] = first
        np.add(stops.reshape(-1)[:-1], 1, out=flat[1:])
        self._read_values(text, starts, stops)
        if len(self.separators) > 1:
            # Each row ends with a line end and holds no other: one line is one row.
            lines = np.count_nonzero(text[first : stops[-1, -1] + 1] == self.separators[1])
            require(lines == len(stops) and (text[stops[:, -1]] == self.separators[1]).all())
        self.window.position = int(stops[-1, -1]) + 1

    def _read_values(self, text: Bytes, starts: Int, stops: Int) -> None:
        matcher, collector, view = self.matcher, self.collector, words_of(text)
        require(matcher.match(text, view, starts, stops))
        if matcher.id_piece is not None:
            collector.take_ids(matcher.ids(view, starts, stops))
        if self.has_scores:
            numbers = parse_binary64(text, *matcher.numbers(starts, stops))
            if numbers is None:
                raise UnsupportedLayout
            collector.take_scores(numbers.reshape(len(starts), -1), self.order)

    def _take_last_row(self, pieces: int) -> None:
        """Read the last row, which ends where its last value ends."""
        prefix, suffix = self.matcher.template.prefixes[-1], self.matcher.template.suffixes[-1]
        value = _VALUE_PATTERNS[self.matcher.template.kinds[-1]]
        is_file_end = False
        while True:
            stops = self._separator_positions()[: pieces - 1].tolist()
            begin = (stops[-1] + 1 if stops else self.window.position) + len(prefix)
            match = value.match(self.window.text[begin : self.window.end].tobytes())
            end = begin + (match.end() if match else 0) + len(suffix)
            is_complete = len(stops) == pieces - 1 and match is not None
            # A value that reaches the end of the window may continue in the next one.
            if is_file_end or (is_complete and end < self.window.end):
                break
            is_file_end = not self.window.read_more()
        require(is_complete and end <= self.window.end and (self.window.text[stops] == self.separators[0]).all())
        starts = np.array([[self.window.position, *(stop + 1 for stop in stops)]])
        self._read_values(self.window.text, starts, np.array([[*stops, end]]))
        self.window.position = end
