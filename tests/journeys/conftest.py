"""One service and one set of people for all journeys: each test keeps to challenges of its own."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.faults.inspection import freeze, pid_of, thaw
from tests.journeys.support import People
from tests.live_service import Live


@contextmanager
def _people(folder: Path, *, analyses: bool) -> Iterator[People]:
    service = Live(folder / "data").with_analyses(wanted=analyses).start()
    yield People(service)
    thaw(pid_of(service))
    service.stop()


@pytest.fixture(scope="session")
def everybody(tmp_path_factory: pytest.TempPathFactory) -> Iterator[People]:
    """People with accounts on the service that most journeys share, on an empty data folder."""
    with _people(tmp_path_factory.mktemp("journeys"), analyses=False) as people:
        yield people


@pytest.fixture(scope="session")
def everybody_compared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[People]:
    """The same on a service that computes intervals and comparisons."""
    with _people(tmp_path_factory.mktemp("compared"), analyses=True) as people:
        yield people


@pytest.fixture(scope="module")
def people(request: pytest.FixtureRequest, *, analyses: bool) -> Iterator[People]:
    """People with accounts, created once.

    While tests of other files run, a service is stopped: looking for work takes a twentieth of a processor.
    """
    people: People = request.getfixturevalue("everybody_compared" if analyses else "everybody")
    thaw(pid_of(people.live))
    yield people
    freeze(pid_of(people.live))


@pytest.fixture(scope="module")
def live(people: People) -> Live:
    """The shared service; those that need other settings start their own."""
    return people.live
