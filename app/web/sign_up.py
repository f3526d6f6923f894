"""Sign up for an account; whoever does is logged in at once."""

from fastapi import Query
from starlette.responses import Response

from app.actions.access import VISITOR
from app.actions.accounts.sessions import open_first_session
from app.api.accounts import NewUser, create_account
from app.api.limits.client_addresses import client_address_block
from app.web.forms import Form, attempt_async
from app.web.invitation import code_of, held_invitation
from app.web.notices import notice
from app.web.page import INVITATION_COOKIE, FormDep, PageContext, PageDep, local_path, page_router, redirect
from app.web.rendering import NO_FORM, render

router = page_router()

SIGNED_UP = notice("signed-up", "Your account is ready, and you are logged in. Choose a challenge and take part in it.")
SIGNED_UP_HERE = notice("welcome", "Your account is ready, and you are logged in.")


@router.get("/sign-up")
def show_sign_up(page: PageDep, next_path: str | None = Query(None, alias="next")) -> Response:
    """The form; somebody who is logged in goes on to where they wanted to go."""
    if page.is_logged_in:
        return redirect(page, local_path(next_path))
    return _page(page, NO_FORM, 200, local_path(next_path))


def _page(page: PageContext, form: Form, status: int, next_path: str) -> Response:
    held = held_invitation(page)
    code = page.invitation if held is not None and held.kind == "site" else ""
    return render(page, "sign_up.html", status=status, form=form, next_path=next_path, held=held, code=code)


@router.post("/sign-up")
async def post_sign_up(page: PageDep, form: FormDep) -> Response:
    """Create the account and open a session in one unit of work."""
    next_path = local_path(form.value("next"))
    if page.is_logged_in:
        return redirect(page, next_path)

    async def act() -> Response:
        page.site.require_login()
        values = {"email": form.text("email"), "name": form.text("name"), "password": form.value("password") or None}
        body = form.body(NewUser, **values, invitation=code_of(form.value("invitation")))
        block = client_address_block(page.request)
        text = await create_account(
            body, page.request, VISITOR, page.state, lambda session, user: open_first_session(session, user, block)[1]
        )
        page.begin_session(text)
        if body.invitation is not None and body.invitation == page.invitation:
            page.new_cookies[INVITATION_COOKIE] = None
        elif next_path == "/" and page.invitation is not None:
            return redirect(page, "/invitation", done=SIGNED_UP_HERE)
        return redirect(page, next_path, done=SIGNED_UP if next_path == "/" else SIGNED_UP_HERE)

    return await attempt_async(form, act, lambda refused, status: _page(page, refused, status, next_path))
