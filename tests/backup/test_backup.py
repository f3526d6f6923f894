"""backup: rows and files of an installation at work, there and back; what it leaves out, and what it refuses."""

import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import delete, select, update
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError

from app import __version__
from app.actions.operations.back_up import back_up
from app.actions.operations.backup_folder import file_sha256
from app.actions.operations.sweep_files import OrphanFileSweeper
from app.files import PREPARED_GOLD, new_key
from app.files.folder import FolderFileStore
from app.runtime.data_folder import PREPARED_GOLD_FOLDER
from app.settings import Settings
from app.store import database_copy, migrate
from app.store.tables import AuditEntry, IdempotencyKey, QuotaEntry, Score, ScoreTask, Submission
from app.store.types import utcnow
from tests.backup.installation import (
    ADMIN_TOKEN,
    CONTENTS,
    all_rows,
    backup,
    file_key_of,
    file_store_of,
    make_old,
    open_database,
    prepare_gold,
    require_refused,
    restore,
    stored,
)

# ---- there and back -----------------------------------------------------------------------------


def test_every_row_and_file_comes_back_through_either_kind_of_database(
    source: Settings, backup_folder: Path, bare_target: Settings, tmp_path: Path
) -> None:
    target = bare_target
    before = all_rows(source)
    assert all(rows for name, rows in before.items() if name not in database_copy.TRANSIENT_TABLES)
    assert restore(target, backup_folder).value()["waiting"] == 1
    assert all_rows(target) == before
    again, home = tmp_path / "again", Settings(data_dir=tmp_path / "home")
    assert backup(target, again).value()["source"] == make_url(target.database).get_backend_name()
    assert restore(home, again).status == 0
    assert all_rows(home) == before
    assert stored(home) == stored(target) == stored(source)
    assert sorted(stored(source).values()) == sorted(CONTENTS.values())


@pytest.mark.parametrize("bare_target", ["sqlite", "postgresql"], indirect=True)  # kinds of databases
def test_the_audit_trail_shows_a_restore_and_still_only_grows(backup_folder: Path, target: Settings) -> None:
    assert restore(target, backup_folder).status == 0
    with open_database(target) as db:
        with db.read() as session:
            last = session.scalars(select(AuditEntry).order_by(AuditEntry.id.desc()).limit(1)).one()
            assert (last.action, last.role, last.actor_id) == ("service.restore", "operator", None)
            assert last.changes["assay"] == {"from": None, "to": __version__}
        with (
            pytest.raises(DBAPIError, match="cannot be changed or deleted"),
            db.engine().begin() as connection,
        ):
            connection.execute(delete(AuditEntry))


def test_a_backup_says_what_it_holds_and_anybody_can_check_its_bytes(backup_folder: Path) -> None:
    manifest = json.loads((backup_folder / "manifest.json").read_text())
    assert manifest["revision"] == migrate.head_revision()
    assert (manifest["files"], manifest["bytes"]) == (len(CONTENTS), sum(map(len, CONTENTS.values())))
    assert manifest["counts"]["submissions"] == 1
    sums = [line.split("  ") for line in (backup_folder / "SHA256SUMS").read_text().splitlines()]
    assert {name for _, name in sums} == {
        str(path.relative_to(backup_folder))
        for path in backup_folder.rglob("*")
        if path.is_file() and path.name not in {"manifest.json", "SHA256SUMS"}
    }
    assert all(file_sha256(backup_folder / name) == digest for digest, name in sums)


def test_a_backup_is_for_its_owner_alone_and_holds_no_key(source: Settings, folder: Path, tmp_path: Path) -> None:
    assert "--keys" in backup(source, folder).err
    for path in [folder, *folder.rglob("*")]:
        assert path.stat().st_mode & 0o077 == 0, path
        assert path.is_dir() or ADMIN_TOKEN.encode() not in path.read_bytes()
    keys = tmp_path / "keys.json"
    assert backup(source, tmp_path / "second", "--keys", keys).status == 0
    assert keys.stat().st_mode & 0o077 == 0
    assert ADMIN_TOKEN in keys.read_text()


