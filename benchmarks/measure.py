"""Measures time and memory of several ways of doing the same work: interleaved medians or minima, and extra peaks."""

import ctypes
import gc
import os
import statistics
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from pathlib import Path

from tests.faults.inspection import children_of

Way = Callable[[], object]
MIB = 1 << 20
MAX_READS = 100


def timed(ways: Mapping[str, Way], *, repetitions: int, once: Collection[str] = ()) -> dict[str, float]:
    """Median CPU milliseconds of each way, run in turn; those in `once` run only in the first turn."""
    spent = _spent(ways, repetitions, once)
    return {name: statistics.median(times) for name, times in spent.items()}


def least(ways: Mapping[str, Way], *, repetitions: int) -> dict[str, float]:
    """The fewest CPU milliseconds of each way, run in turn: other work on the machine only ever adds to them."""
    return {name: min(times) for name, times in _spent(ways, repetitions, ()).items()}


def _spent(ways: Mapping[str, Way], repetitions: int, once: Collection[str]) -> dict[str, list[float]]:
    spent: dict[str, list[float]] = {name: [] for name in ways}
    gc.collect()
    gc.freeze()  # objects from before do not burden any way
    for turn in range(repetitions):
        for name, run in ways.items():
            if turn and name in once:
                continue
            gc.collect()
            began = time.process_time()
            run()
            spent[name].append((time.process_time() - began) * 1000)
    gc.unfreeze()
    return spent


def collector_off(run: Way) -> Way:
    """The same without the cyclic garbage collector, which dominates the cost of parsing nested lists."""

    def without() -> object:
        gc.disable()
        try:
            return run()
        finally:
            gc.enable()

    return without


def extra_peak(run: Way) -> float:
    """The peak memory of a call in MiB, above the memory of this process before it."""
    gc.collect()
    give_back()
    forget_peak(os.getpid())
    before = resident(os.getpid(), "VmRSS")
    run()
    return (resident(os.getpid(), "VmHWM") - before) / MIB


def give_back() -> None:
    """Return freed memory to the system; otherwise a call could reuse it unnoticed."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def forget_peak(pid: int) -> None:
    """Reset the peak memory of a process to its current memory."""
    Path(f"/proc/{pid}/clear_refs").write_text("5")


def resident(pid: int, field: str) -> int:
    """The current (VmRSS) or peak (VmHWM) memory of a process, in bytes."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith(field)).split()[1]) * 1024


def processor_seconds(pid: int) -> float:
    """CPU seconds that a process has used, with all its threads."""
    return _processor_fields(pid)[0]


def processor_seconds_of_children(pid: int) -> float:
    """CPU seconds of the direct children of a process, with those that have ended.

    It is read again if a child ended meanwhile, as the database server ends those whose connection is closed.
    """
    for _ in range(MAX_READS):
        _, ended = _processor_fields(pid)
        with suppress(FileNotFoundError, ProcessLookupError):
            running = sum(map(processor_seconds, children_of(pid)))
            if _processor_fields(pid)[1] == ended:
                return ended + running
    raise RuntimeError(f"children of {pid} ended during each of {MAX_READS} reads")


def _processor_fields(pid: int) -> tuple[float, float]:
    """CPU seconds of a process, and of its children that have ended."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    own, ended = int(fields[11]) + int(fields[12]), int(fields[13]) + int(fields[14])
    return own / os.sysconf("SC_CLK_TCK"), ended / os.sysconf("SC_CLK_TCK")
