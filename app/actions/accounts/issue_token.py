"""Issue, check, list and revoke bearer tokens."""

import hashlib
import hmac
import secrets
from collections.abc import Sequence
from datetime import timedelta

from app.actions.access import SCOPES, Caller, require_scope
from app.actions.audit.record import record
from app.errors import AccountDisabled, Forbidden, InsufficientScope, NotFound, Unauthorized
from app.store import clock
from app.store.queries import admission, paging, users
from app.store.queries.admission import AdmissionFacts
from app.store.queries.users import BearerToken
from app.store.session import ReadSession, WriteSession
from app.store.tables import Token, User
from app.store.types import new_id

TOKEN_PREFIX = "assay"  # noqa: S105 (the public beginning of every token)
DEFAULT_TOKEN_DAYS = 90
MAX_TOKEN_DAYS = 365
DEFAULT_SCOPES = ("read", "submit", "organize")
"""A scope is a ceiling: the role in a challenge decides, so a new organizer can act at once."""
Scopes = Sequence[str] | None
"""The scopes requested for a token; None requests the default ones."""


def hash_token_secret(secret: str) -> str:
    """The stored form of a token's secret, which has 256 random bits, so that a fast hash is safe."""
    return hashlib.sha256(secret.encode()).hexdigest()


def issue_token(
    session: WriteSession, user: User, *, scopes: Scopes, days: int | None = None, name: str = ""
) -> tuple[Token, str]:
    """A new token and its text, which is not stored.

    Raises AccountDisabled, and Forbidden for scopes that the user may not have.
    """
    require_enabled(user)
    requested = scopes if scopes is not None else DEFAULT_SCOPES
    if "admin" in requested and not user.admin:
        raise Forbidden("Only an administrator may have a token with the scope 'admin'.")
    secret = secrets.token_urlsafe(32)
    now = clock.steady(session)  # the clock that decides its expiry
    token = Token(
        id=new_id(),
        user_id=user.id,
        name=name,
        secret_hash=hash_token_secret(secret),
        scopes=[scope for scope in SCOPES if scope in requested],
        created_at=now,
        expires_at=now + timedelta(days=DEFAULT_TOKEN_DAYS if days is None else days),
    )
    session.add(token)
    session.flush()
    return token, f"{TOKEN_PREFIX}_{token.id}.{secret}"


def require_enabled(user: User) -> None:
    """Raise AccountDisabled with the reason for a disabled account."""
    if user.disabled_at is not None:
        raise AccountDisabled(f"This account is disabled: {user.disabled_reason or 'no reason was given'}")


def authenticate_token(session: ReadSession, text: str) -> Caller:
    """The caller that this token identifies; raises Unauthorized."""
    token_id, secret = _token_parts(text)
    return _caller_for_token(users.live_token(session, token_id), token_id, secret)


def authenticate_sender(
    session: ReadSession, text: str, slug: str, phase_slug: str, key: str | None
) -> tuple[Caller, AdmissionFacts]:
    """The same with the facts about the caller that admission to a phase depends on; raises Unauthorized."""
    token_id, secret = _token_parts(text)
    found = admission.load_token_and_facts(session, token_id, slug, phase_slug, key)
    token, facts = found or (None, None)
    caller = _caller_for_token(token, token_id, secret)
    assert facts is not None
    return caller, facts


def _token_parts(text: str) -> tuple[str, str]:
    """The id and the secret of a token; raises Unauthorized if it has another form."""
    head, _, secret = text.partition(".")
    prefix, _, token_id = head.partition("_")
    if prefix != TOKEN_PREFIX or not secret:
        raise _invalid_token()
    return token_id, secret


def _caller_for_token(token: BearerToken | None, token_id: str, secret: str) -> Caller:
    if token is None or not hmac.compare_digest(hash_token_secret(secret), token.secret_hash):
        raise _invalid_token()
    scopes = frozenset(token.scopes)
    return Caller(token.user_id, token.email, token.name, token.admin, token.approved, scopes, token_id)


def _invalid_token() -> Unauthorized:
    return Unauthorized("This token is unknown, expired or revoked.")


def caller_for_user(user: User, scopes: list[str]) -> Caller:
    """A user with the given scopes."""
    return Caller(user.id, user.email, user.name, user.admin, user.approved, frozenset(scopes))


def list_tokens(
    session: ReadSession, caller: Caller, *, limit: int, cursor: str | None
) -> tuple[list[Token], str | None]:
    """The caller's own tokens, newest first."""
    query = users.tokens_of(require_scope(caller, "read"))
    return paging.page(session, query, Token, limit=limit, cursor=cursor)


def revoke_token(session: WriteSession, caller: Caller, token_id: str) -> None:
    """Revoke one of the caller's own tokens, or any token for an administrator; raises NotFound."""
    token = session.get(Token, token_id, with_for_update={"of": Token, "key_share": True})
    if caller.user_id is None:
        raise Unauthorized
    if token is None or (token.user_id != caller.user_id and not caller.has_admin_rights):
        raise NotFound
    if token.id != caller.token_id and caller.scopes == {"read"}:
        raise InsufficientScope("A token with only the scope 'read' can revoke itself, but no other token.")
    if token.user_id != caller.user_id and token.revoked_at is None:
        record(session, caller, "token.revoke", challenge=None, of=token)
    token.revoked_at = token.revoked_at or clock.now(session)
