"""Files that a challenge offers, such as training data: list, upload, describe, download and delete them."""

from collections.abc import Mapping
from dataclasses import dataclass

from app.actions.access import (
    Caller,
    is_organizer,
    load_organized_challenge,
    load_visible_challenge,
    require_approved_status,
    require_scope,
)
from app.actions.audit.record import changed_fields, record
from app.errors import FileNameTaken, NoTeam, NotFound, TooManyFiles
from app.files import StoredFile
from app.store import clock
from app.store.queries import challenge_files, teams
from app.store.session import ReadSession, WriteSession
from app.store.tables import Challenge, ChallengeFile
from app.store.types import id_at

MAX_FILES = 200
FOR_TEAMS = "teams"


@dataclass(frozen=True, slots=True)
class FileDescription:
    """What organizers state about a file."""

    name: str
    description: str
    licence: str
    audience: str
    media_type: str


def list_files(session: ReadSession, caller: Caller, slug: str) -> list[ChallengeFile]:
    """The files of a challenge that the caller may see, by name, whether or not they may download each."""
    return challenge_files.of_challenge(session, load_visible_challenge(session, caller, slug).id)


def require_can_add_file(session: ReadSession, caller: Caller, slug: str, name: str) -> Challenge:
    """The challenge, if the caller may add a file of this name; raises FileNameTaken, TooManyFiles."""
    challenge = load_organized_challenge(session, caller, slug)
    if challenge_files.by_name(session, challenge.id, name) is not None:
        raise FileNameTaken
    if challenge_files.count(session, challenge.id) >= MAX_FILES:
        raise TooManyFiles(f"A challenge has at most {MAX_FILES} files.")
    return challenge


def add_file(
    session: WriteSession, caller: Caller, slug: str, stored: StoredFile, description: FileDescription
) -> ChallengeFile:
    """Offer an uploaded file, as an organizer; raises what require_can_add_file raises."""
    challenge = require_can_add_file(session, caller, slug, description.name)
    row = ChallengeFile(
        id=id_at(clock.steady(session)),
        challenge_id=challenge.id,
        name=description.name,
        description=description.description,
        licence=description.licence,
        audience=description.audience,
        media_type=description.media_type,
        file_key=stored.key,
        sha256=stored.sha256,
        size=stored.size,
        created_by=caller.user_id,
        created_at=clock.now(session),
    )
    session.add(row)
    session.flush()
    changes = {name: (None, getattr(row, name)) for name in ("sha256", "size", "licence", "audience")}
    record(session, caller, "file.upload", challenge=challenge, of=row, changes=changes)
    return row


def edit_file(session: WriteSession, caller: Caller, slug: str, name: str, changes: Mapping[str, str]) -> ChallengeFile:
    """Change the description, licence or audience of a file, as an organizer; raises NotFound."""
    challenge = load_organized_challenge(session, caller, slug)
    row = _require_file(session, challenge, name)
    changed = {name: pair for name, pair in changed_fields(row, changes).items() if pair[0] != pair[1]}
    if changed:
        record(session, caller, "file.edit", challenge=challenge, of=row, changes=changed)
        for field, value in changes.items():
            setattr(row, field, value)
        session.flush()
    return row


def delete_file(session: WriteSession, caller: Caller, slug: str, name: str) -> str:
    """Delete a file, as an organizer; returns the key of its bytes, which the caller deletes. Raises NotFound."""
    challenge = load_organized_challenge(session, caller, slug)
    row = _require_file(session, challenge, name)
    changes = {"sha256": (row.sha256, None), "size": (row.size, None)}
    record(session, caller, "file.delete", challenge=challenge, of=row, changes=changes)
    session.delete(row)
    session.flush()
    return row.file_key


def load_file_to_download(session: ReadSession, caller: Caller, slug: str, name: str) -> ChallengeFile:
    """A file, if the caller may download it.

    Raises NotFound; for a file for teams Unauthorized, NotRegistered, RegistrationPending, RegistrationBarred, NoTeam.
    """
    challenge = load_visible_challenge(session, caller, slug)
    row = _require_file(session, challenge, name)
    if row.audience == FOR_TEAMS:
        user_id = require_scope(caller, "read")
        if not is_organizer(session, caller, challenge):
            registration = teams.registration_of(session, challenge.id, user_id)
            require_approved_status(
                None if registration is None else registration.status,
                None if registration is None else registration.reason,
            )
            if registration is None or registration.team_id is None:
                raise NoTeam
    return row


def _require_file(session: ReadSession, challenge: Challenge, name: str) -> ChallengeFile:
    row = challenge_files.by_name(session, challenge.id, name)
    if row is None:
        raise NotFound(f"The challenge '{challenge.slug}' has no file of this name.")
    return row
