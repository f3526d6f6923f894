"""Copies of far files in a folder of this process: fetched once, kept while there is room, oldest use first to go."""

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
    doomed: bool = False  # deleted while in use; goes with its last user
    size: Future[int] = field(default_factory=Future)  # known once the bytes are here


class DownloadCache:
    """At most `limit` bytes, and whatever is in use beyond that; the same key has the same path while its copy is kept."""

    def __init__(self, folder: Path, limit: int) -> None:
        shutil.rmtree(folder, ignore_errors=True)  # what an earlier process knew of its copies went with it
        folder.mkdir(parents=True, mode=0o700)
        self._folder = folder
        self._limit = limit
        self._guard = threading.Lock()  # of the books below; never held while bytes travel
        self._kept: OrderedDict[str, _CacheEntry] = OrderedDict()  # the least recently used first
        self._total = 0

    @contextmanager
    def local_path(self, key: str, fetch: Fetch) -> Iterator[Path]:
        """The path of the copy while the block lasts; the first who asks fetches it, the others wait for that.

        Raises what `fetch` raises, to all who wait for it, and errors.StorageShort when the disk is full.
        """
        copy, first = self._take(key)
        try:
            if first:
                self._download(copy, fetch)
            copy.size.result()
            yield copy.path
        finally:
            self._release(copy)

    def delete(self, key: str) -> None:
        """Drop the copy of a file that is gone; whoever reads it may read on."""
        with self._guard:
            copy = self._kept.get(key)
            if copy is None:
                return
            copy.doomed = True
            if not copy.users:
                self._drop(copy)

    def _take(self, key: str) -> tuple[_CacheEntry, bool]:
        with self._guard:
            copy = self._kept.get(key)
            first = copy is None
            if copy is None:
                copy = self._kept[key] = _CacheEntry(key, self._folder / key.rpartition("/")[2])
            elif copy.doomed:
                raise FileNotFoundError(key)
            copy.users += 1
            self._kept.move_to_end(key)
            return copy, first

    def _download(self, copy: _CacheEntry, fetch: Fetch) -> None:
        part = copy.path.with_suffix(".part")
        try:
            with part.open("wb") as out:
                fetch(out)
                size = out.tell()
            part.rename(copy.path)
        except BaseException as fault:  # noqa: BLE001 - raised by `local`, here and to all who wait
            part.unlink(missing_ok=True)
            with self._guard:
                del self._kept[copy.key]  # who comes later tries anew
            full = isinstance(fault, OSError) and fault.errno in DISK_FULL_ERRORS
            copy.size.set_exception(StorageAlmostFull() if full else fault)
            return
        with self._guard:
            self._total += size
            copy.size.set_result(size)
            self._evict()

    def _release(self, copy: _CacheEntry) -> None:
        with self._guard:
            copy.users -= 1
            if copy.doomed and not copy.users and self._kept.get(copy.key) is copy:
                self._drop(copy)
            self._evict()

    def _evict(self) -> None:
        if self._total <= self._limit:
            return
        for copy in list(self._kept.values()):
            if not copy.users:
                self._drop(copy)
                if self._total <= self._limit:
                    return

    def _drop(self, copy: _CacheEntry) -> None:
        copy.path.unlink(missing_ok=True)
        self._total -= copy.size.result()
        del self._kept[copy.key]
