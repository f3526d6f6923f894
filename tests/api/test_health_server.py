"""The small server of a process without the API."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from app.runtime.health_server import HealthServer
from app.runtime.telemetry import Telemetry
from tests.live_service import MAX_WAIT_SECONDS
from tests.prometheus_scrape import scrape_once


class Process:
    """Something whose health changes."""

    def __init__(self) -> None:
        self.well = True
        self.figures = Telemetry()

    def healthy(self) -> tuple[bool, dict[str, Any]]:
        return self.well, {"status": "ok" if self.well else "stalled"}


@pytest.fixture
def process() -> Process:
    return Process()


@pytest.fixture(params=["127.0.0.1", "::1"])
def url(process: Process, request: pytest.FixtureRequest) -> Iterator[str]:
    server = HealthServer(request.param, 0, process.figures.registry, process.healthy)
    host = f"[{request.param}]" if ":" in request.param else request.param
    yield f"http://{host}:{server.port}"
    server.close()


def test_health_is_answered_with_what_the_process_says(process: Process, url: str) -> None:
    well = httpx.get(f"{url}/healthz", timeout=MAX_WAIT_SECONDS)
    assert (well.status_code, well.json()) == (200, {"status": "ok"})
    process.well = False
    unwell = httpx.get(f"{url}/healthz?again=1", timeout=MAX_WAIT_SECONDS)
    assert (unwell.status_code, unwell.json()) == (503, {"status": "stalled"})


def test_a_process_that_cannot_say_how_it_is_is_not_well() -> None:
    def broken() -> tuple[bool, dict[str, Any]]:
        raise OSError("the database is away")

    server = HealthServer("127.0.0.1", 0, Telemetry().registry, broken)
    answer = httpx.get(f"http://127.0.0.1:{server.port}/healthz", timeout=MAX_WAIT_SECONDS)
    assert (answer.status_code, answer.json()) == (503, {"status": "unknown"})
    server.close()


def test_the_figures_of_the_process_are_told(process: Process, url: str) -> None:
    process.figures.count_settlement("finished")
    process.figures.count_settlement("rejected", ("missing_id", "unknown_label"))
    found = scrape_once(url)
    assert found.value("assay_settled_total") == 2
    assert found.value("assay_rejected_files_total") == 2


def test_nothing_else_is_there_and_the_server_says_nothing_of_itself(url: str) -> None:
    answer = httpx.get(f"{url}/api/v1/challenges", timeout=MAX_WAIT_SECONDS)
    assert answer.status_code == 404
    assert "server" not in answer.headers
    assert httpx.post(f"{url}/healthz", timeout=MAX_WAIT_SECONDS).status_code == 501


def test_an_open_connection_does_not_hold_up_the_end() -> None:
    server = HealthServer("127.0.0.1", 0, Telemetry().registry, lambda: (True, {}))
    with httpx.Client(base_url=f"http://127.0.0.1:{server.port}", timeout=MAX_WAIT_SECONDS) as client:
        assert client.get("/healthz").status_code == 200
        server.close()
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"http://127.0.0.1:{server.port}/healthz", timeout=MAX_WAIT_SECONDS)
