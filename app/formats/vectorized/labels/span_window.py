"""A window that moves over the bytes of a file, and the finding of equal spans in it."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from app.scoring.string_table import PADDING_BYTES, Bytes, Int, Spans, Words, words_of

SPAN_WINDOW_BYTES = 1 << 20
"""Bytes looked at together: the arrays made of them stay in the processor's cache."""
_QUOTE = ord('"')


class UnsupportedLabelLayout(Exception):
    """Something that only the strict reader may judge."""


class SpanWindow:
    """The bytes of a file from where reading is, at least `size` of them unless the file ends before.

    Raises Doubt for a byte that never stands in a file of the fast tier (`never`).
    """

    def __init__(self, pieces: Iterator[bytes], never: bytes, size: int = SPAN_WINDOW_BYTES) -> None:
        self._pieces = pieces
        self._never = never
        self._target_size = size
        self._pending = b""
        self._buffer = np.zeros(2 * size + PADDING_BYTES, dtype=np.uint8)
        self._size = 0
        self.ended = False

    @property
    def data(self) -> Bytes:
        """The bytes themselves."""
        return self._buffer[: self._size]

    @property
    def view(self) -> Words:
        """The word at every offset."""
        return words_of(self._buffer)

    def fill(self) -> None:
        """Read on until the window is full or the file ends."""
        while self._size < self._target_size and not self.ended:
            if not self._pending:
                piece = next(self._pieces, None)
                self.ended = piece is None
                self._pending = piece or b""
                if self._never in self._pending:
                    raise UnsupportedLabelLayout
            room = 2 * self._target_size - self._size
            self.append(self._pending[:room])
            self._pending = self._pending[room:]

    def append(self, piece: bytes) -> None:
        """Put bytes after the last one."""
        end = self._size + len(piece)
        if end > len(self._buffer) - PADDING_BYTES:
            raise UnsupportedLabelLayout
        self._buffer[self._size : end] = np.frombuffer(piece, dtype=np.uint8)
        self._size = end

    def drop(self, count: int) -> None:
        """Go on behind so many bytes."""
        self._buffer[: self._size - count] = self._buffer[count : self._size].copy()
        self._size -= count

    def replace_tail(self, count: int, piece: bytes) -> None:
        """Put these bytes in the place of all after the first `count`."""
        self._size = count
        self.append(piece)

    def text(self, start: int, count: int) -> bytes:
        """So many bytes from here on, fewer where the window ends before."""
        return self.data[start : start + count].tobytes()

    def quotes(self) -> Int:
        """Where quotation marks stand: in JSON without escapes each begins or ends a text."""
        return np.flatnonzero(self.data == _QUOTE)

    def spans(self, begins: Int, ends: Int) -> Spans:
        """The texts between pairs of separators."""
        return Spans(self.view, begins + 1, ends - begins - 1)

    def same(self, begins: Int, ends: Int, span: bytes) -> bool:
        """Whether all of these places hold this span, of which `begins` and `ends` are the first and last byte."""
        return bool((ends - begins == len(span) - 1).all() and self.matches_at(begins, span).all())

    def matches_at(self, begins: Int, span: bytes) -> NDArray[np.bool_]:
        """Whether the bytes from each place on are this span."""
        view = self.view
        if len(span) < 8:
            mask = np.uint64((1 << 8 * len(span)) - 1)
            return np.asarray((view[begins] & mask) == int.from_bytes(span, "little"))
        found: NDArray[np.bool_] | None = None
        for at in (*range(0, len(span) - 8, 8), len(span) - 8):
            word = np.uint64(int.from_bytes(span[at : at + 8], "little"))
            same = view[begins + at] == word if at else view[begins] == word
            found = same if found is None else found & same
        assert found is not None
        return found
