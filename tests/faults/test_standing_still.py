"""Work that stands still on a lock of the database: it holds up neither readiness nor a worker's signs of life."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import httpx
from sqlalchemy import text

from tests.api.in_process_app import app_settings, serve_app
from tests.live_service import MAX_WAIT_SECONDS, eventually

THREADS = 40  # that answer requests


def answering() -> int:
    return sum(thread.name.startswith("AnyIO worker") for thread in threading.enumerate())


def test_a_service_whose_threads_all_wait_for_their_turn_is_busy_and_not_unready(tmp_path: Path) -> None:
    settings = app_settings(tmp_path / "data", database_wait=300)
    body = {"slug": "pets", "title": "Pets", "task": "multiclass", "recipe": {"primary": "accuracy"}}
    with serve_app(settings) as service, ThreadPoolExecutor(THREADS + 5) as clients:
        turn = service.app.state.service.db._lock
        with turn:
            answers = [clients.submit(service.admin().post, "/challenges", json=body, timeout=400) for _ in range(45)]
            eventually(lambda: answering() >= THREADS, "all threads are taken")
            answer = httpx.get(f"{service.url}/readyz", timeout=MAX_WAIT_SECONDS)
            assert not any(each.done() for each in answers)
        assert answer.json()["status"] == "ready"
        assert sorted({each.result().status_code for each in answers}) == [201, 409]


def test_a_worker_gives_signs_of_life_while_no_connection_to_write_is_free(
    tmp_path: Path, postgres_database: Callable[[], str]
) -> None:
    settings = app_settings(
        tmp_path / "data",
        database_url=postgres_database(),
        files_shared=True,
        database_pool=2,
        database_wait=60,
        heartbeat_seconds=0.2,
        lease_seconds=2,
    )
    with serve_app(settings) as service, ExitStack() as connections:
        db = service.app.state.service.db

        def beat() -> object:
            with db.read() as session:
                return session.scalar(text("SELECT max(heartbeat_at) FROM workers"))

        for _ in range(settings.database_pool):
            connections.enter_context(db.engine().connect())
        before = beat()
        eventually(lambda: beat() != before, "a sign was given")
