"""The layout of a backup: a folder with one SQLite file, the uploads it refers to, and a manifest, written last."""

import hashlib
import json
import os
import secrets
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import BinaryIO, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from app.durable_files import fsync_file, fsync_folder
from app.errors import AssayError

BACKUP_FORMAT = 1
DATABASE_FILENAME = "assay.sqlite3"
FILES_FOLDER = "files"
CHECKSUMS_FILENAME = "SHA256SUMS"
MANIFEST_FILENAME = "manifest.json"
CHUNK_BYTES = 1024 * 1024

Progress = Callable[[int, int], None]
"""Receives the bytes processed so far and the bytes in total."""


class FolderTaken(AssayError):
    """The folder for the backup is not empty."""

    code = "folder_taken"
    remedy = "Use a folder that does not exist yet; every backup needs its own."


class NotABackup(AssayError):
    """This folder contains no complete backup."""

    code = "not_a_backup"
    remedy = "Use the folder that 'assay backup' created; if the backup was interrupted, use an earlier one."


class BackupBroken(AssayError):
    """The backup was changed or damaged after it was created; nothing was restored."""

    code = "backup_broken"
    remedy = "Use another copy of this backup, or an earlier one. 'sha256sum -c SHA256SUMS' in its folder checks it."


class BackupAhead(AssayError):
    """The backup was created by a newer version of Assay."""

    code = "backup_ahead"
    remedy = "Restore it with that version or a newer one."


class LostFile(BaseModel):
    """A file that the installation itself had lost when the backup was created."""

    key: str
    owner: str
    fault: str


class Manifest(BaseModel):
    """The description of a complete backup."""

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
    """The manifest of a complete backup; raises NotABackup, BackupAhead, BackupBroken."""
    path = folder / MANIFEST_FILENAME
    if not path.is_file():
        detail = f"The folder {folder} contains no complete backup: it has no {MANIFEST_FILENAME}"
        raise NotABackup(f"{detail}, which is written last.")
    try:
        content = json.loads(path.read_bytes())
        version = content.get("format") if isinstance(content, dict) else None
        if isinstance(version, int) and version > BACKUP_FORMAT:
            raise BackupAhead
        return Manifest.model_validate(content)
    except (ValueError, ValidationError) as fault:
        raise BackupBroken(f"{path} is not the manifest of a backup.") from fault


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write the manifest atomically, as the last step: a folder with a manifest is a complete backup."""
    part = folder / f"{MANIFEST_FILENAME}.part"
    with create_private_file(part) as file:
        file.write(manifest.model_dump_json(indent=2).encode() + b"\n")
        fsync_file(file)
    part.rename(folder / MANIFEST_FILENAME)
    fsync_folder(folder)


def create_private_file(path: Path) -> BinaryIO:
    """A new file that only its owner can read, whatever the umask."""
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")


def create_file_once(path: Path, content: bytes) -> None:
    """Create a private file atomically; if it exists already, or another process creates it now, that one stays."""
    part = path.with_name(f"{path.name}.{secrets.token_hex(8)}.part")
    with create_private_file(part) as file:
        file.write(content)
        fsync_file(file)
    with suppress(FileExistsError):
        os.link(part, path)
    part.unlink()


def replace_private_file(path: Path, content: bytes) -> None:
    """Write a private file atomically and durably, in place of the one that is there; its folder is made if needed."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    part = path.with_name(f"{path.name}.{secrets.token_hex(8)}.part")
    with create_private_file(part) as file:
        file.write(content)
        fsync_file(file)
    part.replace(path)
    fsync_folder(path.parent)


def create_backup_folder(folder: Path) -> None:
    """Create an empty folder that only its owner can enter; raises FolderTaken."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise FolderTaken(f"{folder} exists and is not an empty folder.")
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with suppress(PermissionError):  # a mounted folder may belong to another user
        folder.chmod(0o700)


def file_sha256(path: Path) -> str:
    """The SHA-256 of a file; raises OSError."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
