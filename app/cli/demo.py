"""The demonstration: a service of its own with the digits challenge, five real systems, and their board."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer

from app.cli.options import AsJson, DataDir, Host, Port
from app.cli.serve import already_served_error, load_settings
from app.cli.terminal import object_tables
from app.cli.terminal.output import CommandError, CommandOutput, command_output

if TYPE_CHECKING:
    from app.settings import Settings

START_TIMEOUT_SECONDS = 60.0
STOP_TIMEOUT_SECONDS = 20.0


def demo(
    host: Host = None,
    port: Port = None,
    data_dir: DataDir = None,
    once: Annotated[bool, typer.Option("--once", help="End after the board instead of serving on.")] = False,
    as_json: AsJson = False,
) -> None:
    """Serve with a real challenge loaded: five systems submitted and scored; prints the board."""
    with command_output(as_json=as_json) as out:
        # A run that ends at once has no visitors: any free port will do unless one is named.
        settings = load_settings(host=host, port=0 if once and port is None else port, data_dir=data_dir)
        settings = settings.model_copy(update={"port": _require_free_port(settings.host, settings.port)})
        settings.data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        _require_unserved_folder(settings)
        signal.signal(signal.SIGTERM, _raise_keyboard_interrupt)
        with _run_service(settings) as running:
            _load_and_show_board(out, running)
            if not once:
                _serve_until_interrupted(out, running)


def _raise_keyboard_interrupt(_signal: int, _frame: FrameType | None) -> None:
    """Let SIGTERM take the way of Ctrl-C, so that the child is ended too."""
    raise KeyboardInterrupt


def _require_unserved_folder(settings: "Settings") -> None:
    """Refuse while another service holds the folder: its log is not to be written to, nor its words to be quoted."""
    from app.runtime import data_folder

    try:
        with data_folder.lock_data_folder(settings.data_dir):
            pass  # free; the child takes it, and refuses by itself where it lost a race
    except data_folder.DataFolderInUse as error:
        raise already_served_error(error) from None


def _require_free_port(host: str, port: int) -> int:
    """The port if it is free (0: any free one); else the demonstration would talk to somebody else's service."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            detail = f"Cannot listen on {host}, port {port}: {error.strerror or error}."
            raise CommandError("port_in_use", detail, "Choose another with --port, or 0 for any free one.") from None
        return int(probe.getsockname()[1])


def local_url(settings: "Settings") -> str:
    """Where the service answers this machine; a wildcard address is met on the loopback."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(settings.host, settings.host)  # noqa: S104 (compared, not bound)
    return f"http://[{host}]:{settings.port}" if ":" in host else f"http://{host}:{settings.port}"


def log_path(settings: "Settings") -> Path:
    """Where the demonstration's service writes its log."""
    return settings.data_dir / "demo.log"


@dataclass(frozen=True)
class _DemoService:
    """The service of this run: its settings, its process, and where in the log its lines begin."""

    settings: "Settings"
    child: subprocess.Popen[bytes]
    log_start: int

    def log_lines(self) -> list[str]:
        """What it has written so far."""
        with log_path(self.settings).open("rb") as log:
            log.seek(self.log_start)
            return log.read().decode("utf-8", "replace").splitlines()

    def is_listening(self) -> bool:
        """Whether it has said so itself: another service may have taken the port since it was found free."""
        return any("http://" in line and f":{self.settings.port}" in line for line in self.log_lines())

    def ended_error(self, detail: str) -> CommandError:
        """The refusal that says why it is not running, with its last words."""
        last = self.log_lines()[-5:]
        words = [detail, *(["Its last lines:"] if last else []), *last]
        return CommandError("service_ended", " ".join(words), f"See {log_path(self.settings)}.")


@contextmanager
def _run_service(settings: "Settings") -> Iterator[_DemoService]:
    """The service as a child; ended by its own pid when the block ends, however it ends."""
    command = [sys.executable, "-m", "app.cli", "serve", "--host", settings.host, "--port", str(settings.port)]
    command += ["--data-dir", str(settings.data_dir)]
    environment = {"ASSAY_CHALLENGE_CREATION": "approved"} | os.environ
    with log_path(settings).open("ab") as log:
        start = log.tell()
        child = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)  # noqa: S603
    try:
        yield _DemoService(settings, child, start)
    finally:
        _stop_process(child)


def _stop_process(child: subprocess.Popen[bytes]) -> None:
    if child.poll() is None:
        child.terminate()
    try:
        child.wait(STOP_TIMEOUT_SECONDS)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


def _load_and_show_board(out: CommandOutput, running: _DemoService) -> None:
    """Wait until the service is ready, load the example, print the board."""
    from app.actions.accounts.bootstrap import read_or_create_admin_token
    from app.cli.demo_data import DEMO_BOARD_METRICS, DemoLoader, demo_secret
    from app.package_data import package_data_folder

    with out.spinner("Starting the service"):
        _wait_until_ready(running)
    settings = running.settings
    token, _ = read_or_create_admin_token(settings)
    secret = demo_secret(settings.data_dir)
    with out.spinner("Loading the example"):
        board = DemoLoader(local_url(settings), token, package_data_folder("examples/digits"), secret, out.note).load()
    out.result(board, lambda console: object_tables.show_board(console, board, DEMO_BOARD_METRICS))


def _wait_until_ready(running: _DemoService) -> None:
    from app.client import Client

    with Client(local_url(running.settings)) as client:
        until = time.monotonic() + START_TIMEOUT_SECONDS
        while not (running.is_listening() and client.ready()):
            status = running.child.poll()
            if status is not None:
                raise running.ended_error(f"The service ended with status {status}.")
            if time.monotonic() > until:
                raise running.ended_error(f"The service was not ready after {START_TIMEOUT_SECONDS:g} s.")
            time.sleep(0.1)


def _serve_until_interrupted(out: CommandOutput, running: _DemoService) -> None:
    """Say where things are and serve until Ctrl-C or SIGTERM, which is a good end."""
    settings = running.settings
    here = local_url(settings)
    out.note(f"Serving on {here}; the API's documentation is at {here}/docs, the log in {log_path(settings)}.")
    if settings.admin_token is None and settings.admin_token_file is None:
        out.note(f"The administrator's token is in {settings.data_dir / 'admin-token'}.")
    out.note("Ctrl-C ends it.")
    try:
        status = running.child.wait()
    except KeyboardInterrupt:
        return
    raise running.ended_error(f"The service ended with status {status}.")
