"""One service and one set of people for all journeys: each test keeps to challenges of its own."""

from collections.abc import Iterator

import pytest

from tests.journeys.support import People
from tests.live_service import Live


@pytest.fixture(scope="session")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """The service that all journeys share, on an empty data folder; those that need other settings start their own."""
    service = Live(tmp_path_factory.mktemp("journeys") / "data").start()
    yield service
    service.stop()


@pytest.fixture(scope="session")
def people(live: Live) -> People:
    """People with accounts, created once."""
    return People(live)
