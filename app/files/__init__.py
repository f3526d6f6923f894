"""Where uploads are kept: the contract of a file store.

A file is written once under a key of its own, durable before `finish` returns, and never changed. Equal contents are
not shared between keys: deduplication would race with deletion and tell tenants about each other's files.
"""

from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file in the store: its key, the SHA-256 of its bytes as sent (hexadecimal) and its size in bytes."""

    key: str
    sha256: str
    size: int


class Upload(Protocol):
    """A file on its way into the store."""

    @property
    def size(self) -> int:
        """Bytes written so far."""

    def write(self, chunk: bytes) -> None:
        """Append bytes; raises errors.StorageShort when the disk is full."""

    def finish(self) -> StoredFile:
        """Make the file durable (its bytes and its folder entry) and give its key."""

    def abort(self) -> None:
        """Forget the file; harmless after finish."""


class FileStore(Protocol):
    """A store of uploaded files."""

    def begin(self) -> Upload:
        """Start an upload; raises errors.StorageShort when little space is left."""

    def put(self, key: str, path: Path, size: int) -> None:
        """Store a copy of this file of so many bytes under a key that it had elsewhere, as durable as an upload.

        Raises errors.StorageShort.
        """

    def local_path(self, key: str) -> AbstractContextManager[Path]:
        """A readable path of the file while the block lasts; raises FileNotFoundError."""

    def size(self, key: str) -> int:
        """The bytes of a file; raises FileNotFoundError."""

    def keys(self, *, older: float) -> Iterable[str]:
        """The keys of the files that are older than so many seconds."""

    def delete(self, key: str) -> None:
        """Remove a file; nothing happens when it is gone already."""

    def check(self) -> None:
        """Raise errors.StorageShort unless uploads would be accepted now."""

    def clear_leftovers(self, *, older: float) -> int:
        """Remove what uploads that never ended left behind, if older than so many seconds; returns how many."""
