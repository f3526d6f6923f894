"""A database with the newest schema, of either kind."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from app.actions.transparency.log_key import replace_log_key
from app.settings import Settings
from app.store.session import Database
from tests.migrated_databases import migrate_by_copy


@pytest.fixture
def db(settings: Settings) -> Iterator[Database]:
    migrate_by_copy(settings)
    database = Database(settings)
    yield database
    database.close()


@pytest.fixture
def log_settings(settings: Settings, tmp_path: Path, db: Database) -> Iterator[Settings]:
    """The settings with a key file where that is needed."""
    if not settings.on_postgresql:
        yield settings
        return
    path = tmp_path / "keys" / "log.pem"
    replace_log_key(path)
    yield settings.model_copy(update={"log_key_file": path})