@pytest.mark.parametrize("bare_target", ["sqlite", "bucket"], indirect=True)  # kinds of stores, and of databases
def test_prepared_gold_is_not_in_a_backup(source: Settings, folder: Path, target: Settings) -> None:
    before, uploads, content = all_rows(source), stored(source), prepare_gold(source)
    local_file = source.data_dir / PREPARED_GOLD_FOLDER / "0.gold"
    local_file.parent.mkdir()
    local_file.write_bytes(content)
    assert backup(source, folder).status == 0
    assert not [path for path in folder.rglob("*") if path.is_file() and content in path.read_bytes()]
    with closing(sqlite3.connect(folder / "assay.sqlite3")) as copy:
        assert copy.execute("SELECT count(*) FROM prepared_golds").fetchone() == (0,)
    leave_prepared_file(target)
    assert restore(target, folder).status == 0
    assert all_rows(target) == before
    assert {key: data for key, data in stored(target).items() if key.startswith("uploads/")} == uploads


def leave_prepared_file(settings: Settings) -> None:
    """Prepared gold of an earlier installation in the same store."""
    settings.data_dir.mkdir(exist_ok=True)
    path = settings.data_dir / "left"
    path.write_bytes(b"of gold that is gone")
    file_store_of(settings).put(new_key(PREPARED_GOLD), path, path.stat().st_size)


def test_keys_come_back_where_they_are_given(source: Settings, folder: Path, tmp_path: Path) -> None:
    keys, new = tmp_path / "keys.json", Settings(data_dir=tmp_path / "new")
    backup(source, folder, "--keys", keys)
    assert restore(new, folder, "--keys", keys).value()["keys"] == ["admin-token"]
    token = new.data_dir / "admin-token"
    assert (token.read_text(), token.stat().st_mode & 0o777) == (f"{ADMIN_TOKEN}\n", 0o600)


@pytest.mark.parametrize("bare_target", ["sqlite", "postgresql"], indirect=True)  # kinds of databases
def test_what_was_running_is_queued_again_without_an_interruption(
    source: Settings, folder: Path, target: Settings
) -> None:
    later = utcnow().replace(year=2999)
    with open_database(source) as db, db.write() as session:
        session.execute(update(ScoreTask).values(status="running", attempt=2, lease_until=later, not_before=later))
        session.execute(update(Submission).values(status="running"))
    backup(source, folder)
    assert restore(target, folder).value()["waiting"] == 1
    with open_database(target) as db, db.read() as session:
        task = session.scalars(select(ScoreTask)).one()
        assert (task.status, task.attempt, task.interruptions) == ("queued", 2, 0)
        assert (task.lease_until, task.not_before) == (None, None)
        assert session.scalars(select(Submission)).one().status == "queued"


# ---- while the service is at work ---------------------------------------------------------------


def test_no_file_is_swept_while_a_backup_wants_it(source: Settings, folder: Path) -> None:
    swept: list[int] = []
    key = file_key_of(source, Submission)
    files = FolderFileStore(source)
    with open_database(source) as db:

        def meanwhile(_done: int, _all: int) -> None:
            with db.write() as session:  # nobody else waits for a backup
                for each in (IdempotencyKey, QuotaEntry, Score, ScoreTask, Submission):
                    session.execute(delete(each))
            make_old(source.files_dir / key)
            swept.append(OrphanFileSweeper(db, files).sweep_at_start())

        manifest = back_up(source, db, files, folder, meanwhile)
        assert swept == [0] * len(CONTENTS)
        assert (manifest.counts["submissions"], manifest.files) == (1, len(CONTENTS))
        assert OrphanFileSweeper(db, files).sweep_at_start() == 1
    assert not (source.files_dir / key).exists()
    assert (folder / "files" / key).read_bytes() == CONTENTS[Submission]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes files for others")
