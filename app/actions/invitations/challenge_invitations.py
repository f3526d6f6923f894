"""Invitations to a challenge, which its organizers make."""

from app.actions.access import (
    Caller,
    load_challenge_with_code,
    load_organized_challenge,
    load_visible_challenge,
)
from app.actions.accounts.issue_token import hash_token_secret
from app.actions.audit.record import record
from app.actions.invitations.codes import make_invitation
from app.errors import NotFound
from app.store import clock
from app.store.queries import invitations, paging
from app.store.session import ReadSession, WriteSession
from app.store.tables import Challenge, Invitation


def invite_to_challenge(
    session: WriteSession, caller: Caller, slug: str, *, max_uses: int | None, days: int, note: str
) -> tuple[Invitation, str]:
    """A new invitation and its code, which is not stored; for organizers."""
    challenge = load_organized_challenge(session, caller, slug)
    row, code = make_invitation(
        session,
        "challenge",
        max_uses=max_uses,
        days=days,
        note=note,
        challenge_id=challenge.id,
        created_by=caller.user_id,
    )
    record(session, caller, "invitation.create", challenge=challenge, of=row, changes={"max_uses": (None, max_uses)})
    return row, code


def read_challenge_with_code(session: ReadSession, caller: Caller, slug: str, code: str | None) -> Challenge:
    """The challenge, if the caller may see it or is a user with a valid code; raises NotFound and Renamed.

    Not for visitors: shared caches keep their replies.
    """
    if code is None or caller.user_id is None:
        return load_visible_challenge(session, caller, slug)
    return load_challenge_with_code(session, caller, slug, code_hash=hash_token_secret(code))


def list_challenge_invitations(
    session: ReadSession, caller: Caller, slug: str, *, limit: int, cursor: str | None
) -> tuple[list[Invitation], str | None]:
    """The invitations that were not revoked, newest first; for organizers."""
    challenge = load_organized_challenge(session, caller, slug, writes=False)
    query = invitations.unrevoked("challenge", challenge.id)
    return paging.page(session, query, Invitation, limit=limit, cursor=cursor)


def revoke_challenge_invitation(session: WriteSession, caller: Caller, slug: str, invitation_id: str) -> None:
    """End an invitation; raises NotFound; for organizers."""
    challenge = load_organized_challenge(session, caller, slug)
    row = session.get(Invitation, invitation_id)
    if row is None or row.kind != "challenge" or row.challenge_id != challenge.id:
        raise NotFound("There is no invitation with this id.")
    if row.revoked_at is None:
        row.revoked_at = clock.now(session)
        record(session, caller, "invitation.revoke", challenge=challenge, of=row)
