"""Detects scoring processes that make no progress, that is, neither compute nor wait for the disk (Linux /proc)."""

import time
from pathlib import Path

from app.scoring_processes import ScoringProcessStalled

PROC_FOLDER = Path("/proc")
MAX_CHECK_SECONDS = 1.0


class StallDetector:
    """The progress of a scoring process with a request; without /proc, it always counts as progress."""

    def __init__(self, pid: int, seconds: float) -> None:
        self._folder = PROC_FOLDER / str(pid)
        self._limit = seconds
        self.interval = min(MAX_CHECK_SECONDS, seconds / 4)
        self._cpu = self._cpu_ticks()
        self._last_check = time.monotonic()
        self._idle_seconds = 0.0

    def check(self) -> None:
        """Raise ScoringProcessStalled if the process gained no CPU time for too long and none of its threads waits for disk.

        A gap between two checks counts as two intervals at most. A longer one means that this process was suspended
        too, perhaps together with the scoring process.
        """
        now = time.monotonic()
        elapsed, self._last_check = min(now - self._last_check, 2 * self.interval), now
        cpu = self._cpu_ticks()
        if cpu is None or cpu != self._cpu or self._waits_for_disk():
            self._cpu, self._idle_seconds = cpu, 0.0
            return
        self._idle_seconds += elapsed
        if self._idle_seconds >= self._limit:
            raise ScoringProcessStalled(f"it gained no CPU time in {self._limit:g} s and did not wait for the disk")

    def _cpu_ticks(self) -> int | None:
        """User and system time of all threads; None where the system does not report it."""
        stat = _stat_fields(self._folder)
        return None if stat is None else int(stat[11]) + int(stat[12])

    def _waits_for_disk(self) -> bool:
        try:
            threads = list((self._folder / "task").iterdir())
        except OSError:
            return False
        return any(stat[0] == "D" for stat in map(_stat_fields, threads) if stat)


def _stat_fields(folder: Path) -> list[str] | None:
    """The fields of a `stat` file (proc(5)) after the name of the program; the first is the state."""
    try:
        return (folder / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
