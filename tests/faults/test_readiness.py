"""/readyz misses a bucket that does not answer, and a worker says that it takes no work."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from app.files.folder import FolderFileStore
from app.settings import Settings
from app.store.session import Database
from app.worker.worker import Worker, create_telemetry
from tests import preloaded_scoring
from tests.api.in_process_app import serve_app
from tests.cluster import Cluster, cluster
from tests.faults.inspection import CORRECT_PREDICTIONS, GOLD
from tests.live_service import eventually, open_challenge
from tests.s3_servers import FaultyS3Proxy, S3Server
from tests.store.test_fault_readiness import is_unready_for, ready


def test_a_bucket_that_does_not_answer_makes_it_unready_until_it_does(moto: S3Server, tmp_path: Path) -> None:
    door = FaultyS3Proxy(moto)
    settings = moto.settings(tmp_path / "data", endpoint=door.url, admin_token="x" * 40, workers=1)
    try:
        with serve_app(settings) as service:
            eventually(lambda: ready(service.url)[0] == 200, "all is well")
            door.refuse()
            eventually(lambda: ready(service.url)[0] == 503, "the bucket is missed")
            eventually(lambda: is_unready_for(service.url, "files"), "the bucket alone is missed")
            door.heal()
            eventually(lambda: ready(service.url)[0] == 200, "the bucket is back")
    finally:
        door.stop()


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
    monkeypatch.setattr("app.worker.worker.STUCK_TIMEOUT_SECONDS", 2.0)
    with cluster(tmp_path, postgres_database(), drain_seconds="1") as machines:
        machines.start(apis=1, workers=0)
        open_challenge(machines.admin(), "pets", GOLD)
        names = {name.removeprefix("ASSAY_").lower(): value for name, value in machines.settings.items()}
        settings = Settings.model_validate(names)
        preloaded = preloaded_scoring.use_preloaded_scoring(preloaded_scoring.loader())
        with preloaded, working(settings, files=FolderFileStore(settings)) as worker:
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
