"""An installation, a backup of it, and where nothing is yet."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from app.settings import Settings
from app.store import migrate
from tests.backup.installation import backup, fill_installation, upgrade_by_copy
from tests.migrated_databases import migrate_by_copy
from tests.postgres import PostgresServer
from tests.s3_servers import S3Server

INSTALLATION_KINDS = ("sqlite", "postgresql", "bucket")


@pytest.fixture
def source(tmp_path: Path) -> Settings:
    return fill_installation(Settings(data_dir=tmp_path / "data"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "backup"


@pytest.fixture
def backup_folder(source: Settings, folder: Path) -> Path:
    """A backup of it."""
    assert backup(source, folder).status == 0
    return folder


@pytest.fixture(autouse=True)
def schemas_are_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bring empty SQLite databases to the newest schema without running all revisions, which others test."""
    monkeypatch.setattr(migrate, "upgrade", upgrade_by_copy)


@pytest.fixture
def target(bare_target: Settings) -> Settings:
    """An empty installation, with the schema alone: restores to PostgreSQL do not migrate it each time."""
    migrate_by_copy(bare_target)
    return bare_target


@pytest.fixture(params=INSTALLATION_KINDS)
def bare_target(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Settings]:
    """Where nothing is yet: SQLite and a folder, PostgreSQL and a folder, PostgreSQL and a bucket."""
    if request.param == "sqlite":
        yield Settings(data_dir=tmp_path / "new")
        return
    server: PostgresServer = request.getfixturevalue("postgres")
    with server.database() as url:
        if request.param == "postgresql":
            yield Settings(data_dir=tmp_path / "new", database_url=url, files_shared=True)
        else:
            store: S3Server = request.getfixturevalue("rclone")
            yield store.settings(tmp_path / "new", database_url=url)
