"""A real service in a process of its own, and clients of it."""

import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import httpx

from tests.migrated_databases import create_migrated_sqlite
from tests.preloaded_service import SERVICE_COMMAND, PreloadedProcess, is_forked, start_service

ROOT = Path(__file__).resolve().parents[1]
PASSWORD = "a password for tests"
MAX_WAIT_SECONDS = 120.0  # then a test fails as hung; no test measures how fast a machine is
ANALYSIS_SECONDS = 600.0  # analyses have a low priority; beside many others, as in a shared service, none is waited for
BACKGROUND_PACE = 0.5  # of services in tests: nobody waits seconds for a switch or the log


def free_port() -> int:
    """A port that nothing listens on, for this process alone as long as it lives: other runs of the tests get others.

    It is none of those that the system gives to whoever asks for any.
    """
    while True:
        port = 10_000 + secrets.randbelow(22_000)
        with suppress(OSError), socket.socket() as probe:
            _reserve(port)
            probe.bind(("127.0.0.1", port))
            return port


def _reserve(port: int) -> None:
    """Take the name of a port, which ends with this process; raises OSError if another process has it."""
    if sys.platform == "linux":
        with socket.socket(socket.AF_UNIX) as name:
            name.bind(f"\0assay-tests-port-{port}")
            name.detach()


def eventually(claim: Callable[[], bool], what: str, seconds: float = MAX_WAIT_SECONDS) -> None:
    """Wait until a claim holds; fail after `seconds`."""
    deadline = time.monotonic() + seconds
    while not claim():
        assert time.monotonic() < deadline, f"still not so: {what}"
        time.sleep(0.02)


