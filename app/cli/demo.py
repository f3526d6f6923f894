"""The command that runs a demonstration service, with the digits challenge, five real systems and their leaderboard."""

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
    once: Annotated[bool, typer.Option("--once", help="Exit after printing the leaderboard.")] = False,
    as_json: AsJson = False,
) -> None:
    """Run a service with a real challenge and five scored systems, and print its leaderboard."""
    with command_output(as_json=as_json) as out:
        # With --once nobody else uses the service, so that any free port will do.
        settings = load_settings(host=host, port=0 if once and port is None else port, data_dir=data_dir)
        settings = settings.model_copy(update={"port": _require_free_port(settings.host, settings.port)})
        settings.data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        _require_unserved_folder(settings)
        signal.signal(signal.SIGTERM, _raise_keyboard_interrupt)
        with _run_service(settings) as service:
            board = _load_and_show_board(out, service)
            if not once:
                _serve_until_interrupted(out, service, board)


def _raise_keyboard_interrupt(_signal: int, _frame: FrameType | None) -> None:
    """Handle SIGTERM like Ctrl-C, so that the service process is stopped too."""
    raise KeyboardInterrupt


def _require_unserved_folder(settings: "Settings") -> None:
    """Refuse a folder that another service uses, before writing to that service's log or quoting from it."""
    from app.runtime import data_folder

    try:
        with data_folder.lock_data_folder(settings.data_dir):
            pass  # free now; if another process takes it first, the service process reports that
    except data_folder.DataFolderInUse as error:
        raise already_served_error(error) from None


def _require_free_port(host: str, port: int) -> int:
    """The port if it is free, for 0 any free port; otherwise the demonstration would talk to another service."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            detail = f"Cannot listen on {host}, port {port}: {error.strerror or error}."
            raise CommandError("port_in_use", detail, "Choose another port with --port; 0 for any free one.") from None
        return int(probe.getsockname()[1])


def local_url(settings: "Settings") -> str:
    """The address of the service from this machine; a wildcard address is replaced by the loopback address."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(settings.host, settings.host)  # noqa: S104 (compared, not bound)
    return f"http://[{host}]:{settings.port}" if ":" in host else f"http://{host}:{settings.port}"


def log_path(settings: "Settings") -> Path:
    """The log file of the demonstration's service."""
    return settings.data_dir / "demo.log"


@dataclass(frozen=True)
class _DemoService:
    """The service of this run: its settings, its process, and the offset of its first line in the log."""

    settings: "Settings"
    process: subprocess.Popen[bytes]
    log_start: int

    def log_lines(self) -> list[str]:
        """The lines that it has logged so far."""
        with log_path(self.settings).open("rb") as log:
            log.seek(self.log_start)
            return log.read().decode("utf-8", "replace").splitlines()

    def is_listening(self) -> bool:
        """Whether its log says so; an answer on the port is not enough, as another service may have taken it."""
        return any("http://" in line and f":{self.settings.port}" in line for line in self.log_lines())

    def ended_error(self, detail: str) -> CommandError:
        """The error for a service that is not running, with the end of its log."""
        last = self.log_lines()[-5:]
        words = [detail, *(["Last lines of its log:"] if last else []), *last]
        return CommandError("service_ended", " ".join(words), f"See {log_path(self.settings)}.")


@contextmanager
def _run_service(settings: "Settings") -> Iterator[_DemoService]:
    """Run the service as a separate process, which is stopped when the block exits."""
    command = [sys.executable, "-m", "app.cli", "serve", "--host", settings.host, "--port", str(settings.port)]
    command += ["--data-dir", str(settings.data_dir)]
    environment = {"ASSAY_CHALLENGE_CREATION": "approved"} | os.environ
    with log_path(settings).open("ab") as log:
        start = log.tell()
        process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)  # noqa: S603
    try:
        yield _DemoService(settings, process, start)
    finally:
        process.terminate()  # does nothing if it has already ended
        try:
            process.wait(STOP_TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _load_and_show_board(out: CommandOutput, service: _DemoService) -> str:
    """Wait until the service is ready, load the example, and print the leaderboard; returns the address of its page."""
    from app.actions.accounts.bootstrap import read_or_create_admin_token
    from app.cli.demo_data import DEMO_BOARD_METRICS, DemoLoader, demo_secret
    from app.package_data import package_data_folder

    with out.spinner("Starting the service"):
        _wait_until_ready(service)
    settings = service.settings
    token, _ = read_or_create_admin_token(settings)
    secret = demo_secret(settings.data_dir)
    with out.spinner("Loading the example"):
        board = DemoLoader(local_url(settings), token, package_data_folder("examples/digits"), secret, out.note).load()
    out.result(board, lambda console: object_tables.show_board(console, board, DEMO_BOARD_METRICS))
    return board_address(local_url(settings), str(board["challenge"]))


def board_address(url: str, slug: str) -> str:
    """The address of the page of a challenge's leaderboard."""
    return f"{url}/challenges/{slug}/leaderboard"


def _wait_until_ready(service: _DemoService) -> None:
    from app.client import Client

    with Client(local_url(service.settings)) as client:
        deadline = time.monotonic() + START_TIMEOUT_SECONDS
        while not (service.is_listening() and client.ready()):
            status = service.process.poll()
            if status is not None:
                raise service.ended_error(f"The service ended with status {status}.")
            if time.monotonic() > deadline:
                raise service.ended_error(f"The service was not ready after {START_TIMEOUT_SECONDS:g} s.")
            time.sleep(0.1)


def _serve_until_interrupted(out: CommandOutput, service: _DemoService, board: str) -> None:
    """Print the addresses, last that of the leaderboard's page, and serve until Ctrl-C or SIGTERM, which are successful ends."""
    from app.actions.accounts.bootstrap import first_log_in_advice
    from app.cli.demo_data import ORGANIZER_EMAIL, write_organizer_password

    settings = service.settings
    url = local_url(settings)
    out.note(f"Serving on {url}; API documentation at {url}/docs, log in {log_path(settings)}.")
    if settings.admin_token is None and settings.admin_token_file is None:
        out.note(f"The administrator's token is in {settings.data_dir / 'admin-token'}.")
        out.note(first_log_in_advice(settings))  # no full stop: it ends with a command to copy
    password = write_organizer_password(settings.data_dir)
    out.note(
        "The curves and confusion matrices of the entries, and the organizer's pages: "
        f"log in at {url}/log-in as {ORGANIZER_EMAIL} with the password in {password}."
    )
    out.note("Press Ctrl-C to stop. The leaderboard:")
    out.note(board)
    try:
        status = service.process.wait()
    except KeyboardInterrupt:
        return
    raise service.ended_error(f"The service ended with status {status}.")
