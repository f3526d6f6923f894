"""The real app in a thread of the test's own process, for faults that have to be made from inside."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI

from app.main import build_app
from app.settings import Settings
from app.web_server import uvicorn_config
from tests.live_service import MAX_WAIT_SECONDS, Caller
from tests.migrated_databases import migrate_by_copy

ADMIN_TOKEN = "an administrator's token for tests only"


def app_settings(data_dir: Path, **given: Any) -> Settings:
    """Settings for one test: no limits of rate or disk unless given."""
    own: dict[str, Any] = {
        "rate_limits": "off",
        "min_free": 0,
        "workers": 1,
        "admin_token": ADMIN_TOKEN,
        "metrics_access": "local",
        "stall_seconds": 600.0,  # tests hold children up
    }
    return Settings(**own | {"data_dir": data_dir} | given)


class ServedApp:
    """An app that listens on a free port."""

    def __init__(self, app: FastAPI, url: str) -> None:
        self.app = app
        self.url = url
        self._callers: list[Caller] = []

    def caller(self, token: str | None = None) -> Caller:
        """Someone who talks to it; closed with it."""
        made = Caller(self.url, token)
        self._callers.append(made)
        return made

    def admin(self) -> Caller:
        """The administrator."""
        return self.caller(ADMIN_TOKEN)

    def close(self) -> None:
        """Hang up."""
        for caller in self._callers:
            caller.close()


@contextmanager
def serve_app(given: Settings, now: Callable[[datetime], datetime] | None = None) -> Iterator[ServedApp]:
    """Serve the app that the settings describe while the block lasts; `now` shifts its calendar."""
    migrate_by_copy(given)
    app = build_app(given, now=now)
    config = uvicorn_config(app, given)
    config.port = 0
    listener = config.bind_socket()
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    deadline = time.monotonic() + MAX_WAIT_SECONDS
    while not server.started:
        assert thread.is_alive(), "the app did not start"
        assert time.monotonic() < deadline, "the app is not ready yet"
        time.sleep(0.01)
    made = ServedApp(app, f"http://127.0.0.1:{listener.getsockname()[1]}")
    try:
        yield made
    finally:
        made.close()
        server.should_exit = True
        thread.join(MAX_WAIT_SECONDS)
        assert not thread.is_alive()
        listener.close()
