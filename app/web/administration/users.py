"""Accounts: search them, approve, disable, enable, create and delete them, and make links for new passwords."""

from typing import Annotated, Any

from fastapi import Query
from starlette.responses import Response

from app.api.accounts import NewUser, post_user
from app.api.reasons import OptionalReason
from app.api.users import (
    ResetLink,
    UserEdit,
    UserState,
    delete_user_account,
    get_user,
    get_users,
    patch_user,
    post_reset,
)
from app.errors import InvalidRequest
from app.web.administration.frame import require_admin, show
from app.web.forms import Form, attempt, attempt_async
from app.web.notices import notice
from app.web.page import FormDep, PageContext, PageDep, page_router, redirect
from app.web.rendering import NO_FORM

router = page_router()

ROWS = 50
CREATED = notice("admin-account-created", "The account was created. Tell the person its address and password.")
CHANGED = notice("admin-account-changed", "The account was changed.")
DELETED = notice("admin-account-deleted", "The account was deleted. What it sent stays under a pseudonym.")
STATES = {
    "": "All",
    "enabled": "Enabled",
    "disabled": "Disabled",
    "approved": "May create challenges",
    "admin": "Administrators",
}
USER = "/administration/users/{user_id}"
# The value of the button, and what it means for the API.
EDITS: dict[str, dict[str, bool]] = {
    "approve": {"approved": True},
    "withdraw": {"approved": False},
    "disable": {"disabled": True},
    "enable": {"disabled": False},
}


@router.get("/administration/users")
def get_list(
    page: PageDep,
    q: Annotated[str, Query(max_length=200)] = "",
    state: Annotated[str, Query(max_length=20)] = "",
    cursor: Annotated[str | None, Query(max_length=200)] = None,
) -> Response:
    """Accounts by name, address and state, newest first."""
    return show_list(page, q=q.strip(), state=state, cursor=cursor)


def show_list(
    page: PageContext,
    form: Form = NO_FORM,
    status: int = 200,
    *,
    q: str = "",
    state: str = "",
    cursor: str | None = None,
) -> Response:
    """The list, with a form that was refused."""
    require_admin(page)
    wanted: Any = state if state in UserState.__args__ else None  # type: ignore[attr-defined]
    rows: Any = get_users(page.account, page.state, q=q or None, status=wanted, limit=ROWS, cursor=cursor)
    values = {"rows": rows["items"], "following": rows["next"], "states": STATES, "q": q, "state": wanted or ""}
    return show(page, "users", "users.html", form, status, **values)


@router.post("/administration/users")
async def post_account(page: PageDep, form: FormDep) -> Response:
    """Create an account."""

    async def act() -> Response:
        require_admin(page)
        given = {name: form.text(name) for name in ("email", "name")} | {"password": form.value("password")}
        body = form.body(NewUser, admin=form.has("admin"), approved=form.has("approved"), **given)
        made: Any = await post_user(body, page.request, page.account, page.state)
        return redirect(page, f"/administration/users/{made.id}", done=CREATED)

    return await attempt_async(form, act, lambda refused, status: show_list(page, refused, status))


@router.get(USER)
def get_one(page: PageDep, user_id: str) -> Response:
    """One account."""
    return show_user(page, user_id)


def show_user(
    page: PageContext, user_id: str, form: Form = NO_FORM, status: int = 200, reset: ResetLink | None = None
) -> Response:
    """The page of an account, with a form that was refused, or with a link that was just made."""
    require_admin(page)
    user = get_user(user_id, page.account, page.state)
    return show(page, "users", "user.html", form, status, user=user, reset=reset)


@router.post(USER + "/edit")
def post_edit(page: PageDep, user_id: str, form: FormDep) -> Response:
    """Approve, disable or enable an account."""

    def act() -> Response:
        edit = EDITS.get(form.value("act"), {})
        patch_user(user_id, form.body(UserEdit, reason=form.text("reason"), **edit), page.account, page.state)
        return redirect(page, f"/administration/users/{user_id}", done=CHANGED)

    return attempt(form, act, lambda refused, status: show_user(page, user_id, refused, status))


@router.post(USER + "/reset")
def post_reset_link(page: PageDep, user_id: str, form: FormDep) -> Response:
    """Make a link for a new password; it stands in the reply alone."""

    def act() -> Response:
        body = form.body(OptionalReason, reason=form.text("reason"))
        return show_user(page, user_id, reset=post_reset(user_id, page.account, page.state, body))

    return attempt(form, act, lambda refused, status: show_user(page, user_id, refused, status))


@router.post(USER + "/delete")
def post_delete(page: PageDep, user_id: str, form: FormDep) -> Response:
    """Delete an account, once its address is typed."""

    def act() -> Response:
        user: Any = get_user(user_id, page.account, page.state)
        if form.text("confirm") != user.email:
            detail = f"Type {user.email} to confirm: a deletion cannot be undone."
            raise InvalidRequest(detail, errors=[{"pointer": "/confirm", "detail": detail}])
        delete_user_account(user_id, page.account.with_reason(form.reason()), page.state)
        return redirect(page, "/administration/users", done=DELETED)

    return attempt(form, act, lambda refused, status: show_user(page, user_id, refused, status))
