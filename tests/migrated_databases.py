"""Copies the newest schema into an empty database, which takes a fraction of the time of a migration."""

import tempfile
from functools import cache
from pathlib import Path

from sqlalchemy.engine import make_url

from app.settings import Settings
from app.store.migrate import upgrade


def migrate_by_copy(settings: Settings) -> None:
    """Bring a database to the newest schema: an empty one as a copy, any other by its revisions.

    Tests of migrations run the revisions themselves, and so does the service of tests/journeys.
    """
    url = make_url(settings.database)
    if url.get_backend_name() != "sqlite":
        from tests.postgres import PostgresServer  # noqa: PLC0415 - which imports tests.live_service, and that this

        server = PostgresServer.of(url)
        if server is None or not server.is_empty(str(url.database)):
            upgrade(settings)
            return
        server.copy_schema(
            str(url.database), lambda address: upgrade(settings.model_copy(update={"database_url": address}))
        )
        return
    path = Path(str(url.database))
    if path.exists():
        upgrade(settings)
    else:
        create_migrated_sqlite(path)


def create_migrated_sqlite(path: Path) -> None:
    """Create an SQLite database with the newest schema."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.touch(mode=0o600)  # as a migration does: for this account only
    path.write_bytes(_sqlite_template())


@cache
def _sqlite_template() -> bytes:
    """A migrated database."""
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(data_dir=Path(folder))
        upgrade(settings)
        return Path(str(make_url(settings.database).database)).read_bytes()
