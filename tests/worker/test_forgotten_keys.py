"""Idempotency-Keys after their lifetime: a worker forgets them, on each database."""

from pathlib import Path

from sqlalchemy import select

from app.settings import Settings
from app.store import clock
from app.store.queries.admission import IDEMPOTENCY_KEY_LIFETIME
from app.store.session import Database
from app.store.tables import IdempotencyKey
from tests.api.in_process_app import app_settings, serve_app
from tests.live_service import eventually
from tests.migrated_databases import migrate_by_copy
from tests.store.sample_rows import fill_tables


def test_a_worker_forgets_expired_keys(settings: Settings, tmp_path: Path) -> None:
    served = app_settings(tmp_path / "data", database_url=settings.database_url, files_shared=True)
    migrate_by_copy(served)
    db = Database(served)
    with db.write() as session:
        ids = fill_tables(session)
        row = {"user_id": ids.user, "fingerprint": "f", "submission_id": ids.submission}
        session.add(IdempotencyKey(key="old", created_at=clock.steady(session) - IDEMPOTENCY_KEY_LIFETIME, **row))

    def stored_keys() -> list[str]:
        with db.read() as session:
            return list(session.scalars(select(IdempotencyKey.key)))

    assert sorted(stored_keys()) == ["k", "old"]
    with serve_app(served):
        eventually(lambda: stored_keys() == ["k"], "the expired key is forgotten, and the other is not")
    db.close()
