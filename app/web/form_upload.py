"""Forms with a file: their fields come before the file, the first of them the token against forgery."""

from collections.abc import Collection

from fastapi import Request

from app.api.http.uploads import open_form_file
from app.errors import BadRequest, InvalidRequest
from app.web.forms import Form
from app.web.page import CSRF_FIELD, CSRF_HEADER, PageContext


async def open_upload_form(page: PageContext, request: Request, names: Collection[str]) -> tuple[Form, str]:
    """The fields of a form, and the name of its file, of which nothing has been read yet.

    Raises ForeignForm, FormExpired, and what FormFile raises.
    """
    upload = await open_form_file(request, {CSRF_FIELD, *names})
    if upload is None:
        raise BadRequest("This is not a form that the pages of this service send.")
    given = upload.fields
    page.require_own_form(given.pop(CSRF_FIELD, None) or request.headers.get(CSRF_HEADER))
    fields = {name: [value.replace("\r\n", "\n")] for name, value in given.items()}
    return Form(fields), upload.filename.replace("\\", "/").rpartition("/")[2]


def require_file(name: str) -> str:
    """The name of the file of a form; raises InvalidRequest if none was chosen."""
    if not name:
        raise InvalidRequest("Choose a file.", errors=[{"pointer": "/file", "detail": "Choose a file."}])
    return name
