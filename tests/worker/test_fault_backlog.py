"""The figures of the work list agree with what waits, and go on without the database."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import text

from tests.api.in_process_app import ServedApp, app_settings, serve_app
from tests.faults.inspection import CORRECT_PREDICTIONS, GOLD, frozen_children, has_unread_request
from tests.live_service import eventually, open_challenge
from tests.prometheus_scrape import scrape, scrape_once
from tests.settle import settle


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedApp]:
    with serve_app(app_settings(tmp_path_factory.mktemp("backlog") / "data", scoring_seconds=600)) as service:
        open_challenge(service.admin(), "pets", GOLD)
        send(service, wait=60)  # so that the scoring process has started
        yield service


def send(service: ServedApp, wait: int = 0) -> None:
    answer = service.admin().submit("pets", CORRECT_PREDICTIONS, team="Blue", wait=wait)
    assert answer.status_code == (201 if wait else 202), answer.text


def depth(service: ServedApp, status: str) -> float:
    return scrape(service.url).value("assay_queue_depth", status=status)


def finished_count(service: ServedApp) -> float:
    return scrape(service.url).value("assay_settled_total", status="finished")


@contextmanager
def one_at_work(service: ServedApp, count: int) -> Iterator[list[int]]:
    """So many submissions, of which the first is being scored as long as the block lasts."""
    with frozen_children(os.getpid()) as children:
        for _ in range(count):
            send(service)
        eventually(lambda: any(map(has_unread_request, children)), "one is at work")
        yield children


def test_what_waits_and_what_runs_is_counted_and_its_age_grows(site: ServedApp) -> None:
    before = finished_count(site)
    with one_at_work(site, 3):
        assert (depth(site, "running"), depth(site, "queued")) == (1, 2)
        assert finished_count(site) == before
        age = scrape(site.url).value("assay_queue_oldest_seconds")
        assert age > 0
        eventually(lambda: scrape(site.url).value("assay_queue_oldest_seconds") > age, "it grows")
    settle(site)
    metrics = scrape(site.url)
    assert metrics.value("assay_settled_total", status="finished") == before + 3
    assert metrics.value("assay_queue_depth") == 0
    assert metrics.value("assay_queue_oldest_seconds") == 0


def test_a_crash_of_a_child_is_counted_as_a_retry(site: ServedApp) -> None:
    before = finished_count(site)
    with one_at_work(site, 1) as children:
        for child in children:
            os.kill(child, signal.SIGKILL)
        eventually(lambda: scrape(site.url).value("assay_retries_total", reason="crashed") == 1, "it is counted")
    settle(site)
    assert finished_count(site) == before + 1


def test_while_the_database_cannot_be_read_the_rest_is_still_told(site: ServedApp) -> None:
    rename(site, "score_tasks", "elsewhere")
    eventually(lambda: scrape_once(site.url).value("assay_database_up") == 0, "a scrape has found it missing")
    metrics = scrape_once(site.url)
    assert metrics.value("assay_http_requests_total") > 0
    assert {"assay_queue_depth", "assay_queue_oldest_seconds"} & metrics.names() == set()
    rename(site, "elsewhere", "score_tasks")
    assert "assay_queue_depth" in scrape(site.url).names()


def rename(service: ServedApp, old: str, new: str) -> None:
    """Change the name of a table."""
    execute(service, f"ALTER TABLE {old} RENAME TO {new}")


def execute(service: ServedApp, statement: str, **values: Any) -> None:
    with service.app.state.service.db.engine().begin() as connection:
        connection.execute(text(statement), values)
