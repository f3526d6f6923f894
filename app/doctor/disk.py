"""Checks of the data folder: existence, owner, permissions, free space and file system."""

import os
import re
import shutil
import stat
from pathlib import Path

from app.doctor.check_declaration import SETTINGS_CHECK, CheckResult, check, ok, problem, skipped, warning
from app.doctor.installation import Installation
from app.runtime.data_folder import PREPARED_GOLD_FOLDER
from app.store.read_only_sessions import database_file

DATA_FOLDER_CHECK = "data.folder"
NEEDS_DATA_FOLDER = (SETTINGS_CHECK, DATA_FOLDER_CHECK)
NETWORK_FILE_SYSTEMS = re.compile(
    "nfs|cifs|smb|9p|afs|ceph|gluster|lustre|ncp|coda|gpfs|beegfs|ocfs|gfs|davfs|sshfs|s3fs|rclone|virtiofs|vboxsf|prl_fs"
)
VOLATILE_FILE_SYSTEMS = {"tmpfs": "memory", "ramfs": "memory", "overlay": "the container's own layer"}


@check(DATA_FOLDER_CHECK, remedy="Set the right folder (--data-dir, ASSAY_DATA_DIR); the first start creates it.")
def check_data_folder(installation: Installation) -> CheckResult:
    """The data folder exists and belongs to the service's account."""
    path = installation.settings.data_dir
    folder = path.resolve()
    if not path.is_dir():
        if installation.settings.on_postgresql and not path.exists():
            return warning(f"{folder} does not exist yet; the first start creates it.")
        return problem(f"{folder} is not a folder.")
    owner, account = path.stat().st_uid, os.geteuid()
    if account not in {0, owner}:
        remedy = "Run this command as the service's account, or change the owner of the folder: chown -R."
        return problem(f"{folder} belongs to account {owner}, but this command runs as account {account}.", remedy)
    if not os.access(path, os.W_OK | os.X_OK):
        return problem(f"{folder} is not writable.", "Give the service's account write access.")
    return ok(f"{folder}, owned by account {owner}.")


@check("data.private", needs=NEEDS_DATA_FOLDER, remedy="chmod 700 the folder, chmod 600 the database.")
def check_data_permissions(installation: Installation) -> CheckResult:
    """No other account can read the data, which includes gold labels and password hashes."""
    settings = installation.settings
    paths = [settings.data_dir, settings.files_dir, settings.data_dir / PREPARED_GOLD_FOLDER, database_file(settings)]
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in paths if path is not None and path.exists()}
    readable = [f"{path} (mode {mode:o})" for path, mode in modes.items() if mode & 0o077]
    return problem(f"Other accounts can read {', '.join(readable)}.") if readable else ok("It is private.")


@check(
    "data.space",
    needs=NEEDS_DATA_FOLDER,
    remedy="Free some space, or move the data folder; below ASSAY_MIN_FREE uploads are refused.",
)
def check_free_space(installation: Installation) -> CheckResult:
    """There is at least twice as much free space as ASSAY_MIN_FREE."""
    settings = installation.settings
    free, required = shutil.disk_usage(_nearest_existing(settings.data_dir)).free, settings.min_free
    observation = f"{_mib(free)} free; uploads are refused below {_mib(required)}."
    return (problem if free < required else warning if free < 2 * required else ok)(observation)


def _nearest_existing(path: Path) -> Path:
    """The path, or its nearest ancestor that exists."""
    path = path.resolve()
    return next(ancestor for ancestor in (path, *path.parents) if ancestor.exists())


def _mib(size: int) -> str:
    return f"{size // (1024 * 1024)} MiB"


@check("data.disk", needs=NEEDS_DATA_FOLDER, remedy="Put the data folder on a local, persistent disk.")
def check_file_system(installation: Installation) -> CheckResult:
    """The data is on a persistent disk; for SQLite also on a local one, as its log is unsafe on a network file system."""
    settings = installation.settings
    database = database_file(settings)
    if database is None and settings.files_url:
        return skipped("No persistent data is stored there.")
    mounts = Path("/proc/mounts")
    if not mounts.exists():
        return skipped("Not available on this system.")
    path = database or settings.data_dir
    return judge_file_system(path, mounts.read_text(encoding="utf-8"), sqlite=database is not None)


def judge_file_system(path: Path, mounts: str, *, sqlite: bool) -> CheckResult:
    """Whether data at `path` is safe, according to `mounts`, the text of /proc/mounts."""
    kind = file_system_type(path.resolve(), mounts)
    if sqlite and NETWORK_FILE_SYSTEMS.search(kind):
        return problem(
            f"The database is on a network file system ({kind}), where SQLite can corrupt it.",
            "Put the data folder on a local disk, or use PostgreSQL.",
        )
    if kind in VOLATILE_FILE_SYSTEMS:
        return warning(f"It is in {VOLATILE_FILE_SYSTEMS[kind]} ({kind}), and lost after a restart.")
    return ok(f"File system {kind}.")


def file_system_type(path: Path, mounts: str) -> str:
    """The type of the file system that holds `path`, according to `mounts`, the text of /proc/mounts."""
    fields = [line.split() for line in mounts.splitlines()]
    points = [(_unescape_mount_point(words[1]), words[2]) for words in fields if len(words) >= 3]
    holding = [(len(point), number, kind) for number, (point, kind) in enumerate(points) if path.is_relative_to(point)]
    return max(holding, default=(0, 0, "unknown"))[2]  # a later mount on the same point hides the earlier one


def _unescape_mount_point(point: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), point)
