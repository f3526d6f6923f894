"""A file of arrays with a JSON header: written and checked as a whole, then mapped into memory without a copy.

The file begins with a fixed head (magic, SHA-256 of all that follows it, length of the header). The header and the
arrays follow, each at a multiple of 64 bytes.
"""

import errno
import hashlib
import json
import math
import mmap
import os
import struct
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np
from numpy.typing import NDArray

Arrays = Mapping[str, NDArray[Any]]
Piece = bytes | memoryview

MAGIC: Final = b"AssayG02"
"""Identifies the layout, including the order of the instances; a changed layout gets a new number."""

_HEAD: Final = struct.Struct("<8s32s8s")
_LENGTH: Final = struct.Struct("<Q")
_ALIGNMENT: Final = 64
_CHUNK: Final = 1 << 20
_PREALLOCATION_UNSUPPORTED: Final = (errno.EOPNOTSUPP, errno.EINVAL)


class DamagedArrayFile(ValueError):
    """The file is damaged, or has another layout."""


def serialize(header: Mapping[str, Any], arrays: Arrays) -> list[Piece]:
    """The bytes of a file, as pieces; arrays are not copied."""
    text, *rest = _serialize_body(header, arrays)
    length = _LENGTH.pack(len(text))
    digest = hashlib.sha256(length)
    for piece in (text, *rest):
        digest.update(piece)
    head = _HEAD.pack(MAGIC, digest.digest(), length)
    return [head.ljust(_align(len(head)), b"\0"), text, *rest]


def write(file: BinaryIO, pieces: Sequence[Piece]) -> None:
    """Write the pieces to a new file, durably; raises OSError when the disk is full."""
    _preallocate(file, sum(map(len, pieces)))
    file.writelines(pieces)
    file.flush()
    os.fsync(file.fileno())


def declared_sha256(path: Path) -> str:
    """The SHA-256 in the head of the file, as hexadecimal digits; raises OSError and DamagedArrayFile."""
    with path.open("rb") as file:
        return _read_head(path, file)[0].hex()


def read(path: Path, sha256: str | None = None) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The header, and arrays that stay readable after the file is removed; raises OSError and DamagedArrayFile.

    A file with another checksum than `sha256`, if that is known, is not the expected one. The checksum reads the file
    instead of the map: a failing disk then raises an error, where the map would kill the process with SIGBUS.
    """
    with path.open("rb") as file:
        digest, length = _read_head(path, file)
        if sha256 is not None and digest.hex() != sha256:
            raise DamagedArrayFile(f"{path} is another file than the one that was stored")
        file.seek(_align(_HEAD.size))
        if _digest(length, file) != digest:
            raise DamagedArrayFile(f"{path} is damaged")
        memory_map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    start = _align(_HEAD.size)
    end = start + _LENGTH.unpack(length)[0]
    header = json.loads(memory_map[start:end])
    return header["of"], _map_arrays(memory_map, header["arrays"], _align(end))


def _read_head(path: Path, file: BinaryIO) -> tuple[bytes, bytes]:
    """The declared checksum, and the length of the header as bytes."""
    begin = file.read(_HEAD.size)
    if len(begin) < _HEAD.size:
        raise DamagedArrayFile(f"{path} is truncated")
    magic, digest, length = _HEAD.unpack(begin)
    if magic != MAGIC:
        raise DamagedArrayFile(f"{path} has another layout")
    return digest, length


def _serialize_body(header: Mapping[str, Any], arrays: Arrays) -> Iterator[Piece]:
    """The header, then each array, each with its padding."""
    table, offset = {}, 0
    for name, array in arrays.items():
        table[name] = {"dtype": array.dtype.newbyteorder("<").str, "shape": list(array.shape), "at": offset}
        offset += _align(array.nbytes)
    text = json.dumps({"of": header, "arrays": table}).encode()
    yield text
    yield bytes(_align(len(text)) - len(text))
    for array in arrays.values():
        little = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
        yield little.reshape(-1).view(np.uint8).data
        yield bytes(_align(array.nbytes) - array.nbytes)


def _map_arrays(memory_map: mmap.mmap, table: Mapping[str, Any], start: int) -> dict[str, NDArray[Any]]:
    arrays = {}
    for name, entry in table.items():
        count, dtype = math.prod(entry["shape"]), entry["dtype"]
        # An empty array may lie at the very end of the file, an offset that numpy rejects.
        flat = np.frombuffer(memory_map, dtype, count, start + entry["at"]) if count else np.empty(0, dtype)
        arrays[name] = flat.reshape(entry["shape"])
    return arrays


def _align(count: int) -> int:
    return -(-count // _ALIGNMENT) * _ALIGNMENT


def _digest(length: bytes, file: BinaryIO) -> bytes:
    digest = hashlib.sha256(length)
    while chunk := file.read(_CHUNK):
        digest.update(chunk)
    return digest.digest()


def _preallocate(file: BinaryIO, count: int) -> None:
    """Detect a full disk before anything is written; where the file system cannot, writing detects it."""
    try:
        os.posix_fallocate(file.fileno(), 0, count)
    except OSError as error:
        if error.errno not in _PREALLOCATION_UNSUPPORTED:
            raise
