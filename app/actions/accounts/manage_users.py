"""What administrators do with accounts: list, approve, disable, enable, delete, and make a link for a new password."""

import secrets
from datetime import timedelta

from app.actions.access import Caller, require_administrator
from app.actions.accounts.delete_account import delete_user
from app.actions.accounts.end_access import end_access
from app.actions.accounts.issue_token import hash_token_secret
from app.actions.audit.record import changed_fields, record
from app.actions.teams.pass_on_captaincy import lead_idle_teams, pass_on_captaincy
from app.errors import Forbidden, InvalidRequest, LastAdministrator, NoPublicURL, NotFound
from app.store import clock, locks
from app.store.queries import paging, users
from app.store.session import ReadSession, WriteSession
from app.store.tables import PasswordReset, User
from app.store.types import new_id

RESET_LIFETIME = timedelta(hours=1)
ADMINISTRATORS_ONLY = "Only administrators may manage accounts."


def list_users(
    session: ReadSession, caller: Caller, *, search: str | None, state: str | None, limit: int, cursor: str | None
) -> tuple[list[User], str | None]:
    """Accounts, newest first; `search` is part of a name or address, `state` one of app.store.queries.users.STATES."""
    require_administrator(caller, ADMINISTRATORS_ONLY)
    return paging.page(session, users.matching(search, state), User, limit=limit, cursor=cursor)


def read_user(session: ReadSession, caller: Caller, user_id: str) -> User:
    """An account; raises Forbidden and NotFound."""
    require_administrator(caller, ADMINISTRATORS_ONLY)
    user = session.get(User, user_id)
    if user is None or user.deleted_at is not None:
        raise NotFound("There is no account with this id.")
    return user


def edit_user(
    session: WriteSession,
    caller: Caller,
    user_id: str,
    *,
    approved: bool | None,
    disabled: bool | None,
    reason: str | None,
) -> User:
    """Approve an account or withdraw that, disable or enable it; raises NotFound, InvalidRequest, LastAdministrator.

    A disabled account cannot log in, its tokens and sessions end, and the captaincy of its teams passes on; an enabled
    one leads those of its teams whose captain cannot act.
    """
    user = _managed_user(session, caller, user_id)
    if disabled and not reason:
        errors = [{"pointer": "/reason", "detail": "is needed to disable an account; its owner can read it"}]
        raise InvalidRequest("Give the reason for disabling an account.", errors=errors)
    if approved is not None and approved != user.approved:
        changes = changed_fields(user, {"approved": approved})
        record(session, caller, "user.approve", challenge=None, of=user, changes=changes, reason=reason)
        user.approved = approved
    if disabled is not None and disabled != (user.disabled_at is not None):
        _set_disabled(session, caller, user, disabled=disabled, reason=reason)
    session.flush()
    return user


def _set_disabled(session: WriteSession, caller: Caller, user: User, *, disabled: bool, reason: str | None) -> None:
    if disabled and user.admin:
        _require_other_administrator(session, caller, user)
    action = "user.disable" if disabled else "user.enable"
    changes = {"disabled": (not disabled, disabled)}
    record(session, caller, action, challenge=None, of=user, changes=changes, reason=reason)
    user.disabled_at = clock.now(session) if disabled else None
    user.disabled_reason = reason if disabled else None
    session.flush()
    if disabled:
        end_access(session, user.id)
        pass_on_captaincy(session, user.id, caller=caller)
    else:
        lead_idle_teams(session, user.id, caller)


def remove_user(session: WriteSession, caller: Caller, user_id: str) -> None:
    """Delete the account of another person; raises NotFound, LastAdministrator, LastOwner."""
    user = _managed_user(session, caller, user_id)
    if user.admin:
        _require_other_administrator(session, caller, user)
    delete_user(session, caller, user)


def create_reset(session: WriteSession, caller: Caller, user_id: str, *, public_url: str) -> tuple[PasswordReset, str]:
    """A password reset and its link, with the secret in the fragment, which no server sees.

    Raises NotFound, NoPublicURL, and Forbidden for administrators, whom only the operator's command line resets.
    """
    user = _managed_user(session, caller, user_id)
    if user.admin:
        detail = "The password of an administrator can only be reset on the machine of the service."
        raise Forbidden(detail, remedy="Run 'assay user reset ADDRESS --local' there.")
    if not public_url:
        raise NoPublicURL
    row, secret = new_reset(session, caller, user)
    return row, reset_link(public_url, secret)


def new_reset(session: WriteSession, caller: Caller, user: User) -> tuple[PasswordReset, str]:
    """A reset of this user's password, valid for an hour, and its secret, which is not stored."""
    secret, now = secrets.token_urlsafe(32), clock.steady(session)
    row = PasswordReset(
        id=new_id(),
        user_id=user.id,
        secret_hash=hash_token_secret(secret),
        created_by=caller.user_id,
        created_at=now,
        expires_at=now + RESET_LIFETIME,
    )
    session.add(row)
    record(session, caller, "user.reset", challenge=None, of=user)
    session.flush()
    return row, f"{row.id}.{secret}"


def reset_link(public_url: str, secret: str) -> str:
    """The link that a person opens to set a new password."""
    return f"{public_url.rstrip('/')}/password-reset#{secret}"


def _managed_user(session: WriteSession, caller: Caller, user_id: str) -> User:
    """An account that an administrator may change; raises Forbidden and NotFound.

    Its row is locked first, as in a log-in: that comes either before the change, or sees it.
    """
    require_administrator(caller, ADMINISTRATORS_ONLY)
    locks.accounts(session)
    user = session.get(User, user_id, populate_existing=True, with_for_update={"key_share": True})
    if user is None or user.deleted_at is not None:
        raise NotFound("There is no account with this id.")
    return user


def _require_other_administrator(session: ReadSession, caller: Caller, user: User) -> None:
    """Raise LastAdministrator if nobody else could administer the site, or if the caller would shut themself out."""
    if user.id == caller.user_id or user.email == users.ADMINISTRATOR_EMAIL:
        raise LastAdministrator
    if not users.other_administrators(session, user.id):
        raise LastAdministrator
