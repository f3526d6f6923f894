"""Copy a challenge, export it, archive it, and delete it."""

from typing import Annotated

from fastapi import Query
from starlette.responses import Response

from app.api.challenge_copies import NewCopy, current_copier, post_archive, post_copy, post_unarchive
from app.api.challenges import remove_challenge
from app.api.exports import get_export
from app.api.reasons import OptionalReason
from app.errors import InvalidRequest
from app.web.challenge_rights import may_create_challenge
from app.web.forms import Form, attempt
from app.web.notices import notice
from app.web.organize.frame import organizer_frame
from app.web.page import FormDep, PageContext, PageDep, page_router, redirect
from app.web.rendering import NO_FORM, render

router = page_router()

COPIED = notice(
    "desk-challenge-copied", "This is the copy, a draft that only you see. Check its dates, then publish it."
)
ARCHIVED = notice(
    "desk-challenge-archived", "The challenge is archived: everybody can read it, and nobody can change it."
)
UNARCHIVED = notice("desk-challenge-unarchived", "The challenge goes on.")
DELETED = notice("desk-challenge-deleted", "The challenge was deleted with everything in it.")
COPY = "/challenges/{slug}/organize/copy"


@router.get(COPY)
def get_copy(slug: str, page: PageDep) -> Response:
    """Copy, export, archive and delete."""
    return show_copy(page, slug)


def show_copy(page: PageContext, slug: str, form: Form = NO_FORM, status: int = 200) -> Response:
    """The page, with a form that was refused."""
    frame = organizer_frame(page, slug)
    may_copy = may_create_challenge(page)
    return render(page, "organize/copy.html", status=status, form=form, frame=frame, may_copy=may_copy)


@router.post(COPY)
def post_new_copy(slug: str, page: PageDep, form: FormDep) -> Response:
    """Copy the challenge as a draft."""

    def act() -> Response:
        caller = current_copier(slug, page.account, page.state)
        given = {name: form.text(name) for name in ("slug", "title", "opens_at")}
        body = form.body(NewCopy, gold=form.has("gold"), **given)
        made = post_copy(slug, body, caller, page.state, reason=form.reason())
        return redirect(page, f"/challenges/{made.slug}/organize", done=COPIED)

    return attempt(form, act, lambda refused, status: show_copy(page, slug, refused, status))


@router.post(COPY + "/archive")
def post_archived(slug: str, page: PageDep, form: FormDep) -> Response:
    """Archive the challenge."""

    def act() -> Response:
        post_archive(slug, page.account, page.state, form.body(OptionalReason, reason=form.text("reason")))
        return redirect(page, f"/challenges/{slug}/organize/copy", done=ARCHIVED)

    return attempt(form, act, lambda refused, status: show_copy(page, slug, refused, status))


@router.post(COPY + "/unarchive")
def post_unarchived(slug: str, page: PageDep, form: FormDep) -> Response:
    """Let the challenge go on."""

    def act() -> Response:
        post_unarchive(slug, page.account, page.state, form.body(OptionalReason, reason=form.text("reason")))
        return redirect(page, f"/challenges/{slug}/organize/copy", done=UNARCHIVED)

    return attempt(form, act, lambda refused, status: show_copy(page, slug, refused, status))


@router.get(COPY + "/export")
def get_archive(slug: str, page: PageDep, phase: Annotated[str | None, Query(max_length=64)] = None) -> Response:
    """The archive of a phase."""
    return get_export(slug, page.account, page.state, phase=phase or None)


@router.post(COPY + "/delete")
def post_deletion(slug: str, page: PageDep, form: FormDep) -> Response:
    """Delete the challenge, once its slug is typed."""

    def act() -> Response:
        if form.text("confirm") != slug:
            detail = f"Type {slug} to confirm: a deletion cannot be undone."
            raise InvalidRequest(detail, errors=[{"pointer": "/confirm", "detail": detail}])
        confirm = slug if page.caller.has_admin_rights else None
        remove_challenge(slug, page.account.with_reason(form.reason()), page.state, confirm=confirm)
        return redirect(page, "/", done=DELETED)

    return attempt(form, act, lambda refused, status: show_copy(page, slug, refused, status))
