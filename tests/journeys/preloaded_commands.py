"""Runs `assay` for the shells of tests as forks of a process that has it loaded, which takes most of a command.

A fork has the arguments, environment, folder and streams of the command, and its exit status becomes that of the program
that the shell runs. Tests of the command line itself run `python -m app.cli`.
"""

import gc
import importlib
import os
import pkgutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import httpx

from tests.live_service import ROOT
from tests.preloaded_scoring import run_and_exit, serve_forks, start_loader

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
    address, _, end = start_loader(__name__, OPENBLAS_NUM_THREADS="1")
    path.write_text(PROGRAM.format(python=sys.executable, address=address))
    path.chmod(0o755)
    try:
        yield
    finally:
        end()


def _load() -> None:
    """Do once what each command would do again: import modules, build its parameters and read the certificates."""
    transports: Any = importlib.import_module("httpx._transports.default")
    transports.create_ssl_context = cache(transports.create_ssl_context)
    httpx.Client(trust_env=False).close()
    cli = importlib.import_module("app.cli")
    for module in pkgutil.walk_packages(cli.__path__, "app.cli."):
        if not module.name.endswith(".__main__"):  # which runs a command
            importlib.import_module(module.name)
    for name in ("app.client", "encodings.idna", "rich._emoji_codes", "yaml"):
        importlib.import_module(name)
    typer_main: Any = importlib.import_module("typer.main")
    typer_main.get_command = cache(typer_main.get_command)
    _build(typer_main.get_command(cli.root))


def _build(command: Any) -> None:
    """Build all commands of a group, which otherwise happens when one is first used."""
    for name in getattr(command, "commands", ()):
        _build(command.commands[name])


def _main() -> None:
    _load()
    gc.collect()
    gc.freeze()
    request = serve_forks()
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["env"])
    sys.argv = [str(ROOT / "app" / "cli" / "__main__.py"), *request["arguments"]]
    run_and_exit(importlib.import_module("app.cli").main)


if __name__ == "__main__":
    _main()
