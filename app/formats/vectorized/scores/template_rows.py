"""All rows of a list or of lines, by the template of the first one, a stretch of the file at a time."""

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

import numpy as np

from app.formats.vectorized.scores.byte_window import ByteWindow
from app.formats.vectorized.scores.decimal_parsing import LEADING_PAD_BYTES, parse_binary64
from app.formats.vectorized.scores.row_template import (
    FirstRow,
    IncompleteRow,
    RowTemplate,
    TemplateMatcher,
    UnsupportedScoreLayout,
    ValueSlot,
)
from app.formats.vectorized.scores.score_rows import ScoreRowCollector
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
"""Tells from the first row where each class stands in a row; raises Unfit where rows do not give one score for each."""


def skip_whitespace(window: ByteWindow) -> None:
    """Go to the next byte that is no white space of JSON."""
    while True:
        found = _WHITESPACE.match(window.ahead())
        assert found is not None
        window.at += found.end()
        if window.at < window.end or not window.more():
            return


def read_list_rows(window: ByteWindow, into: ScoreRowCollector, order: OrderResolver) -> None:
    """The values of a JSON list, from the first one to behind the last one; raises Unfit."""
    sample, trail, lead = _first_row(window, _LIST_SEPARATOR, into.width)
    if len(lead) > LEADING_PAD_BYTES:
        raise UnsupportedScoreLayout
    row = lead + sample.text[: sample.at] + trail
    holes: list[ValueSlot] = [(start + len(lead), end + len(lead), kind) for start, end, kind in sample.value_slots]
    window.at -= len(lead)  # the first row stands alone: it is made to look like all others
    window.text[window.at : window.at + len(lead)] = np.frombuffer(lead, dtype=np.uint8)
    read_template_rows(window, RowTemplate.of(row, holes, b","), b",", into, order(sample))


def read_line_rows(window: ByteWindow, into: ScoreRowCollector, order: OrderResolver) -> None:
    """The values of JSON Lines, from the first one to the end of the last one; raises Unfit."""
    sample, trail, _ = _first_row(window, _LINE_END, into.width)
    row = sample.text[: sample.at] + trail
    read_template_rows(window, RowTemplate.of(row, sample.value_slots, b",\n"), b",\n", into, order(sample))


def _first_row(window: ByteWindow, between: re.Pattern[bytes], most: int) -> tuple[FirstRow, bytes, bytes]:
    """The first row, and what stands before and after the separator that follows it."""
    size = 1 << 16
    while True:
        text = window.ahead(size)
        with suppress(IncompleteRow):
            sample = FirstRow.of(text, most)
            found = between.match(text, sample.at)
            if found is not None and found.end() < len(text):
                return sample, found[1], found[2]
        if len(text) < size and not window.more():
            raise UnsupportedScoreLayout
        size *= 2


def read_template_rows(
    window: ByteWindow, template: RowTemplate, separators: bytes, into: ScoreRowCollector, order: Sequence[int] | None
) -> None:
    """All rows of a template, whose pieces the separators end: a comma or tab, and a line end if rows are lines."""
    _TemplateRowReader(window, TemplateMatcher(template), separators, into, order).run()


class _TemplateRowReader:
    """Takes rows from a window until all are there."""

    def __init__(
        self,
        window: ByteWindow,
        rows: TemplateMatcher,
        separators: bytes,
        into: ScoreRowCollector,
        order: Sequence[int] | None,
    ) -> None:
        self.window, self.rows, self.separators, self.collector, self.order = window, rows, separators, into, order
        self.scored = rows.scores is not None

    def run(self) -> None:
        """Take all rows; the last one has no separator behind it."""
        left = self.collector.due - (self.collector.given if self.scored else self.collector.known)
        pieces = len(self.rows.template)
        while left > 1:
            found = self._separator_positions()
            count = min(len(found) // pieces, left - 1)
            if count:
                self._take(found[: count * pieces].reshape(count, pieces))
                left -= count
            if (not count or left > 1) and not self.window.more() and not count:
                raise UnsupportedScoreLayout
        if left:
            self._take_last_row(pieces)

    def _separator_positions(self) -> Int:
        """Where separators stand in the window."""
        window = self.window
        text = window.text[window.at : window.end]
        here = text == self.separators[0]
        for sign in self.separators[1:]:
            here |= text == sign
        found = np.flatnonzero(here)
        found += window.at
        return found

    def _take(self, stops: Int) -> None:
        """Take rows whose pieces stop at these places (R × D)."""
        text, first = self.window.text, self.window.at
        starts = np.empty_like(stops)
        flat = starts.reshape(-1)
        flat[0] = first
        np.add(stops.reshape(-1)[:-1], 1, out=flat[1:])
        self._read_values(text, starts, stops)
        if len(self.separators) > 1:
            lines = np.count_nonzero(text[first : stops[-1, -1] + 1] == self.separators[1])
            if lines != len(stops) or not (text[stops[:, -1]] == self.separators[1]).all():
                raise UnsupportedScoreLayout
        self.window.at = int(stops[-1, -1]) + 1

    def _read_values(self, text: Bytes, starts: Int, stops: Int) -> None:
        rows, into, view = self.rows, self.collector, words_of(text)
        if not rows.match(text, view, starts, stops):
            raise UnsupportedScoreLayout
        if rows.id is not None and not into.take_ids(rows.ids(view, starts, stops)):
            raise UnsupportedScoreLayout
        if self.scored:
            found = parse_binary64(text, *rows.numbers(starts, stops))
            if found is None or not into.take_scores(found.reshape(len(starts), -1), self.order):
                raise UnsupportedScoreLayout

    def _take_last_row(self, pieces: int) -> None:
        """Take the last row, which ends where its last value does."""
        before, after = self.rows.template.before[-1], self.rows.template.after[-1]
        value = _VALUE_PATTERNS[self.rows.template.kinds[-1]]
        whole = False
        while True:
            found = self._separator_positions()[: pieces - 1].tolist()
            start = found[-1] + 1 if found else self.window.at
            begin = start + len(before)
            given = value.match(self.window.text[begin : self.window.end].tobytes())
            end = begin + (given.end() if given else 0) + len(after)
            complete = len(found) == pieces - 1 and given is not None
            if whole or (complete and end < self.window.end):
                break
            whole = not self.window.more()
        if not complete or end > self.window.end or not (self.window.text[found] == self.separators[0]).all():
            raise UnsupportedScoreLayout
        starts = np.array([[self.window.at, *(stop + 1 for stop in found)]])
        self._read_values(self.window.text, starts, np.array([[*found, end]]))
        self.window.at = end
