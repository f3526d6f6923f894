"""Checks of the uploads: where they are kept, that they can be written and read, that none is lost or left over."""

import hashlib
from collections.abc import Iterable
from itertools import islice

from app.actions.operations.sweep_files import MIN_ORPHAN_AGE_SECONDS, SWEEP_BATCH_SIZE
from app.doctor.check_declaration import SCHEMA_CHECK, SETTINGS_CHECK, CheckResult, check, ok, problem, warning
from app.doctor.installation import Installation
from app.errors import Unavailable
from app.files import FileStore
from app.runtime.data_folder import FolderNotShared
from app.store.queries import diagnostics
from app.store.queries.file_references import referenced_keys

FILE_STORE_CHECK = "files.place"
MAX_ROWS_CHECKED = 100  # rows of each kind whose files are looked for without --deep
MAX_LISTED_FILES = 3
PROBE = b"assay doctor\n"
CHUNK_BYTES = 1 << 20


@check(FILE_STORE_CHECK, remedy=FolderNotShared.remedy)
def check_file_store_location(installation: Installation) -> CheckResult:
    """The uploads are where all who need them reach them: PostgreSQL serves several hosts, a folder may be of one."""
    settings = installation.settings
    if settings.files_url:
        return ok(f"In {settings.files_url}.")
    if settings.on_postgresql and not settings.files_shared:
        return problem("The database is PostgreSQL, and uploads are kept in a folder of this host.")
    return ok(f"In {settings.files_dir.resolve()}.")


@check(
    "files.works",
    needs=(SETTINGS_CHECK, FILE_STORE_CHECK),
    remedy="Let the account that serves write there; for a bucket check its name, address, region and keys.",
)
def check_file_store_writable(installation: Installation) -> CheckResult:
    """A file can be written, read back and removed."""
    if not installation.has_file_store():
        return warning(f"{installation.settings.files_dir.resolve()} does not exist yet.", "The first start makes it.")
    with installation.files() as files:
        upload = files.begin()
        upload.write(PROBE)
        key = upload.finish().key
        try:
            with files.local_path(key) as path:
                read = path.read_bytes()
        finally:
            files.delete(key)
    return ok("A probe was written, read and removed.") if read == PROBE else problem("A probe came back changed.")


@check(
    "files.present",
    needs=(SETTINGS_CHECK, FILE_STORE_CHECK, SCHEMA_CHECK),
    state_on_timeout="skipped",
    remedy="Bring the files back from the last backup (assay restore): without them, nothing can be scored or downloaded.",
)
def check_files_present(installation: Installation) -> CheckResult:
    """Every row's file is there and as long as it was: those of the newest rows; with --deep all, and their contents."""
    with installation.session() as session:
        named = diagnostics.referenced_files(session, None if installation.deep else MAX_ROWS_CHECKED)
    if not named:
        return ok("No row names a file.")
    if not installation.has_file_store():
        return problem(f"{len(named)} rows name files, and {installation.settings.files_dir.resolve()} does not exist.")
    with installation.files() as files:
        faults = [text for each in named if (text := _file_fault(files, each, deep=installation.deep))]
    if faults:
        return problem(f"Of {len(named)} files {len(faults)} are not as they should be: {_list_first(faults)}.")
    return ok(f"{len(named)} files are there{', unchanged' if installation.deep else ''}.")


def _file_fault(files: FileStore, named: diagnostics.ReferencedFile, *, deep: bool) -> str | None:
    """What is wrong with a file, if anything is."""
    try:
        size = files.size(named.key)
        if size != named.size:
            return f"{named.key} has {size} bytes, not {named.size}"
        if deep and _sha256(files, named.key) != named.sha256:
            return f"{named.key} has changed"
    except FileNotFoundError:
        return f"{named.key} is missing"
    except (OSError, Unavailable) as fault:
        return f"{named.key} cannot be read ({fault})"
    return None


def _sha256(files: FileStore, key: str) -> str:
    digest = hashlib.sha256()
    with files.local_path(key) as path, path.open("rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


def _list_first(texts: Iterable[str]) -> str:
    listed = list(texts)
    more = f" and {len(listed) - MAX_LISTED_FILES} more" if len(listed) > MAX_LISTED_FILES else ""
    return ", ".join(listed[:MAX_LISTED_FILES]) + more


@check(
    "files.left_over",
    needs=(SETTINGS_CHECK, FILE_STORE_CHECK, SCHEMA_CHECK),
    deep=True,
    state_on_timeout="skipped",
    remedy="A service or worker that runs removes them within two hours; see its log if they stay.",
)
def check_orphan_files(installation: Installation) -> CheckResult:
    """No file older than a day is without a row."""
    if not installation.has_file_store():
        return ok("There are no files.")
    found: list[str] = []
    with installation.files() as files:
        keys = iter(files.keys(older=MIN_ORPHAN_AGE_SECONDS))
        while batch := list(islice(keys, SWEEP_BATCH_SIZE)):
            with installation.session() as session:
                known = referenced_keys(session, batch)
            found += [key for key in batch if key not in known]
    return warning(f"{len(found)} files: {_list_first(found)}.") if found else ok("There is none.")
