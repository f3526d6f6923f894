"""Restore a backup into an empty installation: everything is checked first, then files, then all rows at once."""

import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from app.actions.operations.backup_folder import (
    DATABASE_FILENAME,
    FILES_FOLDER,
    BackupAhead,
    BackupBroken,
    Manifest,
    ProgressCallback,
    file_sha256,
    read_manifest,
)
from app.actions.operations.backup_keys import install_keys, require_no_conflicting_keys
from app.errors import AssayError
from app.files import FileStore
from app.settings import Settings
from app.store import clock, locks, migrate, snapshot
from app.store.queries import tasks, workers
from app.store.session import Database, ReadSession

FILE_KEY_PATTERN = re.compile("uploads/[0-9a-f]{32}")
ANY_AGE_SECONDS = -10 * 365 * 24 * 3600.0  # seconds; a clock may have been set back
WORKER_SILENCE_LIMIT = timedelta(seconds=60)  # after which a worker that said no farewell is taken for dead


class InstallationNotEmpty(AssayError):
    """A backup is restored into an empty installation only."""

    code = "installation_not_empty"
    remedy = (
        "Name a new data folder (--data-dir), or an empty database and an empty place for the uploads; "
        "a service that was started once has made its administrator's account there."
    )


class StillServed(AssayError):
    """Workers are at work on this database."""

    code = "still_served"
    remedy = "End every 'assay serve', 'assay api' and 'assay worker' on it, then try again a minute later."


@dataclass(frozen=True, slots=True)
class VerifiedBackup:
    """A backup that was found whole, and its copy of the database at this version's schema."""

    folder: Path
    manifest: Manifest
    copy: snapshot.SnapshotConnection


@contextmanager
def verified_backup(
    settings: Settings, folder: Path, progress: ProgressCallback | None = None
) -> Iterator[VerifiedBackup]:
    """Check every byte of a backup; nothing is changed, for an older schema is migrated on a copy.

    Raises NotABackup, BackupAhead, BackupBroken.
    """
    manifest = read_manifest(folder)
    _raise_unless(
        manifest.revision in migrate.known_revisions(),
        BackupAhead(f"The backup was made by Assay {manifest.assay}, whose schema is newer."),
    )
    database = folder / DATABASE_FILENAME
    _raise_unless(database.is_file(), BackupBroken(f"{database} is missing."))
    _raise_unless(file_sha256(database) == manifest.database_sha256, BackupBroken(f"{database} is damaged."))
    with snapshot.open_snapshot(database) as given:
        sound = migrate.current_revision(given) == manifest.revision and snapshot.row_counts(given) == manifest.counts
        _raise_unless(sound, BackupBroken(f"{database} does not hold what the manifest says."))
    with _database_at_head(settings, database, manifest) as path, snapshot.open_snapshot(path) as copy:
        _check_files(copy, folder, manifest, progress)
        yield VerifiedBackup(folder, manifest, copy)


def _raise_unless(claim: bool, otherwise: AssayError) -> None:
    if not claim:
        raise otherwise


@contextmanager
def _database_at_head(settings: Settings, database: Path, manifest: Manifest) -> Iterator[Path]:
    if manifest.revision == migrate.head_revision():
        yield database
        return
    with tempfile.TemporaryDirectory(prefix="assay-restore-") as folder:
        path = Path(folder) / DATABASE_FILENAME
        shutil.copyfile(database, path)
        migrate.upgrade(snapshot.snapshot_settings(settings, path))
        yield path


def _check_files(
    copy: snapshot.SnapshotConnection, folder: Path, manifest: Manifest, progress: ProgressCallback | None
) -> None:
    lost, seen, total = {each.key for each in manifest.lost}, 0, snapshot.total_file_bytes(copy)
    for row in snapshot.stored_files(copy):
        _raise_unless(bool(FILE_KEY_PATTERN.fullmatch(row.key)), BackupBroken(f"'{row.key}' is no key of a file."))
        path = folder / FILES_FOLDER / row.key
        if row.key not in lost:
            _raise_unless(path.is_file(), BackupBroken(f"{path} is missing."))
            _raise_unless(file_sha256(path) == row.sha256, BackupBroken(f"{path} is damaged."))
        seen += row.size
        if progress is not None:
            progress(seen, total)


