"""What a transaction finds after it has waited for rows that another one has changed or deleted."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from app.actions.access import Caller
from app.actions.scoring_tasks.rescoring_order import order_submission_rescoring
from app.actions.submissions.cancel_submission import cancel_submission
from app.actions.submissions.delete_test_entry import delete_test_entry
from app.actions.submissions.disqualification import disqualify_submission
from app.actions.submissions.select_submission import select_submission
from app.errors import NotFound
from app.queue.jobs import JobTable
from app.settings import Settings
from app.store.session import Database, WriteSession
from app.store.tables import ScoreTask, Submission
from tests.live_service import MAX_WAIT_SECONDS, eventually
from tests.migrated_databases import migrate_by_copy
from tests.store.sample_rows import RowIds, fill_tables

WAITING = text("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'")
EVERYTHING = frozenset({"read", "submit", "organize"})


@pytest.fixture
def db(tmp_path: Path, postgres_database: Callable[[], str]) -> Iterator[Database]:
    settings = Settings(data_dir=tmp_path / "data", database_url=postgres_database(), files_shared=True)
    migrate_by_copy(settings)
    database = Database(settings)
    yield database
    database.close()


@pytest.fixture
def row_ids(db: Database) -> RowIds:
    with db.write() as session:
        return fill_tables(session)


@contextmanager
def followed_by(db: Database, second: Callable[[WriteSession], object]) -> Iterator[tuple[WriteSession, Future[Any]]]:
    """A transaction, and a second one that waits for its rows until the block ends."""

    def run() -> object:
        with db.write() as session:
            return second(session)

    with ThreadPoolExecutor(1) as pool:
        with db.write() as session:
            outcome: Future[Any] = Future()
            yield session, outcome
            session.flush()
            waiting = pool.submit(run)
            eventually(lambda: _is_waiting(db), "the second transaction waits")
        fault = waiting.exception(MAX_WAIT_SECONDS)
        outcome.set_result(fault)


def _is_waiting(db: Database) -> bool:
    with db.read() as session:
        return bool(session.scalar(WAITING))


VERBS: dict[str, Callable[[WriteSession, Caller, str], object]] = {
    "cancel": cancel_submission,
    "rerun": lambda session, caller, entry: order_submission_rescoring(session, JobTable(), caller, entry),
    "select": lambda session, caller, entry: select_submission(session, caller, entry, selected=True, reason="A try"),
    "disqualify": lambda session, caller, entry: disqualify_submission(session, caller, entry, reason="A try"),
    "delete": delete_test_entry,
}


@pytest.mark.parametrize("status", ["queued", "finished"])
@pytest.mark.parametrize("verb", VERBS)
def test_a_test_entry_that_was_deleted_meanwhile_is_not_found(
    db: Database, row_ids: RowIds, verb: str, status: str
) -> None:
    owner = Caller(user_id=row_ids.user, scopes=EVERYTHING)
    with db.write() as session:
        entry = session.get_one(Submission, row_ids.submission)
        entry.test, entry.status = True, status
        (task,) = session.query(ScoreTask)
        task.status = {"queued": "queued", "finished": "done"}[status]
    with followed_by(db, lambda session: VERBS[verb](session, owner, row_ids.submission)) as (session, outcome):
        delete_test_entry(session, owner, row_ids.submission)
    assert isinstance(outcome.result(), NotFound), outcome.result()
