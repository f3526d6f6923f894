"""Queries for what gives access to an account: tokens, sessions, password resets."""

from collections.abc import Mapping
from datetime import datetime, timedelta

from sqlalchemy import delete, select, update

from app.store.session import ReadSession, WriteSession
from app.store.tables import KnownAddress, PasswordReset, Token, UserSession

KEPT_AFTER_END = timedelta(days=30)
"""How long sessions and resets that no longer work are kept."""


def _lock_tokens(session: WriteSession, user_id: str) -> None:
    """Lock the tokens of a user in the order of note_uses, so that the two cannot deadlock."""
    session.execute(select(Token.id).where(Token.user_id == user_id).order_by(Token.id).with_for_update())


def user_of_reset(session: ReadSession, reset_id: str) -> str | None:
    """The id of the user of a password reset."""
    return session.scalar(select(PasswordReset.user_id).where(PasswordReset.id == reset_id))


def revoke_tokens(session: WriteSession, user_id: str, now: datetime, *, but: str | None) -> None:
    """Revoke the tokens of a user, except one."""
    _lock_tokens(session, user_id)
    live = (Token.user_id == user_id) & Token.revoked_at.is_(None)
    session.execute(update(Token).where(live if but is None else live & (Token.id != but)).values(revoked_at=now))


def end_sessions(session: WriteSession, user_id: str, now: datetime) -> None:
    """End the sessions of a user."""
    live = (UserSession.user_id == user_id) & UserSession.ended_at.is_(None)
    session.execute(update(UserSession).where(live).values(ended_at=now))


def end_resets(session: WriteSession, user_id: str, now: datetime) -> None:
    """Let the password resets of a user that were not used expire."""
    open_ones = (PasswordReset.user_id == user_id) & PasswordReset.used_at.is_(None) & (PasswordReset.expires_at > now)
    session.execute(update(PasswordReset).where(open_ones).values(expires_at=now))


def note_uses(session: WriteSession, uses: Mapping[str, datetime]) -> None:
    """Store when tokens were last used, by their ids."""
    for token_id in sorted(uses):  # in one order, so that two processes cannot deadlock
        session.execute(update(Token).where(Token.id == token_id).values(last_used_at=uses[token_id]))


def tokens_and_sessions(session: ReadSession, user_id: str) -> tuple[list[Token], list[UserSession]]:
    """All tokens and sessions of a user, oldest first."""
    tokens = session.scalars(select(Token).where(Token.user_id == user_id).order_by(Token.id))
    sessions = session.scalars(select(UserSession).where(UserSession.user_id == user_id).order_by(UserSession.id))
    return list(tokens), list(sessions)


def resets(session: ReadSession, user_id: str) -> list[PasswordReset]:
    """The password resets of a user that are still kept, oldest first."""
    query = select(PasswordReset).where(PasswordReset.user_id == user_id)
    return list(session.scalars(query.order_by(PasswordReset.id)))


def known_addresses(session: ReadSession, user_id: str) -> list[KnownAddress]:
    """The address blocks that a user logged in from."""
    query = select(KnownAddress).where(KnownAddress.user_id == user_id)
    return list(session.scalars(query.order_by(KnownAddress.last_at)))


def delete_access(session: WriteSession, user_id: str) -> None:
    """Delete tokens, sessions, password resets and known addresses of a user."""
    _lock_tokens(session, user_id)
    for table in (Token, UserSession, PasswordReset, KnownAddress):
        session.execute(delete(table).where(table.user_id == user_id))


def forget_ended(session: WriteSession, now: datetime) -> None:
    """Delete sessions and password resets that have not worked for a while."""
    for table in (UserSession, PasswordReset):
        session.execute(delete(table).where(table.expires_at <= now - KEPT_AFTER_END))
