"""Several machines on one: APIs and workers as processes of their own, on one PostgreSQL and one store of files."""

import os
import secrets
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import ClassVar

import httpx
import psycopg

from app.settings import Settings
from tests import preloaded_scoring
from tests.live_service import BACKGROUND_PACE, MAX_WAIT_SECONDS, PASSWORD, Caller, free_port
from tests.migrated_databases import migrate_by_copy
from tests.preloaded_service import SERVICE_COMMAND, PreloadedProcess, is_forked, start_service


class ServiceProcess:
    """One process of the service: `api`, `worker`, or all of it (`serve`)."""

    preloads_scoring: ClassVar[bool] = True
    """Whether its scoring processes are forks of a loader instead of children that it starts itself."""

    def __init__(self, role: str, folder: Path, settings: dict[str, str], *, analyses: bool = False) -> None:
        self.role = role
        self.port = free_port()
        self.program = SERVICE_COMMAND
        self.analyses = analyses
        self._settings = settings
        self._folder = folder
        self._log = folder / f"{role}-{self.port}.log"
        self._born = 0  # bytes of the log that earlier lives wrote
        self.process: subprocess.Popen[bytes] | PreloadedProcess | None = None

    @property
    def url(self) -> str:
        """Where it answers; a worker answers /healthz and /metrics."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        """Its process id; it leads a process group of its own."""
        assert self.process is not None
        return self.process.pid

    def start(self) -> "ServiceProcess":
        """Start it, without waiting until it is ready."""
        keep = {name: value for name, value in os.environ.items() if not name.startswith(("ASSAY_", "AWS_"))}
        name = "ASSAY_WORKER_PORT" if self.role == "worker" else "ASSAY_PORT"
        self._born = self._log.stat().st_size if self._log.exists() else 0
        with self._log.open("ab") as log:
            env = keep | self._settings | {name: str(self.port)}
            self.process = start_service(
                self.program,
                [self.role],
                env=env,
                log=log,
                new_session=True,
                preloads_scoring=self.preloads_scoring,
                analyses=self.analyses,
            )
        return self

    def wait_ready(self) -> "ServiceProcess":
        """Wait until an API serves, or a worker has said that it works."""
        deadline = time.monotonic() + MAX_WAIT_SECONDS
        while not self.is_ready():
            assert self.process is not None
            assert self.process.poll() is None, f"{self.role} ended:\n{self.log()[-3000:]}"
            assert time.monotonic() < deadline, f"{self.role} is not ready:\n{self.log()[-3000:]}"
            time.sleep(0.05)
        return self

    def is_ready(self) -> bool:
        """Whether an API serves, or a worker has said that it works."""
        if self.role == "worker":
            return self.begun
        with suppress(httpx.HTTPError):
            return httpx.get(f"{self.url}/readyz", timeout=5, trust_env=False).status_code == 200
        return False

    @property
    def begun(self) -> bool:
        """Whether this life of it got so far as to say that it works."""
        written = self._log.read_bytes()[self._born :] if self._log.exists() else b""
        return (b'"worker_started"' if self.role == "worker" else b" listens on ") in written

    def log(self) -> str:
        """What it has written so far, over all its lives."""
        return self._log.read_text(errors="replace") if self._log.exists() else ""

    def kill(self, *, group: bool = False) -> None:
        """kill -9, of its children too if said."""
        self._end(signal.SIGKILL, group=group)

    def stop(self) -> None:
        """End it as an operator would."""
        self._end(signal.SIGTERM)

    def _end(self, how: signal.Signals, *, group: bool = False) -> None:
        if self.process is None:
            return
        forks = preloaded_scoring.forks_of(self.pid) if group else []  # which are in no group with it
        with suppress(ProcessLookupError):
            os.killpg(self.pid, how) if group else self.process.send_signal(how)
        for fork in forks:
            with suppress(ProcessLookupError):
                os.kill(fork, how)
        self.process.wait(timeout=MAX_WAIT_SECONDS)
        self.process = None


class Cluster:
    """Parts that share a database and a store of files; they compute intervals and comparisons only `with_analyses`."""

    def __init__(self, folder: Path, database_url: str, **settings: str) -> None:
        self.folder = folder
        self._analyses = False
        self.database_url = self.database_address = database_url
        self.admin_token = secrets.token_urlsafe(32)
        variables = {f"ASSAY_{name.upper()}": value for name, value in settings.items()}
        self.settings = {
            "ASSAY_DATA_DIR": str(folder / "data"),
            "ASSAY_DATABASE_URL": database_url,
            "ASSAY_RATE_LIMITS": "off",
            "ASSAY_MIN_FREE": "0",
            "ASSAY_WORKERS": "1",
            "ASSAY_DATABASE_WAIT": "60",  # a writer that another holds up on a busy machine
            "ASSAY_COMPARISON_INTERVAL": "0",  # no test waits a minute until a board is compared again
            "ASSAY_BACKGROUND_PACE": str(BACKGROUND_PACE),
            "ASSAY_STALL_SECONDS": "600",  # tests stop children for as long as they need
            "ASSAY_LOG_FORMAT": "json",
            "ASSAY_ADMIN_TOKEN": self.admin_token,
            "ASSAY_METRICS_ACCESS": "local",
            **({} if "ASSAY_FILES_URL" in variables else {"ASSAY_FILES_SHARED": "true"}),
            **variables,
        }
        self.parts: list[ServiceProcess] = []
        self._callers: list[Caller] = []
        self._connection: psycopg.Connection | None = None
        migrate_by_copy(Settings(data_dir=folder / "data", database_url=database_url))

    def with_analyses(self) -> "Cluster":
        """Have the parts that are made from now on compute intervals and comparisons."""
        self._analyses = True
        return self

    def part(self, role: str, **settings: str) -> ServiceProcess:
        """Another process, not yet started."""
        variables = {f"ASSAY_{name.upper()}": value for name, value in settings.items()}
        process = ServiceProcess(role, self.folder, self.settings | variables, analyses=self._analyses)
        self.parts.append(process)
        return process

    def start(self, *, apis: int = 1, workers: int = 1, **settings: str) -> "Cluster":
        """Start so many of each, and wait until all are ready."""
        roles = ["api"] * apis + ["worker"] * workers
        for started in [self.part(role, **settings).start() for role in roles]:
            started.wait_ready()
        return self

    @property
    def analyses(self) -> bool:
        """Whether a part of it computes intervals and comparisons."""
        return any(part.analyses or not is_forked(part.program) for part in self.parts)

    @property
    def apis(self) -> list[ServiceProcess]:
        """The processes that answer requests."""
        return [part for part in self.parts if part.role != "worker"]

    @property
    def workers(self) -> list[ServiceProcess]:
        """The processes that only score."""
        return [part for part in self.parts if part.role == "worker"]

    def restart_ended(self) -> None:
        """Start the processes that have ended, and wait until they are ready."""
        ended = [part for part in self.parts if part.process is None or part.process.poll() is not None]
        for part in ended:
            part.start()
        for part in ended:
            part.wait_ready()

    def caller(self, token: str | None, api: int = 0) -> Caller:
        """Someone who talks to one of the APIs."""
        client = Caller(self.apis[api].url, token)
        self._callers.append(client)
        return client

    def admin(self, api: int = 0) -> Caller:
        """The administrator."""
        return self.caller(self.admin_token, api)

    def person(self, name: str, api: int = 0) -> Caller:
        """A new account, logged in at one of the APIs."""
        body = {"email": f"{name}-{secrets.token_hex(4)}@example.org", "name": name, "password": PASSWORD}
        self.admin(api).post("/users", json=body).raise_for_status()
        answer = self.caller(None, api).post("/tokens", json={"email": body["email"], "password": PASSWORD})
        return self.caller(answer.raise_for_status().json()["token"], api)

    def rows(self, query: str) -> list[tuple[object, ...]]:
        """The rows of a query, read beside the service; asked again on a new connection if the last one was cut."""
        if self._connection is not None and not self._connection.closed:
            with suppress(psycopg.OperationalError):
                return self._connection.execute(query.encode()).fetchall()
            self._connection.close()
        self._connection = psycopg.connect(self.database_url.replace("+psycopg", ""), autocommit=True)
        return self._connection.execute(query.encode()).fetchall()

    def close(self) -> None:
        """End everything."""
        for caller in self._callers:
            caller.close()
        for part in self.parts:
            part.kill(group=True)
        if self._connection is not None:
            self._connection.close()


@contextmanager
def cluster(folder: Path, database_url: str, **settings: str) -> Iterator[Cluster]:
    """A cluster without parts, which are ended with the block."""
    parts = Cluster(folder, database_url, **settings)
    try:
        yield parts
    finally:
        parts.close()
