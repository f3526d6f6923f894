"""What stands between two texts of a JSON file, told apart by meaning; each spelling is learned where it is first met."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from app.formats.vectorized.labels.span_window import SpanWindow
from app.scoring.string_table import Int, Words

_MAX_SPELLINGS = 32
"""So many spellings of gaps a file may have."""
_MAX_SEPARATOR_BYTES = 200
"""Bytes of one gap."""
UNKNOWN = -1


@dataclass(slots=True)
class SeparatorClassifier:
    """The meanings that gaps may have: patterns, from the last mark of one text to the first of the next, both included."""

    patterns: "Sequence[re.Pattern[bytes]]"
    spellings: list[tuple[bytes, int, int]] = field(default_factory=list)
    """Spelling, position of its pattern, and how many times the pattern's group `empty` is in it."""

    def tell(self, window: SpanWindow, begins: Int, ends: Int) -> tuple[NDArray[np.int8], int]:
        """For each gap the position of its spelling, and how many gaps come before the first that means nothing here."""
        found = np.full(len(begins), UNKNOWN, dtype=np.int8)
        places = (begins, window.view[begins])
        for number in range(len(self.spellings)):
            self._mark(found, window, places, number)
        while True:
            at = int(np.argmax(found == UNKNOWN)) if len(found) else 0
            if not len(found) or found[at] != UNKNOWN:
                return found, len(found)
            length = int(ends[at] - begins[at]) + 1
            if not self._learn(window.text(int(begins[at]), min(length, _MAX_SEPARATOR_BYTES + 1))):
                return found, at
            self._mark(found, window, places, len(self.spellings) - 1)

    def _mark(self, found: NDArray[np.int8], window: SpanWindow, places: tuple[Int, Words], number: int) -> None:
        """Mark the gaps of one spelling: it ends with the first mark that follows, so equal bytes are the whole gap."""
        begins, first = places
        spelling = self.spellings[number][0]
        if len(spelling) <= 8:
            mask = np.uint64((1 << 8 * len(spelling)) - 1)
            np.copyto(found, number, where=(first & mask) == int.from_bytes(spelling, "little"))
            return
        alike = np.flatnonzero(first == int.from_bytes(spelling[:8], "little"))
        found[alike[window.matches_at(begins[alike], spelling)]] = number

    def _learn(self, spelling: bytes) -> bool:
        if len(spelling) > _MAX_SEPARATOR_BYTES or len(self.spellings) == _MAX_SPELLINGS:
            return False
        for meaning, pattern in enumerate(self.patterns):
            match = pattern.fullmatch(spelling)
            if match is not None:
                empty = match["empty"].count(b"[") if "empty" in pattern.groupindex else 0
                self.spellings.append((spelling, meaning, empty))
                return True
        return False

    def meanings(self, told: NDArray[np.int8]) -> NDArray[np.int8]:
        """The meaning of gaps by their spelling."""
        return np.array([meaning for _, meaning, _ in self.spellings], dtype=np.int8)[told]

    def empty_list_counts(self, told: NDArray[np.int8]) -> Int:
        """How many empty lists there are in gaps of these spellings."""
        return np.array([empty for _, _, empty in self.spellings], dtype=np.int64)[told]
