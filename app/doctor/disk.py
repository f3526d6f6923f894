"""Checks of the data folder: is it there, whose is it, who else may look, how much is free, what kind of disk is it."""

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
NETWORK_FILE_SYSTEMS = re.compile(
    "nfs|cifs|smb|9p|afs|ceph|gluster|lustre|ncp|coda|gpfs|beegfs|ocfs|gfs|davfs|sshfs|s3fs|rclone|virtiofs|vboxsf|prl_fs"
)
VOLATILE_FILE_SYSTEMS = {"tmpfs": "memory", "ramfs": "memory", "overlay": "the container's own layer"}


@check(DATA_FOLDER_CHECK, remedy="Name the right folder (--data-dir, ASSAY_DATA_DIR); the first start makes it.")
def check_data_folder(installation: Installation) -> CheckResult:
    """The data folder exists and belongs to the account that serves."""
    path = installation.settings.data_dir
    if not path.is_dir():
        if installation.settings.on_postgresql and not path.exists():
            return warning(f"{path.resolve()} does not exist yet; it is made at the first start.")
        return problem(f"{path.resolve()} is no folder.")
    owner, me = path.stat().st_uid, os.geteuid()
    if me not in {0, owner}:
        return problem(
            f"{path.resolve()} belongs to account {owner}, and this is account {me}.",
            "Run this as the account that serves, or give it the folder: chown -R.",
        )
    if not os.access(path, os.W_OK | os.X_OK):
        return problem(f"{path.resolve()} cannot be written.", "Let the account that serves write there.")
    return ok(f"{path.resolve()}, of account {owner}.")


@check(
    "data.private", needs=(SETTINGS_CHECK, DATA_FOLDER_CHECK), remedy="chmod 700 on the folder, 600 on the database."
)
def check_data_permissions(installation: Installation) -> CheckResult:
    """Nobody else may read the data: gold labels and hashes of passwords are among it."""
    settings = installation.settings
    places = [settings.data_dir, settings.files_dir, settings.data_dir / PREPARED_GOLD_FOLDER, database_file(settings)]
    there = [path for path in places if path is not None and path.exists()]
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in there}
    open_to_others = [f"{path} (mode {mode:o})" for path, mode in modes.items() if mode & 0o077]
    if open_to_others:
        return problem(f"Open to other accounts: {', '.join(open_to_others)}.")
    return ok("Only its own account may read it.")


@check(
    "data.space",
    needs=(SETTINGS_CHECK, DATA_FOLDER_CHECK),
    remedy="Free some space, or move the data folder; below ASSAY_MIN_FREE uploads are refused.",
)
def check_free_space(installation: Installation) -> CheckResult:
    """More space is free than the service keeps free."""
    settings = installation.settings
    free, least = shutil.disk_usage(_nearest_existing(settings.data_dir)).free, settings.min_free
    observation = f"{_mib(free)} free; uploads are refused below {_mib(least)}."
    if free < least:
        return problem(observation)
    return warning(observation) if free < 2 * least else ok(observation)


def _nearest_existing(path: Path) -> Path:
    """The folder, or the nearest one above it that exists."""
    path = path.resolve()
    return next(each for each in (path, *path.parents) if each.exists())


def _mib(size: int) -> str:
    return f"{size // (1024 * 1024)} MiB"


@check("data.disk", needs=(SETTINGS_CHECK, DATA_FOLDER_CHECK), remedy="Put the data folder on a local disk that lasts.")
def check_file_system(installation: Installation) -> CheckResult:
    """What must last is on a disk that lasts; SQLite needs a local one, for its log is unsafe across a network."""
    settings = installation.settings
    database = database_file(settings)
    if database is None and settings.files_url:
        return skipped("Nothing that must last is kept there.")
    mounts = Path("/proc/mounts")
    if not mounts.exists():
        return skipped("This system does not tell.")
    return judge_file_system(
        database or settings.data_dir, mounts.read_text(encoding="utf-8"), sqlite=database is not None
    )


def judge_file_system(path: Path, mounts: str, *, sqlite: bool) -> CheckResult:
    """What the table of mounts means for what is kept at a path."""
    kind = file_system_type(path.resolve(), mounts)
    if sqlite and NETWORK_FILE_SYSTEMS.search(kind):
        return problem(
            f"The database is on a network file system ({kind}), where SQLite may damage it.",
            "Put the data folder on a local disk, or use PostgreSQL.",
        )
    if kind in VOLATILE_FILE_SYSTEMS:
        return warning(f"It is in {VOLATILE_FILE_SYSTEMS[kind]} ({kind}), and gone after a restart.")
    return ok(f"File system {kind}.")


def file_system_type(path: Path, mounts: str) -> str:
    """The type of the file system that holds a path, by the text of /proc/mounts."""
    found = [line.split() for line in mounts.splitlines()]
    places = [(_unescape_mount_point(words[1]), words[2]) for words in found if len(words) >= 3]
    holding = [(len(place), number, kind) for number, (place, kind) in enumerate(places) if path.is_relative_to(place)]
    return max(holding, default=(0, 0, "unknown"))[2]  # of two mounts on one place the later is the one observation


def _unescape_mount_point(place: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), place)
