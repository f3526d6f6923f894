"""Restore a backup to an empty installation: check everything, then copy the files, then insert all rows at once."""

import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from app.actions.audit.record import OPERATOR, created_fields, record
from app.actions.operations import backup_folder
from app.actions.operations.backup_folder import BackupBroken, Progress, file_sha256
from app.actions.operations.backup_keys import install_keys, require_no_conflicting_keys
from app.actions.transparency.continue_log import continue_log
from app.actions.transparency.origins import end_origin
from app.errors import AssayError
from app.files import FileStore
from app.settings import Settings
from app.store import clock, database_copy, locks, migrate
from app.store.queries import tasks, workers
from app.store.session import Database, ReadSession

FILE_KEY_PATTERN = re.compile("uploads/[0-9a-f]{32}")
ANY_AGE_SECONDS = -10 * 365 * 24 * 3600.0  # negative, because the clock may have been set back
WORKER_SILENCE_LIMIT = timedelta(seconds=60)  # after which a worker that did not shut down counts as dead


class InstallationNotEmpty(AssayError):
    """A backup can be restored only to an empty installation."""

    code = "installation_not_empty"
    remedy = (
        "Use a new data folder (--data-dir), or an empty database and an empty store for the uploads; "
        "a database that a service has used is not empty: it has the administrator's account."
    )


class StillServed(AssayError):
    """Workers are running on this database."""

    code = "still_served"
    remedy = "Stop every 'assay serve', 'assay api' and 'assay worker' on it, then try again a minute later."


@dataclass(frozen=True, slots=True)
class VerifiedBackup:
    """A backup that was verified, and its copy of the database, migrated to the schema of this version."""

    folder: Path
    manifest: backup_folder.Manifest
    copy: database_copy.SnapshotConnection


@contextmanager
def verified_backup(settings: Settings, folder: Path, progress: Progress | None = None) -> Iterator[VerifiedBackup]:
    """Verify every byte of a backup without changing it: an older schema is migrated on a temporary copy.

    Raises NotABackup, BackupAhead, BackupBroken.
    """
    manifest = backup_folder.read_manifest(folder)
    _raise_unless(
        manifest.revision in migrate.known_revisions(),
        backup_folder.BackupAhead(f"The backup was created by Assay {manifest.assay}, whose schema is newer."),
    )
    database = folder / backup_folder.DATABASE_FILENAME
    _raise_unless(database.is_file(), BackupBroken(f"{database} is missing."))
    _raise_unless(file_sha256(database) == manifest.database_sha256, BackupBroken(f"{database} is damaged."))
    with database_copy.open_snapshot(database) as copy:
        matches = (
            migrate.current_revision(copy) == manifest.revision and database_copy.row_counts(copy) == manifest.counts
        )
        _raise_unless(matches, BackupBroken(f"{database} does not match the manifest."))
    with _database_at_head(settings, database, manifest) as path, database_copy.open_snapshot(path) as copy:
        _check_files(copy, folder, manifest, progress)
        yield VerifiedBackup(folder, manifest, copy)


def _raise_unless(condition: bool, error: AssayError) -> None:
    if not condition:
        raise error


@contextmanager
def _database_at_head(settings: Settings, database: Path, manifest: backup_folder.Manifest) -> Iterator[Path]:
    if manifest.revision == migrate.head_revision():
        yield database
        return
    with tempfile.TemporaryDirectory(prefix="assay-restore-") as folder:
        path = Path(folder) / backup_folder.DATABASE_FILENAME
        shutil.copyfile(database, path)
        migrate.upgrade(database_copy.snapshot_settings(settings, path))
        yield path


def _check_files(
    copy: database_copy.SnapshotConnection, folder: Path, manifest: backup_folder.Manifest, progress: Progress | None
) -> None:
    lost, processed, total = {file.key for file in manifest.lost}, 0, database_copy.total_file_bytes(copy)
    for row in database_copy.stored_files(copy):
        _raise_unless(bool(FILE_KEY_PATTERN.fullmatch(row.key)), BackupBroken(f"'{row.key}' is not the key of a file."))
        path = folder / backup_folder.FILES_FOLDER / row.key
        if row.key not in lost:
            _raise_unless(path.is_file(), BackupBroken(f"{path} is missing."))
            _raise_unless(file_sha256(path) == row.sha256, BackupBroken(f"{path} is damaged."))
        processed += row.size
        if progress is not None:
            progress(processed, total)


