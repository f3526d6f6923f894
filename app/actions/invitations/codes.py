"""Make and use the codes of invitations; only their SHA-256 is stored."""

import secrets
from datetime import timedelta
from typing import Any

from app.actions.accounts.issue_token import hash_token_secret
from app.errors import InvalidInvitation
from app.store import clock
from app.store.queries import challenges, invitations
from app.store.session import ReadSession, WriteSession
from app.store.tables import Invitation

DEFAULT_DAYS = 14
MAX_DAYS = 90


def make_invitation(
    session: WriteSession, kind: str, *, days: int = DEFAULT_DAYS, max_uses: int | None = 1, **fields: Any
) -> tuple[Invitation, str]:
    """A new invitation of this kind and its code, which is not stored; `fields` are columns of the row."""
    code = secrets.token_urlsafe(18)
    now = clock.steady(session)  # the clock that decides its expiry
    row = Invitation(
        kind=kind,
        code_hash=hash_token_secret(code),
        max_uses=max_uses,
        uses=0,
        created_at=now,
        expires_at=now + timedelta(days=days),
        **fields,
    )
    session.add(row)
    session.flush()
    return row, code


def use_invitation(session: WriteSession, code: str, kind: str, *, challenge_id: str | None = None) -> Invitation:
    """The invitation of this code, counted as used once more; raises InvalidInvitation.

    The row is locked, so that a code is not used once too often.
    """
    row = _require_open(session, invitations.lock_by_hash(session, hash_token_secret(code)), kind, challenge_id)
    row.uses += 1
    session.flush()
    return row


def require_usable(session: ReadSession, code: str, kind: str, *, challenge_id: str | None = None) -> None:
    """Raise InvalidInvitation unless the code could be used now."""
    _require_open(session, invitations.by_hash(session, hash_token_secret(code)), kind, challenge_id)


def _require_open(session: ReadSession, row: Invitation | None, kind: str, challenge_id: str | None) -> Invitation:
    if row is None or row.kind != kind or row.challenge_id != challenge_id:
        raise InvalidInvitation
    if row.revoked_at is not None:
        raise InvalidInvitation("This invitation has been revoked.")
    if row.expires_at is not None and row.expires_at <= clock.steady(session):
        raise InvalidInvitation("This invitation has expired.")
    if row.max_uses is not None and row.uses >= row.max_uses:
        raise InvalidInvitation("This invitation has been used as often as it may be.")
    return row


def invitation_kind(session: ReadSession, code: str) -> str | None:
    """What the invitation of this code admits to: `site`, `challenge` or `team`; None for an unknown code."""
    row = invitations.by_hash(session, hash_token_secret(code))
    return None if row is None else row.kind


def invites_to_team_of(session: ReadSession, code: str, slug: str) -> bool:
    """Whether the code can be used to join a team of the challenge with this slug, by a user registered for it."""
    row, challenge = invitations.by_hash(session, hash_token_secret(code)), challenges.by_slug(session, slug)
    if row is None or challenge is None or row.kind != "team" or challenge.status != "published":
        return False
    return row.challenge_id == challenge.id and is_open(session, row)


def is_open(session: ReadSession, row: Invitation) -> bool:
    """Whether the code of an invitation can still be used."""
    left = row.max_uses is None or row.uses < row.max_uses
    current = row.expires_at is None or clock.steady(session) < row.expires_at
    return left and current and row.revoked_at is None
