"""Files that a challenge offers for download."""

from fastapi import Query, Request
from starlette.responses import Response

from app.api.challenge_files import FileEdit, NewFile, get_files, patch_file, post_file, remove_file
from app.api.dependencies import current_organizer
from app.errors import NotFound
from app.web.form_upload import open_upload_form, require_file
from app.web.forms import Form, attempt, attempt_async
from app.web.notices import notice
from app.web.organize.frame import organizer_frame
from app.web.page import FormDep, PageContext, PageDep, page_router, redirect
from app.web.rendering import NO_FORM, render

router = page_router()

ROWS = 200
UPLOADED = notice("desk-file-uploaded", "The file is offered for download.")
CHANGED = notice("desk-file-changed", "The description of the file was changed.")
DELETED = notice("desk-file-deleted", "The file was deleted.")
AUDIENCES = [
    ("public", "Everybody who sees the challenge"),
    ("teams", "Members of approved teams, and organizers"),
]
FIELDS = ("name", "licence", "description", "audience", "reason")


@router.get("/challenges/{slug}/organize/files")
def get_list(slug: str, page: PageDep, cursor: str | None = Query(None, max_length=200)) -> Response:
    """The files by name, and a form for another one."""
    return show_list(page, slug, cursor=cursor)


def show_list(
    page: PageContext, slug: str, form: Form = NO_FORM, status: int = 200, cursor: str | None = None
) -> Response:
    """The list, with a form that was refused."""
    frame = organizer_frame(page, slug)
    rows = get_files(slug, page.caller, page.state, limit=ROWS, cursor=cursor)
    return render(
        page,
        "organize/files.html",
        status=status,
        form=form,
        frame=frame,
        files=rows.items,
        following=rows.next,
        audiences=AUDIENCES,
        max_bytes=page.state.settings.max_challenge_file,
    )


@router.post("/challenges/{slug}/organize/files")
async def post_upload(slug: str, request: Request, page: PageDep) -> Response:
    """Upload a file."""
    form, filename = await open_upload_form(page, request, FIELDS)

    async def act() -> Response:
        require_file(filename)
        given = {name: form.text(name) for name in ("licence", "description", "audience")}
        about = form.body(NewFile, name=form.text("name") or filename, **given)
        caller = page.account.with_reason(form.reason())
        await post_file(slug, request, caller, page.state, **about.model_dump())
        return redirect(page, f"/challenges/{slug}/organize/files", done=UPLOADED)

    def again(refused: Form, status: int) -> Response:
        return show_list(page, slug, refused, status)

    return await attempt_async(form, act, again)


@router.get("/challenges/{slug}/organize/files/{file_name}")
def get_one(slug: str, file_name: str, page: PageDep) -> Response:
    """What is stated about one file."""
    return show_file(page, slug, file_name)


def show_file(page: PageContext, slug: str, file_name: str, form: Form = NO_FORM, status: int = 200) -> Response:
    """The page of a file, with a form that was refused."""
    frame = organizer_frame(page, slug)
    rows = get_files(slug, page.caller, page.state, limit=ROWS).items
    file = next((row for row in rows if row.name == file_name), None)
    if file is None:
        raise NotFound(f"The challenge has no file '{file_name}'.")
    return render(page, "organize/file.html", status=status, form=form, frame=frame, file=file, audiences=AUDIENCES)


@router.post("/challenges/{slug}/organize/files/{file_name}/edit")
def post_edit(slug: str, file_name: str, page: PageDep, form: FormDep) -> Response:
    """Change licence, audience or description."""

    def act() -> Response:
        caller = current_organizer(slug, page.account, page.state).with_reason(form.reason())
        given = {"licence": form.value("licence").strip(), "description": form.value("description")}
        patch_file(slug, file_name, form.body(FileEdit, audience=form.text("audience"), **given), caller, page.state)
        return redirect(page, f"/challenges/{slug}/organize/files", done=CHANGED)

    return attempt(form, act, lambda refused, status: show_file(page, slug, file_name, refused, status))


@router.post("/challenges/{slug}/organize/files/{file_name}/delete")
def post_delete(slug: str, file_name: str, page: PageDep, form: FormDep) -> Response:
    """Delete a file."""

    def act() -> Response:
        caller = current_organizer(slug, page.account, page.state).with_reason(form.reason())
        remove_file(slug, file_name, caller, page.state)
        return redirect(page, f"/challenges/{slug}/organize/files", done=DELETED)

    return attempt(form, act, lambda refused, status: show_file(page, slug, file_name, refused, status))
