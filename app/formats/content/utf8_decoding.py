"""Decodes strict UTF-8 and reports the location of every invalid byte."""

import codecs
import unicodedata
from dataclasses import dataclass
from functools import partial
from itertools import takewhile

from app.formats.problems import (
    MAX_COUNTED_PROBLEMS,
    MAX_LISTED_PROBLEMS,
    WHOLE_FILE_ROW,
    Location,
    Problem,
    Problems,
    build_problem,
)

_DECODE_WINDOW_BYTES = 1 << 12
_BLOCK_BYTES = 1 << 20
_MAX_COMBINING_MARKS = 30
_UTF16_BYTE_ORDER_MARKS = frozenset({codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE})
_UTF8_REMEDY = "Save the file as UTF-8."


def decode_utf8(data: bytes, *, by_line: bool, problems: Problems) -> str | None:
    """Decode strict UTF-8; each fault is a problem with line and column (both from 1, columns in characters).

    With `by_line`, problems are ordered by their line; otherwise they come first. Invalid bytes appear in the text as
    lone surrogates (PEP 383), so that reading can continue. None where there is no text at all.
    """
    is_utf16 = data[:2] in _UTF16_BYTE_ORDER_MARKS or (b"\0" in data[:2] and data[:2] != b"\0\0")
    if is_utf16 or data[:4] == codecs.BOM_UTF32_BE:
        message = f"The file is UTF-16 or UTF-32. {_UTF8_REMEDY}"
        problems.add_new("encoding", message, Location(None, 1, 1), expected="UTF-8")
        return None
    if not data or data.isspace():
        problems.add_new("syntax", "The file is empty. It must contain predictions or gold.", Location(None, 1, 1))
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        _report_invalid_bytes(data, by_line, problems)
        return data.decode(errors="surrogateescape")


def to_nfc(text: str, max_length: int) -> str:
    """A text in NFC; unchanged if it has more than `max_length` characters, as it then is no valid id or label.

    Also unchanged with more than 30 combining marks in a row, which no script needs (UAX 15, section 13): the time
    to sort marks grows with the square of their number.
    """
    return text if len(text) > max_length or has_excess_combining_marks(text) else unicodedata.normalize("NFC", text)


def has_excess_combining_marks(text: str) -> bool:
    """Whether a text has more than 30 combining marks in a row."""
    if len(text) <= _MAX_COMBINING_MARKS or text.isascii():
        return False
    is_mark = unicodedata.combining
    # Each run of 31 marks covers one of these positions, so no others need to be looked at.
    for at in range(_MAX_COMBINING_MARKS, len(text), _MAX_COMBINING_MARKS + 1):
        if is_mark(text[at]):
            before, after = text[at - _MAX_COMBINING_MARKS : at], text[at + 1 : at + 1 + _MAX_COMBINING_MARKS]
            run_length = 1 + len(list(takewhile(is_mark, reversed(before)))) + len(list(takewhile(is_mark, after)))
            if run_length > _MAX_COMBINING_MARKS:
                return True
    return False


def _report_invalid_bytes(data: bytes, by_line: bool, problems: Problems) -> None:
    """Report each maximal run of invalid bytes; runs beyond the listed ones are only counted."""
    view = memoryview(data)
    start, line, line_start, listed_count = 0, 1, 0, 0
    counter = _ColumnCounter(data)
    while start < len(data) and listed_count < MAX_LISTED_PROBLEMS:
        end = start + _DECODE_WINDOW_BYTES
        invalid_at = None
        try:
            end = start + codecs.utf_8_decode(view[start:end], "strict", end >= len(data))[1]
        except UnicodeDecodeError as error:
            invalid_at, end = start + error.start, start + error.end
        until = end if invalid_at is None else invalid_at
        line += data.count(b"\n", start, until)
        line_start = max(line_start, data.rfind(b"\n", start, until) + 1)
        if invalid_at is not None:
            build = partial(_invalid_bytes_problem, data, counter, line, line_start, slice(invalid_at, end))
            problems.report("encoding", line if by_line else WHOLE_FILE_ROW, build)
            listed_count += 1
        start = end
    if start < len(data):
        problems.count_more(
            "encoding", _count_invalid_runs(data, start, MAX_COUNTED_PROBLEMS), at_most=MAX_COUNTED_PROBLEMS
        )


def _count_invalid_runs(data: bytes, start: int, max_count: int) -> int:
    """Count the invalid runs from `start`, where a character or a run begins; stops counting above `max_count`.

    The decoder replaces each run by one U+FFFD. Valid U+FFFD characters in the file are subtracted.
    """
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    count, complete, end = 0, start, start
    while end < len(data) and count <= max_count:
        piece = data[end : end + _BLOCK_BYTES]
        end += len(piece)
        count += decoder.decode(piece, end == len(data)).count("\ufffd")
        before, complete = complete, end - len(decoder.getstate()[0])
        count -= data.count("\ufffd".encode(), before, complete)
    return count


@dataclass(slots=True)
class _ColumnCounter:
    """Counts the characters of a line up to a byte, starting from the previous request: a line may be the whole file."""

    data: bytes
    line_start: int = 0
    position: int = 0
    characters_before: int = 0

    def column(self, line_start: int, position: int) -> int:
        """The column of the first byte of a character or an invalid run; requests must be in ascending order."""
        if line_start != self.line_start:
            self.line_start, self.position, self.characters_before = line_start, line_start, 0
        self.characters_before += len(self.data[self.position : position].decode(errors="replace"))
        self.position = position
        return self.characters_before + 1


def _invalid_bytes_problem(data: bytes, counter: _ColumnCounter, line: int, start: int, span: slice) -> Problem:
    invalid = data[span]
    column = counter.column(start, span.start)
    hex_bytes = invalid.hex(" ").upper()
    guess = f" (in Latin-1 it is '{invalid.decode('latin-1')}')" if invalid[0] >= 0xA0 else ""
    message = f"The byte {hex_bytes} is not valid UTF-8{guess}. {_UTF8_REMEDY}"
    return build_problem("encoding", message, Location(None, line, column), expected="UTF-8", got=hex_bytes)
