"""The real app in a thread of the test process, so that tests can reach into it."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from datetime import datetime
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

import uvicorn
from fastapi import FastAPI

from app.actions.accounts import passwords
from app.actions.operations import check_readiness, read_backlog
from app.main import build_app
from app.settings import Settings
from app.web import submission_view
from app.web_server import uvicorn_config
from app.worker.process_pool import ScoringProcessPool
from tests import preloaded_scoring
from tests.live_service import BACKGROUND_PACE, MAX_WAIT_SECONDS, Caller
from tests.migrated_databases import migrate_by_copy
from tests.preloaded_service import cheap_password_hashing, no_analyses

ROOT = Path(__file__).resolve().parents[2]
WAITS: list[tuple[ModuleType, str]] = [
    (check_readiness, "READINESS_TIMEOUT_SECONDS"),
    (read_backlog, "MAX_WAIT_SECONDS"),
    (submission_view, "REPORT_WAIT_SECONDS"),
]
"""For how long the service waits before it answers without something."""
ADMIN_TOKEN = "an administrator's token for tests only"
WORKER_JOBS = (
    *("analyst", "rescorer", "raise_scorer", "switch_boards", "advance", "issue_missing", "complete_boards"),
    *("sequence_waiting", "cosign_latest", "import_waiting", "sweep", "forget_keys", "remove_unscored"),
)
"""How the threads of a worker are called that look for work now and then, whatever requests do."""


def openapi_document() -> dict[str, Any]:
    """The OpenAPI document as docs/build.py writes it: building it takes a second, at each collection of tests."""
    document: dict[str, Any] = json.loads((ROOT / "docs" / "openapi.json").read_text(encoding="utf-8"))
    return document


def app_settings(data_dir: Path, **settings: Any) -> Settings:
    """Settings for one test: by default without limits of rate or disk."""
    defaults: dict[str, Any] = {
        "rate_limits": "off",
        "min_free": 0,
        "workers": 1,
        "admin_token": ADMIN_TOKEN,
        "metrics_access": "local",
        "database_wait": 60.0,  # a writer that another holds up on a busy machine
        "stall_seconds": 600.0,  # tests hold children up
        "comparison_interval": 0.0,  # no test waits a minute until a board is compared again
        "background_pace": BACKGROUND_PACE,
    }
    return Settings(**defaults | {"data_dir": data_dir} | settings)


class ServedApp:
    """An app that listens on a free port."""

    def __init__(self, app: FastAPI, url: str, settings: Settings, *, analyses: bool) -> None:
        self.app = app
        self.analyses = analyses
        self.url = url
        self.database_address = settings.database
        self._callers: list[Caller] = []

    def caller(self, token: str | None = None) -> Caller:
        """A client with this token; closed with the app."""
        client = Caller(self.url, token)
        self._callers.append(client)
        return client

    def admin(self) -> Caller:
        """The administrator."""
        return self.caller(ADMIN_TOKEN)

    def close(self) -> None:
        """Close all clients."""
        for caller in self._callers:
            caller.close()


@contextmanager
def serve_app(
    settings: Settings,
    now: Callable[[datetime], datetime] | None = None,
    *,
    real_hashing: bool = False,
    analyses: bool = False,
) -> Iterator[ServedApp]:
    """Serve an app with these settings while the block lasts; `now` shifts its clock.

    Scoring processes start with their first request. Password hashes are cheap unless `real_hashing` is set. Intervals and
    comparisons are computed only with `analyses`. Readiness, metrics and pages wait for the database and for reports as long
    as a test does: a busy machine is not a database that is away.
    """
    migrate_by_copy(settings)
    with ExitStack() as patches:
        patches.enter_context(preloaded_scoring.use_preloaded_scoring(preloaded_scoring.loader()))
        for module, limit in WAITS:
            patches.enter_context(mock.patch.object(module, limit, MAX_WAIT_SECONDS))
        if not real_hashing:
            patches.enter_context(mock.patch.multiple(passwords, **cheap_password_hashing()))
        yield from _serve(settings, now, analyses=analyses)


def _serve(settings: Settings, now: Callable[[datetime], datetime] | None, *, analyses: bool) -> Iterator[ServedApp]:
    with nullcontext() if analyses else no_analyses():
        app = build_app(settings, now=now)
    config = uvicorn_config(app, settings)
    config.port = 0
    listener = config.bind_socket()
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    with mock.patch.object(ScoringProcessPool, "warm_up"):
        thread.start()
        deadline = time.monotonic() + MAX_WAIT_SECONDS
        while not server.started:
            assert thread.is_alive(), "the app did not start"
            assert time.monotonic() < deadline, "the app is not ready yet"
            time.sleep(0.01)
    served = ServedApp(app, f"http://127.0.0.1:{listener.getsockname()[1]}", settings, analyses=analyses)
    try:
        yield served
    finally:
        served.close()
        server.should_exit = True
        thread.join(MAX_WAIT_SECONDS)
        assert not thread.is_alive()
        listener.close()
