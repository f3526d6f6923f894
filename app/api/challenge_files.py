"""Files that a challenge offers for download: training data, a starter kit."""

import mimetypes
import re
from typing import Annotated, Literal

from fastapi import Query, Request
from pydantic import AfterValidator, Field
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from app import errors
from app.actions.access import Caller
from app.actions.challenges.challenge_files import (
    FileDescription,
    add_file,
    delete_file,
    edit_file,
    list_files,
    load_file_to_download,
    require_can_add_file,
)
from app.api.dependencies import (
    AppState,
    AppStateDep,
    AuditedAccountDep,
    AuditedOrganizerDep,
    CallerDep,
    Cursor,
    Limit,
    paginate,
)
from app.api.field_types import (
    Body,
    Moment,
    Name,
    Page,
    Shape,
    Text,
    reply_example,
    request_example,
    require_file_name,
)
from app.api.http.json_body import api_router
from app.api.http.problem_documents import TOKEN_OPTIONAL, error_responses, success_response
from app.api.http.uploads import (
    delete_unreferenced,
    form_content,
    offered_file_response,
    open_form_file,
    receive_upload,
)
from app.api.openapi import challenge_examples as examples
from app.files import StoredFile
from app.formats import FORMATS
from app.store.tables import ChallengeFile

router = api_router("challenges", prefix="/challenges/{slug}/files")

Audience = Literal["public", "teams"]
AUDIENCE_DESCRIPTION = "`public`: everybody who sees the challenge; `teams`: members of approved teams, and organizers."
UNSPECIFIC_TYPES = {"", "application/octet-stream", "application/x-www-form-urlencoded"}
MEDIA_TYPE_PATTERN = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]{0,80}/[a-z0-9][a-z0-9!#$&^_.+-]{0,80}")
_KNOWN_TYPES = mimetypes.MimeTypes()  # without the files of this machine
_EXAMPLE = "id,label\nt1,cat\n"
FileName = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(require_file_name)]
Licence = Annotated[Name, Query(description="The licence of the file, such as an SPDX identifier.")]


class FileShape(Shape):
    """A file of a challenge."""

    model_config = reply_example(examples.CHALLENGE_FILE)

    name: str
    description: str
    licence: str
    audience: Audience = Field(description=AUDIENCE_DESCRIPTION)
    media_type: str
    size: int = Field(description="In bytes.")
    sha256: str = Field(description="Of the bytes, in hexadecimal.")
    created_at: Moment


class NewFile(Body):
    """What organizers state about a file that they upload with a form."""

    model_config = request_example(name="train.csv", licence="CC-BY-4.0", description="", audience="public")

    name: FileName
    licence: Name
    description: Text = Field("", max_length=2000)
    audience: Audience = Field("public", description=AUDIENCE_DESCRIPTION)


class FileEdit(Body):
    """What organizers state about a file; only the fields that are sent change."""

    model_config = request_example(licence="CC-BY-4.0", audience="teams")

    description: Text = Field("", max_length=2000)
    licence: Name = ""
    audience: Audience = Field("public", description=AUDIENCE_DESCRIPTION)


@router.get(
    "",
    summary="List the files of a challenge",
    responses=error_responses(errors.NotFound),
    openapi_extra=TOKEN_OPTIONAL,
)
def get_files(
    slug: str, caller: CallerDep, state: AppStateDep, limit: Limit = 50, cursor: Cursor = None
) -> Page[FileShape]:
    """Returns the files by name, to everybody who sees the challenge; `audience` says who may download each."""
    with state.db.read() as session:
        rows, following = paginate(list_files(session, caller, slug), lambda row: row.id, limit=limit, cursor=cursor)
        return Page(items=[FileShape.model_validate(row) for row in rows], next=following)


