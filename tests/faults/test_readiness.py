"""/readyz tells what is wrong, has an end, and does not fail for a long queue; a worker answers for itself likewise."""

import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from app.files.folder import FolderFileStore
from app.runtime.single_flight import SingleFlight, call_with_timeout
from app.settings import Settings
from app.store.session import Database
from app.worker.worker import Worker, create_telemetry
from tests.api.in_process_app import app_settings, serve_app
from tests.cluster import Cluster, cluster
from tests.faults.inspection import CORRECT_PREDICTIONS, GOLD, frozen_scoring, open_pets_challenge
from tests.live_service import MAX_WAIT_SECONDS, Live, eventually, open_challenge
from tests.postgres import OwnPostgresServer
from tests.s3_servers import FaultyS3Proxy, S3Server


def ready(url: str) -> tuple[int, dict[str, str]]:
    answer = httpx.get(f"{url}/readyz", timeout=MAX_WAIT_SECONDS)
    return answer.status_code, answer.json()["checks"]


def _all_but(url: str, *missed: str) -> bool:
    """Whether it is unready for these parts alone."""
    status, checks = ready(url)
    return status == 503 and {name for name, status_text in checks.items() if status_text != "ok"} == set(missed)


def test_folder_schema_and_space_are_told_apart(tmp_path: Path) -> None:
    settings = app_settings(tmp_path / "data")
    with serve_app(settings) as service:
        assert ready(service.url) == (200, dict.fromkeys(("database", "schema", "files", "space"), "ok"))
        uploads = settings.files_dir / "uploads"
        uploads.rename(settings.files_dir / "elsewhere")
        status, checks = ready(service.url)
        assert (status, checks["space"]) == (503, "ok")
        assert "folder of uploads is missing" in checks["files"]
        shutil.move(settings.files_dir / "elsewhere", uploads)
        with Database(settings).engine().begin() as connection:
            connection.exec_driver_sql("UPDATE alembic_version SET version_num = '0001'")
        status, checks = ready(service.url)
        assert (status, checks["database"], checks["files"]) == (503, "ok", "ok")
        assert "assay migrate" in checks["schema"]
        with Database(settings).engine().begin() as connection:
            connection.exec_driver_sql("UPDATE alembic_version SET version_num = 'of a later version'")
        assert ready(service.url)[1]["schema"] == "ok"  # an upgrade is under way, and this process goes on


def test_a_bucket_that_does_not_answer_makes_it_unready_until_it_does(moto: S3Server, tmp_path: Path) -> None:
    door = FaultyS3Proxy(moto)
    settings = moto.settings(tmp_path / "data", endpoint=door.url, admin_token="x" * 40, workers=1)
    try:
        with serve_app(settings) as service:
            eventually(lambda: ready(service.url)[0] == 200, "all is well")
            door.refuse()
            eventually(lambda: ready(service.url)[0] == 503, "the bucket is missed")
            eventually(lambda: _all_but(service.url, "files"), "the bucket alone is missed")
            door.heal()
            eventually(lambda: ready(service.url)[0] == 200, "the bucket is back")
    finally:
        door.stop()


def test_a_long_queue_is_no_reason_to_be_unready(tmp_path: Path) -> None:
    service = Live(tmp_path / "data").start()
    try:
        blue = open_pets_challenge(service)
        with frozen_scoring(service):
            for _ in range(5):
                assert blue.submit("pets", CORRECT_PREDICTIONS, wait=0).status_code == 202
            eventually(lambda: ready(service.url)[0] == 200, "it is ready")
    finally:
        service.stop()


