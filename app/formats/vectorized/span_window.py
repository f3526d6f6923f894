"""A sliding window over the bytes of a file, with vectorized comparison of spans."""

from collections.abc import Iterator
from typing import BinaryIO, Final

import numpy as np
from numpy.typing import NDArray

from app.formats.content.decompression import iter_decompressed
from app.formats.content.format_detection import FORMATS, FileKind
from app.formats.content.text_start import examine_start
from app.formats.reading_rules import Limits
from app.formats.vectorized.unsupported import require
from app.scoring.string_table import PADDING_BYTES, Bytes, Int, Spans, Words, words_of

HEAD_BYTES: Final = 1 << 14
"""Bytes from which the layout of a file is detected; its first two records must fit."""
SPAN_WINDOW_BYTES: Final = 1 << 19
"""Bytes processed together: the arrays computed from them stay in the processor's cache."""
LEADING_BYTES: Final = 24
"""Bytes before the window that may be read, with any content: digits are read backwards from the end of a number."""
_MAX_WINDOW_BYTES: Final = 1 << 27
"""Bytes of the largest window; the longest row has half as many."""
_QUOTE: Final = ord('"')


class SpanWindow:
    """The bytes of a file from the current position on: at least `size` of them, unless the file ends earlier.

    The bytes around the window may be read but never count as data, so that a word can be read at every offset. Raises
    UnsupportedLayout where the byte `forbidden` occurs anywhere in the file.
    """

    def __init__(self, pieces: Iterator[bytes], forbidden: bytes, size: int = SPAN_WINDOW_BYTES) -> None:
        self._pieces = pieces
        self._forbidden = forbidden
        self._target_size = size
        self._pending = memoryview(b"")
        # Twice the leading bytes, so that some remain before a piece that is put before the window.
        self._start = self._end = 2 * LEADING_BYTES
        self._buffer: Bytes = np.zeros(self._start + size + PADDING_BYTES, dtype=np.uint8)
        self.ended = False
        """Whether the window holds the end of the file."""
        self.separator = ""
        """What separates the fields of a table."""
        self.notes: list[str] = []
        """What was tolerated in the file."""

    def __len__(self) -> int:
        return self._end - self._start

    @property
    def data(self) -> Bytes:
        """The bytes in the window."""
        return self._buffer[self._start : self._end]

    @property
    def view(self) -> Words:
        """The 8-byte word at each offset."""
        return words_of(self._buffer[self._start :])

    @property
    def data_and_leading(self) -> Bytes:
        """The window's buffer from LEADING_BYTES bytes before the window on."""
        return self._buffer[self._start - LEADING_BYTES :]

    def fill(self, count: int = 0) -> None:
        """Read until the window holds its target size, or `count` bytes if these are more, or the file ends."""
        count = max(count, self._target_size)
        while not self.ended and len(self) < count:
            if not self._pending:
                piece = next(self._pieces, None)
                self.ended = piece is None
                require(piece is None or self._forbidden not in piece)
                self._pending = memoryview(piece or b"")
            self._reserve(count)
            missing = count - len(self)
            self.append(self._pending[:missing])
            self._pending = self._pending[missing:]

    def _reserve(self, count: int) -> None:
        """Make space for `count` bytes in the window; raises UnsupportedLayout for too many."""
        if self._start + count <= len(self._buffer) - PADDING_BYTES:
            return
        require(count <= _MAX_WINDOW_BYTES)
        data, self._start = self.data, 2 * LEADING_BYTES
        if len(self._buffer) < self._start + count + PADDING_BYTES:
            self._buffer = np.zeros(self._start + count + PADDING_BYTES, dtype=np.uint8)
        self._end = self._start + len(data)
        self._buffer[self._start : self._end] = data

    def append(self, piece: bytes | memoryview) -> None:
        """Add bytes at the end."""
        self._reserve(len(self) + len(piece))
        end = self._end + len(piece)
        self._buffer[self._end : end] = np.frombuffer(piece, dtype=np.uint8)
        self._end = end

    def prepend(self, piece: bytes) -> None:
        """Put up to LEADING_BYTES bytes before the window, where the file had others."""
        self._start -= len(piece)
        self._buffer[self._start : self._start + len(piece)] = np.frombuffer(piece, dtype=np.uint8)

    def drop(self, count: int) -> None:
        """Move the start of the window forward by `count` bytes."""
        self._start += count

    def replace_tail(self, count: int, piece: bytes) -> None:
        """Keep the first `count` bytes and replace the rest by `piece`."""
        self._end = self._start + count
        self.append(piece)

    def text(self, start: int, count: int) -> bytes:
        """Up to `count` bytes from `start`."""
        return self.data[start : start + count].tobytes()

    def ahead(self, count: int) -> bytes:
        """The next `count` bytes, which are read if necessary; fewer only where the file ends."""
        if len(self) < count:
            self.fill(count)
        return self.text(0, count)

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


def open_window(stream: BinaryIO, kind: FileKind, limits: Limits, size: int = SPAN_WINDOW_BYTES) -> SpanWindow:
    """The window at the beginning of a text, filled; raises UnsupportedLayout for a binary format or a layout.

    It begins behind a byte order mark.

    Also raises DecompressionError, as does reading on.
    """
    form = FORMATS[kind.format]
    require(not form.is_binary and not kind.layout)
    # A table with a quotation mark, or JSON with an escape, would need more than comparing bytes.
    window = SpanWindow(iter_decompressed(stream, kind.encoding, limits), b'"' if form.separator else b"\\", size)
    window.fill()
    head = window.text(0, HEAD_BYTES)
    start = examine_start(head, form)
    # Whether there are only semicolons is not known before the end of the first line.
    require(start.form is form or b"\n" in head)
    window.separator, window.notes = start.form.separator, [*start.notes]
    window.drop(start.skipped)
    return window
