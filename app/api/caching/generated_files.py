"""Templates and reports, generated on request and cached on disk.

Everything that their content depends on is in their name.
"""

import asyncio
import hashlib
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, TypeVar

from starlette.concurrency import run_in_threadpool

from app.api.limits.reader_queue import ReaderQueue, ReaderQueueLane
from app.errors import Unavailable

FileWriter = Callable[[Path], None]
Key = TypeVar("Key")


class _StoredFile(NamedTuple):
    """The size of a file in bytes, the hash of these, and the time of its last request."""

    size: int
    sha256: str
    last_used: float


class GeneratedFiles:
    """The most recently requested files, in a folder of this process; the least recently used ones are evicted first.

    A file that is being sent is never evicted, nor one requested within the last `min_idle_seconds`, which may be about
    to be sent. While such files occupy more than twice `max_bytes`, no other file is generated.
    """

    def __init__(
        self, folder: Path, queue: ReaderQueue, *, max_bytes: int = 1 << 30, min_idle_seconds: float = 10.0
    ) -> None:
        self._queue = queue
        self._folder = folder.resolve()  # absolute: scoring processes write there from another working directory
        self._limit = max_bytes
        self._min_idle_seconds = min_idle_seconds
        self._stored: OrderedDict[str, _StoredFile] = OrderedDict()
        self._sending: Counter[str] = Counter()
        self._requests: dict[tuple[ReaderQueueLane, str], asyncio.Task[Path]] = {}
        self._generating: dict[str, asyncio.Task[Path]] = {}

    def clear(self) -> None:
        """Delete the files of an earlier run, which another version of the program may have generated."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        for path in self._folder.iterdir():
            path.unlink()

    async def get_or_generate(self, name: str, caller: str, write: FileWriter, *, organizer: bool = False) -> Path:
        """The path of the file with this name; if it does not exist, `write` creates it, in a turn of the reader queue.

        Concurrent requests share one generation, in the first turn that any of them gets, because a large file occupies
        a reader process for seconds. Raises what `write` raises, TooManyWaiting, and Unavailable while
        there is no space.
        """
        path = self._existing_path(name)
        if path is not None:
            return path
        lane = ReaderQueueLane(caller, organizer)
        task = self._requests.get((lane, name))
        if task is None:
            task = self._requests[lane, name] = asyncio.create_task(self._generate_in_turn(name, lane, write))
            task.add_done_callback(lambda done: _discard_task(self._requests, (lane, name), done))
        return await asyncio.shield(task)  # A client that disconnects must not cancel it for the others.

    async def _generate_in_turn(self, name: str, lane: ReaderQueueLane, write: FileWriter) -> Path:
        with self._queue.enter(lane.caller, organizer=lane.organizer) as position:
            await position.wait_for_turn()
            return self._existing_path(name) or await self._generate_once(name, write)

    async def _generate_once(self, name: str, write: FileWriter) -> Path:
        task = self._generating.get(name)
        if task is None:
            if self._evict() > 2 * self._limit:
                raise Unavailable("The files that are being sent leave no space for another one.")
            task = self._generating[name] = asyncio.create_task(self._generate(self._folder / name, write))
            task.add_done_callback(lambda done: _discard_task(self._generating, name, done))
        return await asyncio.shield(task)

    def read_start(self, name: str, size: int) -> bytes | None:
        """The first bytes of a file that was generated before; None if it has to be generated."""
        path = self._folder / name
        try:
            with path.open("rb") as content:
                return content.read(size)
        except FileNotFoundError:  # not generated yet, or just evicted
            return None

    def _existing_path(self, name: str) -> Path | None:
        path = self._folder / name
        if name not in self._stored or not path.exists():  # An administrator may have deleted it.
            return None
        stored = self._stored[name]
        self._record(name, stored.size, stored.sha256)
        return path

    def tag(self, name: str) -> str:
        """The ETag of the file with this name, which was just requested; it depends on nothing but its bytes."""
        return self._stored[name].sha256

    @contextmanager
    def pin(self, name: str) -> Iterator[None]:
        """Do not evict the file with this name while the context lasts."""
        self._sending[name] += 1
        try:
            yield
        finally:
            self._sending[name] -= 1

    async def _generate(self, path: Path, write: FileWriter) -> Path:
        self._record(path.name, *await run_in_threadpool(_write_atomically, path, write))
        self._evict(keep=path.name)
        return path

    def _evict(self, keep: str | None = None) -> int:
        """Delete files, least recently used first, until the rest fits; returns the bytes of the rest."""
        total = sum(stored.size for stored in self._stored.values())
        for name, stored in list(self._stored.items()):
            if total <= self._limit or time.monotonic() - stored.last_used < self._min_idle_seconds:
                break
            if name == keep or self._sending[name] > 0:
                continue
            (self._folder / name).unlink(missing_ok=True)
            del self._stored[name], self._sending[name]
            total -= stored.size
        return total

    def _record(self, name: str, size: int, sha256: str) -> None:
        self._stored[name] = _StoredFile(size, sha256, time.monotonic())
        self._stored.move_to_end(name)


def _discard_task(tasks: dict[Key, "asyncio.Task[Path]"], key: Key, done: "asyncio.Task[Path]") -> None:
    del tasks[key]
    if not done.cancelled():
        done.exception()  # marks it as retrieved, even if every client that waited has disconnected


def _write_atomically(path: Path, write: FileWriter) -> tuple[int, str]:
    """Generate the file under a temporary name and rename it once it is complete; returns its size and its hash."""
    part = path.with_name(f"{path.name}.part")
    try:
        write(part)
        with part.open("rb") as content:
            digest = hashlib.file_digest(content, "sha256").hexdigest()
            size = content.tell()
        part.rename(path)
    finally:
        part.unlink(missing_ok=True)
    return size, digest