def test_a_call_that_hangs_is_waited_for_only_so_long_and_not_made_again_meanwhile() -> None:
    calls, end = [], threading.Event()

    def hang() -> int:
        calls.append(1)
        assert end.wait(MAX_WAIT_SECONDS)
        return len(calls)

    call = SingleFlight(hang)
    for _ in range(3):
        with pytest.raises(TimeoutError):
            call.begin().result(0.01)
    assert calls == [1]
    pending = call.begin()
    end.set()
    assert pending.result(MAX_WAIT_SECONDS) == 1
    assert call.begin().result(MAX_WAIT_SECONDS) == 2
    with pytest.raises(ZeroDivisionError):
        call_with_timeout(MAX_WAIT_SECONDS, lambda: 1 // 0)


def test_a_worker_says_whether_it_reaches_the_database(own_postgres: OwnPostgresServer, tmp_path: Path) -> None:
    with own_postgres.database() as url, cluster(tmp_path, url, heartbeat_seconds="0.5", lease_seconds="2") as machines:
        worker = machines.start(apis=1, workers=1).workers[0]

        def health() -> int:
            return httpx.get(f"{worker.url}/healthz", timeout=MAX_WAIT_SECONDS).status_code

        eventually(lambda: health() == 200, "it gives signs of life")
        own_postgres.stop()
        try:
            eventually(lambda: health() == 503, "it gives no sign of life")
            eventually(
                lambda: _all_but(machines.apis[0].url, "database", "schema"), "the API misses the database alone"
            )
        finally:
            own_postgres.start()
        eventually(lambda: health() == 200, "it has found the database again")
        eventually(lambda: ready(machines.apis[0].url)[0] == 200, "so has the API")


@contextmanager
def working(settings: Settings, **parts: Any) -> Iterator[Worker]:
    """A worker in threads of the test's own process."""
    db = Database(settings)
    worker = Worker(
        settings,
        db,
        parts["files"],
        settings.data_dir,
        on_settled=lambda _: None,
        figures=create_telemetry(settings, db),
    )
    worker.start()
    try:
        yield worker
    finally:
        worker.stop()
        db.close()


def test_a_worker_whose_engine_takes_nothing_says_so(
    postgres_database: Callable[[], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.worker.worker.STUCK_TIMEOUT_SECONDS", 5.0)
    with cluster(tmp_path, postgres_database(), drain_seconds="1") as machines:
        machines.start(apis=1, workers=0)
        open_challenge(machines.admin(), "pets", GOLD)
        names = {name.removeprefix("ASSAY_").lower(): value for name, value in machines.settings.items()}
        settings = Settings.model_validate(names)
        with working(settings, files=FolderFileStore(settings)) as worker:
            assert machines.admin().submit("pets", CORRECT_PREDICTIONS, team="Blue").status_code == 201
            rename_fetching(machines, "procrastinate_fetch_job", "broken_fetch_job")
            assert machines.admin().submit("pets", CORRECT_PREDICTIONS, team="Blue", wait=0).status_code == 202
            eventually(lambda: worker.fault(worker._db) == "Tasks are due, but the worker claims none.", "it notices")
            rename_fetching(machines, "broken_fetch_job", "procrastinate_fetch_job")
            eventually(lambda: worker.fault(worker._db) is None, "it takes work again")
        eventually(lambda: logging_in(machines) == 0, "no line is left that was cut off while it logged in")


def logging_in(machines: Cluster) -> int:
    """How many lines PostgreSQL waits for that have not said who they are; it gives each of them a minute."""
    with psycopg.connect(machines.database_url.replace("+psycopg", "")) as connection:
        found = connection.execute("SELECT count(*) FROM pg_stat_activity WHERE state = 'starting'").fetchone()
    assert found is not None
    return int(found[0])


def rename_fetching(machines: Cluster, before: str, after: str) -> None:
    """Rename the functions by which the engine takes its jobs."""
    with psycopg.connect(machines.database_url.replace("+psycopg", ""), autocommit=True) as connection:
        found = connection.execute(
            "SELECT oid::regprocedure::text, proname FROM pg_proc WHERE starts_with(proname, %s)", [before]
        ).fetchall()
        assert found
        for signature, name in found:
            connection.execute(f"ALTER FUNCTION {signature} RENAME TO {name.replace(before, after)}".encode())
