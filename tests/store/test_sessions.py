"""Units of work: reading sees one snapshot and writes nothing, writing is all or nothing."""

import re
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from sqlalchemy import Engine, delete, event, select, text, update
from sqlalchemy.exc import DBAPIError, IntegrityError, StatementError

from app import errors
from app.store import locks
from app.store.queries.paging import page
from app.store.session import ConcurrentWrite, Database
from app.store.tables import Challenge, Submission, Team, User
from app.store.types import UTCDateTime, new_id
from tests.live_service import MAX_WAIT_SECONDS
from tests.store.database_marks import only_postgresql
from tests.store.sample_rows import fill_tables, submission


def emails(db: Database) -> list[str]:
    with db.read() as session:
        return list(session.scalars(select(User.email).order_by(User.email)))


@pytest.mark.both_databases
@pytest.mark.parametrize("kind", ["read", "read_one"])
def test_a_reading_session_refuses_to_write(db: Database, kind: str) -> None:
    def write() -> None:
        with getattr(db, kind)() as session:
            session.add(User(email="x@y", name="X"))
            session.flush()

    with pytest.raises((errors.DatabaseUnavailable, DBAPIError)) as refused:
        write()
    assert re.search("read-?only", f"{refused.value} {refused.value.__cause__}")
    assert emails(db) == []


