"""A person's own data: everything that the service stores about the account."""

from collections.abc import Sequence
from typing import Any

from app.actions.access import Caller, require_scope
from app.actions.submissions.read_submissions import SubmissionView, views_for_sender
from app.actions.submissions.score_visibility import round_for_participants
from app.errors import Unauthorized
from app.store.queries import account_access, audit_entries, challenges, invitations, submissions, teams
from app.store.session import ReadSession
from app.store.tables import AuditEntry, Challenge, Registration, Submission, User
from app.store.types import format_timestamp

PART_SIZE = 200
_ACT_COLUMNS = ("at", "action", "role", "object_name", "changes", "reason")
_SUBMISSION_COLUMNS = (
    *("id", "status", "method", "description", "link", "sha256", "size", "format", "baseline", "test", "on_behalf"),
    *("unofficial", "submitted_at", "selected_at", "withdrawn_at", "withdrawn_reason"),
    *("disqualified_at", "disqualified_reason"),
)


def personal_data(session: ReadSession, caller: Caller) -> dict[str, Any]:
    """Account, access, roles, registrations, teams and invitations of the caller.

    What can be long is read in parts: `submissions_part` and `acts_part`. Raises Unauthorized.
    """
    user = session.get(User, require_scope(caller, "read"))
    if user is None:
        raise Unauthorized
    tokens, sessions = account_access.tokens_and_sessions(session, user.id)
    resets, known = account_access.resets(session, user.id), account_access.known_addresses(session, user.id)
    columns = ("id", "email", "name", "admin", "approved", "created_at", "disabled_at", "disabled_reason")
    token_columns = ("id", "name", "scopes", "created_at", "expires_at", "revoked_at", "last_used_at")
    registration_columns = ("status", "reason", "terms_version", "terms_accepted_at", "fields", "created_at")
    return {
        "account": _fields(user, *columns),
        "tokens": [_fields(row, *token_columns) for row in tokens],
        "sessions": [_fields(row, "id", "created_at", "expires_at", "ended_at") for row in sessions],
        "password_resets": [_fields(row, "created_at", "expires_at", "used_at") for row in resets],
        "known_addresses": [_fields(row, "block", "last_at") for row in known],
        "organizer_of": [
            {"challenge": _slug(session, row.challenge_id)} | _fields(row, "role", "removed_at")
            for row in challenges.roles_of_user(session, user.id, ended=True)
        ],
        "registrations": [
            {"challenge": _slug(session, row.challenge_id), "team": None if row.team is None else row.team.name}
            | _fields(row, *registration_columns)
            | {"history": _history(session, row)}
            for row in teams.registrations_of_user(session, user.id)
        ],
        "teams": [
            {"challenge": _slug(session, team.challenge_id), "team": team.name} | _fields(stay, "joined_at", "left_at")
            for stay, team in teams.stays_of_user(session, user.id)
        ],
        "invitations": [
            _fields(row, "id", "kind", "note", "uses", "max_uses", "created_at", "expires_at", "revoked_at")
            for row in invitations.made_by(session, user.id)
        ],
    }


def submissions_part(session: ReadSession, caller: Caller, after: str) -> tuple[list[dict[str, Any]], str | None]:
    """What the caller sent after the submission with this id, with the scores that they may see, and where to go on."""
    rows = submissions.sent_by(session, require_scope(caller, "read"), after=after, limit=PART_SIZE)
    views = views_for_sender(session, caller, rows)
    return [_submission(row, views.get(row.id)) for row in rows], _last_id(rows)


def acts_part(session: ReadSession, caller: Caller, after: str) -> tuple[list[dict[str, Any]], str | None]:
    """The caller's entries in the audit trail after the one with this id, and where to go on."""
    rows = audit_entries.of_actor(session, require_scope(caller, "read"), after=after, limit=PART_SIZE)
    return [_act(row) for row in rows], _last_id(rows)


def _last_id(rows: Sequence[Submission] | Sequence[AuditEntry]) -> str | None:
    return rows[-1].id if len(rows) == PART_SIZE else None


def _submission(row: Submission, view: SubmissionView | None) -> dict[str, Any]:
    where = {} if view is None else {"challenge": view.challenge, "phase": view.phase}
    finished_at = round_for_participants(row.finished_at)
    times = {"finished_at": None if finished_at is None else format_timestamp(finished_at)}
    return where | _fields(row, *_SUBMISSION_COLUMNS) | times | {"scores": {} if view is None else view.scores}


def _history(session: ReadSession, registration: Registration) -> list[dict[str, Any]]:
    return [_act(row) for row in audit_entries.of_object(session, registration.id)]


def _act(row: AuditEntry) -> dict[str, Any]:
    return _fields(row, *_ACT_COLUMNS)


def _fields(row: Any, *names: str) -> dict[str, Any]:
    values = {name: getattr(row, name) for name in names}
    return {name: format_timestamp(value) if hasattr(value, "tzinfo") else value for name, value in values.items()}


def _slug(session: ReadSession, challenge_id: str) -> str:
    return session.get_one(Challenge, challenge_id).slug
