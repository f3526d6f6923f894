"""What stands in a file at the locations of its problems, as raw text and within limits; nothing is interpreted.

A location is a line, a column of it, or a JSON pointer. The excerpt of a pointer is the largest value around the place
that is short enough. The file may be damaged: whatever cannot be found has no excerpt.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from app.formats.content.decompression import DecompressionError, iter_decompressed
from app.formats.content.format_detection import FORMATS, FileKind
from app.formats.reading_rules import Limits

MAX_EXCERPT = 300
"""Characters of one excerpt."""
MAX_SEARCHED_BYTES = 64 << 20
"""Bytes of the uncompressed file that are searched."""
MAX_LINE_BYTES = 1 << 20
"""Bytes of one line that are kept; a longer line has an excerpt of its beginning only."""
_MAX_PLACES = 100
_SPACE = " \t\r\n"
_DECODER = json.JSONDecoder(parse_int=len, parse_float=len, parse_constant=len, strict=False)

Place = Mapping[str, Any]
"""A problem as JSON, of which `line`, `column` and `pointer` are used."""


def read_excerpts(stream: BinaryIO, kind: FileKind, places: Sequence[Place]) -> list[str | None]:
    """The excerpt of each of these places, up to a hundred; None where there is none."""
    form = FORMATS[kind.format]
    if form.is_binary:
        return [None] * len(places)
    shown = places[:_MAX_PLACES]
    wanted = {place["line"] for place in shown if place.get("line")}
    needs_document = not form.has_record_per_line and any(place.get("pointer") for place in shown)
    pieces = _pieces(stream, kind.encoding)
    lines, document = _find_lines(pieces, wanted, keep_all=needs_document)
    by_pointer = (
        _find_values(document, {place["pointer"] for place in shown if place.get("pointer")}) if document else {}
    )
    found = [_excerpt(place, lines, by_pointer, has_fields=bool(form.separator)) for place in shown]
    return [*found, *[None] * (len(places) - len(found))]


def _excerpt(place: Place, lines: Mapping[int, str], by_pointer: Mapping[str, str], *, has_fields: bool) -> str | None:
    pointer, line = place.get("pointer"), lines.get(place.get("line") or 0)
    if line is None:
        return by_pointer.get(pointer or "")
    if len(line) > MAX_EXCERPT and pointer:
        return _find_values(line, {pointer}).get(pointer) or _window(line, 0)
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
    total = 0
    try:
        for piece in iter_decompressed(stream, encoding, Limits(expanded_bytes=MAX_SEARCHED_BYTES)):
            total += len(piece)
            yield piece
    except DecompressionError:
        return


def _find_lines(pieces: Iterator[bytes], wanted: set[int], *, keep_all: bool) -> tuple[dict[int, str], str]:
    """The lines with these numbers (from 1), and with `keep_all` the whole text."""
    lines: dict[int, bytes] = {}
    kept: list[bytes] = []
    number, last = 1, max(wanted, default=0)
    for piece in pieces:
        if keep_all:
            kept.append(piece)
        elif number > last:
            break
        start = 0
        while number <= last:
            end = piece.find(b"\n", start)
            part = piece[start:] if end < 0 else piece[start:end]
            if number in wanted:
                before = lines.get(number, b"")
                lines[number] = before + part[: max(0, MAX_LINE_BYTES - len(before))]
            if end < 0:
                break
            number, start = number + 1, end + 1
    shown = {at: _decode(line).removesuffix("\r") for at, line in lines.items()}
    return shown, _decode(b"".join(kept))


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
        _collect(text, _skip_space(text, 0), root, found)
    return found


def _collect(text: str, start: int, node: _Node, found: dict[str, str]) -> None:
    """Walk through the object or list that begins here, and look for the children of the node."""
    if text[start] not in "{[":
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
                _collect(text, value_start, child, found)
        at = _skip_space(text, at)
        at = _skip_space(text, at + 1) if text[at] == "," else at
        position += 1


def _skip_space(text: str, at: int) -> int:
    while at < len(text) and text[at] in _SPACE:
        at += 1
    return at