class Live:
    """`assay serve` on a data folder; `stop` ends it with SIGTERM, `kill` with SIGKILL.

    A setting of None keeps the default of the service. It computes intervals and comparisons only `with_analyses`.
    """

    def __init__(self, data_dir: Path, **settings: str | None) -> None:
        self.data_dir = data_dir
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.admin_token = secrets.token_urlsafe(32)
        self._settings = settings
        self._analyses = False
        self.program = SERVICE_COMMAND
        self.umask = -1  # to start it with; -1 is that of the tests
        self.preloads_scoring = True  # its scoring processes are forks of a loader; or children that it starts itself
        self.copy_schema = True  # instead of running all revisions on a new database
        self._log = data_dir.parent / f"{data_dir.name}.log"
        self.process: subprocess.Popen[bytes] | PreloadedProcess | None = None
        self._callers: list[Caller] = []

    def start(self) -> "Live":
        """Start the service and wait until it is ready."""
        keep = {name: value for name, value in os.environ.items() if not name.startswith("ASSAY_")}
        own = {
            "ASSAY_RATE_LIMITS": "off",
            "ASSAY_MIN_FREE": "0",
            "ASSAY_WORKERS": "1",
            "ASSAY_DATABASE_WAIT": "60",  # a writer that another holds up on a busy machine
            "ASSAY_COMPARISON_INTERVAL": "0",  # no test waits a minute until a board is compared again
            "ASSAY_BACKGROUND_PACE": str(BACKGROUND_PACE),
            "ASSAY_STALL_SECONDS": "600",  # tests stop children for as long as they need
            "ASSAY_ADMIN_TOKEN": self.admin_token,
            "ASSAY_METRICS_ACCESS": "local",
        }
        settings = {f"ASSAY_{name.upper()}": value for name, value in self._settings.items()}
        env = {name: value for name, value in (keep | own | settings).items() if value is not None}
        if self.copy_schema and not self.data_dir.exists():
            create_migrated_sqlite(self.data_dir / "assay.sqlite3")
        with self._log.open("ab") as log:
            arguments = ["serve", "--port", str(self.port), "--data-dir", str(self.data_dir)]
            self.process = start_service(
                self.program,
                arguments,
                env=env,
                log=log,
                umask=self.umask,
                preloads_scoring=self.preloads_scoring,
                analyses=self._analyses,
            )
        try:
            self.wait_ready()
        except AssertionError:
            self.kill()
            raise
        return self

    def with_analyses(self, *, wanted: bool = True) -> "Live":
        """Compute intervals and comparisons from the next start on."""
        self._analyses = wanted
        return self

    def wait_ready(self, seconds: float = MAX_WAIT_SECONDS) -> None:
        """Wait until /readyz says so."""
        assert self.process is not None
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                break
            try:
                if httpx.get(f"{self.url}/readyz", timeout=5).status_code == 200:  # it answers within 3 s
                    return
            except httpx.HTTPError:
                pass
            time.sleep(0.05)
        raise AssertionError("the service did not become ready:\n" + self.log()[-3000:])

    @property
    def analyses(self) -> bool:
        """Whether it computes intervals and comparisons."""
        return self._analyses or not is_forked(self.program)

    @property
    def database_address(self) -> str:
        """The URL of its database."""
        url = self._settings.get("database_url") or ""
        return url or f"sqlite:///{self.data_dir / 'assay.sqlite3'}"

    def log(self) -> str:
        """What the service has written so far."""
        return self._log.read_text(errors="replace")

    def kill(self) -> None:
        """End the service at once."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """End the service as an operator would."""
        self._end(signal.SIGTERM)

    def _end(self, how: signal.Signals) -> None:
        for caller in self._callers:
            caller.close()
        if self.process is None:
            return
        self.process.send_signal(how)
        self.process.wait(timeout=MAX_WAIT_SECONDS)
        self.process = None

    def caller(self, token: str | None = None, email: str = "") -> "Caller":
        """A client with this token; closed when the service ends."""
        client = Caller(self.url, token, email=email)
        self._callers.append(client)
        return client

    def admin(self) -> "Caller":
        """The administrator."""
        return self.caller(self.admin_token)

    def person(self, name: str, **extra: Any) -> "Caller":
        """A new account, logged in; `approved=True` for one who may create challenges where that is allowed."""
        email = f"{name}-{secrets.token_hex(4)}@example.org"
        body = {"email": email, "name": name, "password": PASSWORD, **extra}
        (self.admin() if extra else self.caller()).post("/users", json=body).raise_for_status()
        answer = self.caller().post("/tokens", json={"email": email, "password": PASSWORD})
        answer.raise_for_status()
        return self.caller(answer.json()["token"], email=email)


class Caller(httpx.Client):
    """An HTTP client bound to /api/v1 and a token."""

    def __init__(self, url: str, token: str | None, email: str = "") -> None:
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        super().__init__(base_url=f"{url}/api/v1", headers=headers, timeout=MAX_WAIT_SECONDS)
        self.email = email

    def join(self, slug: str, team: str) -> "Caller":
        """Register for a challenge by founding a team."""
        self.post(f"/challenges/{slug}/registrations", json={"team": team}).raise_for_status()
        return self

    def submit(
        self, slug: str, predictions: Any, *, phase: str = "main", wait: int = 60, **query: Any
    ) -> httpx.Response:
        """Submit JSON predictions and wait for the final status."""
        return self.post(
            f"/challenges/{slug}/phases/{phase}/submissions",
            json=predictions,
            params=query,
            headers={"Prefer": f"wait={wait}"} if wait else {},
        )

    def board(self, slug: str, phase: str = "main", **query: Any) -> httpx.Response:
        """Read a leaderboard."""
        return self.get(f"/challenges/{slug}/phases/{phase}/leaderboard", params=query)


def wait_for_next_day(zone: str, seconds: float = 60.0) -> None:
    """If the day of this zone ends in so many seconds, wait until then: a daily quota must not begin anew amid a test."""
    now = datetime.now(ZoneInfo(zone))
    midnight = datetime.combine(now.date() + timedelta(days=1), datetime.min.time(), now.tzinfo)
    if (left := midnight.timestamp() - now.timestamp()) < seconds:
        time.sleep(left)


def open_challenge(who: Caller, slug: str, gold: Any, **fields: Any) -> dict[str, Any]:
    """A challenge with active gold; fields override the defaults of the body."""
    if any("per_day" in limit for phase in fields.get("phases", ()) for limit in phase.get("quota") or ()):
        wait_for_next_day(fields.get("timezone", "UTC"))
    recipe = {"primary": "f1_macro", "metrics": ["f1_macro", "accuracy"]}
    body = {"slug": slug, "title": slug, "task": "multiclass", "recipe": recipe, **fields}
    answer = who.post("/challenges", json=body)
    assert answer.status_code == 201, answer.text
    challenge: dict[str, Any] = answer.json()
    for phase in challenge["phases"]:
        put = who.post(f"/challenges/{slug}/phases/{phase['slug']}/gold", params={"activate": "true"}, json=gold)
        assert put.status_code == 201, put.text
    return challenge
