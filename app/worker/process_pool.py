"""Starts scoring children and talks to them over pipes: one JSON line to ask, one to answer.

Children are started, never forked: a fork of a process with threads and SQLite connections is unsafe. A child ends by
itself when its pipe closes, so none outlives the service, however that ends; one that overstays its time is killed
by its own pid.
"""

import json
import os
import queue
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import structlog

from app.scoring_processes import (
    CpuLimitExceeded,
    GoldCpuLimitExceeded,
    MemoryLimitExceeded,
    ScoringProcessAborted,
    ScoringProcessCrashed,
    ScoringProcessError,
    ScoringProcessesBusy,
    ScoringProcessesClosed,
    ScoringProcessNotStarted,
    ScoringTimeout,
)
from app.worker.stall_detection import StallDetector

log = structlog.get_logger()

MAX_WAITING_REQUESTS = 12
START_TIMEOUT_SECONDS = 60.0
STALL_TIMEOUT_SECONDS = 10.0
SCORING_PROCESS_MODULE = "app.worker.scoring_process"
_ABORT_SIGNALS = frozenset({signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL})
"""Signals by which a program ends that a library has led astray; nobody else sends them."""
INHERITED_VARIABLES = ("PATH", "LANG", "LC_ALL", "TZ", "HOME", "TMPDIR", "VIRTUAL_ENV", "PYTHONPATH", "SYSTEMROOT")


