"""The figures of the work list agree with what waits, and go on without the database."""

import contextlib
import os
import signal
import sqlite3

import pytest

from tests.faults.inspection import (
    CORRECT_PREDICTIONS,
    children_of,
    frozen_scoring,
    open_pets_challenge,
    pid_of,
    submission_status,
)
from tests.live_service import MAX_WAIT_SECONDS, Caller, Live, eventually
from tests.prometheus_scrape import scrape, scrape_once


@pytest.fixture(scope="module")
def blue(live: Live) -> Caller:
    return open_pets_challenge(live)


def finished_count(service: Live) -> float:
    return scrape(service.url).value("assay_settled_total", status="finished")


def test_what_waits_and_what_runs_is_counted_and_its_age_grows(live: Live, blue: Caller) -> None:
    before = finished_count(live)
    with frozen_scoring(live):
        for _ in range(3):
            assert blue.submit("pets", CORRECT_PREDICTIONS, wait=0).status_code == 202
        eventually(lambda: scrape(live.url).value("assay_queue_depth", status="running") == 1, "one is at work")
        metrics = scrape(live.url)
        assert metrics.value("assay_queue_depth", status="queued") == 2
        assert metrics.value("assay_settled_total", status="finished") == before
        age = metrics.value("assay_queue_oldest_seconds")
        assert age > 0
        eventually(lambda: scrape(live.url).value("assay_queue_oldest_seconds") > age, "it grows")
    eventually(lambda: finished_count(live) == before + 3, "all are scored")
    metrics = scrape(live.url)
    assert metrics.value("assay_queue_depth") == 0
    assert metrics.value("assay_queue_oldest_seconds") == 0


def test_a_crash_of_a_child_is_counted_as_a_retry(live: Live, blue: Caller) -> None:
    before = finished_count(live)
    with frozen_scoring(live):
        assert blue.submit("pets", CORRECT_PREDICTIONS, wait=0).status_code == 202
        eventually(lambda: scrape(live.url).value("assay_queue_depth", status="running") == 1, "it is at work")
        for child in children_of(pid_of(live)):
            os.kill(child, signal.SIGKILL)
        eventually(lambda: scrape(live.url).value("assay_retries_total", reason="crashed") == 1, "it is counted")
    eventually(lambda: finished_count(live) == before + 1, "it is scored")


def rename(service: Live, old: str, new: str) -> None:
    """Change the name of a table beside the service."""
    with contextlib.closing(sqlite3.connect(service.data_dir / "assay.sqlite3", timeout=MAX_WAIT_SECONDS)) as other:
        other.execute(f"ALTER TABLE {old} RENAME TO {new}")


def test_while_the_database_cannot_be_read_the_rest_is_still_told(live: Live, blue: Caller) -> None:
    rename(live, "score_tasks", "elsewhere")
    eventually(lambda: scrape_once(live.url).value("assay_database_up") == 0, "a scrape has found it missing")
    metrics = scrape_once(live.url)
    assert metrics.value("assay_http_requests_total") > 0
    assert {"assay_queue_depth", "assay_queue_oldest_seconds"} & metrics.names() == set()
    rename(live, "elsewhere", "score_tasks")
    assert "assay_queue_depth" in scrape(live.url).names()


def test_work_of_a_time_to_come_is_done_after_somebody_set_the_clock_back_and_started_the_service_again(
    live: Live, blue: Caller
) -> None:
    with frozen_scoring(live):
        sent = blue.submit("pets", CORRECT_PREDICTIONS, wait=0).json()["id"]
        live.kill()
    with contextlib.closing(sqlite3.connect(live.data_dir / "assay.sqlite3")) as database, database:
        database.execute("UPDATE score_tasks SET created_at = '2999-01-01 00:00:00.000000'")
    live.start()
    eventually(lambda: submission_status(live.admin(), sent) == "finished", "it is scored")
