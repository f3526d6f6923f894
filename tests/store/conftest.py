"""A database with the newest schema, of either kind."""

from collections.abc import Iterator

import pytest

from app.settings import Settings
from app.store.migrate import upgrade
from app.store.session import Database


@pytest.fixture
def db(given: Settings) -> Iterator[Database]:
    upgrade(given)
    made = Database(given)
    yield made
    made.close()
