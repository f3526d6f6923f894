"""Where a storm rages: a service of several processes on PostgreSQL, or of one on SQLite."""

import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from app.actions.transparency.log_key import replace_log_key
from app.settings import Settings
from tests.cluster import Cluster, ServiceProcess
from tests.live_service import BACKGROUND_PACE
from tests.postgres import OwnPostgresServer

APIS = 2
WORKERS = 4
CRASH_CAP = 20  # by default 3; here it is no file's fault that its child is killed, and the oldest task goes first


@dataclass(frozen=True, slots=True)
class LeaseTiming:
    """How soon a silent worker loses its tasks; short ones make a storm quick."""

    heartbeat: float
    lease: float
    pace: float = 1.0
    """By which the pauses of background work are multiplied."""

    def settings(self) -> dict[str, str]:
        """As the service reads them."""
        leases = {"heartbeat_seconds": str(self.heartbeat), "lease_seconds": str(self.lease)}
        return leases | {"background_pace": str(self.pace), "comparison_interval": "60"}


SHORT_LEASES = LeaseTiming(heartbeat=0.5, lease=2.0, pace=BACKGROUND_PACE)
LONG_LEASES = LeaseTiming(heartbeat=1.0, lease=4.0)


@dataclass(slots=True)
class Deployment:
    """The processes of one service, its settings, and how to crash its database if that is a server."""

    database: str
    folder: Path
    parts: list[ServiceProcess]
    settings: Settings
    admin_token: str
    leases: LeaseTiming
    crash_database: Callable[[], None] | None = None

    @property
    def apis(self) -> list[ServiceProcess]:
        """The processes that answer requests."""
        return [part for part in self.parts if part.role != "worker"]

    @property
    def workers(self) -> list[ServiceProcess]:
        """The processes that score."""
        return [part for part in self.parts if part.role != "api"]

    def start(self) -> None:
        """Start what does not run, and wait until all is ready."""
        for part in self.parts:
            if part.process is None or part.process.poll() is not None:
                part.start()
        for part in self.parts:
            part.wait_ready()

    def logs(self) -> str:
        """What all processes have written."""
        return "\n".join(part.log() for part in self.parts)


@contextmanager
def deploy_on_postgresql(
    folder: Path, server: OwnPostgresServer, leases: LeaseTiming, workers: int = WORKERS
) -> Iterator[Deployment]:
    """Two replicas of the API and so many workers, on a database of their own; not yet started."""
    with server.database() as url:
        key = folder / "log.pem"  # with which all workers compete to sequence the transparency log
        replace_log_key(key)
        parts = Cluster(
            folder, url, crash_cap=str(CRASH_CAP), log_key_file=str(key), **leases.settings()
        ).with_analyses()
        try:
            for role in ["api"] * APIS + ["worker"] * workers:
                parts.part(role)
            settings = Settings(data_dir=folder / "data", database_url=url)
            yield Deployment(
                "postgresql", folder, parts.parts, settings, parts.admin_token, leases, crash_database=server.restart
            )
        finally:
            parts.close()


@contextmanager
def deploy_on_sqlite(folder: Path, leases: LeaseTiming) -> Iterator[Deployment]:
    """The whole service as one process with its children; not yet started."""
    token = secrets.token_urlsafe(32)
    options = {
        "data_dir": str(folder / "data"),
        "rate_limits": "off",
        "min_free": "0",
        "workers": "1",
        "crash_cap": str(CRASH_CAP),
        "log_format": "json",
        "admin_token": token,
        **leases.settings(),
    }
    variables = {f"ASSAY_{name.upper()}": value for name, value in options.items()}
    part = ServiceProcess("serve", folder, variables, analyses=True)
    try:
        yield Deployment("sqlite", folder, [part], Settings(data_dir=folder / "data"), token, leases)
    finally:
        part.kill(group=True)
