"""End the access of an account: its tokens, sessions and reset links stop working."""

from app.store import clock
from app.store.queries import account_access
from app.store.session import WriteSession


def end_access(session: WriteSession, user_id: str, *, but_token: str | None = None) -> None:
    """Revoke all tokens of a user except the one with this id, and end all sessions and open password resets."""
    now = clock.now(session)
    account_access.revoke_tokens(session, user_id, now, but=but_token)
    account_access.end_sessions(session, user_id, now)
    account_access.end_resets(session, user_id, clock.steady(session))
