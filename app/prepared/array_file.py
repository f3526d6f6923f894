"""A file of arrays beside a JSON header: written whole, checked whole, then mapped into memory and never copied.

The file begins with a fixed head (magic, SHA-256 of all that follows, length of the header); then come the header and
the arrays, each at a multiple of 64 bytes.
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
"""Names the layout, with the order of the instances: another layout has another number."""

_HEAD: Final = struct.Struct("<8s32s8s")
_LENGTH: Final = struct.Struct("<Q")
_ALIGNMENT: Final = 64
_CHUNK: Final = 1 << 20
_PREALLOCATION_UNSUPPORTED: Final = (errno.EOPNOTSUPP, errno.EINVAL)


class DamagedArrayFile(ValueError):
    """The file is not what was written, or of another layout."""


def serialize(header: Mapping[str, Any], arrays: Arrays) -> list[Piece]:
    """The bytes of a file, piece after piece; those of arrays are not copied."""
    text, *rest = _serialize_body(header, arrays)
    length = _LENGTH.pack(len(text))
    digest = hashlib.sha256(length)
    for piece in (text, *rest):
        digest.update(piece)
    head = _HEAD.pack(MAGIC, digest.digest(), length)
    return [head.ljust(_align(len(head)), b"\0"), text, *rest]


def write(file: BinaryIO, pieces: Sequence[Piece]) -> None:
    """Write the pieces to a new file, durably; raises OSError where there is no room."""
    _preallocate(file, sum(map(len, pieces)))
    file.writelines(pieces)
    file.flush()
    os.fsync(file.fileno())


def read(path: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The header, and arrays that stay readable after the file's removal; raises OSError, and Damaged.

    The bytes are checked by reading, not through the map: a disk that fails then raises an error and ends no program.
    """
    with path.open("rb") as file:
        begin = file.read(_HEAD.size)
        if len(begin) < _HEAD.size:
            raise DamagedArrayFile(f"{path} is cut short")
        magic, digest, length = _HEAD.unpack(begin)
        if magic != MAGIC:
            raise DamagedArrayFile(f"{path} has another layout")
        file.seek(_align(_HEAD.size))
        if _digest(length, file) != digest:
            raise DamagedArrayFile(f"{path} is damaged")
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    start = _align(_HEAD.size)
    end = start + _LENGTH.unpack(length)[0]
    header = json.loads(mapped[start:end])
    return header["of"], _map_arrays(mapped, header["arrays"], _align(end))


def _serialize_body(header: Mapping[str, Any], arrays: Arrays) -> Iterator[Piece]:
    """The header, then array after array, each with what fills it up."""
    table, at = {}, 0
    for name, array in arrays.items():
        table[name] = {"dtype": array.dtype.newbyteorder("<").str, "shape": list(array.shape), "at": at}
        at += _align(array.nbytes)
    text = json.dumps({"of": header, "arrays": table}).encode()
    yield text
    yield bytes(_align(len(text)) - len(text))
    for array in arrays.values():
        little = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
        yield little.reshape(-1).view(np.uint8).data
        yield bytes(_align(array.nbytes) - array.nbytes)


def _map_arrays(mapped: mmap.mmap, table: Mapping[str, Any], start: int) -> dict[str, NDArray[Any]]:
    found = {}
    for name, told in table.items():
        count = math.prod(told["shape"])
        # An empty array may stand at the very end, where numpy takes no offset.
        flat = np.frombuffer(mapped, told["dtype"], count, start + told["at"]) if count else np.empty(0, told["dtype"])
        found[name] = flat.reshape(told["shape"])
    return found


def _align(count: int) -> int:
    return -(-count // _ALIGNMENT) * _ALIGNMENT


def _digest(length: bytes, file: BinaryIO) -> bytes:
    digest = hashlib.sha256(length)
    while chunk := file.read(_CHUNK):
        digest.update(chunk)
    return digest.digest()


def _preallocate(file: BinaryIO, count: int) -> None:
    """Find out about a full disk before anything is written; some file systems cannot say, and tell while one writes."""
    try:
        os.posix_fallocate(file.fileno(), 0, count)
    except OSError as refused:
        if refused.errno not in _PREALLOCATION_UNSUPPORTED:
            raise
