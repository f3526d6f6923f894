"""Queries for users and their tokens."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Select, bindparam, case, func, or_, select

from app.store import clock
from app.store.session import ReadSession
from app.store.tables import Token, User
from app.text.email_addresses import email_spellings

STATES: dict[str, ColumnElement[bool]] = {
    "enabled": User.disabled_at.is_(None),
    "disabled": User.disabled_at.is_not(None),
    "approved": User.approved.is_(True),
    "admin": User.admin.is_(True),
}
"""The states by which administrators list accounts."""
ADMINISTRATOR_EMAIL = "administrator@localhost"


def by_email(session: ReadSession, email: str) -> User | None:
    """The account with this address, in any spelling."""
    spellings = email_spellings(email)
    users = session.scalars(select(User).where(User.email.in_(spellings)))
    return min(users, key=lambda user: spellings.index(user.email), default=None)


def password_hash_share(session: ReadSession, beginning: str) -> float:
    """The share of password hashes that start with `beginning`; 1 if there are none."""
    matching = func.sum(case((User.password_hash.startswith(beginning, autoescape=True), 1), else_=0))
    query = select(matching, func.count()).select_from(User).where(User.password_hash.is_not(None))
    count, total = session.execute(query).one()
    return count / total if total else 1.0


def administrator(session: ReadSession) -> User | None:
    """The row of the built-in administrator."""
    return by_email(session, ADMINISTRATOR_EMAIL)


@dataclass(frozen=True, slots=True)
class BearerToken:
    """A token and its user."""

    secret_hash: str
    scopes: list[str]
    expires_at: datetime
    revoked_at: datetime | None
    user_id: str
    email: str
    name: str
    admin: bool
    approved: bool
    disabled_at: datetime | None

    def is_live(self, now: datetime) -> bool:
        """Whether the token is neither revoked nor expired, and its account enabled."""
        return self.revoked_at is None and self.disabled_at is None and self.expires_at > now


BEARER_COLUMNS = (
    *(Token.__table__.c[name] for name in ("secret_hash", "scopes", "expires_at", "revoked_at")),
    *(User.__table__.c[name] for name in ("id", "email", "name", "admin", "approved", "disabled_at")),
)
_BEARER_QUERY: Select[Any] = (
    select(*BEARER_COLUMNS, clock.DatabaseTime())
    .join(User.__table__, User.__table__.c.id == Token.__table__.c.user_id)
    .where(Token.__table__.c.id == bindparam("token_id"))
)  # built once: every request with a token runs it


def live_token(session: ReadSession, token_id: str) -> BearerToken | None:
    """A token that is neither revoked nor expired, of an enabled account."""
    row = session.connection().execute(_BEARER_QUERY, {"token_id": token_id}).first()
    if row is None:
        return None
    token = BearerToken(*row[:-1])
    return token if token.is_live(clock.reading(session, row[-1]).steady) else None


def matching(search: str | None, state: str | None) -> Select[User]:
    """Accounts whose name or address contains a text, in one of the STATES; without the deleted ones."""
    query = select(User).where(User.deleted_at.is_(None))
    if search:
        query = query.where(
            or_(User.name.icontains(search, autoescape=True), User.email.icontains(search, autoescape=True))
        )
    return query if state is None else query.where(STATES[state])


def other_administrators(session: ReadSession, user_id: str) -> bool:
    """Whether an enabled administrator with a password exists besides this user."""
    others = (User.admin, User.id != user_id, User.disabled_at.is_(None), User.password_hash.is_not(None))
    return session.scalar(select(User.id).where(*others).limit(1)) is not None


def tokens_of(user_id: str) -> Select[Token]:
    """The tokens of a user that are not revoked."""
    return select(Token).where(Token.user_id == user_id, Token.revoked_at.is_(None))
