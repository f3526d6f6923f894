"""Starts scoring processes as forks of one that has its modules loaded: most of the start of one is imports.

A test process starts one loader, the first time that a service of its tests needs a scoring process. The loader has one
thread, so that a fork of it is safe, and scores nothing itself. A fork has the arguments, environment and pipes of the
program `python -m app.worker.scoring_process` and does what it does, but for RANKING_DRAWS. The product itself starts the
program (decision 3). So do tests/worker/test_pool.py, services that start from nothing, and those whose
`preloads_scoring` a test sets to False.
"""

import atexit
import contextlib
import gc
import importlib
import json
import os
import secrets
import selectors
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import IO, Any, NoReturn
from unittest import mock

from app.worker import process_pool
from app.worker.process_pool import ScoringProcess

ROOT = Path(__file__).resolve().parents[1]
MAX_MESSAGE_BYTES = 1 << 18
STANDARD_STREAMS = 3
RANKING_DRAWS = 200
"""Draws of the rankings of a board by all its metrics, instead of 2,000: each is compared by itself, so that they would
cost more than all else that follows a submission. tests/scoring checks what is computed, and with how many."""
PROGRAM = process_pool.SCORING_PROCESS_MODULE


class PreloadedScoringProcess:
    """A scoring process, with those attributes of `subprocess.Popen` that a pool uses."""

    def __init__(self, address: str, arguments: list[str]) -> None:
        reads, self._writes = os.pipe()
        self._reads, writes = os.pipe()
        self._connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._connection.connect(address)
        request = {"arguments": arguments, "env": process_pool._environment()}
        with os.fdopen(reads, "rb"), os.fdopen(writes, "wb"):
            socket.send_fds(self._connection, [json.dumps(request).encode()], [reads, writes, 2])
            self.pid: int = json.loads(self._connection.recv(MAX_MESSAGE_BYTES))
        self.stdin: IO[bytes] = os.fdopen(self._writes, "wb", buffering=0)
        self.stdout: IO[bytes] = os.fdopen(self._reads, "rb", buffering=0)
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """The exit status once it has ended; negative if a signal ended it."""
        if self.returncode is None:
            with contextlib.suppress(BlockingIOError):
                self._receive(socket.MSG_DONTWAIT)
        return self.returncode

    def wait(self) -> int:
        """The exit status."""
        while self.returncode is None:
            self._receive(0)
        return self.returncode

    def _receive(self, flags: int) -> None:
        status = self._connection.recv(MAX_MESSAGE_BYTES, flags)
        self.returncode = json.loads(status) if status else -signal.SIGKILL
        self._connection.close()

    def kill(self) -> None:
        """End it at once."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)


def start_loader(module: str, **variables: str) -> tuple[str, subprocess.Popen[bytes], Callable[[], None]]:
    """Start a program that calls `serve_forks`; gives its address, its process, and what ends it.

    It also ends with this process, however that ends.
    """
    address = f"\0{module}-{os.getpid()}-{secrets.token_hex(8)}"
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(address)
    listener.listen(128)
    lifeline, held = socket.socketpair()
    with listener, lifeline:
        process = subprocess.Popen(
            [sys.executable, "-m", module, str(listener.fileno()), str(lifeline.fileno())],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            env=os.environ | variables,
            pass_fds=[listener.fileno(), lifeline.fileno()],
            start_new_session=True,
        )

    def end() -> None:
        held.close()
        process.wait()

    return address, process, end


@cache
def loader() -> str:
    """The address of the loader of this test process."""
    address, process, end = start_loader("tests.preloaded_scoring", OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")
    atexit.register(end)
    _LOADERS.append(process.pid)
    return address


_LOADERS: list[int] = []


def forks_of(service: int) -> list[int]:
    """Process ids of the scoring processes that a service of this test process got from the loader.

    They are children of the loader; it is the pipe of its requests that leads from a service to its process.
    """
    pipes = _open_files(service)
    forks = [int(pid) for loader in _LOADERS for pid in _read(f"/proc/{loader}/task/{loader}/children").split()]
    return [pid for pid in forks if not pipes.isdisjoint(_open_files(pid, "0"))]


def _open_files(pid: int, only: str = "") -> set[str]:
    folder, found = Path(f"/proc/{pid}/fd"), set()
    with contextlib.suppress(OSError):
        for descriptor in [folder / only] if only else list(folder.iterdir()):
            with contextlib.suppress(OSError):
                found.add(str(descriptor.readlink()))
    return found


def _read(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""


def use_preloaded_scoring(address: str) -> Any:
    """A patch by which pools of this process get their scoring processes from the loader at this address."""

    start_program = ScoringProcess._launch

    def launch(process: ScoringProcess) -> "PreloadedScoringProcess | subprocess.Popen[bytes]":
        if process_pool.SCORING_PROCESS_MODULE != PROGRAM:  # a test has put another program in its place
            return start_program(process)
        return PreloadedScoringProcess(address, process._arguments)

    return mock.patch.object(ScoringProcess, "_launch", launch)


def serve_forks() -> dict[str, Any]:
    """Fork whenever asked, until the test process has ended; returns in a fork, with the request to run.

    For a program that `start_loader` started, once it has loaded what its forks need.
    """
    listener, lifeline = (socket.socket(fileno=int(number)) for number in sys.argv[1:3])
    connections: dict[int, socket.socket] = {}  # by process id
    with selectors.DefaultSelector() as selector:
        selector.register(listener, selectors.EVENT_READ)
        selector.register(lifeline, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fileobj is lifeline:
                    os._exit(0)  # its forks end with their pipes
                if key.fileobj is not listener:
                    pid: int = key.data
                    selector.unregister(key.fileobj)
                    os.close(key.fd)
                    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
                    with connections.pop(pid) as connection, contextlib.suppress(OSError):
                        connection.send(json.dumps(status).encode())
                    continue
                connection, _ = listener.accept()
                data, descriptors, _, _ = socket.recv_fds(connection, MAX_MESSAGE_BYTES, STANDARD_STREAMS)
                if not data:
                    connection.close()
                    continue
                pid = os.fork()
                if not pid:
                    for stream, descriptor in enumerate(descriptors):
                        os.dup2(descriptor, stream)
                    os.closerange(STANDARD_STREAMS, os.sysconf("SC_OPEN_MAX"))
                    return dict(json.loads(data))
                for descriptor in descriptors:
                    os.close(descriptor)
                connections[pid] = connection
                selector.register(os.pidfd_open(pid), selectors.EVENT_READ, pid)
                with contextlib.suppress(OSError):
                    connection.send(json.dumps(pid).encode())


def run_and_exit(main: Callable[[], object]) -> NoReturn:
    """Run a program in a fork and end it as Python would, but for freeing what was loaded: that takes longer than most programs."""
    status = 0
    try:
        main()
    except SystemExit as end:
        if isinstance(end.code, str):
            raise
        status = end.code or 0
    vars(threading)["_shutdown"]()  # waits for threads, as Python does before it calls the exit functions
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def _main() -> None:
    program = importlib.import_module(process_pool.SCORING_PROCESS_MODULE)
    vars(importlib.import_module("app.scoring.uncertainty.rankings"))["DRAWS"] = RANKING_DRAWS
    gc.collect()
    gc.disable()
    gc.freeze()
    request = serve_forks()
    os.environ.clear()
    os.environ.update(request["env"])
    sys.argv[1:] = request["arguments"]
    gc.enable()
    run_and_exit(program.main)


if __name__ == "__main__":
    _main()
