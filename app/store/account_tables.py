"""The tables of accounts: users, tokens, sessions, password resets, and the address blocks that users logged in from."""

from datetime import datetime

from sqlalchemy import ForeignKey, String, Text, text
from sqlalchemy.orm import Mapped, mapped_column, relationship

from app.store.base import ID, Base
from app.store.types import new_id, utcnow


class User(Base):
    """A person with an account; the built-in administrator has no password."""

    __tablename__ = "users"

    id: Mapped[str] = mapped_column(ID, primary_key=True, default=new_id)
    email: Mapped[str] = mapped_column(String(320), unique=True)
    name: Mapped[str] = mapped_column(String(200))
    password_hash: Mapped[str | None] = mapped_column(String(500))
    admin: Mapped[bool] = mapped_column(default=False)
    approved: Mapped[bool] = mapped_column(default=False)
    disabled_at: Mapped[datetime | None]
    disabled_reason: Mapped[str | None] = mapped_column(Text)
    deleted_at: Mapped[datetime | None]
    """The row of a deleted account stays, with a pseudonym as its name and no address, for what it sent."""
    created_at: Mapped[datetime] = mapped_column(default=utcnow)


class Token(Base):
    """A bearer token; only the SHA-256 of its secret is stored."""

    __tablename__ = "tokens"

    id: Mapped[str] = mapped_column(ID, primary_key=True, default=new_id)
    user_id: Mapped[str] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    secret_hash: Mapped[str] = mapped_column(String(64))
    name: Mapped[str] = mapped_column(String(200), default="", server_default=text("''"))
    scopes: Mapped[list[str]]
    created_at: Mapped[datetime] = mapped_column(default=utcnow)
    expires_at: Mapped[datetime]
    revoked_at: Mapped[datetime | None]
    last_used_at: Mapped[datetime | None]

    user: Mapped[User] = relationship(lazy="joined")


class UserSession(Base):
    """A session of a browser; only the SHA-256 of its secret is stored."""

    __tablename__ = "sessions"

    id: Mapped[str] = mapped_column(ID, primary_key=True, default=new_id)
    user_id: Mapped[str] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    secret_hash: Mapped[str] = mapped_column(String(64))
    created_at: Mapped[datetime] = mapped_column(default=utcnow)
    expires_at: Mapped[datetime]
    ended_at: Mapped[datetime | None]

    user: Mapped[User] = relationship(lazy="joined")


class PasswordReset(Base):
    """A link with which a user sets a new password once; only the SHA-256 of its secret is stored."""

    __tablename__ = "password_resets"

    id: Mapped[str] = mapped_column(ID, primary_key=True, default=new_id)
    user_id: Mapped[str] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    secret_hash: Mapped[str] = mapped_column(String(64))
    created_by: Mapped[str | None] = mapped_column(ID)  # the account; None for the operator's command line
    created_at: Mapped[datetime] = mapped_column(default=utcnow)
    expires_at: Mapped[datetime]
    used_at: Mapped[datetime | None]

    user: Mapped[User] = relationship(lazy="joined")


class KnownAddress(Base):
    """An address block (IPv4 address, IPv6 /64) of an earlier login; it lets the user's next login from there pass."""

    __tablename__ = "known_addresses"

    user_id: Mapped[str] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), primary_key=True)
    block: Mapped[str] = mapped_column(String(64), primary_key=True)
    last_at: Mapped[datetime] = mapped_column(index=True)