def test_a_backup_made_by_root_leaves_nothing_that_shuts_the_service_out(source: Settings, folder: Path) -> None:
    database = source.data_dir / "assay.sqlite3"
    os.chown(database, 65534, 65534)
    assert backup(source, folder).status == 0
    assert {path.stat().st_uid for path in source.data_dir.glob("assay.sqlite3*")} == {65534}


@pytest.mark.parametrize("fault", ["missing", "damaged"])
def test_a_file_that_the_installation_lost_is_named_and_the_rest_is_kept(
    source: Settings, folder: Path, tmp_path: Path, fault: str
) -> None:
    key = file_key_of(source, Submission)
    path = source.files_dir / key
    path.unlink() if fault == "missing" else path.write_bytes(b"x" * len(CONTENTS[Submission]))
    ran = backup(source, folder)
    assert ran.status == 1
    [missing] = ran.value()["lost"]
    assert (missing["key"], missing["fault"].split(":")[0]) == (key, fault)
    assert key in ran.err
    assert all_rows(source)["submissions"][0][0] in missing["owner"]
    new = Settings(data_dir=tmp_path / "new")
    again = restore(new, folder)
    assert (again.status, again.value()["lost"]) == (0, [missing])
    assert sorted(stored(new).values()) == sorted(set(CONTENTS.values()) - {CONTENTS[Submission]})
    assert all_rows(new) == all_rows(source)


# ---- refused ------------------------------------------------------------------------------------


def test_a_folder_with_anything_in_it_is_not_backed_up_into(source: Settings, backup_folder: Path) -> None:
    before = sorted(backup_folder.rglob("*"))
    require_refused(backup(source, backup_folder), "folder_taken", str(backup_folder))
    assert sorted(backup_folder.rglob("*")) == before


def test_a_backup_that_fails_leaves_nothing_that_looks_like_one(source: Settings, folder: Path) -> None:
    def fails(_done: int, _all: int) -> None:
        raise OSError("the disk is full")

    with open_database(source) as db, pytest.raises(OSError, match="full"):
        back_up(source, db, FolderFileStore(source), folder, fails)
    assert list(folder.iterdir()) == []
    assert backup(source, folder).status == 0


def test_nothing_is_backed_up_where_there_is_no_database(tmp_path: Path, folder: Path) -> None:
    require_refused(backup(Settings(data_dir=tmp_path / "none"), folder), "no_database", str(tmp_path / "none"))
    assert not folder.exists()
    assert not (tmp_path / "none").exists()


def test_keys_are_never_written_into_the_backup_nor_over_a_file(source: Settings, folder: Path, tmp_path: Path) -> None:
    require_refused(backup(source, folder, "--keys", folder / "keys.json"), "keys_misplaced", "inside")
    (tmp_path / "there").write_text("mine")
    require_refused(backup(source, folder, "--keys", tmp_path / "there"), "keys_misplaced", "exists")
    (source.data_dir / "admin-token").unlink()
    require_refused(backup(source, folder, "--keys", tmp_path / "keys.json"), "no_keys", str(source.data_dir))
    assert not folder.exists()


def test_a_file_that_holds_no_keys_is_refused(backup_folder: Path, tmp_path: Path) -> None:
    keys, new = tmp_path / "keys.json", Settings(data_dir=tmp_path / "new")
    for text in ("", "{}", '{"format": 1, "keys": {}}', '{"format": 1, "keys": {"../lock": "x"}}'):
        keys.write_text(text)
        require_refused(restore(new, backup_folder, "--keys", keys), "keys_unreadable", str(keys))
        assert not new.data_dir.exists()


def test_a_key_that_is_there_is_not_replaced_by_another(source: Settings, folder: Path, tmp_path: Path) -> None:
    keys, new = tmp_path / "keys.json", Settings(data_dir=tmp_path / "new")
    backup(source, folder, "--keys", keys)
    new.data_dir.mkdir()
    (new.data_dir / "admin-token").write_text("another")
    require_refused(restore(new, folder, "--keys", keys), "keys_differ", "admin-token")
    assert (new.data_dir / "admin-token").read_text() == "another"
    (new.data_dir / "admin-token").unlink()
    assert restore(new, folder, "--keys", keys).status == 0
