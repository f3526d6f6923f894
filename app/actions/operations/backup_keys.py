"""The keys of a data folder, in a file of their own: they open what a backup holds, and are not to lie beside it."""

import json
import os
import secrets
from contextlib import suppress
from pathlib import Path

from app.actions.operations.backup_folder import create_private_file, fsync_file, fsync_folder
from app.errors import AssayError
from app.settings import Settings

KEYS_FORMAT = 1
KEY_FILENAMES = ("admin-token",)


class NoKeys(AssayError):
    """The data folder holds no keys."""

    code = "no_keys"
    remedy = (
        "Leave --keys away: the administrator's token is where ASSAY_ADMIN_TOKEN or ASSAY_ADMIN_TOKEN_FILE comes from."
    )


class KeysMisplaced(AssayError):
    """The file for the keys cannot be there."""

    code = "keys_misplaced"
    remedy = "Name a file that is not there yet, outside the backup: whoever reads the one should not have the other."


class KeysUnreadable(AssayError):
    """This is no file of keys."""

    code = "keys_unreadable"
    remedy = "Name the file that 'assay backup --keys' made; without --keys a new administrator's token is made."


class KeysDiffer(AssayError):
    """The data folder has a key of its own already."""

    code = "keys_differ"
    remedy = "Leave --keys away to keep it, or remove it first."


def collect_keys(settings: Settings) -> dict[str, str]:
    """The keys in the data folder, by their names there; raises NoKeys."""
    paths = {name: settings.data_dir / name for name in KEY_FILENAMES}
    found = {name: path.read_text() for name, path in paths.items() if path.is_file()}
    if not found:
        raise NoKeys(f"The data folder {settings.data_dir} holds no keys.")
    return found


def require_valid_keys_path(path: Path, folder: Path) -> None:
    """Raise KeysMisplaced unless keys may be written there."""
    if path.exists():
        raise KeysMisplaced(f"{path} exists already.")
    if path.resolve().is_relative_to(folder.resolve()):
        raise KeysMisplaced(f"{path} is inside the backup.")


def write_keys_file(path: Path, keys: dict[str, str]) -> None:
    """Write them into a new file, for its owner alone."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with create_private_file(path) as file:
        file.write(json.dumps({"format": KEYS_FORMAT, "keys": keys}, indent=2).encode() + b"\n")
        fsync_file(file)
    fsync_folder(path.resolve().parent)


def read_keys_file(path: Path) -> dict[str, str]:
    """The keys of such a file; raises KeysUnreadable."""
    try:
        given = json.loads(path.read_bytes())
        keys = dict(given["keys"])
        sound = given["format"] == KEYS_FORMAT and keys and all(isinstance(text, str) for text in keys.values())
    except (OSError, ValueError, TypeError, KeyError) as fault:
        raise KeysUnreadable(f"{path} is no file of keys.") from fault
    if not sound or not keys.keys() <= set(KEY_FILENAMES):
        raise KeysUnreadable(f"{path} is no file of keys that this version knows.")
    return keys


def require_no_conflicting_keys(settings: Settings, keys: dict[str, str]) -> None:
    """Raise KeysDiffer if the data folder holds other keys."""
    for name, text in keys.items():
        path = settings.data_dir / name
        if path.exists() and path.read_text() != text:
            raise KeysDiffer(f"{path} holds another key.")


def install_keys(settings: Settings, keys: dict[str, str]) -> None:
    """Put them into the data folder, each whole or not at all; raises KeysDiffer."""
    require_no_conflicting_keys(settings, keys)
    for name, text in keys.items():
        part = settings.data_dir / f"{name}.{secrets.token_hex(8)}.part"
        with create_private_file(part) as file:
            file.write(text.encode())
            fsync_file(file)
        with suppress(FileExistsError):  # the same one, from a try that was cut short
            os.link(part, settings.data_dir / name)
        part.unlink()
    fsync_folder(settings.data_dir)
