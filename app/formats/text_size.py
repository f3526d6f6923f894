"""How many rows and values a text has, told from its signs before any is taken apart."""

from collections.abc import Mapping

import numpy as np

from app.formats.columns import ReaderContext, check_row_count, check_value_count

_BLOCK_BYTES = 1 << 20
_QUOTE = ord('"')
_VALUE_DELIMITERS: Mapping[str, bytes] = {"json": b",[{", "jsonl": b",[{\n", "csv": b",\n|", "tsv": b"\t\n|"}
"""The signs of which one stands before each value, but for the first one of all and those behind a name."""


def check_text_size(data: bytes, form: str, reading: ReaderContext) -> None:
    """Raise TooManyRows for a text with more lines or values than its phase can use."""
    if form == "jsonl":
        check_row_count(data.count(b"\n") + (not data.endswith(b"\n")), reading)
    most = reading.limits.values
    if len(data) <= most or _count_delimiters(data, form, most) <= most:
        return
    if form.startswith("json") and b"\\" in data:  # of these, none may be taken for the end of a string
        data = data.replace(rb"\\", b"__").replace(rb"\"", b"__")
    check_value_count(_count_delimiters(data, form, most, quoted=False), reading.limits)


def _count_delimiters(data: bytes, form: str, most: int, *, quoted: bool = True) -> int:
    """How many signs there are, with those in quotes or without; counted until there are more than `most`."""
    total, within = 0, False
    for start in range(0, len(data), _BLOCK_BYTES):
        part = np.frombuffer(data, np.uint8, min(_BLOCK_BYTES, len(data) - start), start)
        if within and data.find(b'"', start, start + len(part)) < 0:
            continue
        found = part == _VALUE_DELIMITERS[form][0]
        for sign in _VALUE_DELIMITERS[form][1:]:
            found |= part == sign
        if not quoted:
            inside = np.add.accumulate(part == _QUOTE, dtype=np.uint8) & 1 == 1
            found &= inside if within else ~inside
            within ^= bool(inside[-1])
        total += int(np.count_nonzero(found))
        if total > most:
            break
    return total
