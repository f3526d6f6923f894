"""Local copies of remote files: downloaded once, cached up to a limit, least recently used evicted first."""

import errno
import shutil
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from app.errors import StorageAlmostFull

Fetch = Callable[[BinaryIO], None]
DISK_FULL_ERRORS = (errno.ENOSPC, errno.EDQUOT)


@dataclass(slots=True)
class _CacheEntry:
    key: str
    path: Path
    users: int = 0
    doomed: bool = False  # the file was deleted while in use; the last user removes the copy
    size: Future[int] = field(default_factory=Future)  # set once the download has ended


class DownloadCache:
    """At most `limit` bytes, plus whatever is in use; a key keeps its path while its copy is cached."""

    def __init__(self, folder: Path, limit: int) -> None:
        shutil.rmtree(folder, ignore_errors=True)  # the bookkeeping of an earlier process is lost
        folder.mkdir(parents=True, mode=0o700)
        self._folder = folder
        self._limit = limit
        self._guard = threading.Lock()  # guards the fields below; never held during a download
        self._entries: OrderedDict[str, _CacheEntry] = OrderedDict()  # least recently used first
        self._total = 0

    @contextmanager
    def local_path(self, key: str, fetch: Fetch) -> Iterator[Path]:
        """The path of the copy for the duration of the block; the first caller downloads it, the others wait for that.

        Raises to all of them what `fetch` raises, and errors.StorageAlmostFull when the disk is full.
        """
        entry, first = self._take(key)
        try:
            if first:
                self._download(entry, fetch)
            entry.size.result()
            yield entry.path
        finally:
            self._release(entry)

    def delete(self, key: str) -> None:
        """Drop the copy of a deleted file; current readers may go on reading."""
        with self._guard:
            entry = self._entries.get(key)
            if entry is None:
                return
            entry.doomed = True
            if not entry.users:
                self._drop(entry)

    def _take(self, key: str) -> tuple[_CacheEntry, bool]:
        with self._guard:
            entry = self._entries.get(key)
            first = entry is None
            if entry is None:
                entry = self._entries[key] = _CacheEntry(key, self._folder / key.rpartition("/")[2])
            elif entry.doomed:
                raise FileNotFoundError(key)
            entry.users += 1
            self._entries.move_to_end(key)
            return entry, first

    def _download(self, entry: _CacheEntry, fetch: Fetch) -> None:
        part = entry.path.with_suffix(".part")
        try:
            with part.open("wb") as out:
                fetch(out)
                size = out.tell()
            part.rename(entry.path)
        except BaseException as fault:  # noqa: BLE001 - raised by `local_path`, to this caller and all that wait
            part.unlink(missing_ok=True)
            with self._guard:
                del self._entries[entry.key]  # a later caller tries again
            full = isinstance(fault, OSError) and fault.errno in DISK_FULL_ERRORS
            entry.size.set_exception(StorageAlmostFull() if full else fault)
            return
        with self._guard:
            self._total += size
            entry.size.set_result(size)
            self._evict()

    def _release(self, entry: _CacheEntry) -> None:
        with self._guard:
            entry.users -= 1
            # After a failed download another entry may have taken the key.
            if entry.doomed and not entry.users and self._entries.get(entry.key) is entry:
                self._drop(entry)
            self._evict()

    def _evict(self) -> None:
        if self._total <= self._limit:
            return
        for entry in list(self._entries.values()):
            if not entry.users:  # neither downloading nor being read, so its size is known
                self._drop(entry)
                if self._total <= self._limit:
                    return

    def _drop(self, entry: _CacheEntry) -> None:
        entry.path.unlink(missing_ok=True)
        self._total -= entry.size.result()
        del self._entries[entry.key]
