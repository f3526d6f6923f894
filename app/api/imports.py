"""Imports of phases from other installations, and the receipts that come with them."""

from typing import Annotated, Any, Literal

from fastapi import Query, Request, Response
from pydantic import Field
from starlette.concurrency import run_in_threadpool

from app import errors
from app.actions.imports.foreign_receipts import read_foreign_receipts
from app.actions.imports.request_import import (
    ImportView,
    list_imports,
    list_origin_ids,
    read_archive_head,
    read_import,
    request_import,
    require_may_import,
)
from app.api.dependencies import AccountDep, AppStateDep, AuditedAccountDep, CallerDep, Limit
from app.api.field_types import SLUG_PATTERN, Moment, Page, Shape, reply_example
from app.api.http.json_body import api_router
from app.api.http.problem_documents import TOKEN_OPTIONAL, error_responses
from app.api.http.uploads import form_content, receive_upload
from app.api.openapi import import_examples as examples
from app.archives.open_archive import InvalidArchive
from app.files import StoredFile

router = api_router("imports", base="/api/v1")

_ID = Query(pattern="^[0-9a-f]{32}$", description="`next` of the page before.")
_IdCursor = Query(pattern="^[a-z]{1,16}\\.[0-9a-f]{32}$", description="`next` of the page before.")
Kind = Literal["challenge", "phase", "gold", "recipe", "team", "submission", "switch"]


class ImporterShape(Shape):
    """Who asked for an import."""

    id: str
    name: str


class OriginShape(Shape):
    """Where an archive comes from, as its manifest says."""

    url: str
    challenge: str
    phase: str
    program: str
    scorer_version: int
    exported_at: Moment
    challenge_id: str
    phase_id: str


class ImportShape(Shape):
    """The import of an archive of a phase."""

    model_config = reply_example(examples.IMPORT)

    id: str
    status: Literal["queued", "running", "done", "failed"]
    stage: Literal["", "checking", "scoring", "storing"] = Field(description="What a worker is at.")
    done: int = Field(description="How many submissions were scored again.")
    total: int = Field(description="How many submissions the archive has; 0 before they were counted.")
    slug: str = Field(description="The slug that the challenge gets here.")
    origin: OriginShape
    sha256: str = Field(description="Of the archive, in hexadecimal.")
    size: int = Field(description="Of the archive, in bytes.")
    reason: str | None
    requested_by: ImporterShape | None
    requested_at: Moment
    finished_at: Moment | None
    failure: dict[str, Any] | None = Field(description="`code`, `detail` and `remedy` of an import that failed.")
    challenge: str | None = Field(
        description="The slug of the challenge that was made; null before the import is done."
    )
    phase: str | None


class ImportedIdShape(Shape):
    """The id that a row had at its source, and its id here."""

    model_config = reply_example(examples.IMPORTED_ID)

    kind: Kind
    origin_id: str
    local_id: str


class ForeignReceiptShape(Shape):
    """A receipt by another installation."""

    split: str
    gold_version: int
    recipe_version: int
    scorer_version: int
    envelope: str = Field(description="The DSSE envelope, byte for byte.")
    proof: str | None = Field(description="The proof (C2SP tlog-proof) of the log of that installation, if it had one.")


class ForeignReceiptsShape(Shape):
    """The receipts that came with an imported submission."""

    model_config = reply_example(examples.FOREIGN_RECEIPTS)

    submission: str
    origin_id: str = Field(description="The id of the submission at its source, which the receipts name.")
    origin: OriginShape
    receipts: list[ForeignReceiptShape]


def import_shape(view: ImportView) -> ImportShape:
    """An import as the API shows it."""
    row, user = view.row, view.requested_by
    same = (
        "id",
        "status",
        "stage",
        "done",
        "slug",
        "origin",
        "sha256",
        "size",
        "reason",
        "requested_at",
        "finished_at",
    )
    return ImportShape(
        **{name: getattr(row, name) for name in same},
        total=row.total,
        failure=row.failure,
        requested_by=None if user is None else ImporterShape(id=user.id, name=user.name),
        challenge=view.challenge,
        phase=view.phase,
    )


