"""What stands in a file at the locations of its problems, as raw text and within limits; nothing is interpreted.

A location is a line, a column of it, or a JSON pointer. The excerpt of a pointer is the largest value around the place
that is short enough. The file may be damaged: whatever cannot be found has no excerpt.

A small compressed file may expand to very much, so every step is bounded: lines are found while the file streams past,
and a JSON document, which has to be held as a whole, is read only up to a size.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from app.formats.content.decompression import DecompressionError, iter_decompressed
from app.formats.content.format_detection import FORMATS, FileKind
from app.formats.reading_rules import Limits

MAX_EXCERPT = 300
"""Characters of one excerpt."""
MAX_SEARCHED_BYTES = 64 << 20
"""Bytes of the uncompressed file that are searched."""
MAX_DOCUMENT_BYTES = 8 << 20
"""Bytes of an uncompressed JSON document that is read as a whole, and of all lines that are kept."""
MAX_LINE_BYTES = 1 << 20
"""Bytes of one line that are kept; a longer line has an excerpt of its beginning only."""
MAX_DEPTH = 8
"""Levels of a JSON text that are searched; below, the excerpt is that of the value around the place."""
TOO_LONG = (
    "What stands there is not shown, because the file is one JSON document of more than "
    f"{MAX_DOCUMENT_BYTES >> 20} MiB without compression; of JSON Lines it is shown at any size."
)
_MIN_LINE_BYTES = 4 * MAX_EXCERPT
_MAX_PLACES = 100
_SPACE = " \t\r\n"
_SPACES = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder(parse_int=len, parse_float=len, parse_constant=len, strict=False)

Place = Mapping[str, Any]
"""A problem as JSON, of which `line`, `column` and `pointer` are used."""


class FoundExcerpts(NamedTuple):
    """The excerpt of each place, or None, and in one sentence why a whole file was not read, if it was not."""

    texts: list[str | None]
    left_out: str | None = None


def read_excerpts(stream: BinaryIO, kind: FileKind, places: Sequence[Place]) -> FoundExcerpts:
    """The excerpt of each of these places, up to a hundred; None where there is none."""
    form = FORMATS[kind.format]
    if form.is_binary:
        return FoundExcerpts([None] * len(places))
    shown = places[:_MAX_PLACES]
    wanted = {place["line"] for place in shown if place.get("line")}
    needs_document = not form.has_record_per_line and any(place.get("pointer") for place in shown)
    lines, document = _find_lines(_pieces(stream, kind.encoding), wanted, keep_all=needs_document)
    in_document = _find_values(document or "", {place["pointer"] for place in shown if place.get("pointer")})
    in_lines = {
        at: _find_values(
            text, {place["pointer"] for place in shown if place.get("line") == at and place.get("pointer")}
        )
        for at, text in lines.items()
        if len(text) > MAX_EXCERPT
    }
    found = [
        _excerpt(place, lines, in_lines.get(place.get("line") or 0, in_document), has_fields=bool(form.separator))
        for place in shown
    ]
    texts = [*found, *[None] * (len(places) - len(found))]
    return FoundExcerpts(texts, TOO_LONG if document is None else None)


def _excerpt(place: Place, lines: Mapping[int, str], by_pointer: Mapping[str, str], *, has_fields: bool) -> str | None:
    pointer, line = place.get("pointer"), lines.get(place.get("line") or 0)
    if line is None:
        return by_pointer.get(pointer or "")
    if len(line) > MAX_EXCERPT and pointer:
        return by_pointer.get(pointer) or _window(line, 0)
    column = place.get("column") or 1
    return _window(line, 0 if has_fields else column - 1)


def _window(text: str, at: int) -> str:
    """A part of a text around a position; an ellipsis marks what is left out."""
    if len(text) <= MAX_EXCERPT:
        return text
    start = max(0, min(at - MAX_EXCERPT // 2, len(text) - MAX_EXCERPT))
    cut = text[start : start + MAX_EXCERPT]
    return f"{'…' if start else ''}{cut}{'…' if start + MAX_EXCERPT < len(text) else ''}"


def _pieces(stream: BinaryIO, encoding: str) -> Iterator[bytes]:
    """The uncompressed bytes, up to the limit or to where the file is damaged."""
    try:
        yield from iter_decompressed(stream, encoding, Limits(expanded_bytes=MAX_SEARCHED_BYTES))
    except DecompressionError:
        return


def _find_lines(pieces: Iterator[bytes], wanted: set[int], *, keep_all: bool) -> tuple[dict[int, str], str | None]:
    """The lines with these numbers (from 1), and with `keep_all` the whole text; None in its place if it is too long."""
    lines: dict[int, bytearray] = {}
    kept, is_too_long = bytearray(), False
    first, last, remaining = 1, max(wanted, default=0), MAX_DOCUMENT_BYTES
    for piece in pieces:
        if keep_all and not is_too_long:
            kept += piece
            is_too_long = len(kept) > MAX_DOCUMENT_BYTES
        elif first > last:
            break
        # Found at once: a loop over the lines of a file that has little else would take seconds.
        ends = np.flatnonzero(np.frombuffer(piece, np.uint8) == ord("\n")) if first <= last else ()
        for at in wanted:
            if not first <= at <= first + len(ends):
                continue
            line, place = lines.setdefault(at, bytearray()), at - first
            start = int(ends[place - 1]) + 1 if place else 0
            end = int(ends[place]) if place < len(ends) else len(piece)
            allowed = min(MAX_LINE_BYTES, max(_MIN_LINE_BYTES, len(line) + remaining)) - len(line)
            part = piece[start : min(end, start + max(0, allowed))]
            line += part
            remaining -= len(part)
        first += len(ends)
    shown = {at: _decode(bytes(line)).removesuffix("\r") for at, line in lines.items()}
    return shown, None if is_too_long else _decode(bytes(kept))


def _decode(data: bytes) -> str:
    return data.decode(errors="replace").removeprefix("\ufeff")


@dataclass
class _Node:
    """A place that is looked for, or one on the way to it."""

    pointers: list[str] = field(default_factory=list)
    """The pointers that end here."""
    children: "dict[str, _Node]" = field(default_factory=dict)

    def all_pointers(self) -> Iterator[str]:
        """The pointers that end here or below."""
        yield from self.pointers
        for child in self.children.values():
            yield from child.all_pointers()


def _find_values(text: str, pointers: set[str]) -> dict[str, str]:
    """By pointer, the largest value around its place that is no longer than an excerpt, as it stands in a JSON text."""
    found: dict[str, str] = {}
    root = _Node()
    for pointer in pointers:
        node = root
        for token in pointer.split("/")[1:]:
            node = node.children.setdefault(token.replace("~1", "/").replace("~0", "~"), _Node())
        node.pointers.append(pointer)
    # The text may end or be damaged anywhere; what was found before stays.
    with suppress(ValueError, RecursionError, IndexError, StopIteration):
        _collect(text, _skip_space(text, 0), root, found, MAX_DEPTH)
    return found


def _collect(text: str, start: int, node: _Node, found: dict[str, str], depth: int) -> None:
    """Walk through the object or list that begins here, and look for the children of the node.

    Each level decodes what the level above it decoded, so there are at most `depth` of them.
    """
    if not depth or text[start] not in "{[":
        return
    is_object, closing = text[start] == "{", "}" if text[start] == "{" else "]"
    at, position, remaining = _skip_space(text, start + 1), 0, set(node.children)
    while text[at] != closing and remaining:
        began, key = at, str(position)
        if is_object:
            key, at = _DECODER.raw_decode(text, at)
            at = _skip_space(text, _skip_space(text, at) + 1)
        value_start = at
        at = _DECODER.raw_decode(text, at)[1]
        if key in remaining:
            remaining.discard(key)
            piece, child = text[began:at], node.children[key]
            found |= dict.fromkeys(child.all_pointers(), _window(piece, 0))
            if len(piece) > MAX_EXCERPT:
                _collect(text, value_start, child, found, depth - 1)
        at = _skip_space(text, at)
        at = _skip_space(text, at + 1) if text[at] == "," else at
        position += 1


def _skip_space(text: str, at: int) -> int:
    if text[at : at + 1] not in _SPACE:
        return at
    found = _SPACES.match(text, at)
    return at if found is None else found.end()
