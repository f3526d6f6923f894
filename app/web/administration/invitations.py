"""Invitations to the site: codes with which people sign up."""

from typing import Any

from fastapi import Query
from starlette.responses import Response

from app.api.users import (
    FreshInvitation,
    delete_site_invitation,
    get_site_invitations,
    post_site_invitation,
)
from app.web.administration.frame import require_admin, show
from app.web.forms import Form, attempt
from app.web.invitation_fields import new_invitation
from app.web.notices import notice
from app.web.page import FormDep, PageContext, PageDep, page_router, redirect
from app.web.rendering import NO_FORM

router = page_router()

ROWS = 50
REVOKED = notice("admin-site-invitation-revoked", "The invitation was revoked. Its code is no longer valid.")


@router.get("/administration/invitations")
def get_list(page: PageDep, cursor: str | None = Query(None, max_length=200)) -> Response:
    """The invitations that were not revoked, newest first."""
    return show_list(page, cursor=cursor)


def show_list(
    page: PageContext,
    form: Form = NO_FORM,
    status: int = 200,
    *,
    cursor: str | None = None,
    fresh: FreshInvitation | None = None,
) -> Response:
    """The list, with a form that was refused, or with an invitation that was just made."""
    require_admin(page)
    rows: Any = get_site_invitations(page.account, page.state, limit=ROWS, cursor=cursor)
    values = {"rows": rows["items"], "following": rows["next"], "fresh": fresh}
    return show(page, "invitations", "invitations.html", form, status, **values)


@router.post("/administration/invitations")
def post_invitation(page: PageDep, form: FormDep) -> Response:
    """Make an invitation; its code stands in the reply alone."""

    def act() -> Response:
        require_admin(page)
        caller = page.account.with_reason(form.reason())
        return show_list(page, fresh=post_site_invitation(new_invitation(form), caller, page.state))

    return attempt(form, act, lambda refused, status: show_list(page, refused, status))


@router.post("/administration/invitations/revoke")
def post_revocation(page: PageDep, form: FormDep) -> Response:
    """Revoke an invitation."""

    def act() -> Response:
        caller = page.account.with_reason(form.reason())
        delete_site_invitation(form.value("invitation"), caller, page.state)
        return redirect(page, "/administration/invitations", done=REVOKED)

    return attempt(form, act, lambda refused, status: show_list(page, refused, status))
