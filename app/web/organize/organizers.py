"""The organizers of a challenge and their roles."""

from fastapi import Query
from starlette.responses import Response

from app.api.organizers import NewOrganizer, current_owner, delete_organizer, get_organizers, post_organizer
from app.web.forms import Form, attempt
from app.web.notices import notice
from app.web.organize.frame import organizer_frame
from app.web.page import FormDep, PageContext, PageDep, page_router, redirect
from app.web.rendering import NO_FORM, render

router = page_router()

ROWS = 50
SET = notice("desk-organizer-set", "The role is in force.")
REMOVED = notice("desk-organizer-removed", "The role was removed.")
LEFT = notice("desk-organizer-left", "You are no longer an organizer of this challenge.")
ROLES = [
    ("editor", "Editor: sees everything and changes everything but organizers and the existence of the challenge"),
    ("viewer", "Viewer: sees everything, gold included, and changes nothing"),
    ("owner", "Owner: may also add organizers, archive and delete"),
]


@router.get("/challenges/{slug}/organize/organizers")
def get_list(slug: str, page: PageDep, cursor: str | None = Query(None, max_length=200)) -> Response:
    """The organizers, owners first."""
    return show_list(page, slug, cursor=cursor)


def show_list(
    page: PageContext, slug: str, form: Form = NO_FORM, status: int = 200, cursor: str | None = None
) -> Response:
    """The list, with a form that was refused."""
    frame = organizer_frame(page, slug)
    rows = get_organizers(slug, page.account, page.state, limit=ROWS, cursor=cursor)
    return render(
        page,
        "organize/organizers.html",
        status=status,
        form=form,
        frame=frame,
        rows=rows.items,
        following=rows.next,
        roles=ROLES,
    )


@router.post("/challenges/{slug}/organize/organizers")
def post_role(slug: str, page: PageDep, form: FormDep) -> Response:
    """Give an account a role, or another one."""

    def act() -> Response:
        caller = current_owner(slug, page.account, page.state)
        given = {name: form.text(name) for name in ("email", "role", "reason")}
        post_organizer(slug, form.body(NewOrganizer, **given), caller, page.state)
        return redirect(page, f"/challenges/{slug}/organize/organizers", done=SET)

    return attempt(form, act, lambda refused, status: show_list(page, slug, refused, status))


@router.post("/challenges/{slug}/organize/organizers/remove")
def post_removal(slug: str, page: PageDep, form: FormDep) -> Response:
    """Remove a role: that of another person as an owner, or one's own."""
    email = form.value("email")

    def act() -> Response:
        delete_organizer(slug, email, page.account.with_reason(form.reason()), page.state)
        if email == page.account.email and not page.caller.has_admin_rights:
            return redirect(page, "/", done=LEFT)
        return redirect(page, f"/challenges/{slug}/organize/organizers", done=REMOVED)

    return attempt(form, act, lambda refused, status: show_list(page, slug, refused, status))
