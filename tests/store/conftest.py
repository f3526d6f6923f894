"""A database with the newest schema, of either kind."""

from collections.abc import Iterator

import pytest

from app.settings import Settings
from app.store.session import Database
from tests.migrated_databases import migrate_by_copy


@pytest.fixture
def db(settings: Settings) -> Iterator[Database]:
    migrate_by_copy(settings)
    database = Database(settings)
    yield database
    database.close()
