"""Checks of uploaded files: location of the file store, write access, missing files and orphan files."""

import hashlib
import shutil
from collections.abc import Sequence
from itertools import islice

from app.actions.operations.sweep_files import MIN_ORPHAN_AGE_SECONDS, SWEEP_BATCH_SIZE
from app.doctor.check_declaration import SCHEMA_CHECK, SETTINGS_CHECK, CheckResult, check, ok, problem, warning
from app.doctor.installation import Installation
from app.errors import Unavailable
from app.files import FileStore
from app.runtime.data_folder import FolderNotShared
from app.settings import MIB
from app.store.queries import doctor_checks
from app.store.queries.file_references import referenced_keys

FILE_STORE_CHECK = "files.place"
NEEDS_FILE_STORE = (SETTINGS_CHECK, FILE_STORE_CHECK)
MAX_ROWS_CHECKED = 100  # of each kind, without --deep
MAX_LISTED_FILES = 3
MAX_LISTED_CHALLENGES = 10
PROBE = b"assay doctor\n"
CHUNK_BYTES = 1 << 20


@check(FILE_STORE_CHECK, remedy=FolderNotShared.remedy)
def check_file_store_location(installation: Installation) -> CheckResult:
    """Every host can reach the uploads: with PostgreSQL there may be several, and a folder may be local to one of them."""
    settings = installation.settings
    if settings.files_url:
        return ok(f"In {settings.files_url}.")
    if settings.on_postgresql and not settings.files_shared:
        return problem("The database is PostgreSQL, but uploads are stored in a folder of this host.")
    return ok(f"In {settings.files_dir.resolve()}.")


@check(
    "files.works",
    needs=NEEDS_FILE_STORE,
    remedy="Give the service's account write access; for a bucket check its name, endpoint, region and keys.",
)
def check_file_store_writable(installation: Installation) -> CheckResult:
    """A file can be written, read and deleted."""
    if not installation.has_file_store():
        return warning(
            f"{installation.settings.files_dir.resolve()} does not exist yet.", "The first start creates it."
        )
    with installation.files() as files:
        upload = files.begin()
        upload.write(PROBE)
        key = upload.finish().key
        try:
            with files.local_path(key) as path:
                read = path.read_bytes()
        finally:
            files.delete(key)
    return ok("A probe was written, read and deleted.") if read == PROBE else problem("A probe was read back changed.")


@check(
    "files.challenges",
    needs=(*NEEDS_FILE_STORE, SCHEMA_CHECK),
    backend="folder",
    remedy="Free some space or move the data folder before the deadline, or lower the quotas of that challenge.",
)
def check_bytes_per_challenge(installation: Installation) -> CheckResult:
    """The disk has room for as much again as the largest challenge has stored; names the largest challenges."""
    with installation.session() as session:
        stored = doctor_checks.stored_bytes(session)
    if not stored:
        return ok("No challenge has stored any file.")
    listed = ", ".join(f"{slug} {size / MIB:,.1f} MiB" for slug, size in stored[:MAX_LISTED_CHALLENGES])
    free = shutil.disk_usage(installation.settings.data_dir).free - installation.settings.min_free
    most, total = stored[0][1], sum(size for _, size in stored)
    observation = f"{len(stored)} challenges store {total / MIB:,.1f} MiB, the largest: {listed}."
    return (
        ok(observation)
        if most <= free
        else warning(f"{observation} Uploads may take {max(0, free) / MIB:,.1f} MiB more.")
    )


@check(
    "files.present",
    needs=(*NEEDS_FILE_STORE, SCHEMA_CHECK),
    state_on_timeout="skipped",
    remedy="Restore the files from the last backup (assay restore); without them nothing can be scored or downloaded.",
)
def check_files_present(installation: Installation) -> CheckResult:
    """The files of the newest rows exist with the right size; with --deep those of all rows, with the right contents."""
    with installation.session() as session:
        references = doctor_checks.referenced_files(session, None if installation.deep else MAX_ROWS_CHECKED)
    if not references:
        return ok("No row refers to a file.")
    if not installation.has_file_store():
        folder = installation.settings.files_dir.resolve()
        return problem(f"{len(references)} rows refer to files, but {folder} does not exist.")
    with installation.files() as files:
        faults = [fault for reference in references if (fault := _file_fault(files, reference, deep=installation.deep))]
    if faults:
        return problem(f"{len(faults)} of {len(references)} files are missing or damaged: {_list_first(faults)}.")
    return ok(f"{len(references)} files are present{' and unchanged' if installation.deep else ''}.")


def _file_fault(files: FileStore, reference: doctor_checks.ReferencedFile, *, deep: bool) -> str | None:
    """What is wrong with a file, if anything."""
    try:
        size = files.size(reference.key)
        if size != reference.size:
            return f"{reference.key} has {size} bytes, not {reference.size}"
        if deep and _sha256(files, reference.key) != reference.sha256:
            return f"{reference.key} has changed"
    except FileNotFoundError:
        return f"{reference.key} is missing"
    except (OSError, Unavailable) as error:
        return f"{reference.key} cannot be read ({error})"
    return None


def _sha256(files: FileStore, key: str) -> str:
    digest = hashlib.sha256()
    with files.local_path(key) as path, path.open("rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


def _list_first(texts: Sequence[str]) -> str:
    more = f" and {len(texts) - MAX_LISTED_FILES} more" if len(texts) > MAX_LISTED_FILES else ""
    return ", ".join(texts[:MAX_LISTED_FILES]) + more


@check(
    "files.left_over",
    needs=(*NEEDS_FILE_STORE, SCHEMA_CHECK),
    deep=True,
    state_on_timeout="skipped",
    remedy="A running service or worker deletes them within two hours; if they remain, see its log.",
)
def check_orphan_files(installation: Installation) -> CheckResult:
    """Every file older than a day is referenced by a row."""
    if not installation.has_file_store():
        return ok("There are no files.")
    orphans: list[str] = []
    with installation.files() as files:
        keys = iter(files.keys(older=MIN_ORPHAN_AGE_SECONDS))
        while batch := list(islice(keys, SWEEP_BATCH_SIZE)):
            with installation.session() as session:
                referenced = referenced_keys(session, batch)
            orphans += [key for key in batch if key not in referenced]
    return warning(f"{len(orphans)} orphan files: {_list_first(orphans)}.") if orphans else ok("No orphan files.")
