"""Runs a service and its peers in separate processes, each on one core, and measures the cost of an address."""

import os
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import httpx

from benchmarks.load import Counts, loaded
from benchmarks.measure import processor_seconds
from tests.live_service import MAX_WAIT_SECONDS, ROOT, eventually, free_port

RECIPE = {"primary": "f1_macro", "metrics": ["f1_macro", "f1_micro", "accuracy", "mcc", "cohen_kappa"]}


@dataclass(frozen=True)
class Address:
    """The requests to send, and the process that answers them."""

    port: int
    pid: int
    requests: list[bytes]
    status: int
    most: int | None = None
    """The maximum number of requests per turn."""


@dataclass
class Cost:
    """The measurements of an address, turn by turn."""

    rates: list[float]
    processor: list[float]

    @property
    def rate(self) -> float:
        """Median replies per second."""
        return statistics.median(self.rates)

    @property
    def milliseconds(self) -> float:
        """Median CPU time of the server per reply, in milliseconds."""
        return statistics.median(self.processor) * 1000

    @property
    def least_milliseconds(self) -> float:
        """The least CPU time of the server per reply: that of the turn which other work burdened least."""
        return min(self.processor) * 1000


def costs(addresses: dict[str, Address], *, turns: int, seconds: float, connections: int) -> dict[str, Cost]:
    """Load each address in turn."""
    found = {name: Cost([], []) for name in addresses}
    for _ in range(turns):
        for name, at in addresses.items():
            before = processor_seconds(at.pid)
            counts = loaded(at.port, at.requests, connections, seconds, most=at.most)
            spent = processor_seconds(at.pid) - before
            assert set(counts.statuses) == {at.status}, f"{name}: {counts.statuses}"
            found[name].rates.append(counts.rate)
            found[name].processor.append(max(spent, 1e-4) / counts.replies)
    return found


def quantile(counts: Counts, share: float) -> float:
    """The milliseconds within which this share of the replies arrived."""
    ordered = sorted(counts.latencies)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] * 1000


def pin(pid: int) -> None:
    """Pin a process with its threads to the first core and this one to the others, if there are several."""
    cores = sorted(os.sched_getaffinity(0) | {0})
    if len(cores) < 2:
        return
    for task in Path(f"/proc/{pid}/task").iterdir():
        with suppress(ProcessLookupError):  # this thread has ended
            os.sched_setaffinity(int(task.name), {cores[0]})
    os.sched_setaffinity(0, set(cores[1:]))


@contextmanager
def peers(folder: Path, board: bytes) -> Iterator[tuple[int, int]]:
    """Port and process id of the peers, pinned to one core."""
    folder.mkdir()
    path, port = folder / "board.json", free_port()
    path.write_bytes(board)
    given = ["--port", str(port), "--folder", str(folder), "--board", str(path)]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([sys.executable, "-m", "benchmarks.peers", *given], cwd=ROOT, stdout=log, stderr=log)
    try:
        eventually(lambda: _answers(process, port, folder / "log"), "the peers answer")
        pin(process.pid)
        yield port, process.pid
    finally:
        process.terminate()
        process.wait(MAX_WAIT_SECONDS)


def _answers(process: "subprocess.Popen[bytes]", port: int, log: Path) -> bool:
    assert process.poll() is None, log.read_text()
    try:
        return httpx.get(f"http://127.0.0.1:{port}/trivial", timeout=5).status_code == 200
    except httpx.HTTPError:
        return False
