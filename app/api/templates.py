"""Files to fill in, made once per gold and format and then served from disk: anybody may ask, and gold never changes."""

import asyncio
import os
import shutil
from collections.abc import Callable
from pathlib import Path

from starlette.concurrency import run_in_threadpool

Make = Callable[[Path], None]


class Templates:
    """The templates asked for last, in a folder of this process; the longest unused ones go first."""

    def __init__(self, folder: Path, most_bytes: int = 1 << 30) -> None:
        self._folder = folder
        self._most = most_bytes
        self._making: dict[str, asyncio.Task[Path]] = {}

    def clear(self) -> None:
        """Forget those of an earlier run, which another version of the program may have made."""
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir(parents=True, mode=0o700)

    async def path(self, name: str, make: Make) -> Path:
        """The file of this name, made if need be by `make`, which gets a path to write to.

        However many ask at once, it is made once: a large one takes a reader for seconds. Raises what `make` raises.
        """
        task = self._making.get(name)
        if task is None:
            task = asyncio.create_task(run_in_threadpool(self._ready, name, make))
            self._making[name] = task
            task.add_done_callback(lambda _: self._making.pop(name))
        return await asyncio.shield(task)  # who hangs up does not take it away from the others

    def _ready(self, name: str, make: Make) -> Path:
        path = self._folder / name
        if path.exists():
            os.utime(path)
            return path
        part = path.with_name(f"{name}.part")
        try:
            make(part)
            part.rename(path)
        finally:
            part.unlink(missing_ok=True)
        self._make_room(path)
        return path

    def _make_room(self, newest: Path) -> None:
        """Remove the longest unused ones beyond the room there is."""
        sizes = {path: path.stat() for path in self._folder.iterdir() if path.suffix != ".part"}
        left = self._most - sum(status.st_size for status in sizes.values())
        for path in sorted(sizes, key=lambda path: sizes[path].st_mtime_ns):
            if left >= 0:
                return
            if path != newest:
                path.unlink(missing_ok=True)
                left += sizes[path].st_size
