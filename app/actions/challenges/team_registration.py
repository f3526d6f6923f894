"""Register for a challenge with a team, and decide on registrations."""

from typing import Any

from app.actions.access import (
    Caller,
    is_organizer,
    load_challenge_with_code,
    load_organized_challenge,
    load_visible_challenge,
    require_not_archived,
    require_organizer,
    require_scope,
)
from app.actions.accounts.issue_token import hash_token_secret
from app.actions.audit.record import changed_fields, record
from app.actions.challenges.registration_rules import (
    Statements,
    apply_statements,
    change_statements,
    require_may_compete,
)
from app.actions.invitations.codes import invitation_kind, invites_to_team_of, use_invitation
from app.actions.submissions.cancel_submission import cancel_member_submissions
from app.actions.teams.found_team import found_team
from app.actions.teams.join_team import join_team
from app.actions.teams.leave_team import end_offers
from app.actions.teams.pass_on_captaincy import can_lead, replace_idle_captain
from app.errors import (
    AlreadyRegistered,
    InvalidRequest,
    NotFound,
    RegistrationBarred,
    RegistrationEnded,
    RegistrationNeedsCode,
)
from app.store.queries import audit_entries, memberships, paging, teams
from app.store.session import ReadSession, WriteSession
from app.store.tables import AuditEntry, Challenge, Registration

NOTHING_STATED = Statements()

_DECISIONS = {"approved": "approve", "barred": "bar", "pending": "reset"}


def register_team(
    session: WriteSession, caller: Caller, slug: str, name: str, statements: Statements = NOTHING_STATED
) -> Registration:
    """Register the caller with a new team; raises what _enter and found_team raise."""
    challenge, registration = _enter(session, caller, slug, statements)
    found_team(session, caller, challenge, registration, name)
    session.refresh(registration)
    return registration


def register_with_invitation(
    session: WriteSession,
    caller: Caller,
    slug: str,
    code: str,
    *,
    team: str | None = None,
    statements: Statements = NOTHING_STATED,
) -> Registration:
    """Register the caller with a code: with the team that it invites to, or, for a challenge, with a new team or none.

    Raises what _enter, join_team and found_team raise.
    """
    kind = invitation_kind(session, code)
    try:
        challenge, registration = _enter(session, caller, slug, statements, code=code if kind == "challenge" else None)
    except NotFound:
        if kind == "team" and invites_to_team_of(session, code, slug):
            raise RegistrationNeedsCode from None  # a captain may tell that the challenge exists, but admits nobody to it
        raise
    if kind != "challenge":
        if team is not None:
            fault = {"pointer": "/team", "detail": "an invitation to a team names the team; leave this out"}
            raise InvalidRequest("This code invites to a team that exists.", errors=[fault])
        join_team(session, caller, challenge, registration, code)
    elif team is not None:
        found_team(session, caller, challenge, registration, team)
    session.refresh(registration)
    return registration


def _enter(
    session: WriteSession, caller: Caller, slug: str, statements: Statements, *, code: str | None = None
) -> tuple[Challenge, Registration]:
    """The challenge and the caller's registration without a team, which is new if there is none or it has ended.

    `code` is that of an invitation to a challenge, which approves the registration. Raises AlreadyRegistered for a user
    who is in a team, RegistrationBarred, MayHaveReadGold, RegistrationNeedsCode, InvalidInvitation, and InvalidRequest
    if terms or answers are missing.
    """
    code_hash = None if code is None else hash_token_secret(code)
    challenge = load_challenge_with_code(session, caller, slug, code_hash=code_hash)
    user_id = require_scope(caller, "submit")
    require_not_archived(challenge)
    registration = teams.registration_of(session, challenge.id, user_id)
    if registration is not None and registration.team is not None:
        raise AlreadyRegistered(f"You are already registered, in the team '{registration.team.name}'.")
    if registration is not None and registration.status == "barred":
        raise RegistrationBarred(reason=registration.reason)
    require_may_compete(session, caller, user_id, challenge)
    new = registration is None or registration.status == "ended"
    if new and code is None and challenge.registration == "invitation":
        raise RegistrationNeedsCode
    registration = registration or Registration(challenge_id=challenge.id, user_id=user_id)
    before = registration.status
    if new:
        registration.status = "pending" if challenge.registration == "approval" else "approved"
    apply_statements(session, challenge, registration, statements)
    if code is not None:
        invitation = use_invitation(session, code, "challenge", challenge_id=challenge.id)
        registration.status, registration.invitation_id = "approved", invitation.id
    session.add(registration)
    session.flush()
    if before != registration.status:
        changes = {"status": (before, registration.status), "terms": (None, registration.terms_version)}
        record(session, caller, "registration.create", challenge=challenge, of=registration, changes=changes)
    return challenge, registration


