"""One app for the tests of a file, and browsers without a screen."""

from collections.abc import Callable, Iterator

import pytest

from tests.api.in_process_app import ServedApp, app_settings, serve_app
from tests.live_service import open_challenge
from tests.web.reader import Reader

GOLD = [{"id": f"t{number}", "label": "cat" if number % 3 else "dog"} for number in range(6)]


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory, *, analyses: bool) -> Iterator[ServedApp]:
    given = app_settings(tmp_path_factory.mktemp("web") / "data", challenge_creation="any")
    with serve_app(given, analyses=analyses) as running:
        open_challenge(running.admin(), "digits", GOLD)
        yield running


@pytest.fixture
def new_reader(app: ServedApp) -> Iterator[Callable[[], Reader]]:
    """Makes browsers without scripts, each for one person."""
    readers: list[Reader] = []

    def make() -> Reader:
        readers.append(Reader(app.url))
        return readers[-1]

    yield make
    for reader in readers:
        reader.close()


@pytest.fixture
def reader(new_reader: Callable[[], Reader]) -> Reader:
    """One browser without scripts."""
    return new_reader()
