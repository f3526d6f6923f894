"""That there is a job too few is found among very many, also before PostgreSQL has counted its rows."""

from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import text

from app.queue.jobs import JobTable
from app.scoring import SCORER_VERSION
from app.store.session import Database
from tests.api.in_process_app import app_settings
from tests.migrated_databases import migrate_by_copy

MANY = 20_000
TASKS = """
    INSERT INTO score_tasks (id, submission_id, gold_id, recipe_id, scorer_version, status, priority, attempt, crashes,
                             interruptions, created_at)
    SELECT md5(i::text), md5(i::text), 'gold', 'recipe', :scorer, 'queued', 0, 0, 0, 0, now()
    FROM generate_series(0, :many) AS i
"""
JOBS = """
    INSERT INTO procrastinate_jobs (queue_name, task_name, status, args)
    SELECT 'scoring-' || :scorer, 'score', 'doing', jsonb_build_object('task_id', md5(i::text))
    FROM generate_series(1, :many) AS i
"""


@pytest.fixture
def db(tmp_path: Path, postgres_database: Callable[[], str]) -> Database:
    settings = app_settings(tmp_path / "data", database_url=postgres_database(), files_shared=True)
    migrate_by_copy(settings)
    database = Database(settings)
    with database.engine().begin() as connection:
        for table in ("score_tasks", "procrastinate_jobs"):
            connection.execute(text(f"ALTER TABLE {table} SET (autovacuum_enabled = false)"))
        connection.execute(text("SET LOCAL session_replication_role = replica"))  # none of their parents is there
        connection.execute(text(TASKS), {"many": MANY, "scorer": SCORER_VERSION})
        connection.execute(text(JOBS), {"many": MANY, "scorer": str(SCORER_VERSION)})
    return database


def test_a_missing_job_is_found_at_once_among_very_many_tasks_and_jobs(db: Database) -> None:
    jobs = JobTable()
    with db.write() as session:
        session.execute(text("SET LOCAL statement_timeout = '60s'"))  # a thousand times what it needs
        orphan = jobs.find_orphaned_task(session)
        assert orphan is not None
        jobs.enqueue(session, orphan)
        assert jobs.find_orphaned_task(session) is None
    db.close()
