"""One member of an archive that is being written."""

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path


@dataclass(frozen=True, slots=True)
class ArchiveMember:
    """The name and time of a member, and its content from rows or from a file."""

    name: str
    modified: datetime
    content: Iterable[bytes] = ()
    file: Callable[[], AbstractContextManager[Path]] | None = None
    """Opens the file with the content; FileNotFoundError if there is none, and then the archive has no such member."""
    compress: bool = True
    on_missing: Callable[[], None] = lambda: None
