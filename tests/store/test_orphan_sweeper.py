"""A file whose row does not exist yet, or exists again, survives the sweep; one without a row does not."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import update

from app.actions.operations import sweep_files
from app.actions.operations.sweep_files import MIN_ORPHAN_AGE_SECONDS, RECHECK_SECONDS, OrphanFileSweeper
from app.errors import Unavailable
from app.store import sweep_backup_lock
from app.store.session import Database
from app.store.tables import ChallengeFile, GoldVersion, PreparedGold, Submission
from tests.store.sample_rows import fill_tables

KEY, OTHER_KEY = "uploads/77", "uploads/78"


class OldFiles:
    """Stored files, all of which seem older than any limit, as after a jump of the clock."""

    def __init__(self, *keys: str) -> None:
        self.stored = list(keys)

    def keys(self, older: float = 0.0) -> Iterator[str]:
        assert older == MIN_ORPHAN_AGE_SECONDS
        yield from self.stored

    def delete(self, key: str) -> None:
        self.stored.remove(key)


class Counter:
    """The monotonic counter of the process, moved by hand."""

    now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def counter(monkeypatch: pytest.MonkeyPatch) -> Counter:
    made = Counter()
    monkeypatch.setattr(sweep_files, "time", made)
    return made


def sweeper(db: Database, *keys: str) -> tuple[OrphanFileSweeper, OldFiles]:
    files: Any = OldFiles(*keys)
    return OrphanFileSweeper(db, files), files


def point_to(db: Database, key: str) -> None:
    """The row of an upload, which its transaction stores after its file."""
    with db.write() as session:
        row = session.query(Submission).first() or session.get_one(Submission, fill_tables(session).submission)
        row.file_key = key


def test_a_file_is_removed_at_the_second_look_and_only_long_after_the_first(db: Database, counter: Counter) -> None:
    sweep, files = sweeper(db, KEY)
    assert sweep.sweep() == 0
    counter.now += RECHECK_SECONDS - 1
    assert sweep.sweep() == 0
    assert files.stored == [KEY]
    files.stored.append(OTHER_KEY)  # one that is looked at for the first time
    counter.now += 1
    assert sweep.sweep() == 1
    assert files.stored == [OTHER_KEY]


def test_a_file_that_had_a_row_meanwhile_is_a_new_suspect(db: Database, counter: Counter) -> None:
    sweep, files = sweeper(db, KEY)
    assert sweep.sweep() == 0
    counter.now += RECHECK_SECONDS
    point_to(db, KEY)
    assert sweep.sweep() == 0
    point_to(db, OTHER_KEY)
    counter.now += RECHECK_SECONDS
    assert sweep.sweep() == 0
    counter.now += RECHECK_SECONDS
    assert sweep.sweep() == 1
    assert files.stored == []


@pytest.mark.parametrize("owner", [Submission, GoldVersion, PreparedGold, ChallengeFile])
def test_the_file_of_a_row_of_any_kind_stays(db: Database, counter: Counter, owner: Any) -> None:
    with db.write() as session:
        fill_tables(session)
        session.execute(update(owner).values(file_key=KEY))
    sweep, files = sweeper(db, KEY)
    for _ in range(2):
        assert sweep.sweep() == 0
        counter.now += RECHECK_SECONDS
    assert files.stored == [KEY]


@pytest.mark.parametrize("at_start", [False, True])
def test_a_row_stored_before_the_lock_was_taken_saves_its_file(
    db: Database, counter: Counter, monkeypatch: pytest.MonkeyPatch, at_start: bool
) -> None:
    sweep, files = sweeper(db, KEY, OTHER_KEY)

    @contextmanager
    def lock_after_the_row(locked: Database) -> Iterator[bool]:
        point_to(db, KEY)
        with sweep_backup_lock.try_sweep_lock(locked) as held:
            yield held

    monkeypatch.setattr(sweep_files, "try_sweep_lock", lock_after_the_row)
    if not at_start:
        assert sweep.sweep() == 0
        counter.now += RECHECK_SECONDS
    assert (sweep.sweep_at_start() if at_start else sweep.sweep()) == 1
    assert files.stored == [KEY]


@pytest.mark.both_databases
def test_files_are_removed_under_the_lock_and_not_while_a_backup_holds_it(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweep_backup_lock, "LOCK_TIMEOUT_SECONDS", 0.0)
    sweep, files = sweeper(db, KEY)
    with sweep_backup_lock.prevent_sweeping(db):
        assert sweep.sweep_at_start() == 0
    assert files.stored == [KEY]
    refused = []
    remove = files.delete

    def delete_while_a_backup_begins(key: str) -> None:
        with pytest.raises(Unavailable), sweep_backup_lock.prevent_sweeping(db):
            raise AssertionError("both hold the lock")
        refused.append(key)
        remove(key)

    monkeypatch.setattr(files, "delete", delete_while_a_backup_begins)
    assert sweep.sweep_at_start() == 1
    assert (files.stored, refused) == ([], [KEY])
    with sweep_backup_lock.prevent_sweeping(db):
        pass
