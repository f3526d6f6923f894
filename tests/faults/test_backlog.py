"""The figures of the work list agree with what waits, and go on without the database."""

import contextlib
import os
import signal
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.inspection import (
    CORRECT_PREDICTIONS,
    children_of,
    frozen_scoring,
    open_pets_challenge,
    pid_of,
    submission_status,
)
from tests.live_service import MAX_WAIT_SECONDS, Live, eventually
from tests.prometheus_scrape import scrape


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Live]:
    live = Live(tmp_path / "data").start()
    yield live
    live.stop()


def test_what_waits_and_what_runs_is_counted_and_its_age_grows(service: Live) -> None:
    blue = open_pets_challenge(service)
    with frozen_scoring(service):
        for _ in range(3):
            assert blue.submit("pets", CORRECT_PREDICTIONS, wait=0).status_code == 202
        eventually(lambda: scrape(service.url).value("assay_queue_depth", status="running") == 1, "one is at work")
        found = scrape(service.url)
        assert found.value("assay_queue_depth", status="queued") == 2
        assert found.value("assay_settled_total") == 0
        age = found.value("assay_queue_oldest_seconds")
        assert age > 0
        eventually(lambda: scrape(service.url).value("assay_queue_oldest_seconds") > age, "it grows")
    eventually(lambda: scrape(service.url).value("assay_settled_total", status="finished") == 3, "all are scored")
    found = scrape(service.url)
    assert found.value("assay_queue_depth") == 0
    assert found.value("assay_queue_oldest_seconds") == 0


def test_a_crash_of_a_child_is_counted_as_a_retry(service: Live) -> None:
    blue = open_pets_challenge(service)
    with frozen_scoring(service):
        assert blue.submit("pets", CORRECT_PREDICTIONS, wait=0).status_code == 202
        eventually(lambda: scrape(service.url).value("assay_queue_depth", status="running") == 1, "it is at work")
        for child in children_of(pid_of(service)):
            os.kill(child, signal.SIGKILL)
        eventually(lambda: scrape(service.url).value("assay_retries_total", reason="crashed") == 1, "it is counted")
    eventually(lambda: scrape(service.url).value("assay_settled_total", status="finished") == 1, "it is scored")


def rename(service: Live, old: str, new: str) -> None:
    """Change the name of a table beside the service."""
    with contextlib.closing(sqlite3.connect(service.data_dir / "assay.sqlite3", timeout=MAX_WAIT_SECONDS)) as other:
        other.execute(f"ALTER TABLE {old} RENAME TO {new}")


def test_while_the_database_cannot_be_read_the_rest_is_still_told(service: Live) -> None:
    open_pets_challenge(service)
    rename(service, "score_tasks", "elsewhere")
    found = scrape(service.url)
    assert found.value("assay_database_up") == 0
    assert found.value("assay_http_requests_total") > 0
    assert {"assay_queue_depth", "assay_queue_oldest_seconds"} & found.names() == set()
    rename(service, "elsewhere", "score_tasks")
    found = scrape(service.url)
    assert found.value("assay_database_up") == 1
    assert "assay_queue_depth" in found.names()


def test_work_of_a_time_to_come_is_done_after_somebody_set_the_clock_back_and_started_the_service_again(
    service: Live,
) -> None:
    blue = open_pets_challenge(service)
    with frozen_scoring(service):
        sent = blue.submit("pets", CORRECT_PREDICTIONS, wait=0).json()["id"]
        service.kill()
    with contextlib.closing(sqlite3.connect(service.data_dir / "assay.sqlite3")) as database, database:
        database.execute("UPDATE score_tasks SET created_at = '2999-01-01 00:00:00.000000'")
    service.start()
    eventually(lambda: submission_status(service.admin(), sent) == "finished", "it is scored")
