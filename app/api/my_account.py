"""The caller's own account: name, password, data, deletion; and a new password by a link."""

import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import Annotated, Any, TypeVar

from fastapi import Header, Request, Response
from pydantic import Field
from starlette.concurrency import run_in_threadpool

from app import errors
from app.actions.access import Caller
from app.actions.accounts import passwords
from app.actions.accounts.change_name import change_name
from app.actions.accounts.delete_account import delete_own_account
from app.actions.accounts.personal_data import acts_part, personal_data, submissions_part
from app.actions.accounts.set_password import (
    PasswordOwner,
    change_password,
    find_own_account,
    find_reset_account,
    spend_reset,
)
from app.actions.accounts.sign_up import require_strong_password
from app.api.accounts import Me, Password, caller_shape
from app.api.dependencies import AccountDep, AppState, AppStateDep
from app.api.field_types import Body, Name, SingleLineText, request_example
from app.api.http.json_body import api_router
from app.api.http.problem_documents import error_responses, success_response
from app.api.http.streamed_reply import StreamedReply
from app.api.limits.client_addresses import client_address_block
from app.api.limits.password_hashing import LoginTicket, SignUpTicket
from app.api.openapi import account_examples
from app.store.session import WriteSession
from app.store.tables import User
from app.text.email_addresses import login_limit_key

router = api_router("accounts")

Result = TypeVar("Result")


class AccountEdit(Body):
    """What may change of an account."""

    model_config = request_example(name="Ada Lovelace")

    name: Name


class PasswordChange(Body):
    """The present password and a new one."""

    model_config = request_example(current="correct horse battery staple", new="another heap of random words")

    current: str = Field(max_length=1000)
    new: Password


class PasswordProof(Body):
    """The password, as a proof that the owner acts."""

    model_config = request_example(password="correct horse battery staple")  # noqa: S106

    password: str = Field(max_length=1000)


class NewPassword(Body):
    """The secret of a reset link, and a new password."""

    model_config = request_example(
        secret=account_examples.RESET_SECRET,
        password="another heap of random words",  # noqa: S106
    )

    secret: SingleLineText = Field(max_length=200, description="What follows the # in the link.")
    password: Password


@router.patch("/me", summary="Change my name", responses=error_responses(errors.InvalidRequest))
def patch_me(body: AccountEdit, caller: AccountDep, state: AppStateDep) -> Me:
    """Changes the name of the account."""
    with state.db.write() as session:
        return caller_shape(change_name(session, caller, body.name))


@router.get(
    "/me/data",
    summary="Download my data",
    response_class=Response,
    responses=success_response("All of it as one JSON object.", account_examples.PERSONAL_DATA_FILE)
    | error_responses(),
)
def get_my_data(
    caller: AccountDep,
    state: AppStateDep,
    accept_encoding: Annotated[str | None, Header(include_in_schema=False)] = None,
) -> Response:
    """Returns everything that the service stores about the account, except secrets and the files that it sent."""
    with state.db.read() as session:
        beginning = personal_data(session, caller)
    reply = StreamedReply(_data_pieces(beginning, caller, state), "application/json", accept_encoding or "")
    reply.headers["Content-Disposition"] = 'attachment; filename="assay-data.json"'
    return reply


def _data_pieces(beginning: dict[str, Any], caller: Caller, state: AppState) -> Iterator[bytes]:
    """A person's data as pieces of one JSON object; each part of a long list is read by itself."""
    yield json.dumps(beginning, ensure_ascii=False).removesuffix("}").encode()
    for name, read_part in (("submissions", submissions_part), ("acts", acts_part)):
        yield f', "{name}": ['.encode()
        after: str | None = ""
        while after is not None:
            comma = ", " if after else ""
            with state.db.read() as session:
                rows, after = read_part(session, caller, after)
            if rows:
                yield (comma + json.dumps(rows, ensure_ascii=False)[1:-1]).encode()
        yield b"]"
    yield b"}\n"


