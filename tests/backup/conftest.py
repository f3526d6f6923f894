"""An installation, a backup of it, and where nothing is yet."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from app.settings import Settings
from tests.backup.installation import backup, fill_installation
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


@pytest.fixture(params=INSTALLATION_KINDS)
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Settings]:
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
