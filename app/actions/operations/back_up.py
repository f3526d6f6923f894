"""Back up a service at work: the database as it is at one moment, then every file that this copy of it names.

A file is durable before its row is, and no sweeper removes one meanwhile: whatever the copy names is there.
"""

import hashlib
import shutil
from pathlib import Path
from typing import BinaryIO

from app import __version__
from app.actions.operations.backup_folder import (
    CHUNK,
    DATABASE,
    FILES,
    FORMAT,
    SUMS,
    Lost,
    Manifest,
    Progress,
    create,
    digest_of,
    new_folder,
    sync_file,
    sync_folder,
    write_manifest,
)
from app.files import Files
from app.settings import Settings
from app.store import snapshot
from app.store.migrate import current
from app.store.session import Database, translated
from app.store.sweep_lock import no_sweeping
from app.store.types import utcnow


class Unreadable(Exception):
    """A stored file is there, and its disk does not give it."""


def back_up(settings: Settings, db: Database, files: Files, folder: Path, progress: Progress | None = None) -> Manifest:
    """Make a backup in a new folder; files that the installation has lost are named in the manifest it returns.

    Raises FolderTaken, SchemaBehind, DatabaseAway, FilesAway, NotCopied, Unavailable, OSError: then nothing is left of it.
    """
    new_folder(folder)
    try:
        with translated(), no_sweeping(db):
            made_at = utcnow()
            snapshot.take(settings, db, folder / DATABASE)
            with snapshot.reading(folder / DATABASE) as copy:
                counts, revision = snapshot.counts(copy), current(copy)
                number, size, lost = _Copying(files, folder, progress).all(copy)
        manifest = Manifest(
            format=FORMAT,
            assay=__version__,
            revision=revision or "",
            source="sqlite" if db.sqlite else "postgresql",
            made_at=made_at,
            database_sha256=digest_of(folder / DATABASE),
            counts=counts,
            files=number,
            bytes=size,
            lost=lost,
        )
        _make_durable(folder, manifest)
    except BaseException:
        _clear(folder)
        raise
    return manifest


def _make_durable(folder: Path, manifest: Manifest) -> None:
    database = folder / DATABASE
    with (folder / SUMS).open("ab") as sums:
        sums.write(f"{manifest.database_sha256}  {DATABASE}\n".encode())
        sync_file(sums)
    with database.open("rb+") as file:
        sync_file(file)
    for each in (folder / FILES / "uploads", folder / FILES, folder, folder.resolve().parent):
        sync_folder(each)
    write_manifest(folder, manifest)


def _clear(folder: Path) -> None:
    """Remove what was made; the folder was empty before."""
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


class _Copying:
    """Copies file after file, and says what was lost."""

    def __init__(self, files: Files, folder: Path, progress: Progress | None) -> None:
        self._files = files
        self._root = folder / FILES
        self._sums = folder / SUMS
        self._progress = progress

    def all(self, copy: snapshot.Copy) -> tuple[int, int, list[Lost]]:
        """Every file that the copy names: how many were copied, their bytes, and those that could not be."""
        for each in (self._root, self._root / "uploads"):
            each.mkdir(mode=0o700)
        total, seen, number, size = snapshot.bytes_of_files(copy), 0, 0, 0
        lost: list[Lost] = []
        with create(self._sums) as sums:
            for row in snapshot.files(copy):
                fault = self._one(row)
                if fault is None:
                    sums.write(f"{row.sha256}  {FILES}/{row.key}\n".encode())
                    number, size = number + 1, size + row.size
                else:
                    lost.append(Lost(key=row.key, owner=row.owner, fault=fault))
                seen += row.size
                if self._progress is not None:
                    self._progress(seen, total)
        return number, size, lost

    def _one(self, row: snapshot.FileRow) -> str | None:
        """Copy a file; gives what is wrong with it, if anything is."""
        target = self._root / row.key
        try:
            with self._files.local(row.key) as path, create(target) as out:
                digest = _copy(path, out)
                sync_file(out)
        except FileNotFoundError:
            return "missing"
        except Unreadable as fault:
            target.unlink()
            return f"unreadable: {fault}"
        if digest != row.sha256:
            target.unlink()
            return "damaged: its bytes do not have the SHA-256 of its row"
        return None


def _copy(path: Path, out: BinaryIO) -> str:
    """Copy a file; gives the SHA-256 of what was copied; raises Unreadable, and OSError where the copy cannot be kept."""
    digest = hashlib.sha256()
    with path.open("rb") as given:
        while chunk := _read(given):
            digest.update(chunk)
            out.write(chunk)
    return digest.hexdigest()


def _read(given: BinaryIO) -> bytes:
    try:
        return given.read(CHUNK)
    except OSError as fault:
        raise Unreadable(fault.strerror or str(fault)) from fault
