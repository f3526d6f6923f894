"""Files made on request and then served from disk: templates, reports; whatever they hang on is part of their name."""

import asyncio
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, TypeVar

from starlette.concurrency import run_in_threadpool

from app.api.limits.reader_queue import Line, Turns
from app.errors import Unavailable

Make = Callable[[Path], None]
Key = TypeVar("Key")


class _Kept(NamedTuple):
    """A file on disk: its bytes, and when it was asked for last."""

    size: int
    used: float


class MadeFiles:
    """The files asked for last, in a folder of this process; the longest unused ones go first.

    One that is being sent stays, and one asked for within the last `spared` seconds, for sending may be about to begin.
    While such files take more than twice the room, no other is made.
    """

    def __init__(self, folder: Path, turns: Turns, *, most_bytes: int = 1 << 30, spared: float = 10.0) -> None:
        self._turns = turns
        self._folder = folder.resolve()  # children write there, from a folder of their own
        self._most = most_bytes
        self._spared = spared
        self._kept: OrderedDict[str, _Kept] = OrderedDict()
        self._sending: Counter[str] = Counter()
        self._asked: dict[tuple[Line, str], asyncio.Task[Path]] = {}
        self._making: dict[str, asyncio.Task[Path]] = {}

    def clear(self) -> None:
        """Forget those of an earlier run, which another version of the program may have made."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        for path in self._folder.iterdir():
            path.unlink()

    async def path(self, name: str, caller: str, make: Make, *, organizer: bool = False) -> Path:
        """The file of this name, made if need be by `make`, which gets a path to write to, in a turn as in Turns.place.

        However many ask at once, it is made once, in the first turn that one of them gets: a large one takes a reader
        for seconds. Raises what `make` raises, TooManyWaiting, and Unavailable while there is no room.
        """
        kept = self._found(name)
        if kept is not None:
            return kept
        line = Line(caller, organizer)
        task = self._asked.get((line, name))
        if task is None:
            task = self._asked[line, name] = asyncio.create_task(self._in_turn(name, line, make))
            task.add_done_callback(lambda done: _forget(self._asked, (line, name), done))
        return await asyncio.shield(task)  # who hangs up does not take it away from the others

    async def _in_turn(self, name: str, line: Line, make: Make) -> Path:
        with self._turns.place(line.caller, organizer=line.organizer) as place:
            await place.turn()
            return self._found(name) or await self._made_once(name, make)

    async def _made_once(self, name: str, make: Make) -> Path:
        task = self._making.get(name)
        if task is None:
            if self._tidied() > 2 * self._most:
                raise Unavailable("The files being sent at this moment leave no room for another one.")
            task = self._making[name] = asyncio.create_task(self._made(self._folder / name, make))
            task.add_done_callback(lambda done: _forget(self._making, name, done))
        return await asyncio.shield(task)

    def _found(self, name: str) -> Path | None:
        path = self._folder / name
        if name not in self._kept or not path.exists():  # somebody may have tidied up
            return None
        self._keep(name, self._kept[name].size)
        return path

    @contextmanager
    def sending(self, name: str) -> Iterator[None]:
        """Keep the file of this name as long as the block lasts."""
        self._sending[name] += 1
        try:
            yield
        finally:
            self._sending[name] -= 1

    async def _made(self, path: Path, make: Make) -> Path:
        self._keep(path.name, await run_in_threadpool(_write, path, make))
        self._tidied(besides=path.name)
        return path

    def _tidied(self, besides: str | None = None) -> int:
        """Give up files, the longest unused first, until the others have room; gives the bytes of those."""
        total = sum(kept.size for kept in self._kept.values())
        for old, kept in list(self._kept.items()):
            if total <= self._most or time.monotonic() - kept.used < self._spared:
                break
            if old == besides or self._sending[old] > 0:
                continue
            (self._folder / old).unlink(missing_ok=True)
            del self._kept[old], self._sending[old]
            total -= kept.size
        return total

    def _keep(self, name: str, size: int) -> None:
        self._kept[name] = _Kept(size, time.monotonic())
        self._kept.move_to_end(name)


def _forget(tasks: dict[Key, "asyncio.Task[Path]"], key: Key, done: "asyncio.Task[Path]") -> None:
    del tasks[key]
    if not done.cancelled():
        done.exception()  # seen, even if everybody who waited has hung up


def _write(path: Path, make: Make) -> int:
    """Have the file made under another name, and named once it is whole; gives its bytes."""
    part = path.with_name(f"{path.name}.part")
    try:
        make(part)
        part.rename(path)
    finally:
        part.unlink(missing_ok=True)
    return path.stat().st_size
