"""What operators see of a database that is away: health, metrics, and a log that stays small."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from tests.cluster import Cluster, ServiceProcess, cluster
from tests.faults.inspection import frozen_with_children
from tests.live_service import MAX_WAIT_SECONDS, eventually
from tests.postgres import OwnPostgresServer
from tests.prometheus_scrape import Scrape
from tests.store.test_fault_readiness import is_unready_for, ready

PATIENT = {"lease_seconds": "600", "statement_seconds": "600", "database_wait": "600"}
"""Nothing but the limits of monitoring can end a wait for the database while a test waits."""
LOOPS_THAT_FAIL = {
    "round_failed",
    "claim_failed",
    "queue_engine_failed",
    "queue_engine_restarted",
    "listener_lost_the_database",
}


@pytest.fixture(scope="module")
def machines(
    tmp_path_factory: pytest.TempPathFactory, own_postgres: OwnPostgresServer, postgres_database: Callable[[], str]
) -> Iterator[Cluster]:
    with cluster(tmp_path_factory.mktemp("lost"), postgres_database(), **PATIENT) as running:
        yield running.start(apis=1, workers=1)


def is_healthy(worker: ServiceProcess) -> bool:
    return httpx.get(f"{worker.url}/healthz", timeout=MAX_WAIT_SECONDS).status_code == 200


def database_metrics(part: ServiceProcess, **headers: str) -> tuple[float, bool]:
    """Whether the database is up, by /metrics, and whether its metrics are there."""
    answer = httpx.get(f"{part.url}/metrics", headers=headers, timeout=MAX_WAIT_SECONDS)
    scraped = Scrape(answer.raise_for_status().text)
    return scraped.value("assay_database_up"), "assay_queue_depth" in scraped.names()


def lines(part: ServiceProcess) -> list[dict[str, Any]]:
    """The lines of a log that are complete."""
    return [json.loads(line) for line in part.log().split("\n")[:-1]]


def test_a_lost_database_is_logged_once_whatever_fails_and_so_is_its_return(
    machines: Cluster, own_postgres: OwnPostgresServer
) -> None:
    (worker,), (api,) = machines.workers, machines.apis
    eventually(lambda: is_healthy(worker), "the worker reaches the database")
    before = {part: len(lines(part)) for part in (worker, api)}
    own_postgres.stop("immediate")
    try:
        eventually(lambda: not is_healthy(worker), "the worker misses the database")
        refused = [httpx.get(f"{api.url}/api/v1/challenges", timeout=MAX_WAIT_SECONDS) for _ in range(30)]
        assert {each.json()["code"] for each in refused} == {"database_away"}
        eventually(lambda: "database_away" in worker.log(), "the worker says so")
    finally:
        own_postgres.start()
    for part in (worker, api):
        eventually(lambda log=part.log: "database_back" in log(), "it says that it is back")  # type: ignore[misc]
        since = lines(part)[before[part] :]
        assert not any(line.get("code") == "database_away" for line in since)
        assert {line["event"] for line in since}.isdisjoint(LOOPS_THAT_FAIL)
        assert len(since) <= 10, since
    held_back = [line["held_back"] for line in lines(api)[before[api] :] if "held_back" in line]
    assert sum(each.get("request", 0) for each in held_back) == len(refused)


def test_a_line_of_a_request_that_works_is_written_again(machines: Cluster) -> None:
    answer = machines.admin().get("/challenges").raise_for_status()

    def written() -> list[dict[str, Any]]:
        return [line for line in lines(machines.apis[0]) if line.get("request") == answer.headers["x-request-id"]]

    eventually(lambda: bool(written()), "the line is written, after the answer")
    assert [line["status"] for line in written()] == [200]


def test_a_database_that_falls_silent_makes_workers_unhealthy_and_keeps_no_scrape_waiting(
    machines: Cluster, own_postgres: OwnPostgresServer
) -> None:
    (worker,), (api,) = machines.workers, machines.apis
    token = machines.admin().headers["Authorization"]
    stored = machines.person("Ada").headers["Authorization"]
    eventually(lambda: is_healthy(worker), "the worker reaches the database")
    eventually(lambda: database_metrics(worker) == database_metrics(api) == (1, True), "metrics are complete")
    with frozen_with_children(own_postgres.pid):
        eventually(lambda: not is_healthy(worker), "the worker misses the database")
        for _ in range(3):  # the first ones still wait for an answer while the next come
            assert database_metrics(worker) == database_metrics(api, Authorization=token) == (0, False)
        eventually(lambda: is_unready_for(api.url, "database", "schema"), "the API misses the database alone")
        unknown = httpx.get(f"{api.url}/metrics", headers={"Authorization": stored}, timeout=MAX_WAIT_SECONDS)
        assert (unknown.status_code, unknown.json()["code"]) == (503, "database_away")
    eventually(lambda: is_healthy(worker), "the worker reaches the database again")
    eventually(lambda: ready(api.url)[0] == 200, "the API is ready again")
    eventually(lambda: database_metrics(worker) == database_metrics(api) == (1, True), "metrics are complete again")