def list_registrations(
    session: ReadSession, caller: Caller, slug: str, *, status: str | None = None, limit: int, cursor: str | None
) -> tuple[list[Registration], str | None]:
    """All registrations for organizers, the caller's own for everybody else; optionally those with one status."""
    challenge = load_visible_challenge(session, caller, slug)
    user_id = require_scope(caller, "read")
    only = None if is_organizer(session, caller, challenge) else user_id
    query = teams.registrations_of(challenge.id, only, status)
    return paging.page(session, query, Registration, limit=limit, cursor=cursor)


def read_registration(
    session: ReadSession, caller: Caller, slug: str, registration_id: str
) -> tuple[Registration, list[AuditEntry], bool]:
    """A registration, the newest acts on it, oldest first, and whether an organizer reads it.

    Raises NotFound.
    """
    challenge = load_visible_challenge(session, caller, slug)
    user_id = require_scope(caller, "read")
    registration = session.get(Registration, registration_id)
    organizer = is_organizer(session, caller, challenge)
    if registration is None or registration.challenge_id != challenge.id:
        raise NotFound
    if not organizer and registration.user_id != user_id:
        raise NotFound
    return registration, audit_entries.of_object(session, registration.id), organizer


def state_again(
    session: WriteSession, caller: Caller, slug: str, registration_id: str, statements: Statements
) -> Registration:
    """Accept the current terms, or change answers, as the registered user.

    Raises NotFound, RegistrationEnded, and InvalidRequest for another version of the terms or an invalid answer.
    """
    challenge = load_visible_challenge(session, caller, slug)
    user_id = require_scope(caller, "submit")
    registration = session.get(Registration, registration_id)
    if registration is None or registration.challenge_id != challenge.id or registration.user_id != user_id:
        raise NotFound
    require_not_archived(challenge)
    if registration.status == "ended":
        raise RegistrationEnded
    accepted, answers = registration.terms_version, registration.fields or {}
    change_statements(session, challenge, registration, statements)
    if registration.terms_version != accepted:
        changes: dict[str, tuple[Any, Any]] = {"terms": (accepted, registration.terms_version)}
        record(session, caller, "registration.accept_terms", challenge=challenge, of=registration, changes=changes)
    if registration.fields != answers:  # only which: the audit trail holds nothing of a person
        changes = {"answers": (None, sorted(statements.fields))}
        record(session, caller, "registration.answer", challenge=challenge, of=registration, changes=changes)
    session.flush()
    return registration


def require_may_change_registration(session: ReadSession, caller: Caller, slug: str, registration_id: str) -> None:
    """Raise NotFound or Forbidden unless the caller may change this registration: as its user or as an organizer."""
    challenge = load_visible_challenge(session, caller, slug)
    registration = session.get(Registration, registration_id)
    own = registration is not None and registration.user_id == caller.user_id
    if not own or registration is None or registration.challenge_id != challenge.id:
        require_organizer(session, caller, challenge)


def decide_registration(
    session: WriteSession, caller: Caller, slug: str, registration_id: str, *, status: str, reason: str | None
) -> tuple[Registration, list[str]]:
    """Approve or bar a registration, as an organizer; cancels the queued submissions of a barred member.

    Returns the ids of the cancelled submissions. The lock on the challenge keeps out new ones of that member meanwhile.
    Raises NotFound, RegistrationEnded, and InvalidRequest for a bar without a reason.
    """
    challenge = load_organized_challenge(session, caller, slug)
    registration = session.get(Registration, registration_id, populate_existing=True)
    if registration is None or registration.challenge_id != challenge.id:
        raise NotFound
    if registration.status == "ended" and status != "barred":
        raise RegistrationEnded
    if status == "barred" and reason is None and registration.status != "barred":
        fault = {"pointer": "/reason", "detail": "required to bar a user, who can read it"}
        raise InvalidRequest("A bar needs a reason.", errors=[fault])
    if reason is None and status == registration.status:
        reason = registration.reason  # the same status without a reason keeps the earlier reason
    changes = changed_fields(registration, {"status": status, "reason": reason})
    if any(before != after for before, after in changes.values()):
        action = f"registration.{_DECISIONS[status]}"
        record(session, caller, action, challenge=challenge, of=registration, changes=changes, reason=reason)
    registration.status, registration.reason = status, reason
    session.flush()
    if registration.team_id is not None:
        replace_idle_captain(session, registration.team_id, caller)
    if status != "barred":
        return registration, []
    if registration.team is not None and not any(map(can_lead, memberships.members_of(session, registration.team.id))):
        end_offers(session, registration.team)  # or whoever has a code would join, and end the mark of the team
    return registration, cancel_member_submissions(session, caller, registration)
