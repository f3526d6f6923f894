"""Accounts and tokens: sign up, log in, read the current account."""

from collections.abc import Callable
from functools import partial
from typing import Annotated, Literal, TypedDict, TypeVar

from fastapi import Request, Response
from pydantic import Field
from starlette.concurrency import run_in_threadpool

from app import errors
from app.actions.access import Caller
from app.actions.accounts import passwords
from app.actions.accounts.issue_token import DEFAULT_TOKEN_DAYS, MAX_TOKEN_DAYS, list_tokens, revoke_token
from app.actions.accounts.log_in import LoginAccount, VerifiedPassword, find_login_account, log_in
from app.actions.accounts.passwords import PasswordVerification
from app.actions.accounts.sign_up import check_sign_up, require_strong_password, sign_up
from app.api.dependencies import AccountDep, AppState, AppStateDep, AuditedAccountDep, CallerDep, Cursor, Limit
from app.api.field_types import (
    Body,
    Email,
    InvitationCode,
    Moment,
    Name,
    NewEmail,
    Page,
    Shape,
    SingleLineText,
    reply_example,
    request_example,
)
from app.api.http.json_body import api_router
from app.api.http.problem_documents import TOKEN_OPTIONAL, error_responses
from app.api.limits.client_addresses import client_address_block
from app.api.limits.password_hashing import LoginTicket, SignUpTicket
from app.api.openapi import examples
from app.runtime.telemetry import REFUSED_LOGIN_CODES
from app.store.session import WriteSession
from app.store.tables import User
from app.text.email_addresses import login_limit_key

router = api_router("accounts")

Result = TypeVar("Result")

Scope = Literal["read", "submit", "organize", "admin"]
Password = Annotated[
    str,
    Field(
        min_length=passwords.MIN_PASSWORD_LENGTH,
        max_length=passwords.MAX_PASSWORD_LENGTH,
        description="At least 10 characters besides your name and e-mail address; must not contain the address or be easy to guess.",
        examples=["correct horse battery staple"],
    ),
]


class Rights(TypedDict):
    """What decides whether an account may be created, and with which rights."""

    signup: str
    invitation: str | None
    admin: bool
    approved: bool


class NewUser(Body):
    """An account to create."""

    model_config = request_example(email="ada@example.org", name="Ada", password="correct horse battery staple")  # noqa: S106

    email: NewEmail
    name: Name = Field(examples=["Ada"])
    password: Password
    invitation: InvitationCode | None = Field(None, description="The code of an invitation to this site.")
    admin: bool = Field(False, description="Create an administrator. Only administrators may set this or `approved`.")
    approved: bool = Field(
        False, description="Allow the user to create challenges if the site requires approval for that."
    )


class UserShape(Shape):
    """An account."""

    model_config = reply_example(examples.USER)

    id: str
    email: str
    name: str
    admin: bool
    approved: bool
    created_at: Moment
    disabled_at: Moment | None = Field(None, description="Since when the account cannot be used; null if it can.")
    disabled_reason: str | None = None


class NewToken(Body):
    """Credentials to log in with."""

    model_config = request_example(
        email="ada@example.org",
        password="correct horse battery staple",  # noqa: S106
        scopes=["read", "submit"],
    )

    email: Email
    password: str = Field(max_length=1000, examples=["correct horse battery staple"])
    scopes: list[Scope] | None = Field(
        None,
        min_length=1,
        max_length=4,
        description="What the token may be used for at most; your roles decide what it can do. Default: `read`, "
        "`submit` and `organize`.",
    )
    name: SingleLineText = Field("", max_length=200, description="To tell your tokens apart.", examples=["laptop"])
    days: int | None = Field(
        None,
        ge=1,
        le=MAX_TOKEN_DAYS,
        strict=True,
        description=f"Days until it expires, at most {MAX_TOKEN_DAYS}. Default: {DEFAULT_TOKEN_DAYS}.",
    )


class TokenShape(Shape):
    """A token, without its text."""

    model_config = reply_example(examples.TOKEN)

    id: str
    name: str
    scopes: list[Scope]
    created_at: Moment
    expires_at: Moment
    last_used_at: Moment | None = Field(description="To within about a minute; null if it was not used yet.")


class FreshToken(TokenShape):
    """A new token with its text, which is shown only once."""

    model_config = reply_example(examples.TOKEN | {"token": "assay_01a1fbb9e166769a847b420d51b59782.secret"})

    token: str = Field(examples=["assay_019a….secret"])


class Me(Shape):
    """The account of the caller and the scopes of the token."""

    model_config = reply_example(
        {name: value for name, value in examples.USER.items() if name != "created_at"} | {"scopes": ["read", "submit"]}
    )

    id: str
    email: str
    name: str
    admin: bool
    approved: bool
    scopes: list[Scope]


@router.post(
    "/users",
    status_code=201,
    summary="Sign up",
    response_model=UserShape,
    responses=error_responses(
        errors.EmailTaken,
        errors.SignupClosed,
        errors.InvitationNeeded,
        errors.InvalidInvitation,
        errors.Forbidden,
        errors.InsufficientScope,
        errors.InvalidRequest,
    ),
    openapi_extra=TOKEN_OPTIONAL,
)
async def post_user(body: NewUser, request: Request, caller: CallerDep, state: AppStateDep) -> object:
    """Creates an account. Administrators may also create approved users and other administrators.

    Sign-ups are rate limited per address, except those by administrators.
    """
    return await create_account(body, request, caller, state, lambda _, user: UserShape.model_validate(user))


