"""Change the name of an account."""

from app.actions.access import Caller, require_scope
from app.actions.accounts.issue_token import caller_for_user
from app.errors import Unauthorized
from app.store.session import WriteSession
from app.store.tables import User


def change_name(session: WriteSession, caller: Caller, name: str) -> Caller:
    """The caller with the new name. A token that may only read cannot change it."""
    user = session.get(User, require_scope(caller, "submit"))
    if user is None:
        raise Unauthorized
    user.name = name.strip()
    session.flush()
    return caller_for_user(user, sorted(caller.scopes))
