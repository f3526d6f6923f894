"""Transactions that write ranked values of one submission at the same time, on PostgreSQL."""

from concurrent.futures import ThreadPoolExecutor
from threading import Event

from sqlalchemy import select, update

from app.scoring import SCORER_VERSION
from app.store.queries import ranked_values
from app.store.session import Database
from app.store.tables import Score, Submission
from tests.live_service import MAX_WAIT_SECONDS, eventually
from tests.store.database_marks import only_postgresql
from tests.store.sample_rows import RowIds, fill_tables


@only_postgresql
def test_two_rescorings_of_a_submission_that_settle_together_are_both_stored(db: Database) -> None:
    with db.write() as session:
        ids = fill_tables(session)
        session.execute(update(Submission).values(status="finished"))
    with db.write() as session:
        ranked_values.rewrite(session, [ids.submission])
    flushed, go_on = Event(), Event()

    def store(version: int, wait: bool) -> None:
        with db.write() as session:
            session.add(_score(ids, version))
            session.flush()
            if wait:
                flushed.set()
                assert go_on.wait(MAX_WAIT_SECONDS)

    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(store, SCORER_VERSION + 1, True)
        assert flushed.wait(MAX_WAIT_SECONDS)
        second = threads.submit(store, SCORER_VERSION + 2, False)
        eventually(lambda: second.done() or _waits_for_lock(db), "the second transaction meets the first")
        go_on.set()
        first.result(MAX_WAIT_SECONDS)
        second.result(MAX_WAIT_SECONDS)
    with db.read() as reader:
        assert len(reader.scalars(select(Score.id)).all()) == 3
        assert ranked_values.outdated_submissions(reader, [ids.submission]) == []
        assert ranked_values.wrong_counts(reader) == []


def _waits_for_lock(db: Database) -> bool:
    with db.read() as session:
        query = "SELECT count(*) FROM pg_locks WHERE NOT granted"
        return bool(session.connection().exec_driver_sql(query).scalar_one())


def _score(ids: RowIds, version: int) -> Score:
    key = {"submission_id": ids.submission, "gold_id": ids.gold, "recipe_id": ids.recipe, "scorer_version": version}
    return Score(split="all", metrics={"accuracy": {"value": 0.5}}, **key)
