"""Sessions of browsers: opened after a log-in, found by their secret, ended by the user or the service."""

import hmac
import secrets
from datetime import timedelta

from app.actions.access import Caller
from app.actions.accounts.issue_token import DEFAULT_SCOPES, caller_for_user, hash_token_secret
from app.actions.accounts.log_in import VerifiedPassword, complete_log_in
from app.errors import Unauthorized
from app.store import clock
from app.store.queries import known_addresses
from app.store.session import ReadSession, WriteSession
from app.store.tables import User, UserSession
from app.store.types import new_id

SESSION_LIFETIME = timedelta(days=30)


def open_session(session: WriteSession, verified: VerifiedPassword) -> tuple[UserSession, str]:
    """A new session, once the password was verified, and its text, which is not stored.

    Raises what complete_log_in raises.
    """
    return start_session(session, complete_log_in(session, verified))


def open_first_session(session: WriteSession, user: User, block: str) -> tuple[UserSession, str]:
    """The session of somebody who has just signed up from this address block, which is remembered as by a log-in."""
    known_addresses.remember(session, user.id, block, clock.steady(session))
    return start_session(session, user)


def start_session(session: WriteSession, user: User) -> tuple[UserSession, str]:
    """A new session of a user who has just proved who they are, and its text, which is not stored."""
    secret, now = secrets.token_urlsafe(32), clock.steady(session)
    row = UserSession(
        id=new_id(),
        user_id=user.id,
        secret_hash=hash_token_secret(secret),
        created_at=now,
        expires_at=now + SESSION_LIFETIME,
    )
    session.add(row)
    session.flush()
    return row, f"{row.id}.{secret}"


def authenticate_session(session: ReadSession, text: str) -> Caller:
    """The caller of a session, with the scopes that a log-in gives, and `admin` for administrators.

    Raises Unauthorized if it is unknown, has ended or has expired.
    """
    return caller_for_user(*_user_and_scopes(_live_session(session, text)))


def end_session(session: WriteSession, text: str) -> None:
    """End a session; raises Unauthorized if it has ended already."""
    _live_session(session, text).ended_at = clock.now(session)


def _live_session(session: ReadSession, text: str) -> UserSession:
    row_id, _, secret = text.partition(".")
    row = session.get(UserSession, row_id)
    if row is None or not hmac.compare_digest(hash_token_secret(secret), row.secret_hash):
        raise Unauthorized("This session is unknown or has ended.")
    if row.ended_at is not None or row.user.disabled_at is not None or row.expires_at <= clock.steady(session):
        raise Unauthorized("This session is unknown or has ended.")
    return row


def _user_and_scopes(row: UserSession) -> tuple[User, list[str]]:
    return row.user, [*DEFAULT_SCOPES, *(["admin"] if row.user.admin else [])]
