"""A stretch of a file in memory that moves on: bytes are read into one buffer, so that a file of any size takes little."""

from collections.abc import Iterator
from typing import Final

import numpy as np

from app.formats.vectorized.scores.decimal_parsing import LEADING_PAD_BYTES
from app.scoring.string_table import PADDING_BYTES, Bytes

BYTE_WINDOW_BYTES: Final = 1 << 18
"""Bytes looked at together: what is computed of them stays in the processor's cache."""
_MAX_ROW_BYTES: Final = 1 << 26
"""Bytes of the longest row."""


class ByteWindow:
    """The bytes `text[at:end]` of a file are before us; what is before `at` is gone and may be overwritten.

    FRONT bytes stand before them and PAD behind, whatever they are.
    """

    def __init__(self, pieces: Iterator[bytes], size: int = BYTE_WINDOW_BYTES) -> None:
        self.text: Bytes = np.zeros(LEADING_PAD_BYTES + size + PADDING_BYTES, dtype=np.uint8)
        self.at = self.end = LEADING_PAD_BYTES
        self.size = size
        self._pieces = pieces
        self._pending = memoryview(b"")
        self.more()

    def more(self) -> bool:
        """Move what is left to the front and read on; False where nothing follows, or no more fits."""
        left = self.end - self.at
        wider = self.text
        if 2 * left > len(self.text) - LEADING_PAD_BYTES - PADDING_BYTES:
            if len(self.text) > _MAX_ROW_BYTES:
                return False
            wider = np.zeros(LEADING_PAD_BYTES + 2 * left + self.size + PADDING_BYTES, dtype=np.uint8)
        wider[LEADING_PAD_BYTES : LEADING_PAD_BYTES + left] = self.text[self.at : self.end].copy()
        self.text, self.at, self.end = wider, LEADING_PAD_BYTES, LEADING_PAD_BYTES + left
        while room := len(self.text) - PADDING_BYTES - self.end:
            # An empty piece is not the end: a member of compressed data may hold nothing.
            self._pending = self._pending or memoryview(next(filter(None, self._pieces), b""))
            part = self._pending[:room]
            if not part:
                break
            self.text[self.end : self.end + len(part)] = part
            self.end += len(part)
            self._pending = self._pending[room:]
        return self.end > LEADING_PAD_BYTES + left

    def hold(self, count: int) -> bool:
        """Have so many bytes before us; False where the file ends before."""
        while self.end - self.at < count:
            if not self.more():
                return False
        return True

    def ahead(self, most: int = BYTE_WINDOW_BYTES) -> bytes:
        """The next bytes, as many as are here and at most so many."""
        return self.text[self.at : min(self.end, self.at + most)].tobytes()

    def remaining(self) -> bytes | None:
        """All that is left of the file; None where that is long."""
        return None if self.hold(BYTE_WINDOW_BYTES) else self.ahead()
