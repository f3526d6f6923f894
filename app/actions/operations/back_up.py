"""Back up a running service: a snapshot of the database, then every file that the snapshot refers to.

A file is durable before its row is committed, and the sweeper is blocked meanwhile, so every such file still exists.
"""

import hashlib
import shutil
from pathlib import Path
from typing import BinaryIO

from app import __version__
from app.actions.operations import backup_folder
from app.actions.operations.backup_folder import LostFile, Manifest, Progress
from app.durable_files import fsync_file, fsync_folder
from app.files import FileStore
from app.settings import Settings
from app.store import database_copy
from app.store.migrate import current_revision
from app.store.session import Database, translate_database_errors
from app.store.sweep_backup_lock import prevent_sweeping
from app.store.types import utcnow


class UnreadableFile(Exception):
    """A stored file exists, but its disk cannot read it."""


def back_up(
    settings: Settings, db: Database, files: FileStore, folder: Path, progress: Progress | None = None
) -> Manifest:
    """Back up to a new folder. The returned manifest lists files that the installation itself has lost.

    Raises FolderTaken, OSError, and errors of the database and the file store; then nothing is left in the folder.
    """
    backup_folder.create_backup_folder(folder)
    try:
        with translate_database_errors(), prevent_sweeping(db):
            created_at = utcnow()
            database_copy.take(settings, db, folder / backup_folder.DATABASE_FILENAME)
            with database_copy.open_snapshot(folder / backup_folder.DATABASE_FILENAME) as copy:
                counts, revision = database_copy.row_counts(copy), current_revision(copy)
                number, size, lost = _FileCopier(files, folder, progress).all(copy)
        manifest = Manifest(
            format=backup_folder.BACKUP_FORMAT,
            assay=__version__,
            revision=revision or "",
            source="sqlite" if db.sqlite else "postgresql",
            made_at=created_at,
            database_sha256=backup_folder.file_sha256(folder / backup_folder.DATABASE_FILENAME),
            counts=counts,
            files=number,
            bytes=size,
            lost=lost,
        )
        _make_durable(folder, manifest)
    except BaseException:
        _remove_partial_backup(folder)
        raise
    return manifest


def _make_durable(folder: Path, manifest: Manifest) -> None:
    database = folder / backup_folder.DATABASE_FILENAME
    with (folder / backup_folder.CHECKSUMS_FILENAME).open("ab") as sums:
        sums.write(f"{manifest.database_sha256}  {backup_folder.DATABASE_FILENAME}\n".encode())
        fsync_file(sums)
    with database.open("rb+") as file:
        fsync_file(file)
    files = folder / backup_folder.FILES_FOLDER
    for path in (files / "uploads", files, folder, folder.resolve().parent):
        fsync_folder(path)
    backup_folder.write_manifest(folder, manifest)


def _remove_partial_backup(folder: Path) -> None:
    """Empty the folder, which was empty before the backup."""
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


class _FileCopier:
    """Copies files one after the other, and lists those that are lost."""

    def __init__(self, files: FileStore, folder: Path, progress: Progress | None) -> None:
        self._files = files
        self._root = folder / backup_folder.FILES_FOLDER
        self._sums = folder / backup_folder.CHECKSUMS_FILENAME
        self._progress = progress

    def all(self, copy: database_copy.SnapshotConnection) -> tuple[int, int, list[LostFile]]:
        """Copy every file that the snapshot refers to: their number, their bytes, and those that are lost."""
        for path in (self._root, self._root / "uploads"):
            path.mkdir(mode=0o700)
        total, processed, number, size = database_copy.total_file_bytes(copy), 0, 0, 0
        lost: list[LostFile] = []
        with backup_folder.create_private_file(self._sums) as sums:
            for row in database_copy.stored_files(copy):
                fault = self._copy_one(row)
                if fault is None:
                    sums.write(f"{row.sha256}  {backup_folder.FILES_FOLDER}/{row.key}\n".encode())
                    number, size = number + 1, size + row.size
                else:
                    lost.append(LostFile(key=row.key, owner=row.owner, fault=fault))
                processed += row.size
                if self._progress is not None:
                    self._progress(processed, total)
        return number, size, lost

    def _copy_one(self, row: database_copy.SnapshotFile) -> str | None:
        """Copy a file; returns what is wrong with it, None if nothing is."""
        target = self._root / row.key
        try:
            with self._files.local_path(row.key) as path, backup_folder.create_private_file(target) as out:
                digest = _copy_and_hash(path, out)
                fsync_file(out)
        except FileNotFoundError:
            return "missing"
        except UnreadableFile as fault:
            target.unlink()
            return f"unreadable: {fault}"
        if digest != row.sha256:
            target.unlink()
            return "damaged: its SHA-256 differs from that in the database"
        return None


def _copy_and_hash(path: Path, out: BinaryIO) -> str:
    """Copy a file and return its SHA-256; raises UnreadableFile, and OSError if the copy cannot be written."""
    digest = hashlib.sha256()
    with path.open("rb") as source:
        while chunk := _read_chunk(source):
            digest.update(chunk)
            out.write(chunk)
    return digest.hexdigest()


def _read_chunk(source: BinaryIO) -> bytes:
    try:
        return source.read(backup_folder.CHUNK_BYTES)
    except OSError as fault:
        raise UnreadableFile(fault.strerror or str(fault)) from fault
