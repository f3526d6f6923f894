"""A folder of prepared gold, shared by the scoring processes of a service; all of it can be created again.

A file gets its name when it is complete. A mapped file stays readable after its removal.
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
from app.prepared.gold_source import PreparedFile

MAX_UNUSED_SECONDS: Final = 7 * 24 * 3600.0
"""Seconds after which unused gold is removed: its challenge may have been deleted."""

_SUFFIX: Final = ".gold"
_TEMPORARY_SUFFIX: Final = ".part"


class DamagedPreparedGold(Exception):
    """The file is damaged or not readable, is another one than expected, or is of another program version."""


def read_prepared_gold(file: PreparedFile) -> Gold:
    """The gold of a file, on mapped arrays; raises FileNotFoundError and DamagedPreparedGold."""
    try:
        return decode_gold(*array_file.read(file.path, file.sha256))
    except FileNotFoundError:
        raise
    except (OSError, ValueError, KeyError) as error:
        raise DamagedPreparedGold(str(error)) from error


@dataclass(frozen=True, slots=True)
class PreparedGoldFolder:
    """At most `limit` bytes of files, least recently used removed first; writes leave `free` bytes of the disk free.

    `log` receives messages for the operator.
    """

    folder: Path
    limit: int
    free: int = 0
    log: Callable[[str], None] = lambda _: None

    def path(self, name: str) -> Path:
        """Where the gold with this name is, if it is in the folder."""
        return self.folder / f"{name}{_SUFFIX}"

    def touch(self, name: str) -> None:
        """Record that this gold was used now."""
        with suppress(OSError):
            os.utime(self.path(name))

    def store(self, name: str, gold: Gold) -> PreparedFile | None:
        """Write gold under this name; None if that fails, and then scoring uses the gold in memory."""
        try:
            pieces = array_file.serialize(*encode_gold(gold))
            path = self.add(name, sum(map(len, pieces)), lambda file: array_file.write(file, pieces))
        except (OSError, MemoryError) as error:
            self.log(f"gold could not be prepared: {error or 'no memory'}")
            return None
        return None if path is None else PreparedFile(path)

    def add(self, name: str, size: int, write: Callable[[BinaryIO], None]) -> Path | None:
        """Add a file of `size` bytes that `write` writes; None if the limit is lower.

        Raises OSError, for example when too little space is free, and what `write` raises.
        """
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if size > self.limit:
            return None
        if shutil.disk_usage(self.folder).free - size < self.free:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.folder))
        path = self.path(name)
        with _temporary_file(path) as file:
            write(file)
        fsync_folder(self.folder)
        self.evict_unused(keep=name)
        return path

    def remove(self, path: Path) -> None:
        """Remove a file if it is in this folder; a scoring process that has mapped it can still read it."""
        if path.parent == self.folder:
            with suppress(OSError):
                path.unlink()

    def evict_unused(self, *, keep: str = "") -> None:
        """Remove files unused for long, then the least recently used beyond the limit, and leftover part files."""
        with suppress(OSError):  # other processes clean up at the same time
            _delete_temporary_files(self.folder)
            files = sorted((path.stat().st_mtime, path) for path in self.folder.glob(f"*{_SUFFIX}"))
            total = sum(path.stat().st_size for _, path in files)
            for used_at, path in files:
                if path == self.path(keep) or (total <= self.limit and time.time() - used_at < MAX_UNUSED_SECONDS):
                    continue
                total -= path.stat().st_size
                path.unlink()


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
