"""Tells a child that makes no progress from one that works or waits for the disk, by what Linux says of it in /proc."""

import time
from pathlib import Path

from app.scoring_processes import ScoringProcessStalled

PROC_FOLDER = Path("/proc")
MAX_CHECK_SECONDS = 1.0


class StallDetector:
    """What a child with work has done since the last look; without /proc it always counts as progress."""

    def __init__(self, pid: int, seconds: float) -> None:
        self._folder = PROC_FOLDER / str(pid)
        self._limit = seconds
        self.interval = min(MAX_CHECK_SECONDS, seconds / 4)
        self._cpu = self._cpu_ticks()
        self._last_check = time.monotonic()
        self._idle_seconds = 0.0

    def look(self) -> None:
        """Raise ChildStalled where the child has gained no CPU time for so long and no thread of it waits for the disk.

        A gap between two looks counts as one interval at most: this process was stopped then too, and the child perhaps
        with it.
        """
        now = time.monotonic()
        passed, self._last_check = min(now - self._last_check, 2 * self.interval), now
        cpu = self._cpu_ticks()
        if cpu is None or cpu != self._cpu or self._waits_for_disk():
            self._cpu, self._idle_seconds = cpu, 0.0
            return
        self._idle_seconds += passed
        if self._idle_seconds >= self._limit:
            raise ScoringProcessStalled(f"it gained no CPU time in {self._limit:g} s and did not wait for the disk")

    def _cpu_ticks(self) -> int | None:
        """User and system time of all its threads; None where the system does not tell."""
        fields = _stat_fields(self._folder)
        return None if fields is None else int(fields[11]) + int(fields[12])

    def _waits_for_disk(self) -> bool:
        try:
            threads = list((self._folder / "task").iterdir())
        except OSError:
            return False
        return any(fields[0] == "D" for fields in map(_stat_fields, threads) if fields)


def _stat_fields(folder: Path) -> list[str] | None:
    """What follows the name in a `stat` file (proc(5)): the state first."""
    try:
        return (folder / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
