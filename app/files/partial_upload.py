"""A file while it is being uploaded: written to the local disk, hashed and counted."""

import hashlib
from contextlib import suppress
from pathlib import Path

from app.errors import StorageAlmostFull


class PartialUpload:
    """Bytes on disk without a name in the store yet; each store finishes them in its own way."""

    def __init__(self, key: str, part: Path) -> None:
        """`part` must not exist; raises OSError."""
        self.key = key
        self.size = 0
        self._part = part
        self._hash = hashlib.sha256()
        self._file = part.open("xb")

    def write(self, chunk: bytes) -> None:
        """Append bytes; raises errors.StorageAlmostFull when the disk is full."""
        try:
            self._file.write(chunk)
        except OSError as full:
            self.abort()
            raise StorageAlmostFull from full
        self._hash.update(chunk)
        self.size += len(chunk)

    def abort(self) -> None:
        """Discard the file; does nothing after it was finished."""
        with suppress(OSError):  # on a full disk, closing flushes the buffer and fails again
            self._file.close()
        self._part.unlink(missing_ok=True)
