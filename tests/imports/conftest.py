"""An archive of a phase with a history, and an installation that refuses bad ones."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.api.in_process_app import ServedApp, app_settings, serve_app
from tests.imports.source_phase import export, make_source, release_and_freeze


@pytest.fixture(scope="session")
def archives(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two archives of the source phase: one while it is open, and one after the release of its private scores."""
    folder = tmp_path_factory.mktemp("source")
    with serve_app(app_settings(folder / "data"), analyses=True) as app:
        slug = make_source(app)
        unreleased = export(app.admin(), slug, folder / "unreleased.zip")
        release_and_freeze(app, slug)
        return unreleased, export(app.admin(), slug, folder / "archive.zip")


@pytest.fixture(scope="session")
def unreleased(archives: tuple[Path, Path]) -> Path:
    """The archive of the source phase while it is open."""
    return archives[0]


@pytest.fixture(scope="session")
def archive(archives: tuple[Path, Path]) -> Path:
    """The archive of the source phase, whose private scores are released."""
    return archives[1]


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedApp]:
    """An installation without challenges."""
    with serve_app(app_settings(tmp_path_factory.mktemp("here"))) as app:
        yield app
