"""A folder of prepared gold, shared by the scoring processes of a service; all of it can be created again.

A file with any fault is removed, and its gold counts as not prepared. A file gets its name when it is complete. A
mapped file stays readable after its removal.
"""

import errno
import fcntl
import os
import shutil
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from app.durable_files import fsync_folder
from app.pipeline import Gold
from app.prepared import array_file
from app.prepared.gold_arrays import decode_gold, encode_gold

MAX_UNUSED_SECONDS: Final = 7 * 24 * 3600.0
"""Seconds after which unused gold is removed: its challenge may have been deleted."""

_SUFFIX: Final = ".gold"
_TEMPORARY_SUFFIX: Final = ".part"


@dataclass(frozen=True, slots=True)
class PreparedGoldFolder:
    """At most `limit` bytes of files, least recently used removed first; writes leave `free` bytes of the disk free.

    `log` receives messages for the operator.
    """

    folder: Path
    limit: int
    free: int = 0
    log: Callable[[str], None] = lambda _: None

    def load(self, name: str) -> Gold | None:
        """The gold with this name, on mapped arrays; None if it is not prepared, or if the file is damaged."""
        path = self._path(name)
        try:
            gold = decode_gold(*array_file.read(path))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError) as error:
            self.log(f"damaged prepared gold was removed: {error}")
            with suppress(OSError):
                path.unlink()
            return None
        self.touch(name)
        return gold

    def touch(self, name: str) -> None:
        """Record that this gold was used now."""
        with suppress(OSError):
            os.utime(self._path(name))

    def store(self, name: str, gold: Gold) -> None:
        """Write gold under this name; if that fails, scoring uses the gold in memory."""
        try:
            self._write(name, gold)
            self.evict_unused(keep=name)
        except (OSError, MemoryError) as error:
            self.log(f"gold could not be prepared: {error or 'no memory'}")

    def evict_unused(self, *, keep: str = "") -> None:
        """Remove files unused for long, then the least recently used beyond the limit, and leftover part files."""
        with suppress(OSError):  # other processes clean up at the same time
            _delete_temporary_files(self.folder)
            files = sorted((path.stat().st_mtime, path) for path in self.folder.glob(f"*{_SUFFIX}"))
            total = sum(path.stat().st_size for _, path in files)
            for used_at, path in files:
                if path == self._path(keep) or (total <= self.limit and time.time() - used_at < MAX_UNUSED_SECONDS):
                    continue
                total -= path.stat().st_size
                path.unlink()

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}{_SUFFIX}"

    def _write(self, name: str, gold: Gold) -> None:
        pieces = array_file.serialize(*encode_gold(gold))
        size = sum(map(len, pieces))
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if size > self.limit:
            return
        if shutil.disk_usage(self.folder).free - size < self.free:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.folder))
        with _temporary_file(self._path(name)) as file:
            array_file.write(file, pieces)
        fsync_folder(self.folder)


@contextmanager
def _temporary_file(final: Path) -> Iterator[BinaryIO]:
    """A new file that gets its final name when the block succeeds.

    Its writer holds a lock on it, so that `_delete_temporary_files` removes only files of dead writers.
    """
    path = final.with_name(f"{uuid.uuid4().hex}{_TEMPORARY_SUFFIX}")
    with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield file
            path.rename(final)
        except BaseException:
            path.unlink(missing_ok=True)
            raise


def _delete_temporary_files(folder: Path) -> None:
    """Delete unfinished files of dead writers: a living writer holds the lock, so that locking its file fails."""
    for path in folder.glob(f"*{_TEMPORARY_SUFFIX}"):
        with suppress(OSError), path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()
