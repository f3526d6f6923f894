"""Counts the rows and values of a text from its delimiters, before it is parsed."""

import numpy as np

from app.formats.column_data import ReaderContext, check_row_count, check_value_count
from app.formats.format_declaration import Format

_BLOCK_BYTES = 1 << 20
_QUOTE = ord('"')


def check_text_size(data: bytes, form: Format, context: ReaderContext) -> None:
    """Raise TooManyRows for a text with more lines or values than its phase can use."""
    if form.has_record_per_line:
        check_row_count(data.count(b"\n") + (not data.endswith(b"\n")), context)
    limit, delimiters = context.limits.values, form.value_delimiters
    # The first, cheap count includes delimiters in quotes; only a text that seems too large is counted exactly.
    if len(data) <= limit or _count_delimiters(data, delimiters, limit) <= limit:
        return
    if not form.separator and b"\\" in data:  # an escaped quote in JSON does not end a string
        data = data.replace(rb"\\", b"__").replace(rb"\"", b"__")
    check_value_count(_count_delimiters(data, delimiters, limit, in_quotes=False), context.limits)


def _count_delimiters(data: bytes, delimiters: bytes, limit: int, *, in_quotes: bool = True) -> int:
    """How many delimiters there are, with or without those in quotes; stops counting above `limit`."""
    total, is_inside = 0, False
    for start in range(0, len(data), _BLOCK_BYTES):
        part = np.frombuffer(data, np.uint8, min(_BLOCK_BYTES, len(data) - start), start)
        if is_inside and data.find(b'"', start, start + len(part)) < 0:
            continue
        is_delimiter = part == delimiters[0]
        for byte in delimiters[1:]:
            is_delimiter |= part == byte
        if not in_quotes:
            # The parity of the quotes so far; it overflows harmlessly, as only the lowest bit counts.
            inside = np.add.accumulate(part == _QUOTE, dtype=np.uint8) & 1 == 1
            is_delimiter &= inside if is_inside else ~inside
            is_inside ^= bool(inside[-1])
        total += int(np.count_nonzero(is_delimiter))
        if total > limit:
            break
    return total
