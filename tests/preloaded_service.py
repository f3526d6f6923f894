"""Starts processes of the service as forks of one that has its modules loaded, which takes most of a start.

A test process starts one loader, the first time that it starts a service. The loader has one thread, so that a fork of it
is safe, and runs nothing of the service itself. A fork then gets the arguments, environment, folder, umask and log of the
service and runs `app.cli.main`, as `python -m app.cli` does; only its password hashes are cheap, and it computes intervals
and comparisons only if asked to: they follow every score, and took a fifth of the time of the tests that run a service. When
the test process ends, however it ends, the loader kills the services that still run and ends too.
"""

import atexit
import contextlib
import gc
import importlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import IO, Any
from unittest import mock

from tests import preloaded_scoring

ROOT = Path(__file__).resolve().parents[1]
SERVICE_COMMAND = [sys.executable, "-m", "app.cli"]
NEWER_SCORER_COMMAND = [sys.executable, "-m", "tests.newer_scorer_command"]  # and the number of that version
MAX_MESSAGE_BYTES = 1 << 20
PRELOADED_MODULES = (
    "app.cli.serve",
    "app.main",
    "alembic.command",
    "uvicorn.lifespan.on",
    "uvicorn.loops.auto",
    "uvicorn.protocols.websockets.auto",
)


class PreloadedProcess:
    """A process of the service, with those methods of `subprocess.Popen` that tests use."""

    def __init__(self, loader: "Loader", pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._loader = loader

    def poll(self) -> int | None:
        """The exit status once it has ended; negative if a signal ended it."""
        if self.returncode is None:
            self.returncode = self._loader.ask({"poll": self.pid})
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """The exit status; raises TimeoutExpired."""
        deadline = None if timeout is None else time.monotonic() + timeout
        with contextlib.suppress(ProcessLookupError):
            ended = os.pidfd_open(self.pid) if self.returncode is None else -1
            try:
                if ended >= 0:
                    select.select([ended], [], [], timeout)
            finally:
                if ended >= 0:
                    os.close(ended)
        while (status := self.poll()) is None:
            if deadline is not None and time.monotonic() >= deadline:
                raise subprocess.TimeoutExpired(SERVICE_COMMAND, timeout or 0.0)
            time.sleep(0.01)
        return status

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)


class Loader:
    """The process that is forked; asked by one thread at a time."""

    def __init__(self, scorer_version: str) -> None:
        self._lock = threading.Lock()
        self._socket, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with other:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.preloaded_service", str(other.fileno()), scorer_version],
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                pass_fds=[other.fileno()],
                start_new_session=True,  # Ctrl-C is for pytest, which then ends the services itself
            )

    def ask(self, request: dict[str, Any], descriptors: Sequence[int] = ()) -> Any:
        """The answer to one request."""
        with self._lock:
            socket.send_fds(self._socket, [json.dumps(request).encode()], list(descriptors))
            answer = self._socket.recv(MAX_MESSAGE_BYTES)
        assert answer, "the loader of services has ended"
        return json.loads(answer)

    def close(self) -> None:
        """End it, and the services that still run."""
        self._socket.close()
        self._process.wait()


@cache
def loader(scorer_version: str = "") -> Loader:
    """The loader of this test process; one for each version of the scorer that is not that of the program."""
    made = Loader(scorer_version)
    atexit.register(made.close)
    return made


def is_forked(program: Sequence[str]) -> bool:
    """Whether it is SERVICE_COMMAND itself or NEWER_SCORER_COMMAND and a number."""
    return (program is SERVICE_COMMAND or program[:-1] == NEWER_SCORER_COMMAND) and sys.platform == "linux"


class IdleQueue:
    """A queue in the place of that of intervals and comparisons, which claims none."""

    def __init__(self, *_arguments: object) -> None:
        pass

    def wake(self) -> None:
        """Do nothing."""

    def run(self, _work: object, stop: threading.Event) -> None:
        """Wait for the end."""
        stop.wait()


def no_analyses() -> Any:
    """A patch by which workers that are made meanwhile leave intervals and comparisons undone."""
    return mock.patch.object(importlib.import_module("app.worker.analyst"), "LocalQueue", IdleQueue)


