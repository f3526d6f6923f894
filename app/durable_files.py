"""Makes files and folder entries durable, so that they survive a power failure."""

import os
from pathlib import Path
from typing import BinaryIO


def fsync_file(file: BinaryIO) -> None:
    """Write the buffered content of a file to disk."""
    file.flush()
    os.fsync(file.fileno())


def fsync_folder(folder: Path) -> None:
    """Write the entries of a folder to disk: syncing a file does not sync its name."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
