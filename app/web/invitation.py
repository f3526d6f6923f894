"""Enter the code of an invitation: the browser keeps it in a cookie until it is used, so that no address shows it."""

from fastapi import Query
from pydantic import BaseModel
from starlette.responses import Response

from app import errors
from app.api.field_types import InvitationCode
from app.api.own_registrations import InvitationTargetShape, get_invitation
from app.web.forms import Form, attempt
from app.web.notices import notice
from app.web.page import INVITATION_COOKIE, FormDep, PageContext, PageDep, local_path, page_router, redirect
from app.web.rendering import NO_FORM, render

router = page_router()

FORGOTTEN = notice("invitation-forgotten", "The code was removed from this browser. It can still be used.")


class EnteredCode(BaseModel):
    """The form."""

    code: InvitationCode


def held_invitation(page: PageContext) -> InvitationTargetShape | None:
    """What the code admits to that this browser entered; None without one, or if it cannot be used any more."""
    if page.invitation is None:
        return None
    try:
        return get_invitation(page.caller, page.state, page.invitation)
    except errors.InvalidInvitation:
        return None


@router.get("/invitation")
def show_invitation(page: PageDep, next_path: str | None = Query(None, alias="next")) -> Response:
    """What the code that was entered is for, or the field for one."""
    return _page(page, NO_FORM, 200, local_path(next_path, ""))


def _page(page: PageContext, form: Form, status: int, next_path: str) -> Response:
    held = held_invitation(page)
    return render(page, "invitation.html", status=status, form=form, held=held, next_path=next_path)


@router.post("/invitation")
def post_invitation(page: PageDep, form: FormDep) -> Response:
    """Check a code and keep it; whoever can register with it goes on to the challenge."""
    next_path = local_path(form.value("next"), "")

    def act() -> Response:
        code = form.body(EnteredCode, code=code_of(form.value("code"))).code
        target = get_invitation(page.caller, page.state, code)
        page.new_cookies[INVITATION_COOKIE] = code
        if target.kind == "site" and not page.is_logged_in:
            return redirect(page, "/sign-up")
        if target.challenge is not None:
            return redirect(page, f"/challenges/{target.challenge}/register")
        return redirect(page, "/invitation")

    return attempt(form, act, lambda refused, status: _page(page, refused, status, next_path))


@router.post("/invitation/forget")
def post_forget(page: PageDep, form: FormDep) -> Response:
    """Remove the code from this browser."""
    page.new_cookies[INVITATION_COOKIE] = None
    return redirect(page, local_path(form.value("next"), "/invitation"), done=FORGOTTEN)


def code_of(text: str) -> str | None:
    """The secret in what a person pasted: itself, or what follows the # of a link."""
    return text.strip().rpartition("#")[2] or None
