"""Backup of the keys of a data folder, in a separate file: access to a backup should not include its keys."""

import json
from pathlib import Path

from app.actions.operations.backup_folder import create_file_once, create_private_file
from app.durable_files import fsync_file, fsync_folder
from app.errors import AssayError
from app.settings import Settings

KEYS_FORMAT = 1
KEY_FILENAMES = ("admin-token",)


class NoKeys(AssayError):
    """The data folder contains no keys."""

    code = "no_keys"
    remedy = "Omit --keys: the administrator's token is configured by ASSAY_ADMIN_TOKEN or ASSAY_ADMIN_TOKEN_FILE."


class KeysMisplaced(AssayError):
    """The file for the keys cannot be written to this path."""

    code = "keys_misplaced"
    remedy = "Use a new file outside the backup: access to the backup should not include access to the keys."


class KeysUnreadable(AssayError):
    """This is not a file of keys."""

    code = "keys_unreadable"
    remedy = "Use the file that 'assay backup --keys' wrote; without --keys a new administrator's token is generated."


class KeysDiffer(AssayError):
    """The data folder already has another key."""

    code = "keys_differ"
    remedy = "Omit --keys to keep it, or remove it first."


def collect_keys(settings: Settings) -> dict[str, str]:
    """The keys in the data folder by file name; raises NoKeys."""
    paths = {name: settings.data_dir / name for name in KEY_FILENAMES}
    keys = {name: path.read_text() for name, path in paths.items() if path.is_file()}
    if not keys:
        raise NoKeys(f"The data folder {settings.data_dir} contains no keys.")
    return keys


def require_valid_keys_path(path: Path, folder: Path) -> None:
    """Raise KeysMisplaced if the file exists or is inside the backup."""
    if path.exists():
        raise KeysMisplaced(f"{path} already exists.")
    if path.resolve().is_relative_to(folder.resolve()):
        raise KeysMisplaced(f"{path} is inside the backup.")


def write_keys_file(path: Path, keys: dict[str, str]) -> None:
    """Write the keys to a new file that only its owner can read."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with create_private_file(path) as file:
        file.write(json.dumps({"format": KEYS_FORMAT, "keys": keys}, indent=2).encode() + b"\n")
        fsync_file(file)
    fsync_folder(path.resolve().parent)


def read_keys_file(path: Path) -> dict[str, str]:
    """The keys in a file; raises KeysUnreadable."""
    try:
        content = json.loads(path.read_bytes())
        keys = dict(content["keys"])
        valid = content["format"] == KEYS_FORMAT and keys and all(isinstance(text, str) for text in keys.values())
    except (OSError, ValueError, TypeError, KeyError) as fault:
        raise KeysUnreadable(f"{path} is not a file of keys.") from fault
    if not valid or not keys.keys() <= set(KEY_FILENAMES):
        raise KeysUnreadable(f"{path} is not a file of keys that this version knows.")
    return keys


def require_no_conflicting_keys(settings: Settings, keys: dict[str, str]) -> None:
    """Raise KeysDiffer if the data folder contains other keys."""
    for name, text in keys.items():
        path = settings.data_dir / name
        if path.exists() and path.read_text() != text:
            raise KeysDiffer(f"{path} contains another key.")


def install_keys(settings: Settings, keys: dict[str, str]) -> None:
    """Write each key to the data folder atomically; raises KeysDiffer."""
    require_no_conflicting_keys(settings, keys)
    for name, text in keys.items():
        create_file_once(settings.data_dir / name, text.encode())  # an interrupted try may have left the same key
    fsync_folder(settings.data_dir)
