"""Log in to the pages, and log out."""

from contextlib import suppress

from fastapi import Query
from starlette.responses import Response

from app import errors
from app.actions.accounts.log_in import VerifiedPassword
from app.actions.accounts.sessions import end_session, open_session
from app.api.accounts import verify_log_in
from app.api.limits.client_addresses import client_address_block
from app.store.session import WriteSession
from app.web.forms import Form, attempt_async
from app.web.notices import notice
from app.web.page import FormDep, PageContext, PageDep, local_path, page_router, redirect
from app.web.rendering import NO_FORM, render

router = page_router()

LOGGED_OUT = notice("logged-out", "You are logged out.")


@router.get("/log-in")
def show_log_in(page: PageDep, next_path: str | None = Query(None, alias="next")) -> Response:
    """The log-in page; somebody who is logged in goes on to where they wanted to go."""
    if page.is_logged_in:
        return redirect(page, local_path(next_path))
    return _log_in_page(page, NO_FORM, 200, local_path(next_path))


def _log_in_page(page: PageContext, form: Form, status: int, next_path: str) -> Response:
    return render(page, "log_in.html", status=status, form=form, next_path=next_path)


@router.post("/log-in")
async def post_log_in(page: PageDep, form: FormDep) -> Response:
    """Open a session. One that this browser had before ends, so that nobody keeps it (session fixation)."""
    next_path = local_path(form.value("next"))

    def open_new_session(verified: VerifiedPassword) -> str:
        with page.state.db.write() as session:
            end_own_session(session, page)
            return open_session(session, verified)[1]

    async def act() -> Response:
        page.site.require_login()
        block = client_address_block(page.request)
        email, password = form.value("email").strip()[:320], form.value("password")[:1000]
        text = await verify_log_in(email, password, block, page.state, open_new_session)
        page.begin_session(text)
        return redirect(page, next_path)

    return await attempt_async(form, act, lambda refused, status: _log_in_page(page, refused, status, next_path))


@router.post("/log-out")
def post_log_out(page: PageDep, form: FormDep) -> Response:  # noqa: ARG001 - the form proves that this browser asks
    """End the session."""
    with page.state.db.write() as session:
        end_own_session(session, page)
    page.forget_session()
    return redirect(page, "/", done=LOGGED_OUT)


def end_own_session(session: WriteSession, page: PageContext) -> None:
    """End the session of this browser, if it has one that has not ended meanwhile."""
    if page.session_text is not None:
        with suppress(errors.Unauthorized):
            end_session(session, page.session_text)
