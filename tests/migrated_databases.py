"""Gives an empty database the newest schema by copying one that has it: a migration takes several times as long."""

import tempfile
from functools import cache
from pathlib import Path

from sqlalchemy.engine import make_url

from app.settings import Settings
from app.store.migrate import upgrade
from tests.postgres import PostgresServer


def migrate_by_copy(settings: Settings) -> None:
    """Bring a database to the newest schema: an empty one as a copy, any other by its revisions.

    Tests of migrations, and every service that is started, run the revisions themselves.
    """
    url = make_url(settings.database)
    if url.get_backend_name() != "sqlite":
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
        return
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
