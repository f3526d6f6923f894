"""Accounts and tokens: sign up, log in, who am I."""

from typing import Annotated, Literal

from fastapi import Request, Response
from pydantic import Field

from app import errors
from app.actions import passwords
from app.actions.issue_token import account_of, issue_token, list_tokens, revoke_token
from app.actions.sign_up import check_sign_up, sign_up
from app.api import examples
from app.api.deps import AccountDep, CallerDep, Cursor, Limit, ServiceDep, address
from app.api.problems import OPEN, documented
from app.api.shapes import Body, Email, Moment, Name, Page, Shape, example, shown
from app.api.strict import api_router

router = api_router("accounts")

Scope = Literal["read", "submit", "organize", "admin"]
Password = Annotated[str, Field(min_length=10, max_length=1000, examples=["correct horse battery staple"])]


class NewUser(Body):
    """An account to create."""

    model_config = example(email="ada@example.org", name="Ada", password="correct horse battery staple")  # noqa: S106

    email: Email
    name: Name = Field(examples=["Ada"])
    password: Password
    admin: bool = Field(False, description="Only administrators may set this.")
    approved: bool = Field(False, description="May create challenges where the site lets approved users do so.")


class UserShape(Shape):
    """An account."""

    model_config = shown(examples.USER)

    id: str
    email: str
    name: str
    admin: bool
    approved: bool
    created_at: Moment


class NewToken(Body):
    """E-mail and password, traded for a token."""

    model_config = example(
        email="ada@example.org",
        password="correct horse battery staple",  # noqa: S106
        scopes=["read", "submit"],
    )

    email: Email
    password: str = Field(max_length=1000, examples=["correct horse battery staple"])
    scopes: list[Scope] | None = Field(
        None, min_length=1, max_length=4, description="Default: read and submit, and organize for those who may."
    )


class TokenShape(Shape):
    """A token, without its text."""

    model_config = shown(examples.TOKEN)

    id: str
    scopes: list[Scope]
    created_at: Moment
    expires_at: Moment


class FreshToken(TokenShape):
    """A token with its text, shown this once."""

    model_config = shown(examples.TOKEN | {"token": "assay_01a1fbb9e166769a847b420d51b59782.secret"})

    token: str = Field(examples=["assay_019a….secret"])


class Me(Shape):
    """The caller."""

    model_config = shown(
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
    responses=documented(errors.EmailTaken, errors.SignupClosed, errors.Forbidden, errors.InvalidRequest),
    openapi_extra=OPEN,
)
def post_user(body: NewUser, who: CallerDep, parts: ServiceDep) -> object:
    """Create an account. An administrator may also create approved users and administrators."""
    signup, rights = parts.settings.signup, {"admin": body.admin, "approved": body.approved}
    with parts.db.read() as session:
        check_sign_up(session, who, email=body.email, signup=signup, **rights)
    stored = passwords.hashed(body.password)
    with parts.db.write() as session:
        return sign_up(
            session,
            who,
            email=body.email,
            name=body.name,
            password_hash=stored,
            signup=signup,
            **rights,
        )


@router.post(
    "/tokens",
    status_code=201,
    summary="Log in: trade e-mail and password for a token",
    responses=documented(errors.WrongPassword, errors.Forbidden, errors.InvalidRequest),
)
def post_token(body: NewToken, request: Request, parts: ServiceDep) -> FreshToken:
    """The token's text is in this answer and nowhere else; it lives 90 days."""
    email = body.email.strip().lower()
    parts.limiter.request(address(request))
    with parts.limiter.login(email, address(request)):
        with parts.db.read() as session:
            user = account_of(session, email)
        if not passwords.matches(body.password, user.password_hash if user else None) or user is None:
            raise errors.WrongPassword
    with parts.db.write() as session:
        row, text = issue_token(session, user, scopes=body.scopes, creation=parts.settings.challenge_creation)
    return FreshToken.model_validate({**TokenShape.model_validate(row).model_dump(), "token": text})


@router.get("/tokens", summary="List my tokens", response_model=Page[TokenShape], responses=documented())
def get_tokens(who: AccountDep, parts: ServiceDep, limit: Limit = 50, cursor: Cursor = None) -> object:
    """Tokens that were not revoked, newest first; their text is not kept."""
    with parts.db.read() as session:
        rows, following = list_tokens(session, who, limit=limit, cursor=cursor)
    return {"items": rows, "next": following}


@router.delete("/tokens/{token_id}", status_code=204, summary="Revoke a token", responses=documented(errors.NotFound))
def delete_token(token_id: str, who: AccountDep, parts: ServiceDep) -> Response:
    """It stops working at once."""
    with parts.db.write() as session:
        revoke_token(session, who, token_id)
    return Response(status_code=204)


@router.get("/me", summary="Who am I", responses=documented())
def get_me(who: AccountDep) -> Me:
    """The account and the scopes of the token used."""
    assert who.user_id is not None
    order: tuple[Scope, ...] = ("read", "submit", "organize", "admin")
    return Me(
        id=who.user_id,
        email=who.email,
        name=who.name,
        admin=who.admin,
        approved=who.approved,
        scopes=[scope for scope in order if scope in who.scopes],
    )
