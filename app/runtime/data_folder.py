"""The folder of each process, and the file store: a folder, or a bucket that machines share."""

import fcntl
import os
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from app.errors import AssayError
from app.files import FileStore
from app.files.folder import FolderFileStore
from app.settings import Settings

MAX_PROCESSES = 1000
PREPARED_GOLD_FOLDER = "prepared"
"""The subfolder of prepared gold, in the folder of a process; it can be created again."""


class DataFolderInUse(RuntimeError):
    """Another service uses this data folder."""


class AddressInUse(RuntimeError):
    """Another program listens on this address, or the address does not belong to this machine."""

    def __init__(self, host: str, port: int, error: OSError) -> None:
        """The address, and the error of the system."""
        # Python repeats the address in some messages.
        why = os.strerror(error.errno) if error.errno and error.errno > 0 else str(error)
        super().__init__(f"cannot listen on {host} port {port}: {why}")


class FolderNotShared(AssayError):
    """PostgreSQL serves several machines, but uploads would be stored in a folder of this one."""

    code = "folder_not_shared"
    remedy = (
        "Set ASSAY_FILES_URL=s3://bucket/prefix; or ASSAY_FILES_SHARED=true if the data folder's files are on a disk that "
        "all hosts share, or if there is only this host."
    )


def open_file_store(settings: Settings, work: Path) -> FileStore:
    """The file store that the settings name; raises FolderNotShared."""
    if settings.files_url:
        from app.files.bucket import BucketFileStore  # noqa: PLC0415 - a single machine does without it

        return BucketFileStore(settings, work)
    if settings.on_postgresql and not settings.files_shared:
        raise FolderNotShared
    return FolderFileStore(settings)


@contextmanager
def own_process_folder(settings: Settings) -> Iterator[Path]:
    """The folder of this process, locked for the duration of the block.

    On SQLite it is the data folder, which only one service may use; raises DataFolderInUse. On PostgreSQL each process
    of a machine locks a subfolder of its own.
    """
    if not settings.on_postgresql:
        with lock_data_folder(settings.data_dir):
            yield settings.data_dir
        return
    run = settings.data_dir / "run"
    run.mkdir(parents=True, exist_ok=True, mode=0o700)
    host = re.sub(r"[^A-Za-z0-9.-]", "-", socket.gethostname())
    for number in range(MAX_PROCESSES):
        folder = run / f"{host}-{number}"
        with folder.with_name(f"{folder.name}.lock").open("w") as lock:
            if _try_lock(lock):
                folder.mkdir(exist_ok=True, mode=0o700)
                yield folder
                return
    raise DataFolderInUse(f"{MAX_PROCESSES} processes use the data folder {settings.data_dir}")


@contextmanager
def lock_data_folder(data_dir: Path) -> Iterator[None]:
    """Lock the data folder; raises DataFolderInUse while another service holds it."""
    data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    with (data_dir / "lock").open("w") as lock:
        if not _try_lock(lock):
            raise DataFolderInUse(f"another service uses the data folder {data_dir}")
        yield


def find_lock_holder(data_dir: Path) -> int | None:
    """The id of the process that holds the data folder, or None if none is found; does not touch the lock."""
    lock, table = data_dir / "lock", Path("/proc/locks")
    if not lock.exists() or not table.exists():
        return None
    inode = str(lock.stat().st_ino)
    for line in table.read_text(encoding="ascii").splitlines():
        words = line.split()
        if "FLOCK" in words and words[-3].rpartition(":")[2] == inode:
            return int(words[-4])
    return None


def _try_lock(lock: IO[str]) -> bool:
    """Lock the file, and write the process id into it, for administrators."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    lock.write(f"{os.getpid()}\n")
    lock.flush()
    return True
