"""Queries for users and their tokens."""

from datetime import datetime

from sqlalchemy import Select, select

from app.store.session import ReadSession
from app.store.tables import Token, User

ADMINISTRATOR_EMAIL = "administrator@localhost"


def by_email(session: ReadSession, email: str) -> User | None:
    """The account of this address, in whatever case it was written."""
    return session.scalar(select(User).where(User.email == email.strip().lower()))


def administrator(session: ReadSession) -> User | None:
    """The built-in administrator's row."""
    return by_email(session, ADMINISTRATOR_EMAIL)


def live_token(session: ReadSession, token_id: str, now: datetime) -> Token | None:
    """A token that is neither revoked nor expired."""
    token = session.get(Token, token_id)
    if token is None or token.revoked_at is not None or token.expires_at <= now:
        return None
    return token


def tokens_of(user_id: str) -> Select[Token]:
    """A user's tokens that are not revoked."""
    return select(Token).where(Token.user_id == user_id, Token.revoked_at.is_(None))