def restore(
    settings: Settings,
    files: FileStore,
    whole: VerifiedBackup,
    keys: dict[str, str],
    progress: ProgressCallback | None = None,
) -> int:
    """Put a checked backup and keys into an empty installation; gives how many submissions are to be scored.

    The rows come last: whoever ends this before leaves an installation without rows, where it can be done again.
    Raises NotEmpty, StillServed, KeysDiffer, RowsUnfit, StorageShort, FilesAway, DatabaseAway, SchemaAhead.
    """
    db = Database(settings)
    try:
        _require_empty(db, files, whole)
        require_no_conflicting_keys(settings, keys)
        migrate.upgrade(settings)
        _restore_files(files, whole, progress)
        install_keys(settings, keys)
        return _restore_rows(db, whole)
    finally:
        db.close()


def _require_empty(db: Database, files: FileStore, whole: VerifiedBackup) -> None:
    """Raise StillServed while workers live there, NotEmpty if there are rows, or files that are not of this backup."""
    where = f"The database {db.engine().url.render_as_string(hide_password=True)}"
    with db.read() as session:
        occupied = snapshot.find_nonempty_table(session.connection())
        _raise_unless(occupied is None, InstallationNotEmpty(f"{where} is not empty: its table {occupied} has rows."))
        if migrate.current_revision(session.connection()) is not None and not db.sqlite:
            _require_no_live_worker(session)
    present = set(files.keys(older=ANY_AGE_SECONDS))
    strange = present and present - {row.key for row in snapshot.stored_files(whole.copy)}
    _raise_unless(
        not strange,
        InstallationNotEmpty(f"The place for uploads holds {len(strange)} files that are not of this backup."),
    )


def _require_no_live_worker(session: ReadSession) -> None:
    if "workers" not in snapshot.table_names(session.connection()):
        return
    since = clock.steady(session) - WORKER_SILENCE_LIMIT
    alive = [worker.name for worker in workers.all_workers(session) if worker.heartbeat_at > since]
    _raise_unless(not alive, StillServed(f"At work on this database: {', '.join(alive)}."))


def _restore_files(files: FileStore, whole: VerifiedBackup, progress: ProgressCallback | None = None) -> None:
    """Put every file into the store; those that an earlier try has put there stay. Raises StorageShort, FilesAway."""
    seen = 0
    for row in snapshot.stored_files(whole.copy):
        path = whole.folder / FILES_FOLDER / row.key
        if path.is_file() and not _is_stored(files, row):
            files.put(row.key, path, row.size)
        seen += row.size
        if progress is not None:
            progress(seen, whole.manifest.bytes)


def _is_stored(files: FileStore, row: snapshot.SnapshotFile) -> bool:
    try:
        with files.local_path(row.key) as path:
            return path.stat().st_size == row.size and file_sha256(path) == row.sha256
    except FileNotFoundError:
        return False


def _restore_rows(db: Database, whole: VerifiedBackup) -> int:
    """All rows in one transaction; gives how many submissions are to be scored. Raises NotEmpty, RowsUnfit.

    What was running when the backup was made is queued again. That is no interruption of it: the original went on.
    """
    with db.write() as session:
        locks.first_start(session)
        occupied = snapshot.find_nonempty_table(session.connection())
        _raise_unless(
            occupied is None, InstallationNotEmpty(f"Somebody else has filled the table {occupied} in the meantime.")
        )
        workers.remove_all(session)
        snapshot.restore_rows(whole.copy, session)
        return tasks.requeue_unfinished(session)
