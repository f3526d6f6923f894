"""The own account: challenges, name, password, data and deletion."""

from fastapi import Query
from pydantic import BaseModel, Field
from starlette.responses import Response

from app import errors
from app.actions.accounts.sessions import start_session
from app.api.my_account import (
    AccountEdit,
    PasswordChange,
    PasswordProof,
    delete_me,
    get_my_data,
    patch_me,
    replace_password,
)
from app.api.organizers import get_own_roles
from app.api.own_registrations import get_own_registrations
from app.web.forms import FieldFault, Form, attempt, attempt_async
from app.web.notices import notice
from app.web.page import FormDep, PageContext, PageDep, page_router, redirect
from app.web.rendering import NO_FORM, render

router = page_router()

SETTINGS = "/account/settings"
ROWS = 20
NAME_CHANGED = notice("name-changed", "Your name is changed.")
PASSWORD_CHANGED = notice(
    "password-changed",
    "Your password is changed. All other sessions ended, and all tokens of your account stopped working.",
)
DELETED = notice("account-deleted", "Your account is deleted.")


class Confirmation(BaseModel):
    """What has to be typed to delete the account."""

    confirm: str = Field(max_length=1000)


@router.get("/account")
def show_account(
    page: PageDep,
    cursor: str | None = Query(None, max_length=200),
    organized: str | None = Query(None, max_length=200),
) -> Response:
    """The challenges that the person takes part in, and those that the person organizes; each list has a cursor."""
    listed = get_own_registrations(page.account, page.state, ROWS, cursor)
    roles = get_own_roles(page.account, page.state, ROWS, organized)
    return render(
        page,
        "account.html",
        tab="challenges",
        registrations=listed.items,
        following=listed.next,
        roles=roles.items,
        more_roles=roles.next,
    )


@router.get(SETTINGS)
def show_settings(page: PageDep) -> Response:
    """Name, password, data and deletion."""
    return _settings(page, NO_FORM, 200)


def _settings(page: PageContext, form: Form, status: int) -> Response:
    return render(page, "account_settings.html", status=status, form=form, account=page.account, tab="settings")


@router.post("/account/name")
def post_name(page: PageDep, form: FormDep) -> Response:
    """Change the name."""
    account = page.account

    def act() -> Response:
        patch_me(form.body(AccountEdit, name=form.text("name")), account, page.state)
        return redirect(page, SETTINGS, done=NAME_CHANGED)

    return attempt(form, act, lambda refused, status: _settings(page, refused, status))


@router.post("/account/password")
async def post_password(page: PageDep, form: FormDep) -> Response:
    """Change the password: all sessions and tokens end, and this browser gets a new session."""
    account = page.account

    async def act() -> Response:
        page.site.require_login()
        values = {name: form.value(name) or None for name in ("current", "new")}
        body = form.body(PasswordChange, **values)
        text = await replace_password(
            body, page.request, account, page.state, lambda session, user: start_session(session, user)[1]
        )
        page.begin_session(text)
        return redirect(page, SETTINGS, done=PASSWORD_CHANGED)

    def again(refused: Form, status: int) -> Response:
        refused.faults = [_beside(fault, weak="new", wrong="current", status=status) for fault in refused.faults]
        return _settings(page, refused, status)

    return await attempt_async(form, act, again)


def _beside(fault: FieldFault, *, weak: str, wrong: str, status: int) -> FieldFault:
    """A fault of a password, at the field that holds it; the API names the field of another form, or none."""
    if fault.name == "password":
        return fault._replace(name=weak)
    return fault._replace(name=wrong) if not fault.name and status == errors.WrongPassword.status else fault


@router.get("/account/data")
def get_data(page: PageDep) -> Response:
    """Everything that the service stores about the person, as a file."""
    return get_my_data(page.account, page.state, page.request.headers.get("accept-encoding"))


@router.get("/account/delete")
def show_deletion(page: PageDep) -> Response:
    """What deletion means, and the form."""
    return _deletion(page, NO_FORM, 200)


def _deletion(page: PageContext, form: Form, status: int) -> Response:
    return render(page, "account_delete.html", status=status, form=form, account=page.account, tab="settings")


@router.post("/account/delete")
async def post_deletion(page: PageDep, form: FormDep) -> Response:
    """Delete the account, if the address was typed and the password is right."""
    account = page.account

    async def act() -> Response:
        page.site.require_login()
        typed = form.body(Confirmation, confirm=form.text("confirm")).confirm
        if typed.lower() != account.email.lower():
            fault = {"pointer": "/confirm", "detail": "type the e-mail address of this account"}
            raise errors.InvalidRequest("The address is another one.", errors=[fault])
        body = form.body(PasswordProof, password=form.value("password") or None)
        await delete_me(body, page.request, account, page.state)
        page.forget_session()
        return redirect(page, "/", done=DELETED)

    def again(refused: Form, status: int) -> Response:
        refused.faults = [_beside(fault, weak="password", wrong="password", status=status) for fault in refused.faults]
        return _deletion(page, refused, status)

    return await attempt_async(form, act, again)
