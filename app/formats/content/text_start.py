"""What a text may begin with although its format does not say so: a byte order mark, a header with semicolons."""

import codecs
from dataclasses import dataclass

from app.formats.format_declaration import Format
from app.formats.registry import SEMICOLON_TABLE

BYTE_ORDER_MARK_NOTE = "the file begins with a byte order mark, which was skipped"
SEMICOLON_NOTE = "the columns of the table are separated by semicolons"


@dataclass(frozen=True, slots=True)
class TextStart:
    """How to read a text: the bytes to skip, the format with its separator, and what readers tell about both."""

    skipped: int
    form: Format
    notes: tuple[str, ...]


def examine_start(head: bytes, form: Format) -> TextStart:
    """Examine the beginning of a text, which holds the whole first line unless that has a comma or a tab.

    A semicolon separates the columns of a table only if the header has neither comma nor tab: then no other separator
    is possible, as a table has two columns or more.
    """
    notes: tuple[str, ...] = ()
    skipped = 0
    if head.startswith(codecs.BOM_UTF8):
        notes, skipped = (BYTE_ORDER_MARK_NOTE,), len(codecs.BOM_UTF8)
    if form.separator and _has_semicolons_only(head):
        return TextStart(skipped, SEMICOLON_TABLE, (*notes, SEMICOLON_NOTE))
    return TextStart(skipped, form, notes)


def _has_semicolons_only(head: bytes) -> bool:
    end = head.find(b"\n")
    line = head if end < 0 else head[:end]
    # With an odd number of quotes the header goes on on the next line.
    return b";" in line and b"," not in line and b"\t" not in line and line.count(b'"') % 2 == 0
