"""One service and one set of people for all journeys: each test keeps to challenges of its own."""

from collections.abc import Iterator

import pytest

from tests.faults.inspection import freeze, pid_of, thaw
from tests.journeys.support import People
from tests.live_service import Live


@pytest.fixture(scope="session")
def everybody(tmp_path_factory: pytest.TempPathFactory) -> Iterator[People]:
    """People with accounts on the service that all journeys share, on an empty data folder."""
    service = Live(tmp_path_factory.mktemp("journeys") / "data").start()
    yield People(service)
    thaw(pid_of(service))
    service.stop()


@pytest.fixture(scope="module")
def live(everybody: People) -> Iterator[Live]:
    """The shared service; those that need other settings start their own.

    While tests of other folders run, it is stopped: looking for work takes a twentieth of a processor.
    """
    pid = pid_of(everybody.live)
    thaw(pid)
    yield everybody.live
    freeze(pid)


@pytest.fixture(scope="module")
def people(everybody: People, live: Live) -> People:
    """People with accounts, created once."""
    return everybody


@pytest.fixture(scope="module")
def people_without_intervals(tmp_path_factory: pytest.TempPathFactory) -> Iterator[People]:
    """People at a service that gives intervals up at once: those of real systems take minutes, and nobody reads them."""
    service = Live(tmp_path_factory.mktemp("without-intervals") / "data", analysis_seconds="0.001").start()
    yield People(service)
    service.stop()
