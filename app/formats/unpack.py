"""From a byte stream to text: decompression under a limit, then strict UTF-8, with every fault placed."""

import codecs
import zlib
from functools import partial
from io import BytesIO
from typing import BinaryIO

from app.formats.problem import FILE, Place, Problem, Problems, problem
from app.formats.rules import Limits

_PIECE = 1 << 14
"""Bytes read of compressed data at once: what is left of a piece is copied for every member that ends in it."""
_MEMBERS = 100_000
"""Members of one gzip file; block-wise compressors make one per 64 KiB."""
_CHUNK = 1 << 20
_WINDOW = 1 << 12
_WIDE_MARKS = frozenset({codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE})
_MEND_GZIP = "Compress the file again and send it whole."
_MEND_UTF8 = "Save the file as UTF-8 without a byte order mark."


class _Refused(Exception):
    """The bytes cannot be unpacked."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def read_bytes(stream: BinaryIO, *, gzipped: bool, limits: Limits, problems: Problems) -> bytes | None:
    """Read all bytes, decompressed; None (and a problem) where that is not possible.

    Never holds more than `limits.expanded_bytes` plus one chunk of output.
    """
    try:
        data = _gunzip(stream, limits.expanded_bytes) if gzipped else _plain(stream, limits.expanded_bytes)
    except _Refused as refused:
        problems.add(problem(refused.code, str(refused), Place()))
        return None
    return data


def _plain(stream: BinaryIO, limit: int) -> bytes:
    kept = BytesIO()  # a single read of so many bytes would allocate them all, whatever the file's size
    while chunk := stream.read(min(_CHUNK, limit + 1 - kept.tell())):
        kept.write(chunk)
    data = kept.getvalue()
    if len(data) > limit:
        raise _too_large(limit)
    if data[:2] == b"\x1f\x8b":
        raise _Refused("encoding", "The file is gzipped. Send Content-Encoding: gzip, or a file name that ends in .gz.")
    return data


def _too_large(limit: int) -> _Refused:
    return _Refused("too_large", f"The file has more than {limit} bytes when expanded. Leave out what is not scored.")


def _gunzip(stream: BinaryIO, limit: int) -> bytes:
    """Expand all members of a gzip file (RFC 1952), one bounded chunk after the other."""
    parts: list[bytes] = []
    size = 0
    member, members = None, 0
    pending = b""
    while True:
        pending = pending or stream.read(_PIECE)
        if not pending:
            break
        if member is None:
            members = _counted(members)
            _check_member(pending := _at_least(stream, pending, 2), first=not size and not parts)
            member = zlib.decompressobj(31)
        try:
            part = member.decompress(pending, min(_CHUNK, limit + 1 - size))
        except zlib.error as error:
            raise _Refused("encoding", f"The gzip data is damaged ({_reason(error)}). {_MEND_GZIP}") from None
        if part or not parts:
            parts.append(part)
        size += len(part)
        if size > limit:
            raise _too_large(limit)
        pending = member.unused_data if member.eof else member.unconsumed_tail
        member = None if member.eof else member
    if member is not None or not parts:
        raise _Refused("encoding", f"The gzip data ends before its end mark: it is cut off. {_MEND_GZIP}")
    return b"".join(parts)


def _counted(members: int) -> int:
    if members >= _MEMBERS:
        raise _Refused("too_large", f"The gzip data has more than {_MEMBERS} members. Compress the file in one piece.")
    return members + 1


def _at_least(stream: BinaryIO, pending: bytes, count: int) -> bytes:
    return pending if len(pending) >= count else pending + stream.read(_CHUNK)


def _check_member(head: bytes, *, first: bool) -> None:
    if head[:2] == b"\x1f\x8b":
        return
    if first:
        raise _Refused(
            "encoding", "The file is said to be gzipped, but is not. Leave the encoding away, or compress it."
        )
    raise _Refused("encoding", f"Something that is not gzip follows the gzip data. {_MEND_GZIP}")


def _reason(error: zlib.error) -> str:
    return str(error).rsplit(": ", 1)[-1]


def decode(data: bytes, *, by_line: bool, problems: Problems) -> str | None:
    """Decode strict UTF-8; each fault is a problem with line and column (both from 1, columns in characters).

    With `by_line`, problems are ordered by their line, else they come first. Faulty bytes appear in the text as
    lone surrogates (PEP 383), so that reading can go on. None where there is no text at all.
    """
    if data[:2] in _WIDE_MARKS or (b"\0" in data[:2] and data[:2] != b"\0\0") or data[:4] == codecs.BOM_UTF32_BE:
        message = f"The file is UTF-16 or UTF-32. {_MEND_UTF8}"
        problems.add(problem("encoding", message, Place(None, 1, 1), expected="UTF-8"))
        return None
    if data[:3] == codecs.BOM_UTF8:
        message = "The file begins with a byte order mark (EF BB BF). Save it as UTF-8 without one."
        problems.add(problem("encoding", message, Place(None, 1, 1), expected="UTF-8", got="EF BB BF"))
        data = data[3:]
    if not data or data.isspace():
        problems.add(problem("syntax", "The file is empty. It should hold predictions or gold.", Place(None, 1, 1)))
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        _place_faults(data, by_line, problems)
        return data.decode(errors="surrogateescape")


def _place_faults(data: bytes, by_line: bool, problems: Problems) -> None:
    """Report every maximal run of bytes that is no UTF-8; linear, however many there are."""
    view = memoryview(data)
    start, line, line_start = 0, 1, 0
    while start < len(data):
        end = start + _WINDOW
        wrong = None
        try:
            end = start + codecs.utf_8_decode(view[start:end], "strict", end >= len(data))[1]
        except UnicodeDecodeError as error:
            wrong, end = start + error.start, start + error.end
        until = end if wrong is None else wrong
        line += data.count(b"\n", start, until)
        line_start = max(line_start, data.rfind(b"\n", start, until) + 1)
        if wrong is not None:
            build = partial(_bytes_problem, data, line_start, line, (wrong, end))
            problems.report("encoding", line if by_line else FILE, build)
        start = end


def _bytes_problem(data: bytes, line_start: int, line: int, span: tuple[int, int]) -> Problem:
    wrong = data[slice(*span)]
    column = len(data[line_start : span[0]].decode(errors="replace")) + 1
    shown = wrong.hex(" ").upper()
    guess = f" (in Latin-1 it would be '{wrong.decode('latin-1')}')" if wrong[0] >= 0xA0 else ""
    message = f"The byte {shown} is not UTF-8 here{guess}. {_MEND_UTF8}"
    return problem("encoding", message, Place(None, line, column), expected="UTF-8", got=shown)
