"""What a backup is: a folder with one SQLite file, the uploads that it names, and a manifest written last."""

import hashlib
import json
import os
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import BinaryIO, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from app.errors import AssayError

BACKUP_FORMAT = 1
DATABASE_FILENAME = "assay.sqlite3"
FILES_FOLDER = "files"
CHECKSUMS_FILENAME = "SHA256SUMS"
MANIFEST_FILENAME = "manifest.json"
CHUNK_BYTES = 1024 * 1024

ProgressCallback = Callable[[int, int], None]
"""Told of bytes done and bytes in all."""


class FolderTaken(AssayError):
    """The folder for the backup is not empty."""

    code = "folder_taken"
    remedy = "Name a folder that is not there yet; every backup has one of its own."


class NotABackup(AssayError):
    """This folder holds no whole backup."""

    code = "not_a_backup"
    remedy = "Name the folder that 'assay backup' made; if its making was cut short, take an earlier one."


class BackupBroken(AssayError):
    """The backup is not as it was made; nothing was restored."""

    code = "backup_broken"
    remedy = "Take another copy of this backup, or an earlier one. 'sha256sum -c SHA256SUMS' in its folder checks it."


class BackupAhead(AssayError):
    """The backup was made by a newer version of Assay."""

    code = "backup_ahead"
    remedy = "Restore it with that version, or a newer one."


class LostFile(BaseModel):
    """A file that the installation itself could not give when the backup was made."""

    key: str
    owner: str
    fault: str


class Manifest(BaseModel):
    """What a whole backup says of itself."""

    model_config = ConfigDict(frozen=True)

    format: Literal[1]
    assay: str
    revision: str
    source: Literal["sqlite", "postgresql"]
    made_at: datetime
    database_sha256: str
    counts: dict[str, int]
    files: int
    bytes: int
    lost: list[LostFile]


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a whole backup; raises NotABackup, BackupAhead, BackupBroken."""
    path = folder / MANIFEST_FILENAME
    if not path.is_file():
        raise NotABackup(
            f"The folder {folder} holds no whole backup: it has no {MANIFEST_FILENAME}, which is written last."
        )
    try:
        given = json.loads(path.read_bytes())
        if isinstance(given, dict) and isinstance(given.get("format"), int) and given["format"] > BACKUP_FORMAT:
            raise BackupAhead
        return Manifest.model_validate(given)
    except (ValueError, ValidationError) as fault:
        raise BackupBroken(f"{path} is not the manifest of a backup.") from fault


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """The last step: with it the backup is whole."""
    part = folder / f"{MANIFEST_FILENAME}.part"
    with create_private_file(part) as file:
        file.write(manifest.model_dump_json(indent=2).encode() + b"\n")
        fsync_file(file)
    part.rename(folder / MANIFEST_FILENAME)
    fsync_folder(folder)


def create_private_file(path: Path) -> BinaryIO:
    """A new file that its owner alone may read, whatever the umask."""
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")


def create_backup_folder(folder: Path) -> None:
    """An empty folder that its owner alone may enter; raises FolderTaken."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise FolderTaken(f"{folder} exists and is not an empty folder.")
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with suppress(PermissionError):  # a mounted folder may be somebody else's
        folder.chmod(0o700)


def file_sha256(path: Path) -> str:
    """The SHA-256 of a file; raises OSError."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fsync_file(file: BinaryIO) -> None:
    """What was written, to disk."""
    file.flush()
    os.fsync(file.fileno())


def fsync_folder(folder: Path) -> None:
    """The names in a folder, to disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
