"""A sliding window over the bytes of a file, with vectorized comparison of spans."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from app.formats.vectorized.unsupported import require
from app.scoring.string_table import PADDING_BYTES, Bytes, Int, Spans, Words, words_of

SPAN_WINDOW_BYTES = 1 << 20
"""Bytes processed together: the arrays computed from them stay in the processor's cache."""
_QUOTE = ord('"')


class SpanWindow:
    """The bytes of a file from the current position on: at least `size` of them, unless the file ends earlier.

    The buffer ends with padding that may be read but never counts as data, so that a word can be read at every offset.
    Raises UnsupportedLayout where the byte `forbidden` occurs anywhere in the file.
    """

    def __init__(self, pieces: Iterator[bytes], forbidden: bytes, size: int = SPAN_WINDOW_BYTES) -> None:
        self._pieces = pieces
        self._forbidden = forbidden
        self._target_size = size
        self._pending = b""
        self._buffer = np.zeros(2 * size + PADDING_BYTES, dtype=np.uint8)
        self._size = 0
        self.ended = False
        """Whether the window holds the end of the file."""

    @property
    def data(self) -> Bytes:
        """The bytes in the window."""
        return self._buffer[: self._size]

    @property
    def view(self) -> Words:
        """The 8-byte word at each offset."""
        return words_of(self._buffer)

    def fill(self) -> None:
        """Read until the window holds its target size or the file ends."""
        while self._size < self._target_size and not self.ended:
            if not self._pending:
                piece = next(self._pieces, None)
                self.ended = piece is None
                self._pending = piece or b""
                require(self._forbidden not in self._pending)
            space = 2 * self._target_size - self._size
            self.append(self._pending[:space])
            self._pending = self._pending[space:]

    def append(self, piece: bytes) -> None:
        """Add bytes at the end."""
        end = self._size + len(piece)
        require(end <= len(self._buffer) - PADDING_BYTES)
        self._buffer[self._size : end] = np.frombuffer(piece, dtype=np.uint8)
        self._size = end

    def drop(self, count: int) -> None:
        """Move the start of the window forward by `count` bytes."""
        self._buffer[: self._size - count] = self._buffer[count : self._size].copy()
        self._size -= count

    def replace_tail(self, count: int, piece: bytes) -> None:
        """Keep the first `count` bytes and replace the rest by `piece`."""
        self._size = count
        self.append(piece)

    def text(self, start: int, count: int) -> bytes:
        """Up to `count` bytes from `start`."""
        return self.data[start : start + count].tobytes()

    def quotes(self) -> Int:
        """The offsets of all quotation marks: in JSON without escapes, each one opens or closes a string."""
        return np.flatnonzero(self.data == _QUOTE)

    def spans(self, begins: Int, ends: Int) -> Spans:
        """The texts between pairs of delimiters, which are one byte each and not part of the texts."""
        return Spans(self.view, begins + 1, ends - begins - 1)

    def all_match(self, begins: Int, ends: Int, span: bytes) -> bool:
        """Whether every range holds exactly this span; `begins` and `ends` are its first and last bytes."""
        return bool((ends - begins == len(span) - 1).all() and self.matches_at(begins, span).all())

    def matches_at(self, begins: Int, span: bytes) -> NDArray[np.bool_]:
        """For each offset, whether the bytes from there on are this span."""
        view = self.view
        if len(span) < 8:
            mask = np.uint64((1 << 8 * len(span)) - 1)
            return np.asarray((view[begins] & mask) == int.from_bytes(span, "little"))
        matches = np.ones(len(begins), dtype=bool)
        # The last word overlaps the one before it, so that no bytes behind the span are compared.
        for offset in (*range(0, len(span) - 8, 8), len(span) - 8):
            matches &= view[begins + offset] == int.from_bytes(span[offset : offset + 8], "little")
        return matches
