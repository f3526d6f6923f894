"""A file store in a folder: the default on one machine."""

import contextlib
import os
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from app.durable_files import fsync_file, fsync_folder
from app.errors import StorageAlmostFull, Unavailable
from app.files import KEY_FOLDERS, NAME_PATTERN, UPLOADS, StoredFile, new_key
from app.files.partial_upload import PartialUpload
from app.settings import Settings

COPY_CHUNK_BYTES = 1024 * 1024


class UploadFolderUnavailable(Unavailable):
    """The folder of uploads is missing or not writable; nothing was stored."""

    code = "folder_away"
    remedy = "Tell the administrator: 'assay doctor' shows the cause."


class FolderUpload(PartialUpload):
    """Bytes in a part file, which is renamed to its key once it is complete and durable."""

    def __init__(self, root: Path, min_free: int) -> None:
        key = new_key(UPLOADS)
        super().__init__(key, root / f"{key}.part", min_free)
        self._root = root

    def finish(self) -> StoredFile:
        """Sync the bytes, rename the file, sync the directory entry, in this order.

        Only then may a row refer to the file: a crash in between leaves no row without a complete file.
        """
        try:
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
            final = self._root / self.key
            self._part.rename(final)
            fsync_folder(final.parent)
        except OSError as full:
            self.abort()
            raise StorageAlmostFull from full
        return StoredFile(self.key, self._hash.hexdigest(), self.size)


class FolderFileStore:
    """The store in `<data folder>/files`, readable by its owner only."""

    def __init__(self, settings: Settings) -> None:
        self.root = settings.files_dir.resolve()
        self._min_free = settings.min_free
        for name in KEY_FOLDERS:
            (self.root / name).mkdir(parents=True, exist_ok=True, mode=0o700)
        for folder in (self.root, self.root.parent):
            fsync_folder(folder)  # a file is only as durable as the folders above it

    def begin(self) -> FolderUpload:
        """Start an upload; raises errors.StorageAlmostFull when little space is left."""
        self.check()
        try:
            return FolderUpload(self.root, self._min_free)
        except OSError as full:
            raise StorageAlmostFull from full

    def put(self, key: str, path: Path, size: int) -> None:
        """Store a copy of a file, readable by its owner only; raises errors.StorageAlmostFull."""
        final = self.root / key
        part = final.with_name(f"{final.name}.part")
        try:
            _copy(path, part, size)
            part.rename(final)
            fsync_folder(final.parent)
        except OSError as full:
            part.unlink(missing_ok=True)
            raise StorageAlmostFull from full

    @contextmanager
    def local_path(self, key: str) -> Iterator[Path]:
        """The path of the stored file itself; raises FileNotFoundError."""
        yield self.stored_path(key)

    def stored_path(self, key: str) -> Path:
        """The path of the stored file itself; raises FileNotFoundError."""
        path = self.root / key
        if not path.is_file():
            raise FileNotFoundError(key)
        return path

    def fetch(self, key: str, out: BinaryIO) -> None:
        """Write the bytes of a file to `out`; raises FileNotFoundError."""
        with self.stored_path(key).open("rb") as source:
            shutil.copyfileobj(source, out, COPY_CHUNK_BYTES)

    def size(self, key: str) -> int:
        """The size of a file in bytes; raises FileNotFoundError."""
        return (self.root / key).stat().st_size

    def keys(self, *, older: float) -> Iterator[str]:
        """The keys of the files older than `older` seconds; ignores files that no store created."""
        limit = time.time() - older
        for folder in KEY_FOLDERS:
            for entry in os.scandir(self.root / folder):
                with contextlib.suppress(FileNotFoundError):  # another host may sweep at the same time
                    if re.fullmatch(NAME_PATTERN, entry.name) and entry.stat().st_mtime < limit:
                        yield f"{folder}/{entry.name}"

    def delete(self, key: str) -> None:
        """Delete a file; does nothing if it does not exist."""
        (self.root / key).unlink(missing_ok=True)

    def check(self) -> None:
        """Raise UploadFolderUnavailable if the folder is not writable, StorageAlmostFull if space is short."""
        if not os.access(self.root / UPLOADS, os.W_OK | os.X_OK):
            raise UploadFolderUnavailable
        if shutil.disk_usage(self.root).free < self._min_free:
            raise StorageAlmostFull

    def clear_leftovers(self, *, older: float) -> int:
        """Delete part files older than `older` seconds; returns how many."""
        limit, removed = time.time() - older, 0
        for path in self.root.glob("*/*.part"):
            with contextlib.suppress(FileNotFoundError):  # another host may clean up at the same time
                if path.stat().st_mtime <= limit:
                    path.unlink()
                    removed += 1
        return removed


def _copy(path: Path, part: Path, size: int) -> None:
    private = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with path.open("rb") as source, os.fdopen(private, "wb") as out:
        shutil.copyfileobj(source, out, COPY_CHUNK_BYTES)
        if out.tell() != size:
            raise OSError(f"{path} does not hold {size} bytes")
        fsync_file(out)
