"""Ask for the import of an archive, and read imports; for administrators."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy.exc import IntegrityError

from app.actions.access import Caller, require_administrator
from app.actions.audit.record import record
from app.actions.challenges.create_challenge import require_free_slug
from app.actions.imports.archived_fields import ManifestHead
from app.actions.imports.read_settings import read_head
from app.archives.open_archive import open_archive
from app.errors import AlreadyImported, NotFound, OwnPhase
from app.files import StoredFile
from app.store import clock
from app.store.queries import imports
from app.store.session import ReadSession, WriteSession
from app.store.tables import Challenge, ImportedId, Phase, PhaseImport, User
from app.store.types import format_timestamp, id_at

FORBIDDEN = "Only administrators of this service may import phases."
KINDS = ("challenge", "phase", "gold", "recipe", "team", "submission", "switch")


@dataclass(frozen=True, slots=True)
class ImportView:
    """An import, with the slugs of what was made and the name of who asked for it."""

    row: PhaseImport
    challenge: str | None
    phase: str | None
    requested_by: User | None


def require_may_import(caller: Caller) -> None:
    """Raise Unauthorized, InsufficientScope or Forbidden unless the caller is an administrator."""
    require_administrator(caller, FORBIDDEN)


def read_archive_head(path: Path) -> ManifestHead:
    """What the manifest of an uploaded archive says; raises InvalidArchive. Only directory and manifest are read."""
    with open_archive(path) as archive:
        return read_head(archive)


def request_import(
    session: WriteSession, caller: Caller, stored: StoredFile, head: ManifestHead, *, slug: str | None
) -> ImportView:
    """Queue the import of a stored archive; raises Forbidden, AlreadyImported, OwnPhase and SlugTaken."""
    require_may_import(caller)
    before = imports.of_origin_phase(session, head.origin.phase_id)
    if before is not None:
        known: dict[str, Any] = {"import": before.id}
        raise AlreadyImported(f"Phase '{head.phase}' of '{head.challenge}' was imported before.", **known)
    if imports.is_local_phase(session, head.origin.phase_id):
        raise OwnPhase
    wanted = slug or head.challenge
    require_free_slug(session, wanted)
    moment = clock.read(session)
    origin: dict[str, Any] = {
        "url": head.origin.url,
        "challenge": head.challenge,
        "phase": head.phase,
        "program": head.program,
    }
    origin |= {"scorer_version": head.scorer_version, "exported_at": format_timestamp(head.exported_at)}
    origin |= {"challenge_id": head.origin.challenge_id, "phase_id": head.origin.phase_id}
    row = PhaseImport(
        id=id_at(moment.steady),
        status="queued",
        slug=wanted,
        origin=origin,
        origin_phase_id=head.origin.phase_id,
        file_key=stored.key,
        sha256=stored.sha256,
        size=stored.size,
        reason=caller.reason,
        requested_by=caller.user_id,
        requested_at=moment.now,
    )
    session.add(row)
    try:
        session.flush()
    except IntegrityError as error:  # another request was quicker
        raise AlreadyImported from error
    changes: dict[str, tuple[Any, Any]] = {"import": (None, row.id), "slug": (None, wanted), "source": (None, origin)}
    changes["archive_sha256"] = (None, stored.sha256)
    record(session, caller, "import.request", challenge=None, of=None, changes=changes)
    session.flush()
    return _view(session, row)


def read_import(session: ReadSession, caller: Caller, import_id: str) -> ImportView:
    """An import; raises NotFound and Forbidden."""
    require_may_import(caller)
    row = session.get(PhaseImport, import_id)
    if row is None:
        raise NotFound(f"There is no import '{import_id[:64]}'.")
    return _view(session, row)


def list_imports(session: ReadSession, caller: Caller, *, before: str | None, limit: int) -> list[ImportView]:
    """Imports, the newest first; raises Forbidden."""
    require_may_import(caller)
    return [_view(session, row) for row in imports.newest(session, before=before, limit=limit)]


def list_origin_ids(
    session: ReadSession,
    caller: Caller,
    import_id: str,
    *,
    kind: str | None,
    after: tuple[str, str] | None,
    limit: int,
) -> list[ImportedId]:
    """The ids that rows of an import had at its source; raises NotFound and Forbidden."""
    read_import(session, caller, import_id)
    return imports.origin_ids(session, import_id, kind=kind, after=after, limit=limit)


def _view(session: ReadSession, row: PhaseImport) -> ImportView:
    challenge = None if row.challenge_id is None else session.get(Challenge, row.challenge_id)
    phase = None if row.phase_id is None else session.get(Phase, row.phase_id)
    user = None if row.requested_by is None else session.get(User, row.requested_by)
    slugs = None if challenge is None else challenge.slug, None if phase is None else phase.slug
    return ImportView(row, *slugs, user)