def start_service(
    program: Sequence[str],
    arguments: Sequence[str],
    *,
    env: Mapping[str, str],
    log: IO[bytes],
    umask: int = -1,
    new_session: bool = False,
    preloads_scoring: bool = False,
    analyses: bool = True,
) -> "subprocess.Popen[bytes] | PreloadedProcess":
    """Start the service with standard output and error in `log`.

    With `preloads_scoring` its scoring processes are forks too (tests.preloaded_scoring), and no children of it.
    A program that is no fork starts from nothing, and computes intervals and comparisons even without `analyses`.
    """
    newer = program[:-1] == NEWER_SCORER_COMMAND
    if not is_forked(program):
        return subprocess.Popen(
            [*program, *arguments],
            cwd=ROOT,
            env=env,
            stdout=log,
            stderr=log,
            umask=umask,
            start_new_session=new_session,
        )
    request = {"arguments": list(arguments), "env": dict(env), "umask": umask, "new_session": new_session}
    request["scoring"] = preloaded_scoring.loader() if preloads_scoring else None
    request["analyses"] = analyses
    parent = loader(program[-1] if newer else "")
    return PreloadedProcess(parent, parent.ask(request, [log.fileno()]))


def _serve(requests: socket.socket) -> dict[str, Any] | None:
    """Answer requests until the test process has ended; returns in a fork with the request to run."""
    running: set[int] = set()
    while True:
        data, descriptors, _, _ = socket.recv_fds(requests, MAX_MESSAGE_BYTES, 1)
        if not data:
            for pid in running:
                os.kill(pid, signal.SIGKILL)
            return None
        request = json.loads(data)
        if "poll" in request:
            pid, status = os.waitpid(request["poll"], os.WNOHANG)
            running.discard(pid)
            requests.send(json.dumps(os.waitstatus_to_exitcode(status) if pid else None).encode())
            continue
        pid = os.fork()
        if not pid:
            if request["new_session"]:
                os.setsid()
            os.dup2(descriptors[0], 1)
            os.dup2(descriptors[0], 2)
            os.closerange(3, max(descriptors[0], requests.detach()) + 1)
            return dict(request)
        os.close(descriptors[0])
        running.add(pid)
        while request["new_session"] and os.getpgid(pid) != pid:  # whoever knows the id may signal the group
            time.sleep(0.001)
        requests.send(json.dumps(pid).encode())


def _become_service(request: dict[str, Any]) -> None:
    """Run the command with what the request says."""
    from app.cli import main  # noqa: PLC0415 - long loaded

    if request["umask"] >= 0:
        os.umask(request["umask"])
    os.environ.clear()
    os.environ.update(request["env"])
    sys.argv = [str(ROOT / "app" / "cli" / "__main__.py"), *request["arguments"]]
    gc.enable()
    with ExitStack() as patches:
        if request["scoring"]:
            patches.enter_context(preloaded_scoring.use_preloaded_scoring(request["scoring"]))
        if not request["analyses"]:
            patches.enter_context(no_analyses())
        preloaded_scoring.run_and_exit(main)


def _preload(scorer_version: str) -> None:
    """Load what a service loads until it is ready, and build the tree of its commands."""
    if scorer_version:
        vars(importlib.import_module("app.scoring"))["SCORER_VERSION"] = int(scorer_version)  # before anything reads it
    for module in PRELOADED_MODULES:
        importlib.import_module(module)
    for name, value in cheap_password_hashing().items():
        setattr(importlib.import_module("app.actions.accounts.passwords"), name, value)
    typer_main: Any = importlib.import_module("typer.main")
    typer_main.get_command = cache(typer_main.get_command)
    typer_main.get_command(importlib.import_module("app.cli").root)


def cheap_password_hashing() -> dict[str, Any]:
    """Attributes of app.actions.accounts.passwords with which a hash takes no noticeable time."""
    from pwdlib import PasswordHash  # noqa: PLC0415 - the test process itself may not need it
    from pwdlib.hashers.argon2 import Argon2Hasher  # noqa: PLC0415

    hasher = PasswordHash((Argon2Hasher(memory_cost=64, time_cost=1, parallelism=1),))
    decoy = hasher.hash("the password of no account")
    return {"_HASHER": hasher, "_DECOY_HASH": decoy, "_FORMER_DECOY_HASH": decoy}


if __name__ == "__main__":
    gc.disable()
    _preload(sys.argv[2])
    gc.freeze()
    accepted = _serve(socket.socket(fileno=int(sys.argv[1])))
    if accepted is not None:
        _become_service(accepted)
