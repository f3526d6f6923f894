"""Record an act of an organizer, administrator, captain or member in the audit trail, and for the transparency log."""

import hashlib
import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from app.actions.access import Caller
from app.actions.transparency.add_record import add_record
from app.store import clock
from app.store.queries import challenges, teams
from app.store.session import ReadSession, WriteSession
from app.store.tables import (
    Announcement,
    AuditEntry,
    Challenge,
    ChallengeFile,
    Invitation,
    Phase,
    Registration,
    Submission,
    Team,
    Token,
    User,
)
from app.store.types import format_timestamp, id_at

AuditedObject = (
    Challenge
    | Phase
    | Submission
    | Team
    | Registration
    | Invitation
    | User
    | Token
    | Announcement
    | ChallengeFile
    | None
)
"""What an act changes: its id, and its slug or name, are recorded."""

OPERATOR = Caller()
"""Whoever runs a command on the machine of the database, without an account."""

AUDIT_KIND = "audit"
LOGGED_FIELDS = (
    *("id", "actor_id", "role", "action", "challenge_id", "phase_id", "team_id", "user_id"),
    *("object_type", "object_id"),
)

WITHHELD = "(not recorded)"
_WITHHELD_FIELDS = frozenset({"contact"})
"""Fields that hold addresses of persons: the trail says that they changed, because its entries cannot be deleted."""


def record(
    session: WriteSession,
    caller: Caller,
    action: str,
    *,
    challenge: Challenge | None,
    of: AuditedObject,
    phase: Phase | None = None,
    team: Team | None = None,
    user_id: str | None = None,
    changes: Mapping[str, tuple[Any, Any]] | None = None,
    reason: str | None = None,
) -> None:
    """Record an act in the transaction that does it.

    `action` is object and verb, such as `phase.pause`; `challenge` is None for acts on accounts and on the site.
    `phase`, `team` and `user_id` say where and whom the act concerns, unless that follows from its object. `changes`
    gives the value before and after by field; fields that did not change are left out. Values are texts, numbers,
    times, lists and objects of these; never a secret, and of a person only the id. Without `reason`, that of the
    caller is recorded; actions that need the reason for more than the trail give it.
    """
    related = _related(of)
    changed = {name: _json(name, pair) for name, pair in (changes or {}).items() if pair[0] != pair[1]}
    moment = clock.read(session)
    entry = AuditEntry(
        id=id_at(moment.steady),
        at=moment.now,
        actor_id=caller.user_id,
        role=_role_of(session, caller, challenge, of),
        action=action,
        challenge_id=None if challenge is None else challenge.id,
        phase_id=related.get("phase_id") if phase is None else phase.id,
        team_id=related.get("team_id") if team is None else team.id,
        user_id=user_id or related.get("user_id"),
        object_type=None if of is None else type(of).__name__.lower(),
        object_id=None if of is None else of.id,
        object_name=_name_of(of),
        changes=changed,
        reason=caller.reason if reason is None else reason,
    )
    session.add(entry)
    add_record(session, AUDIT_KIND, log_record_of(entry), challenge_id=entry.challenge_id, object_id=entry.id)


def log_record_of(entry: AuditEntry) -> dict[str, Any]:
    """What the transparency log records of an entry: ids, and a hash of the texts, in which a person may be named."""
    content = json.dumps([entry.object_name, entry.changes, entry.reason], ensure_ascii=False, sort_keys=True)
    record: dict[str, Any] = {name: getattr(entry, name) for name in LOGGED_FIELDS}
    record["at"] = format_timestamp(entry.at)
    return record | {"content_sha256": hashlib.sha256(content.encode()).hexdigest()}


def changed_fields(row: Any, changes: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """The value before and after of each field that is about to be set on this row."""
    return {name: (getattr(row, name), value) for name, value in changes.items()}


def created_fields(fields: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """The fields of something new, as changes."""
    return {name: (None, value) for name, value in fields.items()}


def _role_of(session: ReadSession, caller: Caller, challenge: Challenge | None, of: AuditedObject) -> str:
    """In what role the caller acts: an organizer's role, or `administrator`, `captain`, `member`, `user`, `operator`."""
    if caller.user_id is None:
        return "operator"
    role = None if challenge is None else challenges.role_of(session, challenge.id, caller.user_id)
    if role is not None:
        return role
    if caller.has_admin_rights:
        return "administrator"
    if isinstance(of, Team) and of.captain_id == caller.user_id:
        return "captain"
    registration = None if challenge is None else teams.registration_of(session, challenge.id, caller.user_id)
    if registration is None:
        return "user"
    team = registration.team
    return "captain" if team is not None and team.captain_id == caller.user_id else "member"


def _related(of: AuditedObject) -> dict[str, str | None]:
    """The phase, the team and the user that an object is or belongs to; of a submission, the user who sent it."""
    own = {Phase: "phase_id", Team: "team_id", User: "user_id"}.get(type(of))  # type: ignore[arg-type]
    if own is not None and of is not None:
        return {own: of.id}
    return {name: getattr(of, name, None) for name in ("phase_id", "team_id", "user_id")}


def _name_of(of: AuditedObject) -> str | None:
    if isinstance(of, Challenge | Phase):
        return of.slug
    if isinstance(of, Announcement):
        return of.title
    return of.name if isinstance(of, Team | ChallengeFile) else None


def _json(name: str, pair: tuple[Any, Any]) -> dict[str, Any]:
    if name in _WITHHELD_FIELDS:
        pair = (pair[0] and WITHHELD, pair[1] and WITHHELD)
    before, after = (format_timestamp(value) if isinstance(value, datetime) else value for value in pair)
    return {"from": before, "to": after}
