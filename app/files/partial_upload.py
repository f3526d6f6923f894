"""A file while it is being uploaded: written to the local disk, hashed and counted."""

import hashlib
import shutil
from contextlib import suppress
from pathlib import Path

from app.errors import StorageAlmostFull

SPACE_CHECK_BYTES = 32 * 1024 * 1024
"""After how many bytes of one file the free space is checked again."""


class PartialUpload:
    """Bytes on disk without a name in the store yet; each store finishes them in its own way."""

    def __init__(self, key: str, part: Path, min_free: int) -> None:
        """`part` must not exist, and its disk keeps `min_free` bytes free; raises OSError."""
        self.key = key
        self._min_free = min_free
        self.size = 0
        self._part = part
        self._hash = hashlib.sha256()
        self._file = part.open("xb")

    def write(self, chunk: bytes) -> None:
        """Append bytes; raises errors.StorageAlmostFull when the disk is full, or when a large file uses up the space."""
        try:
            self._file.write(chunk)
        except OSError as full:
            self.abort()
            raise StorageAlmostFull from full
        self._hash.update(chunk)
        checked = self.size // SPACE_CHECK_BYTES
        self.size += len(chunk)
        if self.size // SPACE_CHECK_BYTES > checked and shutil.disk_usage(self._part.parent).free < self._min_free:
            self.abort()
            raise StorageAlmostFull

    def abort(self) -> None:
        """Discard the file; does nothing after it was finished."""
        with suppress(OSError):  # on a full disk, closing flushes the buffer and fails again
            self._file.close()
        self._part.unlink(missing_ok=True)
