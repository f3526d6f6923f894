"""The framing of JSON predictions: the bytes before the first record, between two records and after the last."""

import re
from dataclasses import dataclass

NUMBER = rb"(?P<number>[0-9][0-9.eE+-]*+)"
"""What may be a number; whoever takes it checks that it is one."""
WHITESPACE = rb"[ \t\n\r]*+"
_INLINE_WHITESPACE = rb"[ \t\r]*+"
_RECORDS_KEY = WHITESPACE.join([rb"\{", rb'"(predictions|documents)"', rb":", rb""])
_RECORDS_OPENING = re.compile(WHITESPACE.join([rb"", rb"(?:" + _RECORDS_KEY + rb")?\[", rb"(?=\{)"]))
_MAP_OPENING = re.compile(WHITESPACE.join([rb"", rb"\{", rb'(?=")']))


@dataclass(frozen=True, slots=True)
class JsonFraming:
    """The frame of records, lines or a map; all fields but `start` and `names` are patterns.

    `start` is the offset of the first record (its brace, or the first key of a map). `space` is allowed between the tokens
    of a record. `record_separator` reaches from the end of a record's last value to the first string of the next record. `file_end`
    reaches from the last value to the end of the file. `names` are the possible names of the id, none in a map.
    """

    start: int
    space: bytes
    record_separator: bytes
    file_end: bytes
    names: tuple[bytes, ...]

    def join_tokens(self, *tokens: bytes) -> bytes:
        """A pattern of tokens with space before, between and after them."""
        return self.space.join([b"", *tokens, b""])


def detect_json_framing(head: bytes) -> JsonFraming | None:
    """The frame of a JSON file with this head; None if it is not supported."""
    records = _RECORDS_OPENING.match(head)
    if records is not None:
        file_end = WHITESPACE.join([b"", rb"\}", rb"\]", *([rb"\}"] if records[1] else []), rb"\Z"])
        record_separator = WHITESPACE.join([b"", rb"\}", b",", rb"\{", b""])
        names = (b"id", b"pmid") if records[1] == b"documents" else (b"id",)
        return JsonFraming(records.end(), WHITESPACE, record_separator, file_end, names)
    opening = _MAP_OPENING.match(head)
    if opening is not None:
        record_separator, file_end = WHITESPACE.join([b"", b",", b""]), WHITESPACE.join([b"", rb"\}", rb"\Z"])
        return JsonFraming(opening.end(), WHITESPACE, record_separator, file_end, ())
    return None


def detect_json_lines_framing(head: bytes) -> JsonFraming | None:
    """The frame of a JSON Lines file; None if it is not supported."""
    space = _INLINE_WHITESPACE
    opening = re.match(space + rb"(?=\{)", head)
    if opening is None:
        return None
    record_separator = space.join([b"", rb"\}", rb"\n", rb"\{", b""])
    return JsonFraming(opening.end(), space, record_separator, space.join([b"", rb"\}", rb"\n?\Z"]), (b"id",))
