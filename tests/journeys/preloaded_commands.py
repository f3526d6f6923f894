"""Runs `assay` for the shells of tests as forks of a process that has it loaded, which takes most of a command.

A fork has the arguments, environment, folder and streams of the command, and its exit status becomes that of the program
that the shell runs. Tests of the command line itself run `python -m app.cli`.
"""

import gc
import importlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.live_service import ROOT
from tests.preloaded_scoring import serve_forks, start_loader

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
    address, _, end = start_loader(__name__)
    path.write_text(PROGRAM.format(python=sys.executable, address=address))
    path.chmod(0o755)
    try:
        yield
    finally:
        end()


def _main() -> None:
    typer_main: Any = importlib.import_module("typer.main")
    cli = importlib.import_module("app.cli")
    importlib.import_module("app.client")
    typer_main.get_command(cli.root)
    gc.collect()
    gc.freeze()
    request = serve_forks()
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["env"])
    sys.argv = [str(ROOT / "app" / "cli" / "__main__.py"), *request["arguments"]]
    cli.main()


if __name__ == "__main__":
    _main()
