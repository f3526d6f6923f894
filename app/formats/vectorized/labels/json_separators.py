"""Classifies the bytes between two strings of a JSON file; each spelling is learned where it first occurs."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from app.formats.vectorized.span_window import SpanWindow
from app.scoring.string_table import Int, Spans, Words

_MAX_SPELLINGS = 32
"""Most spellings of separators in a file."""
_MAX_SEPARATOR_BYTES = 200
UNKNOWN = -1


class _Spelling(NamedTuple):
    """The bytes of a separator, the index of its pattern, how many empty lists it contains, and where its number is."""

    text: bytes
    meaning: int
    empty_lists: int
    number_start: int
    number_end: int


@dataclass(slots=True)
class SeparatorClassifier:
    """Classifies separators; each reaches from the closing quote of a string to the opening quote of the next, inclusive.

    A pattern describes all spellings of one meaning. It is applied once per spelling; all other separators are compared
    with the known spellings, byte for byte.
    """

    patterns: Sequence[re.Pattern[bytes]]
    spellings: list[_Spelling] = field(default_factory=list)

    def classify(self, window: SpanWindow, begins: Int, ends: Int) -> tuple[NDArray[np.int8], int]:
        """The index of the spelling of each separator, and how many separators precede the first unknown one."""
        indices = np.full(len(begins), UNKNOWN, dtype=np.int8)
        first_words = window.view[begins]
        for index in range(len(self.spellings)):
            self._mark(indices, window, begins, first_words, index)
        while True:
            at = int(np.argmax(indices == UNKNOWN)) if len(indices) else 0
            if not len(indices) or indices[at] != UNKNOWN:
                return indices, len(indices)
            length = int(ends[at] - begins[at]) + 1
            if not self._learn(window.text(int(begins[at]), min(length, _MAX_SEPARATOR_BYTES + 1))):
                return indices, at
            self._mark(indices, window, begins, first_words, len(self.spellings) - 1)

    def _mark(self, indices: NDArray[np.int8], window: SpanWindow, begins: Int, first_words: Words, index: int) -> None:
        """Mark the separators of one spelling.

        Comparing the bytes of the spelling is enough: it ends with the first quote that it contains after its start, so
        a separator that begins with these bytes ends where they do.
        """
        spelling = self.spellings[index].text
        if len(spelling) <= 8:
            mask = np.uint64((1 << 8 * len(spelling)) - 1)
            np.copyto(indices, index, where=(first_words & mask) == int.from_bytes(spelling, "little"))
            return
        candidates = np.flatnonzero(first_words == int.from_bytes(spelling[:8], "little"))
        indices[candidates[window.matches_at(begins[candidates], spelling)]] = index

    def _learn(self, spelling: bytes) -> bool:
        """Add a spelling; False if it matches no pattern or a bound is reached."""
        if len(spelling) > _MAX_SEPARATOR_BYTES or len(self.spellings) == _MAX_SPELLINGS:
            return False
        for meaning, pattern in enumerate(self.patterns):
            match = pattern.fullmatch(spelling)
            if match is not None:
                empty = match["empty"].count(b"[") if "empty" in pattern.groupindex else 0
                number = match.span("number") if "number" in pattern.groupindex else (0, 0)
                self.spellings.append(_Spelling(spelling, meaning, empty, *number))
                return True
        return False

    def meanings(self, indices: NDArray[np.int8]) -> NDArray[np.int8]:
        """The meanings of separators with these spellings."""
        return np.array([spelling.meaning for spelling in self.spellings], dtype=np.int8)[indices]

    def empty_list_counts(self, indices: NDArray[np.int8]) -> Int:
        """How many empty lists separators with these spellings contain."""
        return np.array([spelling.empty_lists for spelling in self.spellings], dtype=np.int64)[indices]

    def numbers(self, window: SpanWindow, begins: Int, indices: NDArray[np.int8]) -> Spans:
        """What the group `number` of its pattern contains in each separator, given by its first byte and its spelling."""
        starts = np.array([spelling.number_start for spelling in self.spellings], dtype=np.int64)
        ends = np.array([spelling.number_end for spelling in self.spellings], dtype=np.int64)
        return Spans(window.view, begins + starts[indices], (ends - starts)[indices])
