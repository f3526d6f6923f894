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
    DATABASE,
    FILES,
    BackupAhead,
    BackupBroken,
    Manifest,
    Progress,
    digest_of,
    read_manifest,
)
from app.actions.operations.backup_keys import put_keys, require_same
from app.errors import AssayError
from app.files import Files
from app.settings import Settings
from app.store import clock, locks, migrate, snapshot
from app.store.queries import tasks, workers
from app.store.session import Database, ReadSession

KEY = re.compile("uploads/[0-9a-f]{32}")
OF_ANY_AGE = -10 * 365 * 24 * 3600.0  # seconds; a clock may have been set back
SILENT = timedelta(seconds=60)  # after which a worker that said no farewell is taken for dead


class NotEmpty(AssayError):
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
class Whole:
    """A backup that was found whole, and its copy of the database at this version's schema."""

    folder: Path
    manifest: Manifest
    copy: snapshot.Copy


@contextmanager
def checked(settings: Settings, folder: Path, progress: Progress | None = None) -> Iterator[Whole]:
    """Check every byte of a backup; nothing is changed, for an older schema is migrated on a copy.

    Raises NotABackup, BackupAhead, BackupBroken.
    """
    manifest = read_manifest(folder)
    _require(
        manifest.revision in migrate.revisions(),
        BackupAhead(f"The backup was made by Assay {manifest.assay}, whose schema is newer."),
    )
    database = folder / DATABASE
    _require(database.is_file(), BackupBroken(f"{database} is missing."))
    _require(digest_of(database) == manifest.database_sha256, BackupBroken(f"{database} is damaged."))
    with snapshot.reading(database) as given:
        sound = migrate.current(given) == manifest.revision and snapshot.counts(given) == manifest.counts
        _require(sound, BackupBroken(f"{database} does not hold what the manifest says."))
    with _at_head(settings, database, manifest) as path, snapshot.reading(path) as copy:
        _check_files(copy, folder, manifest, progress)
        yield Whole(folder, manifest, copy)


def _require(claim: bool, otherwise: AssayError) -> None:
    if not claim:
        raise otherwise


@contextmanager
def _at_head(settings: Settings, database: Path, manifest: Manifest) -> Iterator[Path]:
    if manifest.revision == migrate.head():
        yield database
        return
    with tempfile.TemporaryDirectory(prefix="assay-restore-") as folder:
        path = Path(folder) / DATABASE
        shutil.copyfile(database, path)
        migrate.upgrade(snapshot.settings_of(settings, path))
        yield path


def _check_files(copy: snapshot.Copy, folder: Path, manifest: Manifest, progress: Progress | None) -> None:
    lost, seen, total = {each.key for each in manifest.lost}, 0, snapshot.bytes_of_files(copy)
    for row in snapshot.files(copy):
        _require(bool(KEY.fullmatch(row.key)), BackupBroken(f"'{row.key}' is no key of a file."))
        path = folder / FILES / row.key
        if row.key not in lost:
            _require(path.is_file(), BackupBroken(f"{path} is missing."))
            _require(digest_of(path) == row.sha256, BackupBroken(f"{path} is damaged."))
        seen += row.size
        if progress is not None:
            progress(seen, total)


def restore(
    settings: Settings, files: Files, whole: Whole, keys: dict[str, str], progress: Progress | None = None
) -> int:
    """Put a checked backup and keys into an empty installation; gives how many submissions are to be scored.

    The rows come last: whoever ends this before leaves an installation without rows, where it can be done again.
    Raises NotEmpty, StillServed, KeysDiffer, RowsUnfit, StorageShort, FilesAway, DatabaseAway, SchemaAhead.
    """
    db = Database(settings)
    try:
        _require_empty(db, files, whole)
        require_same(settings, keys)
        migrate.upgrade(settings)
        _put_files(files, whole, progress)
        put_keys(settings, keys)
        return _put_rows(db, whole)
    finally:
        db.close()


def _require_empty(db: Database, files: Files, whole: Whole) -> None:
    """Raise StillServed while workers live there, NotEmpty if there are rows, or files that are not of this backup."""
    where = f"The database {db.engine().url.render_as_string(hide_password=True)}"
    with db.read() as session:
        occupied = snapshot.occupied(session.connection())
        _require(occupied is None, NotEmpty(f"{where} is not empty: its table {occupied} has rows."))
        if migrate.current(session.connection()) is not None and not db.sqlite:
            _require_silence(session)
    present = set(files.keys(older=OF_ANY_AGE))
    strange = present and present - {row.key for row in snapshot.files(whole.copy)}
    _require(not strange, NotEmpty(f"The place for uploads holds {len(strange)} files that are not of this backup."))


def _require_silence(session: ReadSession) -> None:
    if "workers" not in snapshot.tables(session.connection()):
        return
    since = clock.steady(session) - SILENT
    alive = [worker.name for worker in workers.known(session) if worker.heartbeat_at > since]
    _require(not alive, StillServed(f"At work on this database: {', '.join(alive)}."))


def _put_files(files: Files, whole: Whole, progress: Progress | None = None) -> None:
    """Put every file into the store; those that an earlier try has put there stay. Raises StorageShort, FilesAway."""
    seen = 0
    for row in snapshot.files(whole.copy):
        path = whole.folder / FILES / row.key
        if path.is_file() and not _there(files, row):
            files.put(row.key, path, row.size)
        seen += row.size
        if progress is not None:
            progress(seen, whole.manifest.bytes)


def _there(files: Files, row: snapshot.FileRow) -> bool:
    try:
        with files.local(row.key) as path:
            return path.stat().st_size == row.size and digest_of(path) == row.sha256
    except FileNotFoundError:
        return False


def _put_rows(db: Database, whole: Whole) -> int:
    """All rows in one transaction; gives how many submissions are to be scored. Raises NotEmpty, RowsUnfit.

    What was running when the backup was made is queued again. That is no interruption of it: the original went on.
    """
    with db.write() as session:
        locks.first_start(session)
        occupied = snapshot.occupied(session.connection())
        _require(occupied is None, NotEmpty(f"Somebody else has filled the table {occupied} in the meantime."))
        workers.remove_all(session)
        snapshot.put_back(whole.copy, session)
        return tasks.forget_claims(session)