@router.post(
    "/me/password",
    status_code=204,
    summary="Change my password",
    responses=error_responses(errors.WrongPassword, errors.NoPassword, errors.InvalidRequest),
)
async def post_password(body: PasswordChange, request: Request, caller: AccountDep, state: AppStateDep) -> Response:
    """Changes the password. All sessions end, and all tokens but the one in use stop working."""
    await replace_password(body, request, caller, state, lambda _, __: None)
    return Response(status_code=204)


async def replace_password(
    body: PasswordChange, request: Request, caller: Caller, state: AppState, use: Callable[[WriteSession, User], Result]
) -> Result:
    """Change the caller's password, and call `use` with the account in the same unit of work, in a thread.

    Raises WrongPassword, NoPassword, the limits of log-ins, and InvalidRequest for a weak password.
    """
    account = await _verify_password(body.current, request, caller, state)
    new_hash = await _hash_new_password(body.new, account, request, state)

    def change(session: WriteSession) -> Result:
        user = change_password(session, caller, verified_hash=account.password_hash, new_hash=new_hash)
        return use(session, user)

    return await _store(state, change)


@router.delete(
    "/me",
    status_code=204,
    summary="Delete my account",
    responses=error_responses(
        errors.WrongPassword, errors.NoPassword, errors.LastOwner, errors.LastAdministrator, errors.InvalidRequest
    ),
)
async def delete_me(body: PasswordProof, request: Request, caller: AccountDep, state: AppStateDep) -> Response:
    """Deletes the account: name, address and access. What it sent stays under a pseudonym. It cannot be undone."""
    account = await _verify_password(body.password, request, caller, state)
    await _store(state, partial(delete_own_account, caller=caller, verified_hash=account.password_hash))
    return Response(status_code=204)


@router.post(
    "/password-resets",
    status_code=204,
    summary="Set a new password with a reset link",
    responses=error_responses(errors.ResetNotUsable, errors.InvalidRequest),
)
async def post_password_reset(body: NewPassword, request: Request, state: AppStateDep) -> Response:
    """Sets a new password with the secret of a reset link, once. All sessions and tokens of the account end."""
    state.request_limits.count_sign_up(client_address_block(request))

    def find() -> PasswordOwner:
        with state.db.read() as session:
            return find_reset_account(session, body.secret)

    account = await run_in_threadpool(find)
    new_hash = await _hash_new_password(body.password, account, request, state)
    await _store(state, partial(spend_reset, secret=body.secret, new_hash=new_hash))
    return Response(status_code=204)


async def _verify_password(password: str, request: Request, caller: Caller, state: AppState) -> PasswordOwner:
    """The caller's account, whose password this is; raises WrongPassword, NoPassword and the limits of log-ins."""

    def find() -> PasswordOwner:
        with state.db.read() as session:
            return find_own_account(session, caller)

    account = await run_in_threadpool(find)
    block = client_address_block(request)
    ticket = LoginTicket(state.request_limits.failed_logins, login_limit_key(account.email), block, known=False)
    ticket.refuse_early()
    check = partial(passwords.verify_password, password, account.password_hash)
    result: passwords.PasswordVerification = await state.hashing_pool.run(ticket, check)
    if not result.right:
        raise ticket.rate_limit_error or errors.WrongPassword("The present password is wrong.")
    return account


async def _hash_new_password(password: str, account: PasswordOwner, request: Request, state: AppState) -> str:
    """The hash of a new password; raises InvalidRequest if it is too weak."""

    def work() -> str:
        require_strong_password(password, email=account.email, name=account.name)
        return passwords.hash_password(password)

    hashed: str = await state.hashing_pool.run(SignUpTicket(client_address_block(request)), work)
    return hashed


async def _store(state: AppState, change: Callable[..., Result]) -> Result:
    def write() -> Result:
        with state.db.write() as session:
            return change(session)

    return await run_in_threadpool(write)
