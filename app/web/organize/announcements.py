"""Announcements: write them with a preview, edit and delete them."""

from fastapi import Query
from starlette.responses import Response

from app.actions.challenges.announcements import read_announcement
from app.api.announcements import (
    AnnouncementEdit,
    AnnouncementShape,
    NewAnnouncement,
    create_announcement,
    get_announcements,
    patch_announcement,
    remove_announcement,
)
from app.api.dependencies import current_organizer
from app.web.forms import Form, attempt
from app.web.notices import notice
from app.web.organize.frame import organizer_frame
from app.web.page import FormDep, PageContext, PageDep, page_router, redirect
from app.web.rendering import NO_FORM, render

router = page_router()

ROWS = 50
POSTED = notice("desk-announcement-posted", "The announcement is on the page of the challenge and in its feed.")
EDITED = notice("desk-announcement-edited", "The announcement was changed. Readers see when.")
DELETED = notice("desk-announcement-deleted", "The announcement was deleted.")


@router.get("/challenges/{slug}/organize/announcements")
def get_list(slug: str, page: PageDep, cursor: str | None = Query(None, max_length=200)) -> Response:
    """What was announced, newest first, and a form to write."""
    return show_list(page, slug, cursor=cursor)


def show_list(
    page: PageContext,
    slug: str,
    form: Form = NO_FORM,
    status: int = 200,
    *,
    cursor: str | None = None,
    preview: bool = False,
) -> Response:
    """The list, with a form that was refused, or one to preview."""
    frame = organizer_frame(page, slug)
    rows = get_announcements(slug, page.caller, page.state, limit=ROWS, cursor=cursor)
    values = {"announcements": rows.items, "following": rows.next}  # type: ignore[attr-defined]
    return render(page, "organize/announcements.html", status=status, form=form, frame=frame, preview=preview, **values)


@router.post("/challenges/{slug}/organize/announcements")
def post_new(slug: str, page: PageDep, form: FormDep) -> Response:
    """Show a preview of an announcement, or post it."""

    def act() -> Response:
        caller = current_organizer(slug, page.account, page.state).with_reason(form.reason())
        body = form.body(NewAnnouncement, title=form.text("title"), body=form.value("body"))
        if form.value("act") == "preview":
            return show_list(page, slug, form, preview=True)
        create_announcement(slug, body, caller, page.state)
        return redirect(page, f"/challenges/{slug}/organize/announcements", done=POSTED)

    return attempt(form, act, lambda refused, status: show_list(page, slug, refused, status))


@router.get("/challenges/{slug}/organize/announcements/{announcement_id}")
def get_one(slug: str, announcement_id: str, page: PageDep) -> Response:
    """One announcement, to edit or delete it."""
    return show_one(page, slug, announcement_id)


def show_one(
    page: PageContext,
    slug: str,
    announcement_id: str,
    form: Form = NO_FORM,
    status: int = 200,
    *,
    preview: bool = False,
) -> Response:
    """The page of an announcement, with a form that was refused, or one to preview."""
    frame = organizer_frame(page, slug)
    with page.state.db.read() as session:
        row = AnnouncementShape.model_validate(read_announcement(session, page.account, slug, announcement_id))
    return render(page, "organize/announcement.html", status=status, form=form, frame=frame, row=row, preview=preview)


@router.post("/challenges/{slug}/organize/announcements/{announcement_id}/edit")
def post_edit(slug: str, announcement_id: str, page: PageDep, form: FormDep) -> Response:
    """Show a preview of a changed announcement, or store it."""

    def act() -> Response:
        caller = current_organizer(slug, page.account, page.state).with_reason(form.reason())
        body = form.body(AnnouncementEdit, title=form.text("title") or "", body=form.value("body"))
        if form.value("act") == "preview":
            return show_one(page, slug, announcement_id, form, preview=True)
        patch_announcement(slug, announcement_id, body, caller, page.state)
        return redirect(page, f"/challenges/{slug}/organize/announcements", done=EDITED)

    return attempt(form, act, lambda refused, status: show_one(page, slug, announcement_id, refused, status))


@router.post("/challenges/{slug}/organize/announcements/{announcement_id}/delete")
def post_delete(slug: str, announcement_id: str, page: PageDep, form: FormDep) -> Response:
    """Delete an announcement."""

    def act() -> Response:
        caller = current_organizer(slug, page.account, page.state).with_reason(form.reason())
        remove_announcement(slug, announcement_id, caller, page.state)
        return redirect(page, f"/challenges/{slug}/organize/announcements", done=DELETED)

    return attempt(form, act, lambda refused, status: show_one(page, slug, announcement_id, refused, status))
