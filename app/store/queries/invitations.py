"""Queries for invitations."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import ColumnElement, Select, and_, or_, select

from app.store.session import ReadSession, WriteSession
from app.store.tables import Invitation


def by_hash(session: ReadSession, code_hash: str) -> Invitation | None:
    """The invitation whose code has this hash, as it was when this transaction first read it."""
    return session.scalar(select(Invitation).where(Invitation.code_hash == code_hash))


def _can_be_used(now: datetime) -> ColumnElement[bool]:
    """Whether the code of an invitation still works."""
    unused = or_(Invitation.max_uses.is_(None), Invitation.uses < Invitation.max_uses)
    current = or_(Invitation.expires_at.is_(None), Invitation.expires_at > now)
    return and_(Invitation.revoked_at.is_(None), unused, current)


def admits(session: ReadSession, code_hash: str, challenge_id: str, now: datetime) -> bool:
    """Whether the code with this hash can still be used to register for the challenge."""
    query = select(Invitation.id).where(Invitation.code_hash == code_hash, Invitation.kind == "challenge")
    return session.scalar(query.where(Invitation.challenge_id == challenge_id, _can_be_used(now))) is not None


def lock_by_hash(session: WriteSession, code_hash: str) -> Invitation | None:
    """The invitation whose code has this hash, locked and read again."""
    query = select(Invitation).where(Invitation.code_hash == code_hash)
    return session.scalar(query.with_for_update().execution_options(populate_existing=True))


def made_by(session: ReadSession, user_id: str) -> list[Invitation]:
    """The invitations that a user made, oldest first."""
    return list(session.scalars(select(Invitation).where(Invitation.created_by == user_id).order_by(Invitation.id)))


def unrevoked(kind: str, challenge_id: str | None = None) -> Select[Invitation]:
    """The invitations to the site, or to a challenge, that were not revoked."""
    query = select(Invitation).where(Invitation.kind == kind, Invitation.revoked_at.is_(None))
    return query.where(Invitation.challenge_id == challenge_id)


def open_of_teams(session: ReadSession, team_ids: Sequence[str], now: datetime) -> list[Invitation]:
    """The invitations to these teams that can still be used, newest first."""
    query = select(Invitation).where(Invitation.team_id.in_(list(team_ids)), _can_be_used(now))
    return list(session.scalars(query.order_by(Invitation.id.desc())))
