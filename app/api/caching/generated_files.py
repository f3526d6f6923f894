"""Files made on request and then served from disk: templates, reports; whatever they hang on is part of their name."""

import asyncio
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, TypeVar

from starlette.concurrency import run_in_threadpool

from app.api.limits.reader_queue import ReaderQueue, ReaderQueueLane
from app.errors import Unavailable

FileGenerator = Callable[[Path], None]
Key = TypeVar("Key")


class _StoredFile(NamedTuple):
    """A file on disk: its bytes, and when it was asked for last."""

    size: int
    last_used: float


class GeneratedFiles:
    """The files asked for last, in a folder of this process; the longest unused ones go first.

    One that is being sent stays, and one asked for within the last `spared` seconds, for sending may be about to begin.
    While such files take more than twice the room, no other is made.
    """

    def __init__(self, folder: Path, turns: ReaderQueue, *, most_bytes: int = 1 << 30, spared: float = 10.0) -> None:
        self._queue = turns
        self._folder = folder.resolve()  # children write there, from a folder of their own
        self._limit = most_bytes
        self._min_idle_seconds = spared
        self._stored: OrderedDict[str, _StoredFile] = OrderedDict()
        self._sending: Counter[str] = Counter()
        self._requests: dict[tuple[ReaderQueueLane, str], asyncio.Task[Path]] = {}
        self._generating: dict[str, asyncio.Task[Path]] = {}

    def clear(self) -> None:
        """Forget those of an earlier run, which another version of the program may have made."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        for path in self._folder.iterdir():
            path.unlink()

    async def get_or_generate(self, name: str, caller: str, make: FileGenerator, *, organizer: bool = False) -> Path:
        """The file of this name, made if need be by `make`, which gets a path to write to, in a turn as in ReaderQueue.enter.

        However many ask at once, it is made once, in the first turn that one of them gets: a large one takes a reader
        for seconds. Raises what `make` raises, TooManyWaiting, and Unavailable while there is no room.
        """
        kept = self._existing_path(name)
        if kept is not None:
            return kept
        line = ReaderQueueLane(caller, organizer)
        task = self._requests.get((line, name))
        if task is None:
            task = self._requests[line, name] = asyncio.create_task(self._generate_in_turn(name, line, make))
            task.add_done_callback(lambda done: _discard_task(self._requests, (line, name), done))
        return await asyncio.shield(task)  # who hangs up does not take it away from the others

    async def _generate_in_turn(self, name: str, line: ReaderQueueLane, make: FileGenerator) -> Path:
        with self._queue.enter(line.caller, organizer=line.organizer) as place:
            await place.wait_for_turn()
            return self._existing_path(name) or await self._generate_once(name, make)

    async def _generate_once(self, name: str, make: FileGenerator) -> Path:
        task = self._generating.get(name)
        if task is None:
            if self._evict() > 2 * self._limit:
                raise Unavailable("The files being sent at this moment leave no room for another one.")
            task = self._generating[name] = asyncio.create_task(self._generate(self._folder / name, make))
            task.add_done_callback(lambda done: _discard_task(self._generating, name, done))
        return await asyncio.shield(task)

    def _existing_path(self, name: str) -> Path | None:
        path = self._folder / name
        if name not in self._stored or not path.exists():  # somebody may have tidied up
            return None
        self._record(name, self._stored[name].size)
        return path

    @contextmanager
    def pin(self, name: str) -> Iterator[None]:
        """Keep the file of this name as long as the block lasts."""
        self._sending[name] += 1
        try:
            yield
        finally:
            self._sending[name] -= 1

    async def _generate(self, path: Path, make: FileGenerator) -> Path:
        self._record(path.name, await run_in_threadpool(_write_atomically, path, make))
        self._evict(besides=path.name)
        return path

    def _evict(self, besides: str | None = None) -> int:
        """Give up files, the longest unused first, until the others have room; gives the bytes of those."""
        total = sum(kept.size for kept in self._stored.values())
        for old, kept in list(self._stored.items()):
            if total <= self._limit or time.monotonic() - kept.last_used < self._min_idle_seconds:
                break
            if old == besides or self._sending[old] > 0:
                continue
            (self._folder / old).unlink(missing_ok=True)
            del self._stored[old], self._sending[old]
            total -= kept.size
        return total

    def _record(self, name: str, size: int) -> None:
        self._stored[name] = _StoredFile(size, time.monotonic())
        self._stored.move_to_end(name)


def _discard_task(tasks: dict[Key, "asyncio.Task[Path]"], key: Key, done: "asyncio.Task[Path]") -> None:
    del tasks[key]
    if not done.cancelled():
        done.exception()  # seen, even if everybody who waited has hung up


def _write_atomically(path: Path, make: FileGenerator) -> int:
    """Have the file made under another name, and named once it is whole; gives its bytes."""
    part = path.with_name(f"{path.name}.part")
    try:
        make(part)
        part.rename(path)
    finally:
        part.unlink(missing_ok=True)
    return path.stat().st_size
