"""Starts scoring processes and talks to them over pipes: one line per request, one line per reply.

Processes are started anew, never forked: forking a process with threads and SQLite connections is unsafe. A scoring
process exits when its pipe closes, so none outlives the service, however the service ends. One that exceeds its time is
killed by its own process id.
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

import structlog

from app import scoring_processes
from app.prepared.gold_folder import PreparedGoldFolder
from app.worker.stall_detection import StallDetector

log = structlog.get_logger()

MAX_WAITING_REQUESTS = 12
START_TIMEOUT_SECONDS = 60.0
STALL_TIMEOUT_SECONDS = 10.0
SCORING_PROCESS_MODULE = "app.worker.scoring_process"
_ABORT_SIGNALS = frozenset({signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL})
"""Signals that end a process after a fault in native code; no operator or kernel limit sends them."""
INHERITED_VARIABLES = ("PATH", "LANG", "LC_ALL", "TZ", "HOME", "TMPDIR", "VIRTUAL_ENV", "PYTHONPATH", "SYSTEMROOT")


class ScoringProcess:
    """One scoring process. One thread at a time sends it requests; any thread may end it."""

    def __init__(self, arguments: Sequence[str], stall_seconds: float = STALL_TIMEOUT_SECONDS) -> None:
        self._arguments = list(arguments)
        self._stall_seconds = stall_seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()  # for `end`, which may run while another thread starts the process
        self._ready: subprocess.Popen[bytes] | None = None  # the process whose Ready message has arrived
        self._ended = False

    def start(self) -> subprocess.Popen[bytes]:
        """The running process, started if necessary.

        Raises ScoringProcessNotStarted, after `end` ScoringProcessesClosed.
        """
        with self._lock:
            if self._ended:
                raise scoring_processes.ScoringProcessesClosed
            if self._process is None or self._process.poll() is not None:
                self.stop()
                self._process = self._launch()
            return self._process

    def _launch(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", SCORING_PROCESS_MODULE, *self._arguments]
        root, pipe = Path(__file__).resolve().parents[2], subprocess.PIPE
        try:
            return subprocess.Popen(command, stdin=pipe, stdout=pipe, env=_environment(), cwd=root)  # noqa: S603
        except OSError as error:
            raise scoring_processes.ScoringProcessNotStarted(
                f"the scoring process could not be started: {error}"
            ) from error

    @property
    def pid(self) -> int | None:
        """The process id, while it runs."""
        return self._process.pid if self._process else None

    def call(self, request: scoring_processes.messages.Request, seconds: float) -> scoring_processes.messages.Reply:
        """Send a request and wait for its reply; a failure kills the process, and the next call starts a new one.

        Raises ScoringProcessError, and FileNotFoundError for a file of the request that is missing.
        """
        line = scoring_processes.messages.encode(request)
        try:
            try:
                process = self._send(line)
            except OSError:  # the process ended while it was idle: not the fault of this request, so retry once
                self.stop()
                process = self._send(line)
            envelope = self._receive(process, time.monotonic() + seconds, seconds)
        except OSError as error:
            self.stop()
            raise scoring_processes.ScoringProcessCrashed("it ended before it received the request") from error
        except scoring_processes.ScoringProcessError:
            self.stop()
            raise
        for remark in envelope.remarks:
            log.warning("child_remark", remark=remark)
        reply = envelope.reply
        if envelope.memory_exhausted:
            self.stop()
        if isinstance(reply, scoring_processes.messages.ProcessFailure):
            if reply.reason != "file":
                self.stop()
            raise _to_exception(reply)
        return reply

    def _send(self, line: bytes) -> subprocess.Popen[bytes]:
        """Write a line to the running process; raises OSError if it has ended."""
        process = self.start()
        if process is not self._ready:
            self._await_ready(process)
        assert process.stdin is not None
        process.stdin.write(line)
        process.stdin.flush()
        return process

    def _await_ready(self, process: subprocess.Popen[bytes]) -> None:
        """Wait for Ready before the first request, so that a program that cannot run is never blamed on a request."""
        try:
            self._receive(process, time.monotonic() + START_TIMEOUT_SECONDS, START_TIMEOUT_SECONDS)
        except scoring_processes.ScoringProcessError as error:
            raise scoring_processes.ScoringProcessNotStarted(f"the scoring process did not start: {error}") from error
        self._ready = process

    def _receive(
        self, process: subprocess.Popen[bytes], deadline: float, seconds: float
    ) -> scoring_processes.messages.ReplyEnvelope:
        """The reply; if the kernel killed the process for its CPU time, the one announced for the stage it was in.

        The wait ends at the deadline, and earlier if the process makes no progress (StallDetector).
        """
        assert process.stdout is not None
        buffer, announcement = bytearray(), None
        stall_detector = StallDetector(process.pid, self._stall_seconds)
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            while True:
                if not selector.select(max(0.0, min(stall_detector.interval, deadline - time.monotonic()))):
                    if time.monotonic() >= deadline:
                        raise scoring_processes.ScoringTimeout(f"no reply within {seconds:g} s")
                    stall_detector.check()
                    continue
                chunk = os.read(process.stdout.fileno(), 1 << 16)
                if not chunk:
                    return self._interpret_exit(process.wait(), announcement)
                buffer += chunk
                *lines, buffer = buffer.split(b"\n")
                for line in lines:
                    message = scoring_processes.messages.decode_reply(line)
                    if isinstance(message, scoring_processes.messages.ReplyEnvelope):
                        return message
                    announcement = message

    @staticmethod
    def _interpret_exit(
        status: int, announcement: scoring_processes.messages.CpuLimitAnnouncement | None
    ) -> scoring_processes.messages.ReplyEnvelope:
        """What the exit status means: SIGPROF is the limit of CPU time, any other kill is not the fault of the file."""
        if -status in _ABORT_SIGNALS:
            raise scoring_processes.ScoringProcessAborted(f"it ended with {signal.Signals(-status).name}")
        if status != -signal.SIGPROF:
            raise scoring_processes.ScoringProcessCrashed(f"it ended with status {status}")
        if announcement is None:
            raise scoring_processes.GoldCpuLimitExceeded
        return scoring_processes.messages.ReplyEnvelope(announcement.reply)

    def end(self) -> None:
        """Kill the process for good; a thread that waits for its reply reads the end of the pipe, and reaps it.

        The pipe itself stays open here: closing it under a waiting thread would never wake that thread.
        """
        with self._lock:
            self._ended = True
            if self._process is not None:
                self._process.kill()

    def stop(self) -> None:
        """Kill the process by its own id and reap it; only for the thread that uses it, or when none does."""
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
    """A fixed number of scoring processes; a request takes a free one."""

    def __init__(
        self,
        count: int,
        *,
        arguments: Sequence[str],
        seconds: float,
        stall_seconds: float = STALL_TIMEOUT_SECONDS,
        prepared_gold: PreparedGoldFolder | None = None,
    ) -> None:
        """`prepared_gold` is the folder in which the processes write the gold that they prepare; its path is absolute."""
        self.prepared_gold = prepared_gold
        if prepared_gold is not None:
            options = {"folder": str(prepared_gold.folder), "limit": prepared_gold.limit, "free": prepared_gold.free}
            arguments = [*arguments, "--prepared", json.dumps(options)]
        self._seconds = seconds
        self._all = [ScoringProcess(arguments, stall_seconds) for _ in range(count)]
        # The process that was used last is taken first: the gold that it needs is probably still in its memory.
        self._free: queue.LifoQueue[ScoringProcess] = queue.LifoQueue()
        self._closed = threading.Event()
        self._waiting_slots = threading.BoundedSemaphore(count + MAX_WAITING_REQUESTS)
        for process in self._all:
            self._free.put(process)

    def warm_up(self, count: int | None = None) -> None:
        """Start all processes now, or the `count` that are used first, so that no request has to wait for it."""
        for process in self._all[::-1][:count]:
            process.start()

    def call(self, request: scoring_processes.messages.Request) -> scoring_processes.messages.Reply:
        """The reply of a free process, waiting for one; raises ScoringProcessError and FileNotFoundError."""
        process = self._borrow()
        try:
            if self._closed.is_set():
                raise scoring_processes.ScoringProcessesClosed
            return process.call(request, self._seconds)
        except scoring_processes.ScoringProcessError as error:
            if self._closed.is_set():  # `close` killed the process
                raise scoring_processes.ScoringProcessesClosed from error
            raise
        finally:
            self._free.put(process)

    def _borrow(self) -> ScoringProcess:
        """A free process. Each waiting request occupies a thread, so their number and their time are limited."""
        if not self._waiting_slots.acquire(blocking=False):
            raise scoring_processes.ScoringProcessesBusy
        try:
            return self._free.get(timeout=self._seconds)
        except queue.Empty:
            raise scoring_processes.ScoringProcessesBusy from None
        finally:
            self._waiting_slots.release()

    def pids(self) -> list[int]:
        """Process ids of the processes that run."""
        return [process.pid for process in self._all if process.pid is not None]

    def close(self) -> None:
        """End all processes; requests at work and requests that wait fail with ScoringProcessesClosed."""
        self._closed.set()
        for process in self._all:
            process.end()
        processes = [self._free.get() for _ in self._all]  # waits until each request has given its process back
        for process in processes:
            process.stop()
            self._free.put(process)


def _to_exception(failure: scoring_processes.messages.ProcessFailure) -> Exception:
    if failure.reason == "file":
        return FileNotFoundError(failure.detail)
    limits = {"memory": scoring_processes.MemoryLimitExceeded, "cpu": scoring_processes.CpuLimitExceeded}
    limit = limits.get(failure.reason)
    return scoring_processes.ScoringProcessAborted(failure.detail) if limit is None else limit()


def _environment() -> dict[str, str]:
    """The environment of a scoring process: no secrets, and one thread for each numerical library."""
    variables = {name: value for name, value in os.environ.items() if name in INHERITED_VARIABLES}
    return variables | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
