"""First start and repair: the built-in administrator, and accounts created without the API."""

import secrets
import shlex
from pathlib import Path

from app.actions.access import SCOPES, Caller
from app.actions.accounts import passwords
from app.actions.accounts.issue_token import caller_for_user, issue_token
from app.actions.accounts.manage_users import new_reset
from app.actions.accounts.sign_up import create_user as add_user
from app.actions.accounts.sign_up import require_strong_password
from app.actions.audit.record import OPERATOR, created_fields, record
from app.actions.operations.backup_folder import create_file_once
from app.errors import NoPassword, NotFound
from app.settings import Settings
from app.store import locks
from app.store.queries import users
from app.store.session import WriteSession
from app.store.tables import PasswordReset, Token, User

MIN_ADMIN_TOKEN_LENGTH = 32


class WeakAdminToken(ValueError):
    """The administrator's token is too short."""


def get_or_create_administrator(session: WriteSession) -> Caller:
    """The built-in administrator, created on first use."""
    locks.first_start(session)
    user = users.administrator(session)
    if user is None:
        email = users.ADMINISTRATOR_EMAIL
        user = add_user(session, email=email, name="Administrator", password_hash=None, admin=True, approved=True)
    return caller_for_user(user, list(SCOPES))


def read_or_create_admin_token(settings: Settings) -> tuple[str, Path | None]:
    """The administrator's token and its file: from the settings, or generated once in the data folder.

    Raises WeakAdminToken if a configured token has fewer than 32 characters.
    """
    if settings.admin_token is not None:
        return _require_token_length(settings.admin_token.get_secret_value()), None
    path = settings.admin_token_file
    if path is None:
        path = settings.data_dir / "admin-token"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            # Atomically, as an empty file would prevent every later start; a concurrent process writes only one token.
            create_file_once(path, f"{secrets.token_urlsafe(48)}\n".encode())
    return _require_token_length(path.read_text().strip(), f" in {path}"), path


def first_log_in_advice(settings: Settings) -> str:
    """How an operator of a new installation logs in on the page: the built-in administrator has no password."""
    folder = shlex.quote(str(settings.data_dir))
    command = f"assay user create --admin --email ADDRESS --name NAME --data-dir {folder}"
    return f"To log in on the page, make yourself an account: {command}"


def _require_token_length(token: str, where: str = "") -> str:
    if len(token) < MIN_ADMIN_TOKEN_LENGTH:
        lengths = f"has {len(token)} characters; it needs at least {MIN_ADMIN_TOKEN_LENGTH}"
        msg = f"the administrator's token{where} {lengths}"
        raise WeakAdminToken(msg)
    return token


def create_user(
    session: WriteSession, *, email: str, name: str, password: str | None, admin: bool = False, approved: bool = False
) -> User:
    """An account created with direct access to the database; raises EmailTaken, InvalidRequest."""
    if password:
        require_strong_password(password, email=email, name=name)
    stored = passwords.hash_password(password) if password else None
    user = add_user(session, email=email, name=name, password_hash=stored, admin=admin, approved=approved)
    rights = {"admin": user.admin, "approved": user.approved}
    record(session, OPERATOR, "user.create", challenge=None, of=user, changes=created_fields(rights))
    return user


def reset_password(session: WriteSession, user: str, *, reason: str | None = None) -> tuple[PasswordReset, str]:
    """A password reset for the account with this address or id, an administrator's too, and its secret.

    Raises NotFound, and NoPassword for the built-in administrator.
    """
    row = users.by_email(session, user) or session.get(User, user)
    if row is None or row.deleted_at is not None:
        raise NotFound(f"There is no account {user}.", remedy="'assay user list' shows the accounts.")
    if row.email == users.ADMINISTRATOR_EMAIL:
        remedy = (
            "Log in with its token: assay login --token - < admin-token (a file in the data folder). For a person, "
        )
        raise NoPassword(remedy=f"{remedy}make another administrator: assay user create --admin.")
    return new_reset(session, OPERATOR.with_reason(reason), row)


def create_token(
    session: WriteSession, *, email: str, scopes: list[str] | None = None, days: int | None = None, name: str = ""
) -> tuple[Token, str]:
    """A token for an account, as its row and its text; raises NotFound and AccountDisabled."""
    user = users.by_email(session, email)
    if user is None:
        raise NotFound(f"There is no account with the address {email}.", remedy="Create it: assay user create.")
    token, text = issue_token(session, user, scopes=scopes, days=days, name=name)
    granted = created_fields({"scopes": list(token.scopes), "expires_at": token.expires_at})
    record(session, OPERATOR, "token.create", challenge=None, of=token, changes=granted)
    return token, text
