"""Decompresses a byte stream within limits, and reports why a stream cannot be decompressed."""

import zlib
from collections.abc import Callable, Iterator, Mapping
from io import BytesIO
from typing import BinaryIO, Protocol

from backports import zstd

from app.formats.format_declaration import Encoding
from app.formats.problems import REDUCE_SIZE_REMEDY, Problems, build_problem
from app.formats.reading_rules import Limits
from app.formats.registry import ENCODINGS
from app.scoring.declaration.metric_syntax import pluralize

_READ_BYTES = 1 << 14
"""Compressed bytes read at once: for each member that ends within them, the rest is copied."""
_CHUNK_BYTES = 1 << 20
_MAX_MAGIC_BYTES = 4
"""Bytes of the longest magic number, by which a member is recognized."""
_MAX_ZSTD_WINDOW_LOG = 27
"""The largest window of zstd data, as a power of two: 128 MiB, the default limit of the zstd program."""
_SKIPPABLE_FRAME_MAGICS = range(0x184D2A50, 0x184D2A60)
"""The magic numbers of skippable zstd frames (RFC 8878, section 3.1.2)."""


class DecompressionError(Exception):
    """The bytes cannot be decompressed; `code` is the code of the problem."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def read_bytes(stream: BinaryIO, encoding: str, *, limits: Limits, problems: Problems) -> bytes | None:
    """Read and decompress all bytes; None, and a problem, where that is not possible.

    `encoding` is a key of ENCODINGS or empty. Never holds more than `limits.expanded_bytes` plus one chunk of output.
    """
    content = BytesIO()
    try:
        for piece in iter_decompressed(stream, encoding, limits):
            content.write(piece)
        data = content.getvalue()
        if compression := _detect_compression(data):
            raise DecompressionError("encoding", _still_compressed_message(encoding, compression))  # noqa: TRY301 (handled like all others)
    except DecompressionError as error:
        problem = build_problem(error.code, str(error))
        (problems.stop if error.code == "too_large" else problems.add)(problem)
        return None
    return data


def iter_decompressed(stream: BinaryIO, encoding: str, limits: Limits) -> Iterator[bytes]:
    """Yield the decompressed bytes in pieces of up to 1 MiB; raises DecompressionError for damage and above the limits."""
    total, max_bytes = 0, limits.expanded_bytes
    for piece in _decompress_members(stream, encoding, limits) if encoding else _read_uncompressed(stream, max_bytes):
        total += len(piece)
        if total > max_bytes:
            raise DecompressionError("too_large", _too_many_bytes_message(limits))
        yield piece


def _too_many_bytes_message(limits: Limits) -> str:
    max_bytes = limits.expanded_bytes
    if limits.instances is None:
        return f"The uncompressed file has more than {max_bytes} bytes. {REDUCE_SIZE_REMEDY}"
    phase = pluralize(limits.instances, "instance", "instances")
    return f"The uncompressed file has more than {max_bytes} bytes, which is more than {phase} can need. {REDUCE_SIZE_REMEDY}"


def _read_uncompressed(stream: BinaryIO, limit: int) -> Iterator[bytes]:
    remaining = limit + 1  # a single read of so many bytes would allocate all of them, whatever the file's size
    while remaining and (piece := stream.read(min(_CHUNK_BYTES, remaining))):
        remaining -= len(piece)
        yield piece


def _still_compressed_message(encoding: str, compression: Encoding) -> str:
    if encoding:
        return f"The {encoding} data contains {compression.key} data. Compress the file only once."
    remedy = f"Send Content-Encoding: {compression.key}, or use a file name that ends in {compression.ending}."
    return f"The file is compressed with {compression.key}. {remedy}"


def _detect_compression(data: bytes) -> Encoding | None:
    """The encoding of these bytes by their magic number, with which no format begins."""
    return next((encoding for encoding in ENCODINGS.values() if data.startswith(encoding.magic)), None)


class _Decompressor(Protocol):
    """Decompresses one gzip member or zstd frame."""

    ended: bool
    needs_more_input: bool
    """Whether more input is needed to continue."""

    def expand(self, data: bytes, limit: int) -> tuple[bytes, bytes]:
        """Up to `limit` bytes of output, and the input that was not used; raises zlib.error or zstd.ZstdError."""


class _GzipDecompressor:
    needs_more_input = True

    def __init__(self) -> None:
        self._inner = zlib.decompressobj(31)
        self.ended = False

    def expand(self, data: bytes, limit: int) -> tuple[bytes, bytes]:
        part = self._inner.decompress(data, limit)
        self.ended = self._inner.eof
        return part, self._inner.unused_data if self.ended else self._inner.unconsumed_tail


class _ZstdDecompressor:
    def __init__(self) -> None:
        self._inner = zstd.ZstdDecompressor(options={zstd.DecompressionParameter.window_log_max: _MAX_ZSTD_WINDOW_LOG})
        self.ended = False
        self.needs_more_input = True

    def expand(self, data: bytes, limit: int) -> tuple[bytes, bytes]:
        part = self._inner.decompress(data, limit)
        self.ended = self._inner.eof
        self.needs_more_input = not self.ended and self._inner.needs_input
        return part, self._inner.unused_data if self.ended else b""


_DECOMPRESSORS: Mapping[str, Callable[[], _Decompressor]] = {"gzip": _GzipDecompressor, "zstd": _ZstdDecompressor}


def _decompress_members(stream: BinaryIO, encoding: str, limits: Limits) -> Iterator[bytes]:
    """Yield the content of all members of a compressed file, one bounded chunk after the other."""
    member: _Decompressor | None = None
    members = 0
    remaining = limits.expanded_bytes + 1
    pending = b""
    while remaining > 0:
        if not pending and (member is None or member.needs_more_input):
            pending = stream.read(_READ_BYTES)
            if not pending:
                break
        if member is None:
            if members >= limits.members:
                message = f"The {encoding} data has more than {limits.members} members. Compress the file in one piece."
                raise DecompressionError("too_large", message)
            members += 1
            pending += b"" if len(pending) >= _MAX_MAGIC_BYTES else stream.read(_CHUNK_BYTES)
            _check_member_magic(pending, encoding, first=members == 1)
            member = _DECOMPRESSORS[encoding]()
        try:
            part, pending = member.expand(pending, min(_CHUNK_BYTES, remaining))
        except (zlib.error, zstd.ZstdError) as error:
            raise _library_error(encoding, error) from None
        remaining -= len(part)
        yield part
        member = None if member.ended else member
    if not members:
        raise _damaged_error(f"The file is empty: there is no {encoding} data.", encoding)
    if member is not None:
        raise _damaged_error(f"The {encoding} data is incomplete: it ends before its end mark.", encoding)


def _damaged_error(message: str, encoding: str) -> DecompressionError:
    return DecompressionError(
        "encoding", f"{message} Compress the file with {encoding} again and send the complete file."
    )


def _library_error(encoding: str, error: Exception) -> DecompressionError:
    reason = str(error).rsplit(": ", 1)[-1].rstrip(".")
    if "too much memory" in reason:
        message = f"The zstd data needs a window of more than {(1 << _MAX_ZSTD_WINDOW_LOG) >> 20} MiB."
        return DecompressionError("too_large", f"{message} Compress it without --long.")
    return _damaged_error(f"The {encoding} data is damaged ({reason}).", encoding)


def _check_member_magic(head: bytes, encoding: str, *, first: bool) -> None:
    if head.startswith(ENCODINGS[encoding].magic):
        return
    if encoding == "zstd" and int.from_bytes(head[:4], "little") in _SKIPPABLE_FRAME_MAGICS:
        return
    if first:
        message = f"By its Content-Encoding or name, the file is compressed with {encoding}, but it is not."
        raise DecompressionError("encoding", f"{message} Correct the encoding, or compress the file.")
    raise _damaged_error(f"Data that is not {encoding} follows the {encoding} data.", encoding)
