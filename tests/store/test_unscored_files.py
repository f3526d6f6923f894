"""Files of rejected and cancelled submissions are removed after some days or beyond a team's bytes of a day."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, text, update

from app.actions.operations.back_up import back_up
from app.actions.operations.remove_unscored_files import UnscoredFiles
from app.actions.operations.restore import restore, verified_backup
from app.actions.operations.sweep_files import OrphanFileSweeper
from app.files import StoredFile
from app.files.folder import FolderFileStore
from app.settings import Settings
from app.store import locks, sweep_backup_lock
from app.store.queries import doctor_checks
from app.store.queries.file_references import referenced_keys
from app.store.session import Database
from app.store.tables import GoldVersion, Submission, Team
from app.store.types import utcnow
from tests.backup.installation import make_old, open_database
from tests.store.database_marks import only_postgresql
from tests.store.sample_rows import RowIds, add_row, fill_tables, submission

OLD = timedelta(days=8)


class Installation:
    """A database and a folder of files, with one phase and two teams."""

    def __init__(self, db: Database, settings: Settings) -> None:
        self.db, self.settings = db, settings
        self.files = FolderFileStore(settings)
        with db.write() as session:
            self.ids: RowIds = fill_tables(session)
            session.execute(update(Submission).values(status="queued"))
            challenge = session.get_one(Team, self.ids.team).challenge_id
            names = {"name": "Other", "name_key": "other", "look_key": "other"}
            self.other_team = add_row(session, Team(challenge_id=challenge, **names))

    def remover(self, **settings: Any) -> UnscoredFiles:
        return UnscoredFiles(self.db, self.files, self.settings.model_copy(update=settings))

    def add(self, status: str, age: timedelta = OLD, size: int = 10, team: str = "", at: datetime | None = None) -> str:
        """Store a submission of this status with its file; returns its id."""
        stored = self.store_file(size)
        moment = (at or utcnow()) - age
        values = {"file_key": stored.key, "sha256": stored.sha256, "size": size, "status": status}
        times = {"submitted_at": moment, "finished_at": None if status in {"queued", "running"} else moment}
        with self.db.write() as session:
            row = submission(self.ids.phase, team or self.ids.team, self.ids.user, **values, **times)
            return str(add_row(session, row))

    def store_file(self, size: int) -> StoredFile:
        upload = self.files.begin()
        upload.write(b"x" * size)
        return upload.finish()

    def kept(self) -> set[str]:
        """The submissions whose file is not marked as removed, of those that were added."""
        with self.db.read() as session:
            query = select(Submission.id).where(Submission.file_removed_at.is_(None))
            return set(session.scalars(query)) - {self.ids.submission}

    def key(self, submission_id: str) -> str:
        with self.db.read() as session:
            return session.get_one(Submission, submission_id).file_key

    def exists(self, submission_id: str) -> bool:
        return (self.settings.files_dir / self.key(submission_id)).exists()


@pytest.fixture
def installation(db: Database, settings: Settings) -> Installation:
    return Installation(db, settings)


def test_only_files_that_can_never_be_scored_go_and_only_after_their_days(installation: Installation) -> None:
    gone = {installation.add("rejected"), installation.add("cancelled")}
    kept = {installation.add(status) for status in ("queued", "running", "finished", "failed")}
    kept |= {installation.add(status, timedelta(days=6)) for status in ("rejected", "cancelled")}
    remover = installation.remover()
    assert remover.remove_unscored() == 2
    assert installation.kept() == kept
    assert all(map(installation.exists, gone)), "whoever is about to download has still some minutes"
    assert remover.remove_unscored() == 0
    assert not any(map(installation.exists, gone))
    assert all(map(installation.exists, kept))
    assert installation.remover(rejected_days=5).remove_unscored() == 2


def test_beyond_the_bytes_of_a_team_and_day_the_oldest_go(installation: Installation) -> None:
    noon = utcnow().replace(hour=12)
    of_day = [installation.add("rejected", timedelta(minutes=minute), 10, at=noon) for minute in range(5)]
    others = {
        installation.add("rejected", timedelta(days=1), 25, at=noon),  # another day
        installation.add("rejected", timedelta(minutes=9), 30, installation.other_team, at=noon),
        installation.add("finished", timedelta(minutes=9), 100, at=noon),
    }
    assert installation.remover(rejected_bytes=30).remove_unscored() == 2
    assert installation.kept() == {*of_day[:3], *others}
    assert installation.remover(rejected_bytes=30).remove_unscored() == 0
    assert installation.remover(rejected_bytes=0).remove_unscored() == 5


def test_many_files_go_in_batches(installation: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.actions.operations.remove_unscored_files.BATCH_SIZE", 2)
    for _ in range(5):
        installation.add("rejected")
    assert installation.remover().remove_unscored() == 5


def test_a_file_that_a_stopped_process_left_is_swept(installation: Installation) -> None:
    gone = installation.add("rejected")
    installation.remover().remove_unscored()  # and the process ends
    path = installation.settings.files_dir / installation.key(gone)
    make_old(path)
    OrphanFileSweeper(installation.db, installation.files).sweep_at_start()
    assert not path.exists()


def test_nothing_is_removed_during_a_backup(installation: Installation) -> None:
    gone = installation.add("rejected")
    remover = installation.remover()
    with sweep_backup_lock.prevent_sweeping(installation.db):
        assert remover.remove_unscored() == 0
    assert installation.kept() == {gone}
    assert remover.remove_unscored() == 1
    with sweep_backup_lock.prevent_sweeping(installation.db):
        assert remover.remove_unscored() == 0
    assert installation.exists(gone)


@contextmanager
def maintained(settings: Settings) -> Iterator[None]:
    """Another process does periodic maintenance meanwhile."""
    with open_database(settings) as other, other.write() as session:
        assert locks.try_maintenance(session)
        yield


@only_postgresql  # the only writer of SQLite is its process
def test_one_process_at_a_time_removes_files(installation: Installation) -> None:
    installation.add("rejected")
    with maintained(installation.settings):
        assert installation.remover().remove_unscored() == 0
    assert installation.remover().remove_unscored() == 1


def test_neither_doctor_nor_backup_misses_a_removed_file(
    installation: Installation, settings: Settings, tmp_path: Path
) -> None:
    gone, kept = installation.add("rejected", size=1000), installation.store_file(20)
    with installation.db.write() as session:  # what the sample rows name does not exist
        session.execute(update(GoldVersion).values(file_key=kept.key, sha256=kept.sha256, size=20))
        for name in (
            "idempotency_keys",
            "quota_entries",
            "scores",
            "score_tasks",
            "workers",
            "prepared_golds",
            "challenge_files",
        ):
            session.execute(text(f"DELETE FROM {name}"))
        session.delete(session.get_one(Submission, installation.ids.submission))
    with installation.db.read() as session:
        before = dict(doctor_checks.stored_bytes(session))["pets"]
    remover = installation.remover()
    remover.remove_unscored()
    remover.remove_unscored()
    key = installation.key(gone)
    with installation.db.read() as session:
        assert dict(doctor_checks.stored_bytes(session))["pets"] == before - 1000
        assert key not in {file.key for file in doctor_checks.referenced_files(session)}
        assert referenced_keys(session, [key]) == set()
    manifest = back_up(settings, installation.db, installation.files, tmp_path / "backup")
    assert manifest.lost == []
    new = Settings(data_dir=tmp_path / "new", min_free=0)
    with verified_backup(new, tmp_path / "backup") as backup:
        restore(new, FolderFileStore(new), backup, {})
    with open_database(new) as db, db.read() as session:
        assert session.get_one(Submission, gone).file_removed_at is not None
