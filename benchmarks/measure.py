"""Time and memory of ways of doing the same work: interleaved, as medians, and peaks above what was there before."""

import ctypes
import gc
import os
import statistics
import time
from collections.abc import Callable, Collection, Mapping
from pathlib import Path

Way = Callable[[], object]
MIB = 1 << 20


def timed(ways: Mapping[str, Way], *, repetitions: int, once: Collection[str] = ()) -> dict[str, float]:
    """Median processor milliseconds of each way, run in turns; those in `once` run a single time, in the first turn."""
    spent: dict[str, list[float]] = {name: [] for name in ways}
    gc.collect()
    gc.freeze()  # what was loaded before is nobody's garbage
    for turn in range(repetitions):
        for name, run in ways.items():
            if turn and name in once:
                continue
            gc.collect()
            began = time.process_time()
            run()
            spent[name].append((time.process_time() - began) * 1000)
    gc.unfreeze()
    return {name: statistics.median(times) for name, times in spent.items()}


def collector_off(run: Way) -> Way:
    """The same without the cyclic garbage collector, which is most of what parsing nested lists costs."""

    def without() -> object:
        gc.disable()
        try:
            return run()
        finally:
            gc.enable()

    return without


def extra_peak(run: Way) -> float:
    """MiB of memory by which a call raises what this process holds, at its highest."""
    gc.collect()
    give_back()
    forget_peak(os.getpid())
    before = resident(os.getpid(), "VmRSS")
    run()
    return (resident(os.getpid(), "VmHWM") - before) / MIB


def give_back() -> None:
    """Give freed memory back to the system, or a call would fill it unseen."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def forget_peak(pid: int) -> None:
    """Let the peak of a process begin anew at what it holds now."""
    Path(f"/proc/{pid}/clear_refs").write_text("5")


def resident(pid: int, field: str) -> int:
    """Bytes that a process holds (VmRSS), or has held at most (VmHWM)."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith(field)).split()[1]) * 1024


def processor_seconds(pid: int) -> float:
    """Processor time that a process has used, all its threads together."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
