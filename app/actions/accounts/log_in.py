"""Log in: exchange an e-mail address and a password for a token."""

from typing import NamedTuple

from app.actions.accounts.issue_token import Scopes, issue_token, require_enabled
from app.errors import WrongPassword
from app.store import clock
from app.store.queries import known_addresses, users
from app.store.session import ReadSession, WriteSession
from app.store.tables import Token, User


class LoginAccount(NamedTuple):
    """The account to check a password against; `known` if this address block logged in to it before."""

    user_id: str
    password_hash: str
    known: bool


def find_login_account(session: ReadSession, email: str, block: str) -> LoginAccount | None:
    """The account with this address; None if there is none, or if it has no password."""
    user = users.by_email(session, email)
    if user is None or user.password_hash is None:
        return None
    known = known_addresses.is_known(session, user.id, block, clock.steady(session))
    return LoginAccount(user.id, user.password_hash, known)


def lock_verified_user(session: WriteSession, account: LoginAccount) -> User:
    """The user whose password was verified, locked: a disabling or reset comes either before, or ends what follows.

    Raises WrongPassword if the account no longer exists or its password was changed meanwhile, and AccountDisabled.
    """
    user = session.get(User, account.user_id, populate_existing=True, with_for_update={"key_share": True})
    if user is None:
        raise WrongPassword
    require_enabled(user)
    if user.password_hash != account.password_hash:  # such as by a reset, which ended all tokens
        raise WrongPassword("The password was changed meanwhile; log in again.")
    return user


class VerifiedPassword(NamedTuple):
    """The account whose password was verified, from this address block; `renewed_hash` replaces the stored hash."""

    account: LoginAccount
    block: str
    renewed_hash: str | None = None


def complete_log_in(session: WriteSession, verified: VerifiedPassword) -> User:
    """The user who logs in, locked; remembers the address block for rate limits on logins.

    Raises WrongPassword if the account no longer exists or its password was changed meanwhile, and AccountDisabled.
    """
    user = lock_verified_user(session, verified.account)
    if verified.renewed_hash is not None:
        user.password_hash = verified.renewed_hash
    known_addresses.remember(session, user.id, verified.block, clock.steady(session))
    return user


def log_in(
    session: WriteSession, verified: VerifiedPassword, *, scopes: Scopes, days: int | None = None, name: str = ""
) -> tuple[Token, str]:
    """A token and its text, once the password was verified.

    Raises what complete_log_in raises, and Forbidden for scopes that the user may not have.
    """
    return issue_token(session, complete_log_in(session, verified), scopes=scopes, days=days, name=name)