@router.post(
    "",
    status_code=201,
    summary="Upload a file of a challenge",
    responses=error_responses(
        errors.Forbidden,
        errors.NotFound,
        errors.FileNameTaken,
        errors.TooManyFiles,
        errors.TooLarge,
        errors.UnsupportedMedia,
        errors.InvalidContent,
        errors.Unavailable,
        errors.StorageAlmostFull,
    ),
    openapi_extra={
        "requestBody": {
            "required": True,
            "description": "The bytes of the file. The media type is kept; without one the name gives it.",
            "content": {
                "application/octet-stream": {
                    "schema": {"type": "string", "format": "binary"},
                    "examples": {"file": {"value": _EXAMPLE}},
                },
                **form_content(_EXAMPLE),
            },
        }
    },
)
async def post_file(
    slug: str,
    request: Request,
    caller: AuditedAccountDep,
    state: AppStateDep,
    *,
    name: Annotated[FileName, Query(description="The name to offer it by; unique within the challenge.")],
    licence: Licence,
    description: Annotated[Text, Query(max_length=2000, description="What the file holds.")] = "",
    audience: Annotated[Audience, Query(description=AUDIENCE_DESCRIPTION)] = "public",
) -> FileShape:
    """Stores the body, or the file of a form, as a file of the challenge. Requires the role `owner` or `editor`.

    To replace a file, delete it and upload another one with the same name; its address stays.
    """
    await run_in_threadpool(_check_upload, state, caller, slug, name)
    about = FileDescription(name, description, licence, audience, await _media_type(request, name))

    def store(stored: StoredFile) -> FileShape:
        if not stored.size:
            raise errors.InvalidContent("The body is empty.", remedy="Send the file as the body: --data-binary @FILE.")
        with state.db.write() as session:
            return FileShape.model_validate(add_file(session, caller, slug, stored, about))

    return await receive_upload(request, state, store, max_bytes=state.settings.max_challenge_file)


def _check_upload(state: AppState, caller: Caller, slug: str, name: str) -> None:
    with state.db.read() as session:
        require_can_add_file(session, caller, slug, name)


async def _media_type(request: Request, name: str) -> str:
    """The media type of an uploaded file: the declared one, else that of its name. Raises UnsupportedMedia."""
    form = await open_form_file(request)
    encoding = request.headers.get("content-encoding") if form is None else form.encoding
    if encoding:
        remedy = "Send it without Content-Encoding; a compressed file is stored as it is."
        raise errors.UnsupportedMedia("A file of a challenge is stored as it is sent.", remedy=remedy)
    declared = request.headers.get("content-type", "") if form is None else form.media_type
    declared = declared.partition(";")[0].strip().lower()
    if declared not in UNSPECIFIC_TYPES and MEDIA_TYPE_PATTERN.fullmatch(declared):
        return declared
    for known in FORMATS.values():
        if name.lower().endswith(known.ending):
            return known.media_type
    guessed, encoding = _KNOWN_TYPES.guess_type(name)
    return "application/gzip" if encoding == "gzip" else guessed if guessed and not encoding else DEFAULT_MEDIA_TYPE


DEFAULT_MEDIA_TYPE = "application/octet-stream"


@router.get(
    "/{file_name}",
    summary="Download a file of a challenge",
    response_class=Response,
    responses=success_response("The file exactly as it was uploaded.", examples.DOWNLOADED_FILE)
    | {206: {"description": "The range of its bytes that `Range` asks for."}}
    | error_responses(
        errors.Forbidden,
        errors.NotRegistered,
        errors.RegistrationPending,
        errors.RegistrationBarred,
        errors.NoTeam,
        errors.NotFound,
        errors.StoredFileUnavailable,
    ),
    openapi_extra=TOKEN_OPTIONAL,
)
def get_file(slug: str, file_name: str, caller: CallerDep, state: AppStateDep) -> Response:
    """Returns the bytes of a file; a request for one range of them gets that range.

    A file for `teams` needs a token of a member of an approved team, or of an organizer. Scripts, style sheets and
    documents with scripts come as `application/octet-stream`, so that no browser runs them.
    """
    with state.db.read() as session:
        row = load_file_to_download(session, caller, slug, file_name)
    return offered_file_response(state, row)


@router.patch(
    "/{file_name}",
    summary="Describe a file of a challenge",
    responses=error_responses(errors.Forbidden, errors.NotFound, errors.InvalidRequest),
)
def patch_file(slug: str, file_name: str, body: FileEdit, caller: AuditedOrganizerDep, state: AppStateDep) -> FileShape:
    """Changes the description, the licence or the audience of a file. Requires the role `owner` or `editor`."""
    with state.db.write() as session:
        changes = body.model_dump(exclude_unset=True)
        row: ChallengeFile = edit_file(session, caller, slug, file_name, changes)
        return FileShape.model_validate(row)


@router.delete(
    "/{file_name}",
    status_code=204,
    summary="Delete a file of a challenge",
    responses=error_responses(errors.Forbidden, errors.NotFound),
)
def remove_file(slug: str, file_name: str, caller: AuditedOrganizerDep, state: AppStateDep) -> Response:
    """Deletes a file. Requires the role `owner` or `editor`."""
    with state.db.write() as session:
        key = delete_file(session, caller, slug, file_name)
    delete_unreferenced(state.files, key)
    return Response(status_code=204)
