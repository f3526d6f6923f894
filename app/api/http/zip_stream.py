"""A ZIP archive that is sent while it is made."""

import hashlib
import zipfile
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path

CHUNK_BYTES = 1 << 18
FAST = 1  # the level of compression: the service should not spend a minute of a core on each download


class _Sink:
    """What a ZipFile writes to; it cannot seek, so sizes follow the data of each file."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def write(self, piece: bytes) -> int:
        """Keep a piece until it is taken."""
        self._pieces.append(bytes(piece))
        return len(piece)

    def flush(self) -> None:
        """Nothing waits elsewhere."""

    def close(self) -> None:
        """What was written can still be taken."""

    def take(self) -> bytes:
        """What was written since the last call."""
        taken = b"".join(self._pieces)
        self._pieces.clear()
        return taken


class ZipStream:
    """An archive under construction. Each method yields the bytes to send next; only its directory stays in memory.

    `members` has the name, size and SHA-256 of each file that was added.
    """

    def __init__(self) -> None:
        self._sink = _Sink()
        self._archive = zipfile.ZipFile(self._sink, "w")
        self.members: list[dict[str, str | int]] = []

    def add_path(self, name: str, path: Path, modified: datetime, *, compress: bool) -> Iterator[bytes]:
        """Add a file."""
        with path.open("rb") as source:
            yield from self.add(name, iter(lambda: source.read(CHUNK_BYTES), b""), modified, compress=compress)

    def add(self, name: str, content: Iterable[bytes], modified: datetime, *, compress: bool) -> Iterator[bytes]:
        """Add a file from pieces of its content."""
        info = zipfile.ZipInfo(name, max(modified, modified.replace(year=1980)).timetuple()[:6])
        info.compress_type = zipfile.ZIP_DEFLATED if compress else zipfile.ZIP_STORED
        info._compresslevel = FAST  # type: ignore[attr-defined]  # noqa: SLF001 - `open` takes the level from nowhere else
        digest, size = hashlib.sha256(), 0
        with self._archive.open(info, "w", force_zip64=True) as out:
            for piece in content:
                out.write(piece)
                digest.update(piece)
                size += len(piece)
                if sent := self._sink.take():
                    yield sent
        self.members.append({"name": name, "size": size, "sha256": digest.hexdigest()})
        yield self._sink.take()

    def end(self) -> bytes:
        """The directory of the archive; without it, readers report a broken download."""
        self._archive.close()
        return self._sink.take()
