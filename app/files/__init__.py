"""The interface of a file store, which holds uploads and prepared gold.

A file is written once under a key of its own, is durable before `finish` returns, and never changes. Equal contents are
not shared between keys: deduplication would race with deletion, and would reveal to tenants which files others have.
"""

import uuid
from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final, Protocol

UPLOADS: Final = "uploads"
PREPARED_GOLD: Final = "prepared"
KEY_FOLDERS: Final = (UPLOADS, PREPARED_GOLD)
"""The first part of a key: what users sent, and what can be made again."""
NAME_PATTERN: Final = "[0-9a-f]{32}"
"""The second part of a key."""


def new_key(folder: str) -> str:
    """A key that no other file has."""
    return f"{folder}/{uuid.uuid4().hex}"


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
    """A store of uploads and of prepared gold."""

    def begin(self) -> Upload:
        """Start an upload; raises errors.StorageAlmostFull when little space is left."""

    def put(self, key: str, path: Path, size: int) -> None:
        """Store a copy of this file of `size` bytes under a key of its own, as durably as an upload.

        Only the owner may read it. Raises errors.StorageAlmostFull.
        """

    def local_path(self, key: str) -> AbstractContextManager[Path]:
        """A readable path of the file for the duration of the block; raises FileNotFoundError."""

    def stored_path(self, key: str) -> Path | None:
        """The path of the stored file itself; None if the store is not a folder. Raises FileNotFoundError."""

    def fetch(self, key: str, out: BinaryIO) -> None:
        """Write the bytes of a file to `out`; raises FileNotFoundError."""

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
