"""Share prepared gold through the file store: one process prepares a gold, and all others use its file.

A row of the database holds the checksum of each file. Whatever is wrong with a file or a row, the gold is prepared
again; nothing here makes a request fail that could be met without prepared gold.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import structlog
from sqlalchemy.exc import IntegrityError

from app.errors import AssayError
from app.files import PREPARED_GOLD, FileStore, new_key
from app.prepared.array_file import DamagedArrayFile, declared_sha256
from app.prepared.gold_arrays import PROGRAM
from app.prepared.gold_folder import PreparedGoldFolder
from app.prepared.gold_source import PreparedFile
from app.store import clock
from app.store.queries import prepared_gold
from app.store.session import Database
from app.store.tables import PreparedGold

log = structlog.get_logger()

MAX_WAIT_SECONDS = 60.0  # for another thread that has the same gold prepared; then this one does it too
POLL_SECONDS = 0.05


class Preparations:
    """The golds that threads of this process are having prepared, by the path of the file that is written."""

    def __init__(self) -> None:
        self._paths: set[Path] = set()
        self._changed = threading.Condition()

    @contextmanager
    def turn(self, path: Path) -> Iterator[None]:
        """Begin when no other thread is having this gold prepared.

        The wait ends as soon as the file is there: the other thread's scoring process may then take long to score.
        """
        deadline = time.monotonic() + MAX_WAIT_SECONDS
        with self._changed:
            while path in self._paths and not path.is_file() and time.monotonic() < deadline:
                self._changed.wait(POLL_SECONDS)
            first = path not in self._paths
            self._paths.add(path)
        try:
            yield
        finally:
            if first:
                with self._changed:
                    self._paths.discard(path)
                    self._changed.notify_all()


_PREPARATIONS = Preparations()


@dataclass(frozen=True, slots=True)
class FoundGold:
    """Prepared gold on this machine."""

    file: PreparedFile
    key: str | None
    """Of the stored file; None if only this process has prepared it."""
    fetched: bool = False
    """Whether it was copied from the store just now."""


@dataclass(frozen=True, slots=True)
class PreparedGoldStore:
    """The prepared gold of one stored version, whose content has this name.

    `folder` is where the scoring processes write the gold that they prepare, and holds copies of files from a bucket.
    """

    db: Database
    files: FileStore
    folder: PreparedGoldFolder
    gold_id: str
    name: str

    def find(self) -> FoundGold | None:
        """The file that a scoring process can map, fetched from the bucket if necessary; None if there is none."""
        path = self.folder.path(self.name)
        is_written = path.is_file()  # before the row is read, because `publish` adds the row and then removes the file
        with self.db.read() as session:
            row = prepared_gold.find(session, self.gold_id, PROGRAM, self.name)
        if row is None:
            return FoundGold(PreparedFile(path), None) if is_written else None
        try:
            return self._locate(row)
        except FileNotFoundError:
            self._remove_row(row.file_key, "missing")
        except (AssayError, OSError) as error:
            log.warning("prepared_gold_away", gold=self.gold_id, reason=str(error))
        return None

    def _locate(self, row: PreparedGold) -> FoundGold | None:
        """The stored file, or its copy in the folder; raises FileNotFoundError, OSError and AssayError."""
        path: Path | None = self.files.stored_path(row.file_key)
        fetched = False
        if path is None:
            path = self.folder.path(self.name)
            if not path.is_file():
                path = self.folder.add(self.name, row.size, partial(self.files.fetch, row.file_key))
                fetched = True
        if path is None:
            return None
        return FoundGold(PreparedFile(path, row.sha256), row.file_key, fetched=fetched)

    @contextmanager
    def preparation(self) -> Iterator[None]:
        """Have the gold prepared in this block, by one thread of this process at a time.

        After an update all scoring processes of a worker may need the same gold at once, and reading it takes memory.
        """
        with _PREPARATIONS.turn(self.folder.path(self.name)):
            yield

    def discard(self, found: FoundGold) -> None:
        """Forget a file that a scoring process found damaged: the copy in the folder, or else the stored one."""
        is_copy = found.file.path.parent == self.folder.folder
        self.folder.remove(found.file.path)
        if found.key is not None and (found.fetched or not is_copy):
            self._remove_row(found.key, "damaged")

    def publish(self) -> None:
        """Store the file that a scoring process has written to the folder, if it did, and its row."""
        path = self.folder.path(self.name)
        sha256 = _checksum(path)
        if sha256 is None:
            return  # it could not be prepared, and its process has said why
        key = new_key(PREPARED_GOLD)
        try:
            size = path.stat().st_size
            self.files.check()
            self.files.put(key, path, size)
            if _checksum(path) != sha256:  # another process of this service has prepared the same gold meanwhile
                self._delete_unused(key)
                return
            stored_key = self._add_row(key, sha256, size)
        except (AssayError, OSError, IntegrityError) as error:
            # The row may exist although its commit failed, so the file stays; without a row, the sweep deletes it.
            log.warning("prepared_gold_not_stored", gold=self.gold_id, reason=str(error))
            return
        if stored_key == key:
            log.info("prepared_gold_stored", gold=self.gold_id, bytes=size)
        else:
            self._delete_unused(key)
        if stored_key != key or self.files.stored_path(key) is not None:
            self.folder.remove(path)  # all processes use the stored file from now on

    def _add_row(self, key: str, sha256: str, size: int) -> str:
        with self.db.write(durable=False) as session:
            content = {"name": self.name, "file_key": key, "sha256": sha256, "size": size}
            row = {"gold_id": self.gold_id, "program": PROGRAM, **content, "created_at": clock.now(session)}
            return prepared_gold.add(session, row)

    def _delete_unused(self, key: str) -> None:
        """Delete the file of a process that was not the first to store this gold."""
        try:
            self.files.delete(key)
        except (AssayError, OSError) as error:
            log.warning("prepared_gold_away", gold=self.gold_id, reason=str(error))  # the sweep deletes it

    def _remove_row(self, key: str, fault: str) -> None:
        """Let the gold be prepared again. The sweep deletes the file later, because others may have mapped it."""
        log.warning("prepared_gold_discarded", gold=self.gold_id, file=key, fault=fault)
        try:
            with self.db.write(durable=False) as session:
                prepared_gold.remove(session, self.gold_id, PROGRAM, key)
        except AssayError as error:
            log.warning("prepared_gold_away", gold=self.gold_id, reason=str(error))


def _checksum(path: Path) -> str | None:
    try:
        return declared_sha256(path)
    except (OSError, DamagedArrayFile):
        return None


def prepared_gold_store(
    db: Database, files: FileStore, folder: PreparedGoldFolder | None, gold_id: str, name: str
) -> PreparedGoldStore | None:
    """The store for one gold; None if the scoring processes prepare none (ASSAY_PREPARED_GOLD=0)."""
    return None if folder is None or not folder.limit else PreparedGoldStore(db, files, folder, gold_id, name)