class ScoringProcess:
    """One scoring program, asked by one thread at a time; any thread may end it."""

    def __init__(self, arguments: Sequence[str], stall_seconds: float = STALL_TIMEOUT_SECONDS) -> None:
        self._arguments = list(arguments)
        self._stall_seconds = stall_seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._ready: subprocess.Popen[bytes] | None = None  # the program that has said so
        self._ended = False

    def start(self) -> subprocess.Popen[bytes]:
        """The running program, started if need be; raises ChildNotStarted, and ChildrenClosed after `end`."""
        with self._lock:
            if self._ended:
                raise ScoringProcessesClosed
            if self._process is None or self._process.poll() is not None:
                self.stop()
                self._process = self._launch()
            return self._process

    def _launch(self) -> subprocess.Popen[bytes]:
        try:
            return subprocess.Popen(  # noqa: S603 - our own program
                [sys.executable, "-m", SCORING_PROCESS_MODULE, *self._arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=_environment(),
                cwd=Path(__file__).resolve().parents[2],
            )
        except OSError as lack:
            raise ScoringProcessNotStarted(f"no scoring program could be started: {lack}") from lack

    @property
    def pid(self) -> int | None:
        """The process id, while it runs."""
        return self._process.pid if self._process else None

    def ask(self, request: dict[str, Any], seconds: float) -> dict[str, Any]:
        """Send one request and wait for its answer; a child that fails is gone afterwards."""
        line = json.dumps(request).encode() + b"\n"
        try:
            try:
                process = self._send(line)
            except OSError:
                self.stop()  # it died idle: not the fault of this request
                process = self._send(line)
            answer = self._receive(process, time.monotonic() + seconds, seconds)
        except OSError as gone:
            self.stop()
            raise ScoringProcessCrashed("it was gone before it was asked") from gone
        except ScoringProcessError:
            self.stop()
            raise
        for remark in answer.pop("remarks", ()):
            log.warning("child_remark", remark=remark)
        if answer.pop("spent", False):
            self.stop()  # its memory ran out once: a fresh one goes on
        if answer.get("error") == "file":
            raise FileNotFoundError(answer["file"])
        if answer.get("error") == "memory":
            self.stop()
            raise MemoryLimitExceeded
        if answer.get("error") == "cpu":
            self.stop()
            raise CpuLimitExceeded
        if "error" in answer:
            self.stop()
            raise ScoringProcessAborted(str(answer["error"]))
        return answer

    def _send(self, line: bytes) -> subprocess.Popen[bytes]:
        """Write a line to the running program; raises OSError when it has gone."""
        process = self.start()
        if process is not self._ready:
            self._await_ready(process)
        assert process.stdin is not None
        process.stdin.write(line)
        process.stdin.flush()
        return process

    def _await_ready(self, process: subprocess.Popen[bytes]) -> None:
        """Wait until a new program says that it is ready: one that cannot run is no fault of what it is asked."""
        try:
            self._receive(process, time.monotonic() + START_TIMEOUT_SECONDS, START_TIMEOUT_SECONDS)
        except ScoringProcessError as failed:
            raise ScoringProcessNotStarted(f"the scoring program did not start: {failed}") from failed
        self._ready = process

    def _receive(self, process: subprocess.Popen[bytes], deadline: float, seconds: float) -> dict[str, Any]:
        """The answer, or that of the stage in which the program exceeded its CPU time, if this stage has one."""
        assert process.stdout is not None
        received, beyond_cpu = bytearray(), None
        progress = StallDetector(process.pid, self._stall_seconds)
        with selectors.DefaultSelector() as ready:
            ready.register(process.stdout, selectors.EVENT_READ)
            while True:
                if not ready.select(max(0.0, min(progress.interval, deadline - time.monotonic()))):
                    if time.monotonic() >= deadline:
                        raise ScoringTimeout(f"no answer within {seconds:g} s")
                    progress.look()
                    continue
                chunk = os.read(process.stdout.fileno(), 1 << 16)
                if not chunk:
                    return self._interpret_exit(process.wait(), beyond_cpu)
                received += chunk
                *lines, received = received.split(b"\n")
                for line in lines:
                    said: dict[str, Any] = json.loads(line)
                    if "beyond_cpu" not in said:
                        return said
                    beyond_cpu = said["beyond_cpu"]

    @staticmethod
    def _interpret_exit(status: int, beyond_cpu: dict[str, Any] | None) -> dict[str, Any]:
        """What the end of the program means: what others end is not the fault of a file."""
        if -status in _ABORT_SIGNALS:
            raise ScoringProcessAborted(f"it ended with {signal.Signals(-status).name}")
        if status != -signal.SIGPROF:
            raise ScoringProcessCrashed(f"it ended with status {status}")
        if beyond_cpu is None:
            raise GoldCpuLimitExceeded
        return beyond_cpu

    def end(self) -> None:
        """Kill the program for good; a thread that asks it finds the pipe at its end, and collects it.

        The pipe itself stays open here: one closed under a waiting thread would never wake that thread.
        """
        with self._lock:
            self._ended = True
            if self._process is not None:
                self._process.kill()

    def stop(self) -> None:
        """Kill the program by its own pid and collect it; only for the thread that asks, or when none does."""
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                try:
                    pipe.close()
                except OSError:
                    log.debug("child_pipe_closed", pid=process.pid)


class ScoringProcessPool:
    """A fixed number of children; whoever asks takes a free one."""

    def __init__(
        self, count: int, *, arguments: Sequence[str], seconds: float, stall_seconds: float = STALL_TIMEOUT_SECONDS
    ) -> None:
        self._seconds = seconds
        self._all = [ScoringProcess(arguments, stall_seconds) for _ in range(count)]
        self._free: queue.LifoQueue[ScoringProcess] = queue.LifoQueue()
        self._closed = threading.Event()
        self._waiting_slots = threading.BoundedSemaphore(count + MAX_WAITING_REQUESTS)
        for child in self._all:
            self._free.put(child)

    def warm_up(self, count: int | None = None) -> None:
        """Start all children now, or the `count` that are asked first, so that the first request does not pay for it."""
        for child in self._all[::-1][:count]:
            child.start()

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """The answer of a free child, waiting for one; raises ChildError."""
        child = self._borrow()
        try:
            if self._closed.is_set():
                raise ScoringProcessesClosed
            return child.ask(request, self._seconds)
        except ScoringProcessError as error:
            if self._closed.is_set():
                raise ScoringProcessesClosed from error
            raise
        finally:
            self._free.put(child)

    def _borrow(self) -> ScoringProcess:
        """A free child; those who wait hold a thread, so they are few and do not wait for ever."""
        if not self._waiting_slots.acquire(blocking=False):
            raise ScoringProcessesBusy
        try:
            return self._free.get(timeout=self._seconds)
        except queue.Empty:
            raise ScoringProcessesBusy from None
        finally:
            self._waiting_slots.release()

    def pids(self) -> list[int]:
        """Process ids of the children that run."""
        return [child.pid for child in self._all if child.pid is not None]

    def close(self) -> None:
        """End all children; those at work stop at once, and who waits for one is told so."""
        self._closed.set()
        for child in self._all:
            child.end()
        collected = [self._free.get() for _ in self._all]  # each comes back from whoever asked it
        for child in collected:
            child.stop()
            self._free.put(child)


def _environment() -> dict[str, str]:
    """What a child may know of the environment: no secrets, one thread per child."""
    kept = {name: value for name, value in os.environ.items() if name in INHERITED_VARIABLES}
    return kept | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
