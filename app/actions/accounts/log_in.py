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


def log_in(
    session: WriteSession,
    account: LoginAccount,
    block: str,
    *,
    renewed_hash: str | None,
    scopes: Scopes,
    days: int | None = None,
    name: str = "",
) -> tuple[Token, str]:
    """A token and its text, once the password was verified; remembers the address block for rate limits on logins.

    `renewed_hash` replaces the stored hash. Raises WrongPassword if the account no longer exists or its password was
    changed meanwhile, AccountDisabled, and Forbidden for scopes that the user may not have.
    """
    user = lock_verified_user(session, account)
    if renewed_hash is not None:
        user.password_hash = renewed_hash
    known_addresses.remember(session, user.id, block, clock.steady(session))
    return issue_token(session, user, scopes=scopes, days=days, name=name)
