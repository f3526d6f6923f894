"""Runs `assay` for the shells of tests as forks of a process that has it loaded, which takes most of a command.

A fork has the arguments, environment, folder and streams of the command, and its exit status becomes that of the program
that the shell runs. Tests of the command line itself run `python -m app.cli`.
"""

import gc
import importlib
import os
import secrets
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.live_service import ROOT
from tests.preloaded_scoring import _serve

PROGRAM = """#!{python} -IS
import json, os, socket, sys
with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as loader:
    loader.connect({address!r})
    request = {{"arguments": sys.argv[1:], "env": dict(os.environ), "folder": os.getcwd()}}
    socket.send_fds(loader, [json.dumps(request).encode()], [0, 1, 2])
    loader.recv(100)  # its process id
    status = json.loads(loader.recv(100))
sys.exit(status if status >= 0 else 128 - status)
"""


@contextmanager
def preloaded_program(path: Path) -> Iterator[None]:
    """Write a program that does what `assay` does, while the block lasts."""
    address = f"\0assay-commands-{os.getpid()}-{secrets.token_hex(8)}"
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(address)
    listener.listen(16)
    lifeline, held = socket.socketpair()  # closed by the end of this process, however it ends
    os.set_inheritable(held.fileno(), False)
    with listener, lifeline:
        loader = subprocess.Popen(
            [sys.executable, "-m", __name__, str(listener.fileno()), str(lifeline.fileno())],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            pass_fds=[listener.fileno(), lifeline.fileno()],
            start_new_session=True,
        )
    path.write_text(PROGRAM.format(python=sys.executable, address=address))
    path.chmod(0o755)
    try:
        yield
    finally:
        held.close()
        loader.wait()


def _main() -> None:
    typer_main: Any = importlib.import_module("typer.main")
    cli = importlib.import_module("app.cli")
    importlib.import_module("app.client")
    typer_main.get_command(cli.root)
    gc.collect()
    gc.freeze()
    request = _serve(socket.socket(fileno=int(sys.argv[1])), socket.socket(fileno=int(sys.argv[2])))
    if request is None:
        os._exit(0)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["env"])
    sys.argv = [str(ROOT / "app" / "cli" / "__main__.py"), *request["arguments"]]
    cli.main()


if __name__ == "__main__":
    _main()
