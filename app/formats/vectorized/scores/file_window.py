"""A sliding window over a file: bytes are read into one buffer, so that a file of any size takes little memory."""

from collections.abc import Iterator
from typing import Final

import numpy as np

from app.formats.vectorized.scores.decimal_parsing import LEADING_PAD_BYTES
from app.scoring.string_table import PADDING_BYTES, Bytes

BYTE_WINDOW_BYTES: Final = 1 << 18
"""Bytes processed together: the arrays computed from them stay in the processor's cache."""
_MAX_ROW_BYTES: Final = 1 << 26
"""Bytes of the longest row."""


class ByteWindow:
    """The bytes `text[at:end]` of a file are ready to be read; those before `position` are done and may be overwritten.

    At least LEADING_PAD_BYTES bytes precede them in the buffer and PADDING_BYTES follow, with any content, so that words
    can be read across both ends.
    """

    def __init__(self, pieces: Iterator[bytes], size: int = BYTE_WINDOW_BYTES) -> None:
        self.text: Bytes = np.zeros(LEADING_PAD_BYTES + size + PADDING_BYTES, dtype=np.uint8)
        self.position = self.end = LEADING_PAD_BYTES
        self.size = size
        self._pieces = pieces
        self._pending = memoryview(b"")
        self.read_more()

    def read_more(self) -> bool:
        """Move the remaining bytes to the front and read on; False if the file has ended or no more fits."""
        remaining_bytes = self.end - self.position
        buffer = self.text
        if 2 * remaining_bytes > len(self.text) - LEADING_PAD_BYTES - PADDING_BYTES:
            # Less than half of the buffer is free: a row may be longer than the buffer, which therefore grows.
            if len(self.text) > _MAX_ROW_BYTES:
                return False
            buffer = np.zeros(LEADING_PAD_BYTES + 2 * remaining_bytes + self.size + PADDING_BYTES, dtype=np.uint8)
        buffer[LEADING_PAD_BYTES : LEADING_PAD_BYTES + remaining_bytes] = self.text[self.position : self.end].copy()
        self.text, self.position, self.end = buffer, LEADING_PAD_BYTES, LEADING_PAD_BYTES + remaining_bytes
        while space := len(self.text) - PADDING_BYTES - self.end:
            # An empty piece is not the end: a member of compressed data may be empty.
            self._pending = self._pending or memoryview(next(filter(None, self._pieces), b""))
            part = self._pending[:space]
            if not part:
                break
            self.text[self.end : self.end + len(part)] = part
            self.end += len(part)
            self._pending = self._pending[space:]
        return self.end > LEADING_PAD_BYTES + remaining_bytes

    def ensure_available(self, count: int) -> bool:
        """Read until `count` bytes are ready; False if the file ends earlier."""
        while self.end - self.position < count:
            if not self.read_more():
                return False
        return True

    def ahead(self, limit: int = BYTE_WINDOW_BYTES) -> bytes:
        """The next bytes that are ready, at most `limit`."""
        return self.text[self.position : min(self.end, self.position + limit)].tobytes()

    def remaining(self) -> bytes | None:
        """The rest of the file; None if it is long."""
        return None if self.ensure_available(BYTE_WINDOW_BYTES) else self.ahead()
