"""A database with the newest schema, of either kind."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from app.settings import Settings
from app.store.migrate import upgrade
from app.store.session import Database
from tests.postgres import Server


@pytest.fixture(params=["sqlite", "postgresql"])
def given(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Settings]:
    """Settings with an empty database, one of each kind in turn."""
    if request.param == "sqlite":
        yield Settings(data_dir=tmp_path / "data")
        return
    server: Server = request.getfixturevalue("postgres")  # asked for here, so that SQLite alone starts none
    with server.database() as url:
        yield Settings(data_dir=tmp_path / "data", database_url=url)


@pytest.fixture
def db(given: Settings) -> Iterator[Database]:
    upgrade(given)
    made = Database(given)
    yield made
    made.close()