@router.post(
    "/imports",
    status_code=202,
    summary="Import a phase",
    responses=error_responses(
        errors.Forbidden,
        errors.AlreadyImported,
        errors.OwnPhase,
        errors.SlugTaken,
        errors.TooLarge,
        errors.UnsupportedMedia,
        InvalidArchive,
        errors.Unavailable,
        errors.StorageAlmostFull,
    ),
    openapi_extra={
        "requestBody": {
            "required": True,
            "description": "The archive of a phase, as `GET …/export` of another installation returns it.",
            "content": {
                "application/zip": {
                    "schema": {"type": "string", "format": "binary"},
                    "examples": {"archive": {"value": "PK…"}},
                },
                **form_content("PK…"),
            },
        }
    },
)
async def post_import(
    request: Request,
    caller: AuditedAccountDep,
    state: AppStateDep,
    response: Response,
    *,
    slug: Annotated[
        str | None,
        Query(pattern=SLUG_PATTERN, description="The slug of the challenge here; as at the source by default."),
    ] = None,
) -> ImportShape:
    """Queues the import of a phase as a challenge of its own. Requires an administrator, who becomes its owner.

    A worker checks the archive, computes every score again from predictions and gold, and compares it with the archived
    one. Then everything is stored in one transaction, or nothing: a failed import says why in `failure`.
    """
    require_may_import(caller)

    def store(stored: StoredFile) -> ImportShape:
        with state.files.local_path(stored.key) as path:
            head = read_archive_head(path)
        with state.db.write() as session:
            return import_shape(request_import(session, caller, stored, head, slug=slug))

    await run_in_threadpool(state.files.check)
    limit: dict[str, Any] = {"max_bytes": state.settings.max_import, "limit_setting": "ASSAY_MAX_IMPORT"}
    shape = await receive_upload(request, state, store, **limit)
    response.headers["Location"] = f"/api/v1/imports/{shape.id}"
    return shape


@router.get("/imports", summary="List imports", responses=error_responses(errors.Forbidden))
def get_imports(
    caller: AccountDep, state: AppStateDep, limit: Limit = 50, cursor: Annotated[str | None, _ID] = None
) -> Page[ImportShape]:
    """Returns the imports, the newest first. Requires an administrator."""
    with state.db.read() as session:
        rows = [import_shape(view) for view in list_imports(session, caller, before=cursor, limit=limit + 1)]
    return Page(items=rows[:limit], next=rows[limit - 1].id if len(rows) > limit else None)


@router.get(
    "/imports/{import_id}", summary="Read an import", responses=error_responses(errors.Forbidden, errors.NotFound)
)
def get_import(import_id: str, caller: AccountDep, state: AppStateDep) -> ImportShape:
    """Returns the state of an import. Requires an administrator."""
    with state.db.read() as session:
        return import_shape(read_import(session, caller, import_id))


@router.get(
    "/imports/{import_id}/ids",
    summary="List the ids at the source",
    responses=error_responses(errors.Forbidden, errors.NotFound),
)
def get_imported_ids(
    import_id: str,
    caller: AccountDep,
    state: AppStateDep,
    kind: Annotated[Kind | None, Query(description="Only rows of this kind.")] = None,
    limit: Limit = 50,
    cursor: Annotated[str | None, _IdCursor] = None,
) -> Page[ImportedIdShape]:
    """Returns which id each row of an imported phase had at its source. Requires an administrator."""
    of_kind, _, origin_id = (cursor or "").partition(".")
    after = (of_kind, origin_id) if cursor else None
    with state.db.read() as session:
        found = list_origin_ids(session, caller, import_id, kind=kind, after=after, limit=limit + 1)
        rows = [ImportedIdShape.model_validate(row) for row in found]
    last = rows[limit - 1] if len(rows) > limit else None
    return Page(items=rows[:limit], next=None if last is None else f"{last.kind}.{last.origin_id}")


@router.get(
    "/submissions/{submission_id}/receipt/foreign",
    summary="Read the receipts of the source",
    responses=error_responses(errors.RegistrationPending, errors.ReceiptHidden, errors.NotFound),
    openapi_extra=TOKEN_OPTIONAL,
)
def get_foreign_receipts(submission_id: str, caller: CallerDep, state: AppStateDep) -> ForeignReceiptsShape:
    """Returns the receipts that another installation signed for an imported submission, with their log proofs.

    This service does not vouch for them: verify them with keys that you got from their source. Those of scores that
    the caller may not see are left out. `…/receipt` is the receipt of this service.
    """
    with state.db.read() as session:
        found = read_foreign_receipts(session, caller, submission_id)
        return ForeignReceiptsShape(
            submission=submission_id,
            origin_id=found.origin_id,
            origin=OriginShape.model_validate(found.imported.origin),
            receipts=[
                ForeignReceiptShape(
                    split=row.split,
                    gold_version=gold.version,
                    recipe_version=recipe.version,
                    scorer_version=row.scorer_version,
                    envelope=row.envelope,
                    proof=row.proof,
                )
                for row, gold, recipe in found.receipts
            ],
        )
