"""Set a new password: with the present one, or with a reset."""

import hmac
from typing import NamedTuple

from app.actions.access import Caller, require_scope
from app.actions.accounts.end_access import end_access
from app.actions.accounts.issue_token import hash_token_secret
from app.actions.audit.record import record
from app.errors import NoPassword, ResetNotUsable, Unauthorized
from app.store import clock
from app.store.queries import account_access
from app.store.session import ReadSession, WriteSession
from app.store.tables import PasswordReset, User


class PasswordOwner(NamedTuple):
    """Whose password is to be set: the new one must not contain name or address."""

    user_id: str
    email: str
    name: str
    password_hash: str
    """The stored one, to verify the present password; empty if a reset stands for it."""


def find_own_account(session: ReadSession, caller: Caller) -> PasswordOwner:
    """The caller's account, to verify the present password; raises NoPassword for one without."""
    user = session.get(User, require_scope(caller, "read"))
    if user is None:
        raise Unauthorized
    if user.password_hash is None:
        raise NoPassword
    return PasswordOwner(user.id, user.email, user.name, user.password_hash)


def change_password(session: WriteSession, caller: Caller, *, verified_hash: str, new_hash: str) -> User:
    """Store a new password and return the account; all sessions and all tokens but the one in use end.

    `verified_hash` is the hash that the present password was verified against; raises Unauthorized if it was changed
    meanwhile.
    """
    user = session.get(User, require_scope(caller, "read"), with_for_update={"key_share": True})
    if user is None or user.password_hash != verified_hash:
        raise Unauthorized("The password was changed meanwhile; log in again.")
    user.password_hash = new_hash
    session.flush()
    end_access(session, user.id, but_token=caller.token_id)
    return user


def find_reset_account(session: ReadSession, secret: str) -> PasswordOwner:
    """The account of a reset that can be used; raises ResetNotUsable."""
    user = _usable_reset(session, secret).user
    return PasswordOwner(user.id, user.email, user.name, "")


def spend_reset(session: WriteSession, secret: str, *, new_hash: str) -> None:
    """Store a new password by a reset, which cannot be used again; all sessions and tokens end.

    Raises ResetNotUsable. The row of the user is locked first, as by everything that ends resets: of two requests at
    once one is refused.
    """
    user_id = account_access.user_of_reset(session, secret.partition(".")[0])
    if user_id is not None:
        session.get(User, user_id, with_for_update={"key_share": True})
    reset = _usable_reset(session, secret)
    reset.used_at = clock.now(session)
    reset.user.password_hash = new_hash
    record(session, Caller(user_id=reset.user_id), "user.spend_reset", challenge=None, of=reset.user)
    session.flush()
    end_access(session, reset.user_id)


def _usable_reset(session: ReadSession, secret: str) -> PasswordReset:
    row_id, _, rest = secret.partition(".")
    row = session.get(PasswordReset, row_id)
    if row is None or not hmac.compare_digest(hash_token_secret(rest), row.secret_hash):
        raise ResetNotUsable
    ended = row.used_at is not None or row.expires_at <= clock.steady(session)
    if ended or row.user.disabled_at is not None or row.user.deleted_at is not None:
        raise ResetNotUsable
    return row
