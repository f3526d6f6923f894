"""How JSON predictions are framed: what stands before the first record, between two and after the last."""

import re
from dataclasses import dataclass

HEAD_BYTES = 1 << 14
"""Bytes by which a file is told; its first two records must fit."""
WHITESPACE = rb"[ \t\n\r]*+"
_INLINE_WHITESPACE = rb"[ \t\r]*+"
_RECORDS_OPENING = re.compile(
    WHITESPACE.join([rb"", rb"(?:\{", rb'"(predictions|documents)"', rb":", rb")?\[", rb"(?=\{)"])
)
_MAP_OPENING = re.compile(WHITESPACE.join([rb"", rb"\{", rb'(?=")']))


@dataclass(frozen=True, slots=True)
class JsonFraming:
    """The frame of records, lines or a map; the parts are patterns.

    `start`: where the first record begins: its brace, or the first key of a map. `space`: what may stand between the
    signs of a record. `joint`: from behind the last value of a record to before the first text of the next. `close`:
    from behind the last value to the end of the file. `names`: what records may call their id; none in a map.
    """

    start: int
    space: bytes
    joint: bytes
    close: bytes
    names: tuple[bytes, ...]

    def spaced(self, *signs: bytes) -> bytes:
        """A pattern of signs with space between and around them."""
        return self.space.join([b"", *signs, b""])


def detect_json_framing(head: bytes) -> JsonFraming | None:
    """The frame of a JSON file that begins so; None where it is none of those known here."""
    found = _RECORDS_OPENING.match(head)
    if found is not None:
        close = WHITESPACE.join([b"", rb"\}", rb"\]", *([rb"\}"] if found[1] else []), rb"\Z"])
        joint = WHITESPACE.join([b"", rb"\}", b",", rb"\{", b""])
        names = (b"id", b"pmid") if found[1] == b"documents" else (b"id",)
        return JsonFraming(found.end(), WHITESPACE, joint, close, names)
    found = _MAP_OPENING.match(head)
    if found is not None:
        return JsonFraming(
            found.end(), WHITESPACE, WHITESPACE + b"," + WHITESPACE, WHITESPACE.join([b"", rb"\}", rb"\Z"]), ()
        )
    return None


def detect_json_lines_framing(head: bytes) -> JsonFraming | None:
    """The frame of a JSON Lines file."""
    space = _INLINE_WHITESPACE
    found = re.match(space + rb"(?=\{)", head)
    if found is None:
        return None
    joint = space.join([b"", rb"\}", rb"\n", rb"\{", b""])
    return JsonFraming(found.end(), space, joint, space.join([b"", rb"\}", rb"\n?\Z"]), (b"id",))
