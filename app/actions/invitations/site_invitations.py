"""Invitations to the site, which administrators make."""

from app.actions.access import Caller, require_administrator
from app.actions.audit.record import record
from app.actions.invitations.codes import make_invitation
from app.errors import NotFound
from app.store import clock
from app.store.queries import invitations, paging
from app.store.session import ReadSession, WriteSession
from app.store.tables import Invitation

ADMINISTRATORS_ONLY = "Only administrators may manage invitations to the site."


def invite_to_site(
    session: WriteSession, caller: Caller, *, max_uses: int | None, days: int, note: str
) -> tuple[Invitation, str]:
    """A new invitation and its code; raises Forbidden."""
    require_administrator(caller, ADMINISTRATORS_ONLY)
    row, code = make_invitation(session, "site", max_uses=max_uses, days=days, note=note, created_by=caller.user_id)
    record(session, caller, "invitation.create", challenge=None, of=row, changes={"max_uses": (None, max_uses)})
    return row, code


def list_site_invitations(
    session: ReadSession, caller: Caller, *, limit: int, cursor: str | None
) -> tuple[list[Invitation], str | None]:
    """The invitations that were not revoked, newest first; raises Forbidden."""
    require_administrator(caller, ADMINISTRATORS_ONLY)
    return paging.page(session, invitations.unrevoked("site"), Invitation, limit=limit, cursor=cursor)


def revoke_site_invitation(session: WriteSession, caller: Caller, invitation_id: str) -> None:
    """End an invitation; raises Forbidden and NotFound."""
    require_administrator(caller, ADMINISTRATORS_ONLY)
    row = session.get(Invitation, invitation_id, with_for_update={"of": Invitation})
    if row is None or row.kind != "site":
        raise NotFound("There is no invitation with this id.")
    if row.revoked_at is None:
        row.revoked_at = clock.now(session)
        record(session, caller, "invitation.revoke", challenge=None, of=row)
