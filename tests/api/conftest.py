"""One app for the tests of a file, with a challenge that has everything."""

from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from tests.api.in_process_app import ServedApp, app_settings, serve_app
from tests.live_service import open_challenge

GOLD = [{"id": f"t{number}", "label": "cat" if number % 3 else "dog"} for number in range(6)]


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory, *, analyses: bool) -> Iterator[ServedApp]:
    given = app_settings(tmp_path_factory.mktemp("api") / "data", max_json_body=4096, max_upload=200_000)
    with serve_app(given, analyses=analyses) as running:
        open_challenge(running.admin(), "digits", GOLD)
        yield running


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time of the cache, which stands still."""
    now = [1000.0]
    monkeypatch.setattr("app.api.caching.board_cache.time", SimpleNamespace(monotonic=lambda: now[0]))
    return now