@pytest.mark.both_databases
def test_a_session_for_one_statement_sends_no_other(db: Database) -> None:
    statements: list[str] = []
    with db.read():
        pass  # a connection is open from now on

    def note(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        statements.append(statement)

    event.listen(Engine, "before_cursor_execute", note)
    try:
        with db.read_one() as session:
            assert session.execute(text("SELECT 1")).scalar_one() == 1
            driver: Any = session.connection().connection.driver_connection
            in_transaction = driver.in_transaction if db.sqlite else driver.info.transaction_status
    finally:
        event.remove(Engine, "before_cursor_execute", note)
    assert statements == ["SELECT 1"]
    assert not in_transaction
    with db.read() as session:  # the next user of the connection has a transaction again
        session.execute(text("SELECT 1"))
        driver = session.connection().connection.driver_connection
        assert driver.in_transaction if db.sqlite else driver.info.transaction_status


def test_what_was_promised_is_on_disk_before_the_commit_returns_and_the_rest_soon(db: Database) -> None:
    def mode(*, durable: bool) -> int:
        with db.write(durable=durable) as session:
            return int(session.execute(text("PRAGMA synchronous")).scalar_one())

    full, normal = 2, 1  # https://www.sqlite.org/pragma.html#pragma_synchronous
    assert mode(durable=True) == full
    assert mode(durable=False) == normal
    with db.write() as session:
        assert session.execute(text("PRAGMA synchronous")).scalar_one() == full


def test_a_block_that_raises_writes_nothing(db: Database) -> None:
    def broken() -> None:
        with db.write() as session:
            session.add(User(email="x@y", name="X"))
            session.flush()
            raise KeyError("after the flush")

    with pytest.raises(KeyError):
        broken()
    assert emails(db) == []
    with db.write() as session:
        session.add(User(email="z@y", name="Z"))
    assert emails(db) == ["z@y"]


@pytest.mark.both_databases
def test_an_error_of_the_database_names_no_value(db: Database) -> None:
    """It may stand in the log, and the value may be a secret."""

    def nameless() -> None:
        with db.write() as session:
            session.add(User(email="secret@example.org", name=None))

    with pytest.raises(IntegrityError) as broken:
        nameless()
    assert "INSERT INTO users" in str(broken.value)
    assert "secret" not in str(broken.value).split("DETAIL")[0]


@pytest.mark.both_databases
def test_a_reader_sees_one_snapshot_while_others_write(db: Database) -> None:
    with db.read() as session:
        assert session.scalars(select(User.email)).all() == []
        with db.write() as other:
            other.add(User(email="x@y", name="X"))
        assert session.scalars(select(User.email)).all() == []
    assert emails(db) == ["x@y"]


@pytest.mark.both_databases
def test_many_writers_lose_no_update(db: Database) -> None:
    with db.write() as session:
        ids = fill_tables(session)

    def count(_: int) -> None:
        with db.write() as session:
            locks.team(session, ids.phase, ids.team)
            row = session.get_one(Submission, ids.submission)
            row.size += 1

    with ThreadPoolExecutor(16) as writers:
        list(writers.map(count, range(64), timeout=MAX_WAIT_SECONDS))
    with db.read() as reading:
        assert reading.get_one(Submission, ids.submission).size == 65


def test_a_writer_whose_turn_does_not_come_is_told_that_the_database_is_busy(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(db, "_wait", 0.05)
    begun, done = threading.Event(), threading.Event()

    def hold() -> None:
        with db.write():
            begun.set()
            done.wait(MAX_WAIT_SECONDS)

    holder = threading.Thread(target=hold)
    holder.start()
    assert begun.wait(MAX_WAIT_SECONDS)
    try:
        with pytest.raises(errors.DatabaseUnavailable, match="writers"), db.write():
            pass
    finally:
        done.set()
        holder.join(MAX_WAIT_SECONDS)
    with db.write() as session:
        session.add(User(email="x@y", name="X"))


@pytest.mark.both_databases
def test_foreign_keys_and_listed_words_are_enforced(db: Database) -> None:
    with db.write() as session:
        ids = fill_tables(session)
    with pytest.raises(IntegrityError, match=r"(?i)foreign key"), db.write() as session:
        session.add(submission(ids.phase, "no such team", ids.user))
    with pytest.raises(IntegrityError, match=r"(?i)check"), db.write() as session:
        session.execute(update(Submission).values(status="lost"))
    with pytest.raises((IntegrityError, ConcurrentWrite), match=r"(?i)unique|same object"), db.write() as session:
        session.add(Team(challenge_id=ids.challenge, name="BLUE", name_key="blue"))


@pytest.mark.both_databases
def test_deleting_a_challenge_takes_what_belongs_to_it_along(db: Database) -> None:
    with db.write() as session:
        fill_tables(session)
        session.execute(delete(Submission))  # submissions keep their teams alive, they go first
    with db.write() as session:
        session.execute(delete(Challenge))
    with db.read() as session:
        for table in ("recipes", "phases", "gold_versions", "teams", "registrations", "organizers", "score_tasks"):
            assert session.execute(text(f"SELECT count(*) FROM {table}")).scalar_one() == 0


def test_the_settings_that_make_a_commit_durable_are_on(db: Database) -> None:
    for unit, query_only in ((db.read, 1), (db.write, 0)):
        with unit() as session:
            found = {
                name: session.execute(text(f"PRAGMA {name}")).scalar_one()
                for name in ("journal_mode", "synchronous", "foreign_keys", "query_only")
            }
        assert found == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "query_only": query_only}


@only_postgresql
def test_postgresql_reads_one_snapshot_and_commits_durably(db: Database) -> None:
    for unit, isolation, read_only in ((db.read, "repeatable read", "on"), (db.write, "read committed", "off")):
        with unit() as session:
            found = [
                session.execute(text(f"SHOW {name}")).scalar_one()
                for name in ("transaction_isolation", "transaction_read_only", "synchronous_commit")
            ]
        assert found == [isolation, read_only, "on"]


@pytest.mark.both_databases
def test_moments_keep_their_instant_and_need_a_zone(db: Database) -> None:
    noon = datetime(2026, 7, 1, 12, tzinfo=timezone(timedelta(hours=2)))
    with db.write() as session:
        session.add(User(email="x@y", name="X", created_at=noon))
    with db.read() as session:
        found = session.scalars(select(User)).one().created_at
    assert found == noon
    assert found.tzinfo is UTC
    with pytest.raises((ValueError, StatementError), match="time zone"), db.write() as session:
        session.add(User(email="z@y", name="Z", created_at=noon.replace(tzinfo=None)))
    assert UTCDateTime().process_bind_param(None, None) is None  # type: ignore[arg-type]


# ---- pages ------------------------------------------------------------------------------------------


def walk(db: Database, limit: int) -> list[list[str]]:
    pages: list[list[str]] = []
    cursor = None
    while True:
        with db.read() as session:
            found, cursor = page(session, select(User), User, limit=limit, cursor=cursor)
        pages.append([row.email for row in found])
        if cursor is None:
            return pages
        assert len(pages) < 50


@pytest.mark.parametrize(("limit", "sizes"), [(1, [1] * 7), (3, [3, 3, 1]), (7, [7]), (200, [7])])
def test_pages_hold_every_row_once_newest_first(db: Database, limit: int, sizes: list[int]) -> None:
    with db.write() as session:
        for number in range(7):
            session.add(User(email=f"{number}@y", name="X"))
            session.flush()
    pages = walk(db, limit)
    assert [len(each) for each in pages] == sizes
    assert [email for each in pages for email in each] == [f"{number}@y" for number in reversed(range(7))]


def test_rows_added_while_someone_pages_neither_repeat_nor_hide_older_ones(db: Database) -> None:
    with db.write() as session:
        for number in range(4):
            session.add(User(email=f"{number}@y", name="X"))
            session.flush()
    with db.read() as session:
        first, cursor = page(session, select(User), User, limit=2, cursor=None)
    with db.write() as session:
        session.add(User(email="new@y", name="X"))
    with db.read() as session:
        second, end = page(session, select(User), User, limit=2, cursor=cursor)
    assert [row.email for row in [*first, *second]] == ["3@y", "2@y", "1@y", "0@y"]
    assert end is None


@pytest.mark.parametrize("cursor", ["", "0", "x" * 32, "A" * 32, "0" * 33, "' OR 1=1 --", "\ud800", "é" * 32])
def test_a_cursor_of_another_make_is_refused(db: Database, cursor: str) -> None:
    with pytest.raises(errors.BadCursor), db.read() as session:
        page(session, select(User), User, limit=2, cursor=cursor)


def test_ids_are_sortable_by_age_and_unlike_each_other() -> None:
    new_ids = [new_id() for _ in range(1000)]
    assert len(set(new_ids)) == 1000
    assert new_ids == sorted(new_ids)
