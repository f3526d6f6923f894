"""An archive of a phase with a history, and an installation that refuses bad ones."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.api.in_process_app import ServedApp, app_settings, serve_app
from tests.imports.source_phase import export, make_source


@pytest.fixture(scope="session")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The archive of the source phase, whose private scores are released."""
    folder = tmp_path_factory.mktemp("source")
    with serve_app(app_settings(folder / "data")) as app:
        return export(app.admin(), make_source(app), folder / "archive.zip")


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedApp]:
    """An installation without challenges."""
    with serve_app(app_settings(tmp_path_factory.mktemp("here"))) as app:
        yield app
