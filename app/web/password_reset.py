"""Set a new password with a reset link, whose secret follows the #, so that no server and no log sees it."""

from starlette.responses import Response

from app.api.my_account import NewPassword, post_password_reset
from app.web.forms import Form, attempt_async
from app.web.invitation import code_of
from app.web.notices import notice
from app.web.page import FormDep, PageContext, PageDep, page_router, redirect
from app.web.rendering import NO_FORM, render

router = page_router()

PASSWORD_SET = notice(
    "password-set", "Your new password is set, and all sessions and tokens ended. Log in with the new password."
)


@router.get("/password-reset")
def show_password_reset(page: PageDep) -> Response:
    """The form. A script fills in the secret of the link; without it, the reader pastes the link."""
    return _page(page, NO_FORM, 200)


def _page(page: PageContext, form: Form, status: int) -> Response:
    return render(page, "password_reset.html", status=status, form=form)


@router.post("/password-reset")
async def post_reset(page: PageDep, form: FormDep) -> Response:
    """Set the password; then everybody logs in anew."""

    async def act() -> Response:
        page.site.require_login()
        values = {"secret": code_of(form.value("secret")), "password": form.value("password") or None}
        await post_password_reset(form.body(NewPassword, **values), page.request, page.state)
        page.forget_session()
        return redirect(page, "/log-in", done=PASSWORD_SET)

    return await attempt_async(form, act, lambda refused, status: _page(page, refused, status))
