"""Reads all rows of a list, of lines or of a table by the template of the first row, one window at a time."""

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import numpy as np

from app.formats.vectorized.scores.decimal_parsing import parse_binary64
from app.formats.vectorized.scores.row_template import FirstRow, IncompleteRow, RowTemplate, TemplateMatcher, ValueSlot
from app.formats.vectorized.scores.score_collector import ScoreCollector
from app.formats.vectorized.span_window import LEADING_BYTES, SpanWindow
from app.formats.vectorized.unsupported import UnsupportedLayout, require
from app.scoring.string_table import Int

_PIECES_PER_BLOCK: Final = 1 << 16
"""Pieces of rows processed together: with very short numbers, a window would give large arrays."""
_LIST_SEPARATOR: Final = re.compile(rb"([ \t\r\n]*),([ \t\r\n]*)")
_LINE_END: Final = re.compile(rb"([ \t\r]*)\n()")
_VALUE_PATTERNS: Final = {
    "score": re.compile(rb"[0-9.eE+-]+"),
    "id": re.compile(rb'[^"\\\x00-\x1f]+'),
    "": re.compile(rb""),
}
OrderResolver = Callable[[FirstRow], Sequence[int] | None]
"""Determines from the first row the position of each class in a row.

Raises UnsupportedLayout unless a row has exactly one score per class.
"""


def read_list_rows(window: SpanWindow, collector: ScoreCollector, order: OrderResolver) -> None:
    """Read the values of a JSON list, from the first to the end of the last; raises UnsupportedLayout."""
    first_row, space_before, space_after = _first_row(window, _LIST_SEPARATOR, collector.max_width)
    require(len(space_after) <= LEADING_BYTES)
    row = space_after + first_row.text[: first_row.position] + space_before
    shift = len(space_after)
    slots: list[ValueSlot] = [(start + shift, end + shift, kind) for start, end, kind in first_row.value_slots]
    # All rows but the first begin with the white space that follows a comma. It is written before the first row, too.
    window.prepend(space_after)
    matcher = TemplateMatcher(RowTemplate.of(row, slots, b","))
    TemplateRowReader(window, matcher, b",", collector, order(first_row)).run()


def read_line_rows(window: SpanWindow, collector: ScoreCollector, order: OrderResolver) -> None:
    """Read the values of JSON Lines, from the first to the end of the last; raises UnsupportedLayout."""
    first_row, space_before, _ = _first_row(window, _LINE_END, collector.max_width)
    row = first_row.text[: first_row.position] + space_before
    matcher = TemplateMatcher(RowTemplate.of(row, first_row.value_slots, b",\n"))
    TemplateRowReader(window, matcher, b",\n", collector, order(first_row)).run()


def _first_row(window: SpanWindow, separator: re.Pattern[bytes], max_scores: int) -> tuple[FirstRow, bytes, bytes]:
    """The first row, and the white space before and after the separator that follows it."""
    size = 1 << 10
    while True:
        text = window.ahead(size)
        with suppress(IncompleteRow):
            first_row = FirstRow.parse(text, max_scores)
            match = separator.match(text, first_row.position)
            if match is not None and match.end() < len(text):
                return first_row, match[1], match[2]
        require(len(text) == size)
        size *= 4


@dataclass(frozen=True, slots=True)
class TemplateRowReader:
    """Reads rows from a window until the expected number is reached.

    Rows are cut at every separator byte. A separator too many or too few shifts all later pieces; then a piece does
    not match the template, or its value is no number or no known id, and the file is left to the strict reader.
    """

    window: SpanWindow
    matcher: TemplateMatcher
    separators: bytes
    """What ends the pieces of a row: a comma or tab, and for rows that are lines also a line end."""
    collector: ScoreCollector
    order: Sequence[int] | None
    """The position of each class in a row."""

    def run(self) -> None:
        """Read all rows; no separator follows the last one."""
        window, pieces = self.window, len(self.matcher.template)
        remaining = self.collector.missing_rows
        size = 0
        while remaining > 1:
            window.fill(size)
            positions = self._separator_positions()
            count = min(len(positions) // pieces, remaining - 1)
            if count:
                self._take_rows(positions[: count * pieces].reshape(count, pieces))
                remaining -= count
            else:
                # A row is longer than the window.
                require(not window.ended)
                size = 2 * len(window)
        if remaining:
            self._take_last_row(pieces)

    def _separator_positions(self) -> Int:
        """The offsets of all separators in the window."""
        data = self.window.data
        is_separator = data == self.separators[0]
        for byte in self.separators[1:]:
            is_separator |= data == byte
        return np.flatnonzero(is_separator)

    def _take_rows(self, stops: Int) -> None:
        """Read rows whose pieces stop at these offsets (R × D)."""
        size, step = 0, max(1, _PIECES_PER_BLOCK // stops.shape[1])
        for block in (stops[at : at + step] for at in range(0, len(stops), step)):
            starts = np.empty_like(block)
            flat = starts.reshape(-1)
            flat[0] = size
            np.add(block.reshape(-1)[:-1], 1, out=flat[1:])
            self._read_values(starts, block)
            size = int(block[-1, -1]) + 1
        if len(self.separators) > 1:
            # Each row ends with a line end and holds no other: one line is one row.
            is_line_end = self.window.data[:size] == self.separators[1]
            require(np.count_nonzero(is_line_end) == len(stops) and is_line_end[stops[:, -1]].all())
        self.window.drop(size)

    def _read_values(self, starts: Int, stops: Int) -> None:
        window, matcher = self.window, self.matcher
        require(matcher.match(window, starts, stops))
        if matcher.id_piece is not None:
            self.collector.join.take_ids(matcher.ids(window, starts, stops))
        numbers = parse_binary64(window.data_and_leading, *matcher.numbers(starts, stops))
        if numbers is None:
            raise UnsupportedLayout
        self.collector.take_scores(numbers.reshape(len(starts), -1), self.order)

    def _take_last_row(self, pieces: int) -> None:
        """Read the last row, which ends where its last value ends."""
        window, template = self.window, self.matcher.template
        value = _VALUE_PATTERNS[template.kinds[-1]]
        window.fill()
        while True:
            stops = self._separator_positions()[: pieces - 1].tolist()
            begin = (stops[-1] + 1 if stops else 0) + len(template.prefixes[-1])
            match = value.match(window.data[begin:].data)
            end = begin + (match.end() if match else 0) + len(template.suffixes[-1])
            is_complete = len(stops) == pieces - 1 and match is not None
            # A value that reaches the end of the window may continue in the next one.
            if window.ended or (is_complete and end < len(window)):
                break
            window.fill(2 * len(window))
        require(is_complete and end <= len(window) and (window.data[stops] == self.separators[0]).all())
        self._read_values(np.array([[0, *(stop + 1 for stop in stops)]]), np.array([[*stops, end]]))
        window.drop(end)
