"""Faults of compression, and of the declared encoding, media type, name and layout of a file."""

import gzip
import zlib
from collections.abc import Callable
from typing import Any

from backports import zstd

from tests.formats.fault_table.model import Cell, Fault, Group, cells_of_columns, problem_at
from tests.formats.fault_table.write import LABELS, make_cell, write_file

BOTH = ("gzip", "zstd")
UNSUPPORTED_MEDIA_TYPE, BAD_REQUEST = (415, "unsupported_media_type"), (400, "bad_request")
GOOD = write_file("records", LABELS)
NAMES = {"gzip": "predictions.json.gz", "zstd": "predictions.json.zst"}


def compress_with_checksum(name: str, data: bytes) -> bytes:
    """Compressed data with a checksum."""
    if name == "gzip":
        return gzip.compress(data, mtime=0)
    return bytes(zstd.compress(data, options={zstd.CompressionParameter.checksum_flag: 1}))


def _sent(name: str, body: bytes, *codes: str, small: bool = False) -> Cell:
    return make_cell("records", body, *map(problem_at, codes), encoding=name, small=small)


def _by(change: Callable[[bytes], bytes], *codes: str) -> Callable[[str], Cell]:
    return lambda name: _sent(name, change(compress_with_checksum(name, GOOD)), *codes)


def _checksum(name: str) -> Cell:
    body = bytearray(compress_with_checksum(name, GOOD))
    body[-8 if name == "gzip" else -4] ^= 0xFF
    return _sent(name, bytes(body), "encoding")


def _several(name: str) -> Cell:
    return _sent(
        name,
        compress_with_checksum(name, GOOD[:20])
        + compress_with_checksum(name, b"")
        + compress_with_checksum(name, GOOD[20:]),
    )


def _window() -> bytes:
    """A frame whose header asks for a window of 256 MiB."""
    return b"\x28\xb5\x2f\xfd" + bytes([0b0000_0000, (28 - 10) << 3]) + b"\x01\x00\x00"


def _bomb(name: str) -> Cell:
    body = zlib.compressobj(9, zlib.DEFLATED, 31) if name == "gzip" else None
    zeros = b" " * (1 << 20)
    packed_bomb = body.compress(zeros) + body.flush() if body else zstd.compress(zeros)
    return _sent(name, packed_bomb, "too_large", small=True)


def _refused(*, encoding: str = "", filename: str = "") -> Callable[[str], Cell]:
    def make(name: str) -> Cell:
        return Cell(
            compress_with_checksum(name, GOOD),
            encoding=encoding or name,
            filename=filename,
            refused=UNSUPPORTED_MEDIA_TYPE,
        )

    return make


ENCODED = Group(
    "Encodings",
    BOTH,
    (
        Fault(
            "not compressed",
            "Content-Encoding names a compression, but the file is not compressed.",
            cells_of_columns(BOTH, lambda n: _sent(n, GOOD, "encoding")),
        ),
        Fault(
            "empty body", "The body has no bytes.", cells_of_columns(BOTH, lambda name: _sent(name, b"", "encoding"))
        ),
        Fault(
            "truncated",
            "The end of the data is missing.",
            cells_of_columns(BOTH, _by(lambda data: data[:-12], "encoding")),
        ),
        Fault(
            "trailing garbage",
            "Other bytes follow the data.",
            cells_of_columns(BOTH, _by(lambda data: data + b"garbage", "encoding")),
        ),
        Fault("several members", "Consecutive members (frames) form one file.", cells_of_columns(BOTH, _several)),
        Fault("wrong checksum", "The checksum does not match.", cells_of_columns(BOTH, _checksum)),
        Fault(
            "large window",
            "The data needs a window of 256 MiB.",
            {"gzip": "its window is 32 KiB", "zstd": _sent("zstd", _window(), "too_large")},
        ),
        Fault("bomb", "A few bytes expand to 1 MiB, although 2,048 bytes are allowed.", cells_of_columns(BOTH, _bomb)),
        Fault(
            "undeclared compression",
            "The file is compressed, but neither Content-Encoding nor the file name says so.",
            cells_of_columns(
                BOTH, lambda name: make_cell("records", compress_with_checksum(name, GOOD), problem_at("encoding"))
            ),
        ),
        Fault(
            "compressed twice",
            "The decompressed data is compressed again.",
            cells_of_columns(
                BOTH,
                _by(lambda data: compress_with_checksum("gzip" if data[:1] == b"\x1f" else "zstd", data), "encoding"),
            ),
        ),
        Fault(
            "two encodings",
            "Content-Encoding names two encodings.",
            cells_of_columns(BOTH, _refused(encoding="gzip, zstd")),
        ),
        Fault("unknown encoding", "Content-Encoding is br.", cells_of_columns(BOTH, _refused(encoding="br"))),
        Fault(
            "name contradicts header",
            "The file name ends in .gz and Content-Encoding is zstd, or the reverse.",
            {
                "gzip": _refused(filename="predictions.json.zst")("gzip"),
                "zstd": _refused(filename="predictions.json.gz")("zstd"),
            },
        ),
    ),
)


def _said(refused: tuple[int, str], **how: Any) -> Cell:
    return Cell(GOOD, refused=refused, **how)


SAID = Group(
    "Media type, file name and layout",
    ("records",),
    (
        Fault(
            "unknown media type",
            "application/xml.",
            {"records": _said(UNSUPPORTED_MEDIA_TYPE, media="application/xml")},
        ),
        Fault(
            "another charset",
            "application/json; charset=latin-1.",
            {"records": _said(UNSUPPORTED_MEDIA_TYPE, media="application/json; charset=latin-1")},
        ),
        Fault(
            "unsupported file name",
            "predictions.xlsx, without a media type.",
            {"records": _said(UNSUPPORTED_MEDIA_TYPE, media="", filename="predictions.xlsx")},
        ),
        Fault("unknown layout", "layout=wide.", {"records": _said(BAD_REQUEST, layout="wide")}),
        Fault("layout of another format", "layout=long for JSON.", {"records": _said(BAD_REQUEST, layout="long")}),
    ),
)
