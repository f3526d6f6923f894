"""Invitations to a challenge: codes that admit people to it."""

from fastapi import Query
from starlette.responses import Response

from app.api.challenge_invitations import (
    delete_challenge_invitation,
    get_challenge_invitations,
    post_challenge_invitation,
)
from app.api.dependencies import current_organizer
from app.api.users import FreshInvitation
from app.web.forms import Form, attempt
from app.web.invitation_fields import new_invitation
from app.web.notices import notice
from app.web.organize.frame import organizer_frame
from app.web.page import FormDep, PageContext, PageDep, page_router, redirect
from app.web.rendering import NO_FORM, render

router = page_router()

ROWS = 50
REVOKED = notice("desk-invitation-revoked", "The invitation was revoked. Its code admits nobody any more.")


@router.get("/challenges/{slug}/organize/invitations")
def get_list(slug: str, page: PageDep, cursor: str | None = Query(None, max_length=200)) -> Response:
    """The invitations that were not revoked, newest first."""
    return show_list(page, slug, cursor=cursor)


def show_list(
    page: PageContext,
    slug: str,
    form: Form = NO_FORM,
    status: int = 200,
    *,
    cursor: str | None = None,
    fresh: FreshInvitation | None = None,
) -> Response:
    """The list, with a form that was refused, or with an invitation that was just made."""
    frame = organizer_frame(page, slug)
    rows = get_challenge_invitations(slug, page.account, page.state, limit=ROWS, cursor=cursor)
    values = {"rows": rows["items"], "following": rows["next"]}  # type: ignore[index]
    return render(page, "organize/invitations.html", status=status, form=form, frame=frame, fresh=fresh, **values)


@router.post("/challenges/{slug}/organize/invitations")
def post_invitation(slug: str, page: PageDep, form: FormDep) -> Response:
    """Make an invitation; its code stands in the reply alone."""

    def act() -> Response:
        caller = current_organizer(slug, page.account, page.state).with_reason(form.reason())
        fresh = post_challenge_invitation(slug, new_invitation(form), caller, page.state)
        return show_list(page, slug, fresh=fresh)

    return attempt(form, act, lambda refused, status: show_list(page, slug, refused, status))


@router.post("/challenges/{slug}/organize/invitations/revoke")
def post_revocation(slug: str, page: PageDep, form: FormDep) -> Response:
    """Revoke an invitation."""

    def act() -> Response:
        caller = page.account.with_reason(form.reason())
        delete_challenge_invitation(slug, form.value("invitation"), caller, page.state)
        return redirect(page, f"/challenges/{slug}/organize/invitations", done=REVOKED)

    return attempt(form, act, lambda refused, status: show_list(page, slug, refused, status))
