"""The interface of a file store, which holds uploads.

A file is written once under a key of its own, is durable before `finish` returns, and never changes. Equal contents are
not shared between keys: deduplication would race with deletion, and would reveal to tenants which files others have.
"""

from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A stored file: its key, the SHA-256 of its bytes as sent (hexadecimal) and its size in bytes."""

    key: str
    sha256: str
    size: int


class Upload(Protocol):
    """A file that is being uploaded."""

    @property
    def size(self) -> int:
        """Bytes written so far."""

    def write(self, chunk: bytes) -> None:
        """Append bytes; raises errors.StorageAlmostFull when the disk is full."""

    def finish(self) -> StoredFile:
        """Make the file durable (its bytes and its directory entry) and return it."""

    def abort(self) -> None:
        """Discard the file; does nothing after `finish`."""


class FileStore(Protocol):
    """A store of uploaded files."""

    def begin(self) -> Upload:
        """Start an upload; raises errors.StorageAlmostFull when little space is left."""

    def put(self, key: str, path: Path, size: int) -> None:
        """Store a copy of this file of `size` bytes under its key from another store, as durably as an upload.

        Raises errors.StorageAlmostFull.
        """

    def local_path(self, key: str) -> AbstractContextManager[Path]:
        """A readable path of the file for the duration of the block; raises FileNotFoundError."""

    def size(self, key: str) -> int:
        """The size of a file in bytes; raises FileNotFoundError."""

    def keys(self, *, older: float) -> Iterable[str]:
        """The keys of the files that are older than `older` seconds."""

    def delete(self, key: str) -> None:
        """Delete a file; does nothing if it does not exist."""

    def check(self) -> None:
        """Raise errors.StorageAlmostFull unless uploads would be accepted now."""

    def clear_leftovers(self, *, older: float) -> int:
        """Delete what unfinished uploads left behind if older than `older` seconds; returns how many files."""
