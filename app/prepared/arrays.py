"""A file of arrays beside a JSON header: written whole, checked whole, then mapped into memory and never copied.

The file begins with a fixed head (magic, SHA-256 of all that follows the head, length of the header); then come the
header and the arrays, each at a multiple of 64 bytes.
"""

import errno
import hashlib
import json
import math
import mmap
import os
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np
from numpy.typing import NDArray

Arrays = Mapping[str, NDArray[Any]]

MAGIC: Final = b"AssayG01"
"""Names the layout: another layout has another number."""

_HEAD: Final = struct.Struct("<8s32sQ")
_ALIGNED: Final = 64
_CHUNK: Final = 1 << 20
_NO_ROOM_BEFOREHAND: Final = (errno.EOPNOTSUPP, errno.EINVAL)


class Damaged(ValueError):
    """The file is not what was written, or of another layout."""


def write(file: BinaryIO, header: Mapping[str, Any], arrays: Arrays) -> None:
    """Write header and arrays to a new file, durably; raises OSError where there is no room."""
    pieces = list(_pieces(header, arrays))
    digest = hashlib.sha256()
    for piece in pieces[1:]:
        digest.update(piece)
    head = _HEAD.pack(MAGIC, digest.digest(), len(pieces[1]))
    _take_room(file, sum(map(len, pieces)))
    for piece in (head.ljust(len(pieces[0]), b"\0"), *pieces[1:]):
        file.write(piece)
    file.flush()
    os.fsync(file.fileno())


def size(header: Mapping[str, Any], arrays: Arrays) -> int:
    """The bytes of the file that `write` makes."""
    return sum(map(len, _pieces(header, arrays)))


def read(path: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The header, and arrays that stay readable after the file's removal; raises OSError, and Damaged.

    The bytes are checked by reading, not through the map: a disk that fails then raises an error and ends no program.
    """
    with path.open("rb") as file:
        begin = file.read(_HEAD.size)
        if len(begin) < _HEAD.size:
            raise Damaged(f"{path} is cut short")
        magic, digest, length = _HEAD.unpack(begin)
        if magic != MAGIC:
            raise Damaged(f"{path} has another layout")
        file.seek(_whole(_HEAD.size))
        if _digest(file) != digest:
            raise Damaged(f"{path} is damaged")
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    start = _whole(_HEAD.size)
    header = json.loads(mapped[start : start + length])
    return header["of"], _mapped(mapped, header["arrays"], _whole(start + length))


def _pieces(header: Mapping[str, Any], arrays: Arrays) -> Iterator[bytes | memoryview]:
    """Room for the head, the header, then array after array, each with what fills it up."""
    table, at = {}, 0
    for name, array in arrays.items():
        table[name] = {"dtype": array.dtype.newbyteorder("<").str, "shape": list(array.shape), "at": at}
        at += _whole(array.nbytes)
    text = json.dumps({"of": header, "arrays": table}).encode()
    yield bytes(_whole(_HEAD.size))
    yield text
    yield bytes(_whole(len(text)) - len(text))
    for array in arrays.values():
        little = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
        yield little.reshape(-1).view(np.uint8).data
        yield bytes(_whole(array.nbytes) - array.nbytes)


def _mapped(mapped: mmap.mmap, table: Mapping[str, Any], start: int) -> dict[str, NDArray[Any]]:
    found = {}
    for name, told in table.items():
        count = math.prod(told["shape"])
        # An empty array may stand at the very end, where numpy takes no offset.
        flat = np.frombuffer(mapped, told["dtype"], count, start + told["at"]) if count else np.empty(0, told["dtype"])
        found[name] = flat.reshape(told["shape"])
    return found


def _whole(count: int) -> int:
    return -(-count // _ALIGNED) * _ALIGNED


def _digest(file: BinaryIO) -> bytes:
    digest = hashlib.sha256()
    while chunk := file.read(_CHUNK):
        digest.update(chunk)
    return digest.digest()


def _take_room(file: BinaryIO, count: int) -> None:
    """Find out about a full disk before anything is written; some file systems cannot say, and tell while one writes."""
    try:
        os.posix_fallocate(file.fileno(), 0, count)
    except OSError as refused:
        if refused.errno not in _NO_ROOM_BEFOREHAND:
            raise
