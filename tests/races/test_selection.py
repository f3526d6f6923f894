"""What a team chooses while its submission is being settled is told to boards."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from sqlalchemy import text

from app.actions.access import Caller
from app.actions.submissions.select_submission import select_submission
from app.settings import Settings
from app.store import locks
from app.store.board_invalidation import phase_tag
from app.store.session import Database
from app.store.tables import Submission
from tests.live_service import MAX_WAIT_SECONDS, eventually
from tests.migrated_databases import migrate_by_copy
from tests.store.sample_rows import RowIds, fill_tables

WAITING = text("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND database = :number")
HERE = text("SELECT oid FROM pg_database WHERE datname = current_database()")


def waits(db: Database) -> bool:
    """Whether somebody stands before a lock of this database."""
    with db.read() as session:
        return bool(session.scalar(WAITING, {"number": session.scalar(HERE)}))


def choose(db: Database, row_ids: RowIds) -> None:
    member = Caller(user_id=row_ids.user, scopes=frozenset({"read", "submit"}))
    with db.write() as session:
        select_submission(session, member, row_ids.submission, selected=True, reason=None)


def test_a_choice_made_while_the_submission_is_settled_is_told_to_boards(
    tmp_path: Path, postgres_database: Callable[[], str]
) -> None:
    settings = Settings(data_dir=tmp_path / "data", database_url=postgres_database(), files_shared=True)
    migrate_by_copy(settings)
    db = Database(settings)
    with db.write() as session:
        row_ids = fill_tables(session)
    invalidations: list[frozenset[str]] = []
    db.on_invalidation(invalidations.append)
    with ThreadPoolExecutor(1) as pool:
        with db.write() as session:  # an organizer changes something: who chooses has read the submission, and waits
            locks.challenge(session, "pets")
            chosen = pool.submit(choose, db, row_ids)
            eventually(lambda: waits(db), "the choice waits")
            with db.write() as settling:
                settling.get_one(Submission, row_ids.submission).status = "finished"
            invalidations.clear()
        chosen.result(MAX_WAIT_SECONDS)
    db.close()
    assert invalidations == [frozenset({phase_tag(row_ids.phase)})]
