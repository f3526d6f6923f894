"""A database with the newest schema."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from app.settings import Settings
from app.store.migrate import upgrade
from app.store.session import Database


@pytest.fixture
def given(tmp_path: Path) -> Settings:
    return Settings(data_dir=tmp_path / "data")


@pytest.fixture
def db(given: Settings) -> Iterator[Database]:
    upgrade(given)
    made = Database(given)
    yield made
    made.close()