async def create_account(
    body: NewUser, request: Request, caller: Caller, state: AppState, use: Callable[[WriteSession, User], Result]
) -> Result:
    """Create an account under the limits of sign-ups, and call `use` with it in the same unit of work, in a thread.

    Raises what check_sign_up raises, InvalidRequest for a weak password, and TooManyRequests.
    """
    if not caller.has_admin_rights:
        state.request_limits.count_sign_up(client_address_block(request))
    await run_in_threadpool(_check_sign_up, body, caller, state)
    ticket = SignUpTicket(client_address_block(request))
    stored = await state.hashing_pool.run(ticket, partial(_hash_strong_password, body))

    def store() -> Result:
        with state.db.write() as session:
            return use(session, _sign_up(session, body, caller, state, stored))

    return await run_in_threadpool(store)


def _check_sign_up(body: NewUser, caller: Caller, state: AppState) -> None:
    with state.db.read() as session:
        check_sign_up(session, caller, email=body.email, **_rights(body, state))


def _hash_strong_password(body: NewUser) -> str:
    """The hash of a password, if it is hard enough to guess.

    Both steps keep a core busy, so they run in the hashing pool.
    """
    require_strong_password(body.password, email=body.email, name=body.name)
    return passwords.hash_password(body.password)


def _sign_up(session: WriteSession, body: NewUser, caller: Caller, state: AppState, stored: str) -> User:
    rights = _rights(body, state)
    return sign_up(session, caller, email=body.email, name=body.name, password_hash=stored, **rights)


def _rights(body: NewUser, state: AppState) -> Rights:
    return {
        "signup": state.settings.signup,
        "invitation": body.invitation,
        "admin": body.admin,
        "approved": body.approved,
    }


@router.post(
    "/tokens",
    status_code=201,
    summary="Log in: exchange e-mail and password for a token",
    responses=error_responses(errors.WrongPassword, errors.AccountDisabled, errors.Forbidden, errors.InvalidRequest),
)
async def post_token(body: NewToken, request: Request, state: AppStateDep) -> FreshToken:
    """Returns a new token. Its text is in this reply only and cannot be read again.

    After too many wrong passwords for one account from one address, further attempts are refused for a while, even with
    the right password, unless that address has logged in to the account before. Wrong passwords from many addresses, or
    for many accounts, only delay further attempts.
    """

    def issue(verified: VerifiedPassword) -> FreshToken:
        with state.db.write() as session:
            row, text = log_in(session, verified, scopes=body.scopes, days=body.days, name=body.name)
        return FreshToken.model_validate({**TokenShape.model_validate(row).model_dump(), "token": text})

    return await verify_log_in(body.email, body.password, client_address_block(request), state, issue)


async def verify_log_in(
    email: str, password: str, block: str, state: AppState, use: Callable[[VerifiedPassword], Result]
) -> Result:
    """Verify a password, then call `use` in a thread; a second time if another log-in replaced the hash meanwhile.

    Raises WrongPassword, the limits of log-ins, and what `use` raises.
    """
    try:
        verified = await _check_password(email, password, block, state)
        try:
            return await run_in_threadpool(use, verified)
        except errors.WrongPassword:
            return await run_in_threadpool(use, await _check_password(email, password, block, state))
    except errors.AssayError as refusal:
        if refusal.code in REFUSED_LOGIN_CODES:
            state.figures.count_refused_login(refusal.code)
        raise


async def _check_password(email: str, password: str, block: str, state: AppState) -> VerifiedPassword:
    """The account, and its hash by the current method if the stored one is by an older; raises WrongPassword and more."""
    account, decoy = await run_in_threadpool(_find_account, email, block, state)
    known = account is not None and account.known
    ticket = LoginTicket(state.request_limits.failed_logins, login_limit_key(email), block, known)
    ticket.refuse_early()
    stored = decoy if account is None else account.password_hash
    check = partial(passwords.verify_password, password, stored)
    result: PasswordVerification = await state.hashing_pool.run(ticket, check)
    if account is None or not result.right:
        raise ticket.rate_limit_error or errors.WrongPassword
    return VerifiedPassword(account, block, result.renewed_hash)


def _find_account(email: str, block: str, state: AppState) -> tuple[LoginAccount | None, str]:
    """The account, and a decoy hash to check if there is none.

    Both are always looked up, so that timing reveals nothing.
    """
    with state.db.read() as session:
        account = find_login_account(session, email, block)
    return account, state.decoys.of(login_limit_key(email))


@router.get("/tokens", summary="List my tokens", response_model=Page[TokenShape], responses=error_responses())
def get_tokens(caller: AccountDep, state: AppStateDep, limit: Limit = 50, cursor: Cursor = None) -> object:
    """Returns your tokens that are not revoked, newest first. Their text is not stored."""
    with state.db.read() as session:
        rows, following = list_tokens(session, caller, limit=limit, cursor=cursor)
    return {"items": rows, "next": following}


@router.delete(
    "/tokens/{token_id}", status_code=204, summary="Revoke a token", responses=error_responses(errors.NotFound)
)
def delete_token(token_id: str, caller: AuditedAccountDep, state: AppStateDep) -> Response:
    """Revokes a token. It stops working at once."""
    with state.db.write() as session:
        revoke_token(session, caller, token_id)
    return Response(status_code=204)


@router.get("/me", summary="Read my account", responses=error_responses())
def get_me(caller: AccountDep) -> Me:
    """Returns the account of the caller and the scopes of the token in use."""
    return caller_shape(caller)


def caller_shape(caller: Caller) -> Me:
    """The account of a caller as a reply."""
    assert caller.user_id is not None
    order: tuple[Scope, ...] = ("read", "submit", "organize", "admin")
    return Me(
        id=caller.user_id,
        email=caller.email,
        name=caller.name,
        admin=caller.admin,
        approved=caller.approved,
        scopes=[scope for scope in order if scope in caller.scopes],
    )
