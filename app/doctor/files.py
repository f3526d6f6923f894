"""Checks of the uploads: where they are kept, that they can be written and read, that none is lost or left over."""

import hashlib
from collections.abc import Iterable
from itertools import islice

from app.actions.operations.sweep_files import BATCH, DAY
from app.doctor.check_declaration import SCHEMA, SETTINGS, Said, check, ok, problem, warning
from app.doctor.installation import Patient
from app.errors import Unavailable
from app.files import Files
from app.runtime.data_folder import FolderNotShared
from app.store.queries import diagnostics
from app.store.queries.file_references import with_rows

PLACE = "files.place"
NEWEST = 100  # rows of each kind whose files are looked for without --deep
SHOWN = 3
PROBE = b"assay doctor\n"
CHUNK = 1 << 20


@check(PLACE, remedy=FolderNotShared.remedy)
def place(patient: Patient) -> Said:
    """The uploads are where all who need them reach them: PostgreSQL serves several hosts, a folder may be of one."""
    settings = patient.settings
    if settings.files_url:
        return ok(f"In {settings.files_url}.")
    if settings.on_postgresql and not settings.files_shared:
        return problem("The database is PostgreSQL, and uploads are kept in a folder of this host.")
    return ok(f"In {settings.files_dir.resolve()}.")


@check(
    "files.works",
    needs=(SETTINGS, PLACE),
    remedy="Let the account that serves write there; for a bucket check its name, address, region and keys.",
)
def works(patient: Patient) -> Said:
    """A file can be written, read back and removed."""
    if not patient.has_files_place():
        return warning(f"{patient.settings.files_dir.resolve()} does not exist yet.", "The first start makes it.")
    with patient.files() as files:
        upload = files.begin()
        upload.write(PROBE)
        key = upload.finish().key
        try:
            with files.local(key) as path:
                read = path.read_bytes()
        finally:
            files.delete(key)
    return ok("A probe was written, read and removed.") if read == PROBE else problem("A probe came back changed.")


@check(
    "files.present",
    needs=(SETTINGS, PLACE, SCHEMA),
    late="skipped",
    remedy="Bring the files back from the last backup (assay restore): without them, nothing can be scored or downloaded.",
)
def present(patient: Patient) -> Said:
    """Every row's file is there and as long as it was: those of the newest rows; with --deep all, and their contents."""
    with patient.session() as session:
        named = diagnostics.named_files(session, None if patient.deep else NEWEST)
    if not named:
        return ok("No row names a file.")
    if not patient.has_files_place():
        return problem(f"{len(named)} rows name files, and {patient.settings.files_dir.resolve()} does not exist.")
    with patient.files() as files:
        faults = [text for each in named if (text := _fault(files, each, deep=patient.deep))]
    if faults:
        return problem(f"Of {len(named)} files {len(faults)} are not as they should be: {_some(faults)}.")
    return ok(f"{len(named)} files are there{', unchanged' if patient.deep else ''}.")


def _fault(files: Files, named: diagnostics.Named, *, deep: bool) -> str | None:
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


def _sha256(files: Files, key: str) -> str:
    digest = hashlib.sha256()
    with files.local(key) as path, path.open("rb") as file:
        while chunk := file.read(CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def _some(texts: Iterable[str]) -> str:
    listed = list(texts)
    more = f" and {len(listed) - SHOWN} more" if len(listed) > SHOWN else ""
    return ", ".join(listed[:SHOWN]) + more


@check(
    "files.left_over",
    needs=(SETTINGS, PLACE, SCHEMA),
    deep=True,
    late="skipped",
    remedy="A service or worker that runs removes them within two hours; see its log if they stay.",
)
def left_over(patient: Patient) -> Said:
    """No file older than a day is without a row."""
    if not patient.has_files_place():
        return ok("There are no files.")
    found: list[str] = []
    with patient.files() as files:
        keys = iter(files.keys(older=DAY))
        while batch := list(islice(keys, BATCH)):
            with patient.session() as session:
                known = with_rows(session, batch)
            found += [key for key in batch if key not in known]
    return warning(f"{len(found)} files: {_some(found)}.") if found else ok("There is none.")
