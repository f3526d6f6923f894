"""Tokens for programs: list, make and revoke them."""

from fastapi import Query
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from app import errors
from app.actions.accounts.issue_token import DEFAULT_TOKEN_DAYS, MAX_TOKEN_DAYS
from app.api.accounts import FreshToken, NewToken, TokenShape, delete_token, get_tokens, post_token
from app.api.field_types import Page
from app.web.forms import Form, attempt, attempt_async, whole_number
from app.web.notices import notice
from app.web.page import FormDep, PageContext, PageDep, page_router, redirect
from app.web.rendering import NO_FORM, render

router = page_router()

TOKENS = "/account/tokens"
REVOKED = notice("token-revoked", "The token is revoked.")
SCOPES = (
    ("read", "Read", "Your submissions, scores and teams."),
    ("submit", "Submit", "Send files, and act as a member of your teams."),
    ("organize", "Organize", "The challenges that you organize."),
    ("admin", "Administrate", "This site."),
)
DEFAULT_SCOPES = ("read", "submit")
ROWS = 50


@router.get(TOKENS)
def show_tokens(page: PageDep, cursor: str | None = Query(None, max_length=200)) -> Response:
    """The tokens that are not revoked, and the form for another one."""
    return _page(page, NO_FORM, 200, cursor=cursor)


def _page(
    page: PageContext, form: Form, status: int, *, fresh: FreshToken | None = None, cursor: str | None = None
) -> Response:
    listed = Page[TokenShape].model_validate(get_tokens(page.account, page.state, ROWS, cursor))
    return render(
        page,
        "account_tokens.html",
        status=status,
        form=form,
        tab="tokens",
        tokens=listed.items,
        following=listed.next,
        fresh=fresh,
        scopes=[scope for scope in SCOPES if scope[0] != "admin" or page.account.admin],
        chosen=form.values("scopes") if form.fields else DEFAULT_SCOPES,
        default_days=DEFAULT_TOKEN_DAYS,
        max_days=MAX_TOKEN_DAYS,
    )


@router.post(TOKENS)
async def post_new_token(page: PageDep, form: FormDep) -> Response:
    """Make a token, by the password as in the API; the reply shows its text once."""
    account = page.account

    async def act() -> Response:
        page.site.require_login()
        body = form.body(
            NewToken,
            email=account.email,
            password=form.value("password"),
            name=form.text("name"),
            scopes=form.values("scopes"),
            days=whole_number(form.text("days")),
        )
        fresh = await post_token(body, page.request, page.state)
        return await run_in_threadpool(_page, page, NO_FORM, 201, fresh=fresh)

    def again(refused: Form, status: int) -> Response:
        if status == errors.WrongPassword.status:
            refused.faults = [
                fault._replace(name="password", detail="This is not your password.") for fault in refused.faults
            ]
        return _page(page, refused, status)

    return await attempt_async(form, act, again)


@router.post(f"{TOKENS}/revoke")
def post_revoke(page: PageDep, form: FormDep) -> Response:
    """Revoke a token; it stops working at once."""
    account = page.account

    def act() -> Response:
        delete_token(form.value("token")[:64], account.with_reason(form.reason()), page.state)
        return redirect(page, TOKENS, done=REVOKED)

    return attempt(form, act, lambda refused, status: _page(page, refused, status))
