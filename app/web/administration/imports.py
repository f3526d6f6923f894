"""Imports of phases from other installations: send an archive, and follow what becomes of it."""

from fastapi import Query, Request
from starlette.responses import Response

from app.api.imports import get_import, get_imports, post_import
from app.errors import InvalidRequest
from app.web.administration.frame import require_admin, show
from app.web.form_upload import open_upload_form, require_file
from app.web.forms import Form, attempt_async
from app.web.notices import notice
from app.web.page import PageContext, PageDep, page_router, redirect
from app.web.rendering import NO_FORM

router = page_router()

ROWS = 50
QUEUED = notice("admin-import-queued", "The archive arrived. Its scores are being computed again.")
FIELDS = ("slug", "reason")


@router.get("/administration/imports")
def get_list(page: PageDep, cursor: str | None = Query(None, pattern="^[0-9a-f]{32}$")) -> Response:
    """The imports, newest first, and a form for another one."""
    return show_list(page, cursor=cursor)


def show_list(page: PageContext, form: Form = NO_FORM, status: int = 200, *, cursor: str | None = None) -> Response:
    """The list, with a form that was refused."""
    require_admin(page)
    rows = get_imports(page.account, page.state, limit=ROWS, cursor=cursor)
    limit = page.state.settings.max_import
    return show(page, "imports", "imports.html", form, status, rows=rows.items, following=rows.next, max_bytes=limit)


@router.post("/administration/imports")
async def post_archive(request: Request, page: PageDep) -> Response:
    """Send an archive."""
    form, filename = await open_upload_form(page, request, FIELDS)

    async def act() -> Response:
        require_admin(page)
        require_file(filename)
        slug = (form.text("slug") or "").strip() or None
        if slug is not None:
            _require_slug(slug)
        caller, sent = page.account.with_reason(form.reason()), Response()
        made = await post_import(request, caller, page.state, sent, slug=slug)
        return redirect(page, f"/administration/imports/{made.id}", done=QUEUED)

    return await attempt_async(form, act, lambda refused, status: show_list(page, refused, status))


def _require_slug(slug: str) -> None:
    allowed = set("abcdefghijklmnopqrstuvwxyz0123456789-")
    if len(slug) > 63 or slug.startswith("-") or not set(slug) <= allowed:
        detail = "a slug has up to 63 of a-z, 0-9 and -, and begins with a letter or digit"
        raise InvalidRequest(errors=[{"pointer": "/slug", "detail": detail}])


@router.get("/administration/imports/{import_id}")
def get_one(import_id: str, page: PageDep) -> Response:
    """What becomes of one import."""
    require_admin(page)
    return show(page, "imports", "import.html", row=get_import(import_id, page.account, page.state))