def restore(
    settings: Settings,
    files: FileStore,
    backup: VerifiedBackup,
    keys: dict[str, str],
    progress: Progress | None = None,
    *,
    served_checkpoint: str | None = None,
) -> int:
    """Restore a verified backup and keys to an empty installation; returns the number of submissions to be scored.

    The transparency log of the backup ends, and a new one begins at the next start. With `served_checkpoint`, the one
    that was served last, it goes on, if that is the last one of the backup and its key is here; else LogNotContinued.

    The rows come last: an interrupted restore leaves an installation without rows, where it can be repeated. Raises
    InstallationNotEmpty, StillServed, KeysDiffer, and errors of the database and the file store.
    """
    db = Database(settings)
    try:
        _require_empty(db, files, backup)
        require_no_conflicting_keys(settings, keys)
        migrate.upgrade(settings)
        _restore_files(files, backup, progress)
        install_keys(settings, keys)
        return _restore_rows(settings, db, backup, served_checkpoint)
    finally:
        db.close()


def _require_empty(db: Database, files: FileStore, backup: VerifiedBackup) -> None:
    """Raise StillServed while workers run, InstallationNotEmpty for rows, and for files that are not of this backup."""
    where = f"The database {db.engine().url.render_as_string(hide_password=True)}"
    with db.read() as session:
        occupied = database_copy.find_nonempty_table(session.connection())
        _raise_unless(occupied is None, InstallationNotEmpty(f"{where} is not empty: its table {occupied} has rows."))
        if migrate.current_revision(session.connection()) is not None and not db.sqlite:
            _require_no_live_worker(session)
    # A backup has no prepared gold: what an earlier installation left is swept later.
    present = {key for key in files.keys(older=ANY_AGE_SECONDS) if FILE_KEY_PATTERN.fullmatch(key)}
    unknown = present and present - {row.key for row in database_copy.stored_files(backup.copy)}
    detail = f"The store for uploads contains {len(unknown)} files that are not in this backup."
    _raise_unless(not unknown, InstallationNotEmpty(detail))


def _require_no_live_worker(session: ReadSession) -> None:
    if "workers" not in database_copy.table_names(session.connection()):
        return
    since = clock.steady(session) - WORKER_SILENCE_LIMIT
    alive = [worker.name for worker in workers.all_workers(session) if worker.heartbeat_at > since]
    _raise_unless(not alive, StillServed(f"Running on this database: {', '.join(alive)}."))


def _restore_files(files: FileStore, backup: VerifiedBackup, progress: Progress | None = None) -> None:
    """Copy every file to the store, except those that an earlier try has copied. Raises errors of the file store."""
    processed = 0
    for row in database_copy.stored_files(backup.copy):
        path = backup.folder / backup_folder.FILES_FOLDER / row.key
        if path.is_file() and not _is_stored(files, row):
            files.put(row.key, path, row.size)
        processed += row.size
        if progress is not None:
            progress(processed, backup.manifest.bytes)


def _is_stored(files: FileStore, row: database_copy.SnapshotFile) -> bool:
    try:
        with files.local_path(row.key) as path:
            return path.stat().st_size == row.size and file_sha256(path) == row.sha256
    except FileNotFoundError:
        return False


def _restore_rows(settings: Settings, db: Database, backup: VerifiedBackup, served_checkpoint: str | None) -> int:
    """Insert all rows in one transaction; returns the number of submissions to be scored. Raises InstallationNotEmpty.

    Tasks that ran when the backup was created are requeued. They do not count as interrupted, because the original
    installation continued them.
    """
    with db.write() as session:
        locks.first_start(session)
        occupied = database_copy.find_nonempty_table(session.connection())
        detail = f"Another process has inserted rows into the table {occupied} meanwhile."
        _raise_unless(occupied is None, InstallationNotEmpty(detail))
        workers.remove_all(session)
        database_copy.restore_rows(backup.copy, session)
        if served_checkpoint is None:
            end_origin(session)
        else:
            continue_log(session, settings, served_checkpoint)
        taken = created_fields({"backup": backup.manifest.made_at, "assay": backup.manifest.assay})
        record(session, OPERATOR, "service.restore", challenge=None, of=None, changes=taken)
        return tasks.requeue_unfinished(session)
