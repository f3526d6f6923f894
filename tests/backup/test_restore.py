"""restore: what is refused before anything is written, and that a second try mends a first one that was cut short."""

import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import select, update

from app.actions.operations.backup_folder import file_sha256
from app.package_data import package_data_folder
from app.runtime.data_folder import lock_data_folder
from app.settings import Settings
from app.store import migrate
from app.store.tables import Team, WorkerRow
from app.store.types import utcnow
from tests.backup.installation import (
    UPGRADE,
    all_rows,
    backup,
    command_environment,
    file_store_of,
    open_database,
    require_refused,
    restore,
    stored,
)
from tests.live_service import MAX_WAIT_SECONDS, ROOT
from tests.store.sample_rows import fill_tables


def test_a_backup_of_an_earlier_schema_is_migrated_and_stays_as_it_is(
    backup_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripts = shutil.copytree(package_data_folder("migrations"), tmp_path / "scripts")
    (scripts / "versions" / "next.py").write_text(NEXT.replace("HEAD", migrate.head_revision() or ""))
    monkeypatch.setattr(migrate, "package_data_folder", lambda _name: scripts)
    monkeypatch.setattr(migrate, "upgrade", UPGRADE)
    before = file_sha256(backup_folder / "assay.sqlite3")
    new = Settings(data_dir=tmp_path / "new")
    assert restore(new, backup_folder).status == 0
    with closing(sqlite3.connect(new.data_dir / "assay.sqlite3")) as database:
        assert database.execute("SELECT version_num FROM alembic_version").fetchall() == [("next",)]
        assert database.execute("SELECT email FROM users").fetchall() == [("ada@example.org",)]
    assert file_sha256(backup_folder / "assay.sqlite3") == before


@pytest.mark.parametrize("bare_target", ["sqlite", "postgresql"], indirect=True)  # kinds of databases
def test_a_team_that_merged_into_a_younger_one_comes_back(source: Settings, folder: Path, target: Settings) -> None:
    with open_database(source) as db, db.write() as session:
        older = session.scalars(select(Team)).one()
        younger = Team(challenge_id=older.challenge_id, name="Red", name_key="red")
        session.add(younger)
        session.flush()
        older.merged_into_id = younger.id
    before = all_rows(source)
    assert backup(source, folder).status == 0
    restored = restore(target, folder)
    assert restored.status == 0, restored.err
    assert all_rows(target) == before


NEXT = """
import sqlalchemy as sa
from alembic import op

revision = "next"
down_revision = "HEAD"


def upgrade() -> None:
    with op.batch_alter_table("users") as batch:
        batch.add_column(sa.Column("nickname", sa.Text(), nullable=True))
"""


def edited(old: str, new: str) -> Callable[[Path], object]:
    """Change a word of the manifest."""

    def edit(backup_folder: Path) -> None:
        manifest = backup_folder / "manifest.json"
        assert old in manifest.read_text()
        manifest.write_text(manifest.read_text().replace(old, new))

    return edit


def cut(path: Path) -> None:
    """Take the last byte from a file."""
    path.write_bytes(path.read_bytes()[:-1])


def upload(backup_folder: Path) -> Path:
    return min((backup_folder / "files" / "uploads").iterdir())


SPOILED: dict[str, tuple[Callable[[Path], object], str, str]] = {
    "without a manifest": (
        lambda backup_folder: (backup_folder / "manifest.json").unlink(),
        "not_a_backup",
        "manifest.json",
    ),
    "of something else": (
        lambda backup_folder: (backup_folder / "manifest.json").write_text("[]"),
        "backup_broken",
        "manifest.json",
    ),
    "of a newer format": (edited('"format": 1', '"format": 2'), "backup_ahead", "newer"),
    "of a newer schema": (
        edited(f'"revision": "{migrate.head_revision()}"', '"revision": "9999"'),
        "backup_ahead",
        "newer",
    ),
    "with other counts": (edited('"submissions": 1', '"submissions": 2'), "backup_broken", "manifest"),
    "with a damaged database": (
        lambda backup_folder: cut(backup_folder / "assay.sqlite3"),
        "backup_broken",
        "assay.sqlite3",
    ),
    "without its database": (
        lambda backup_folder: (backup_folder / "assay.sqlite3").unlink(),
        "backup_broken",
        "assay.sqlite3",
    ),
    "with a damaged file": (lambda backup_folder: cut(upload(backup_folder)), "backup_broken", "uploads/"),
    "with a file missing": (lambda backup_folder: upload(backup_folder).unlink(), "backup_broken", "uploads/"),
}


def test_a_backup_that_is_not_whole_is_refused_before_anything_is_written(backup_folder: Path, tmp_path: Path) -> None:
    for damage, (spoil, code, word) in SPOILED.items():
        spoiled = shutil.copytree(backup_folder, tmp_path / damage)
        spoil(spoiled)
        require_refused(restore(Settings(data_dir=tmp_path / "new"), spoiled), code, word)
        assert not (tmp_path / "new").exists(), damage


@pytest.mark.parametrize("bare_target", ["sqlite", "bucket"], indirect=True)  # kinds of stores, and of databases
def test_only_an_empty_database_is_restored_into(backup_folder: Path, target: Settings) -> None:
    with open_database(target) as db, db.write() as session:
        fill_tables(session)
    before = all_rows(target)
    require_refused(restore(target, backup_folder), "installation_not_empty", "table")
    assert all_rows(target) == before
    assert stored(target) == {}


@pytest.mark.parametrize("bare_target", ["sqlite", "bucket"], indirect=True)  # kinds of stores, and of databases
def test_files_of_another_installation_are_not_mixed_with_those_of_a_backup(
    backup_folder: Path, target: Settings
) -> None:
    other = file_store_of(target).begin()
    other.write(b"of somebody else")
    key = other.finish().key
    require_refused(restore(target, backup_folder), "installation_not_empty", "1 files")
    assert list(stored(target)) == [key]


@pytest.mark.parametrize("bare_target", ["sqlite", "bucket"], indirect=True)  # kinds of stores, and of databases
def test_a_damaged_file_that_is_already_there_is_replaced(
    source: Settings, backup_folder: Path, target: Settings
) -> None:
    key, content = next(iter(stored(source).items()))
    damaged = backup_folder.with_name("damaged")
    damaged.write_bytes(bytes(len(content)))
    file_store_of(target).put(key, damaged, len(content))
    assert restore(target, backup_folder).status == 0
    assert stored(target) == stored(source)


def test_nothing_is_restored_under_a_service_at_work(backup_folder: Path, tmp_path: Path) -> None:
    new = Settings(data_dir=tmp_path / "new")
    with lock_data_folder(new.data_dir):
        require_refused(restore(new, backup_folder), "already_served", str(new.data_dir))
    assert restore(new, backup_folder).status == 0


@pytest.mark.parametrize("bare_target", ["postgresql"], indirect=True)
def test_nothing_is_restored_under_a_worker_that_lives_and_a_dead_one_is_forgotten(
    backup_folder: Path, target: Settings
) -> None:
    with open_database(target) as db:
        with db.write() as session:
            now = utcnow()
            session.add(WorkerRow(id="0" * 32, name="host:1", slots=1, started_at=now, heartbeat_at=now))
        require_refused(restore(target, backup_folder), "still_served", "host:1")
        with db.write() as session:
            session.execute(update(WorkerRow).values(heartbeat_at=utcnow().replace(year=2020)))
    assert restore(target, backup_folder).status == 0
    assert all_rows(target)["workers"] == []


# ---- cut short ----------------------------------------------------------------------------------

KILLED = """
import os, signal, sys
from pathlib import Path
from app.files.bucket import BucketFileStore
from app.files.folder import FolderFileStore
from app.store import database_copy

def dying(call):
    def die(*given):
        call(*given)
        os.kill(os.getpid(), signal.SIGKILL)
    return die

if sys.argv[1] == "files":
    FolderFileStore.put = dying(FolderFileStore.put)
    BucketFileStore.put = dying(BucketFileStore.put)
else:
    database_copy.restore_rows = dying(database_copy.restore_rows)  # every row is there, and not committed
from app.cli import root
root(["restore", sys.argv[2], "--data-dir", sys.argv[3]])
"""


@pytest.mark.parametrize(
    ("bare_target", "amid"),  # each kind of store and each kind of database once
    [("sqlite", "files"), ("bucket", "files"), ("sqlite", "rows"), ("postgresql", "rows")],
    indirect=["bare_target"],
)
def test_a_restore_that_is_killed_leaves_no_row_and_can_be_done_again(
    source: Settings, backup_folder: Path, target: Settings, amid: str
) -> None:
    with command_environment(target):
        words = [sys.executable, "-c", KILLED, amid, str(backup_folder), str(target.data_dir)]
        killed = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=MAX_WAIT_SECONDS, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert not any(all_rows(target).values())
    left = len(stored(target))
    assert left == (1 if amid == "files" else 3)
    assert restore(target, backup_folder).status == 0
    assert all_rows(target) == all_rows(source)
    assert stored(target) == stored(source)
