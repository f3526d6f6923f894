"""The gold labels of a phase: upload with their check, metadata, activation, and the versions."""

import json
from collections.abc import Mapping
from typing import Any

from fastapi import Request
from pydantic import TypeAdapter
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from app.api.dependencies import current_organizer
from app.api.gold import (
    METADATA_BODIES,
    METADATA_ROUTES,
    GoldShape,
    VersionNumber,
    get_class_counts,
    get_data,
    get_version,
    get_versions,
    post_activate,
    post_gold,
    remove_version,
    set_gold_metadata,
)
from app.api.http.json_body import GoldMetadataRequest, parse_strict_json
from app.api.http.uploads import open_form_file
from app.api.reasons import OptionalReason
from app.errors import BadRequest, InvalidGold, NotFound
from app.web.forms import PART, FieldFault, Form, attempt, attempt_async
from app.web.notices import notice
from app.web.organize.form_values import editor
from app.web.organize.frame import organizer_frame
from app.web.organize.phases import find_phase
from app.web.page import CSRF_FIELD, FormDep, PageContext, PageDep, page_router, redirect
from app.web.rendering import NO_FORM, render

router = page_router()
UPLOADED = notice("gold_uploaded", "The file is read and stored as a draft. Check what was read, then activate it.")
METADATA_SET = notice("gold_metadata_set", "The draft has the new metadata.")
DELETED = notice("gold_deleted", "The draft is deleted.")
FIELDS = (CSRF_FIELD, PART, "reason")
"""The text fields before a file."""

MAX_ROWS = 1000


@router.get("/challenges/{slug}/organize/phases/{phase}/gold")
def get_gold(slug: str, phase: str, page: PageDep) -> Response:
    """Shows the versions of the gold, and asks for a file."""
    return show_gold(page, slug, phase)


@router.post("/challenges/{slug}/organize/phases/{phase}/gold")
async def post_gold_file(slug: str, phase: str, page: PageDep, request: Request) -> Response:
    """Reads and checks a gold file, and stores it as a draft."""
    form = await _leading_fields(request, page, slug)

    async def act() -> Response:
        await _require_file(request)
        try:
            await post_gold(slug, phase, request, page.account.with_reason(form.reason()), page.state)
        except InvalidGold as error:
            refused = form.with_fault(error)
            return await run_in_threadpool(show_gold, page, slug, phase, refused, error.status, check=error.extra)
        return redirect(page, f"/challenges/{slug}/organize/phases/{phase}/gold#versions", done=UPLOADED)

    return await attempt_async(form, act, lambda refused, status: show_gold(page, slug, phase, refused, status))


@router.post("/challenges/{slug}/organize/phases/{phase}/gold/{version}/metadata/{kind}")
async def post_metadata_file(
    slug: str, phase: str, version: VersionNumber, kind: str, page: PageDep, request: Request
) -> Response:
    """Sets one kind of metadata of a draft from a JSON file."""
    form = await _leading_fields(request, page, slug)
    if kind not in METADATA_ROUTES:
        raise NotFound(f"There is no metadata '{kind}'.")

    async def act() -> Response:
        await _require_file(request)
        value = await _json_of_file(request, kind)
        caller = page.account.with_reason(form.reason())
        await set_gold_metadata(page.state, caller, slug, phase, version, name=kind, value=value)
        return redirect(page, f"/challenges/{slug}/organize/phases/{phase}/gold#versions", done=METADATA_SET)

    def again(refused: Form, status: int) -> Response:
        faults = [FieldFault("", f"{fault.name} {fault.detail}".strip(), fault.remedy) for fault in refused.faults]
        return show_gold(page, slug, phase, Form(refused.fields, faults), status)

    return await attempt_async(form, act, again)


@router.post("/challenges/{slug}/organize/phases/{phase}/gold/{version}/activate")
def post_activation(slug: str, phase: str, version: VersionNumber, page: PageDep, form: FormDep) -> Response:
    """Activates a version, and shows what the organizer should know about it."""
    caller = editor(page, slug, form)

    def act() -> Response:
        reason = OptionalReason(reason=form.text("reason"))
        shape = post_activate(slug, phase, version, caller, page.state, reason)
        return show_gold(page, slug, phase, activated=shape)

    return attempt(form, act, lambda refused, status: show_gold(page, slug, phase, refused, status))


@router.post("/challenges/{slug}/organize/phases/{phase}/gold/{version}/delete")
def post_deletion(slug: str, phase: str, version: VersionNumber, page: PageDep, form: FormDep) -> Response:
    """Deletes a draft."""
    caller = editor(page, slug, form)

    def act() -> Response:
        remove_version(slug, phase, version, caller, page.state)
        return redirect(page, f"/challenges/{slug}/organize/phases/{phase}/gold", done=DELETED)

    return attempt(form, act, lambda refused, status: show_gold(page, slug, phase, refused, status))


@router.get("/challenges/{slug}/organize/phases/{phase}/gold/{version}/counts")
async def show_class_counts(slug: str, phase: str, version: VersionNumber, page: PageDep) -> Response:
    """How many instances of a version have each class."""
    found = await get_class_counts(slug, phase, version, page.account, page.state)

    def show() -> Response:
        frame = organizer_frame(page, slug)
        gold = get_version(slug, phase, version, page.account, page.state)
        rows = list(zip(found.classes, *found.counts.values(), strict=True))
        values: dict[str, Any] = {
            "phase": find_phase(frame, phase),
            "gold": gold,
            "splits": list(found.counts),
            "rows": rows[:MAX_ROWS],
        }
        return render(
            page, "organize/class_counts.html", frame=frame, left_out=len(rows) - len(rows[:MAX_ROWS]), **values
        )

    return await run_in_threadpool(show)


@router.get("/challenges/{slug}/organize/phases/{phase}/gold/{version}/data")
def get_gold_file(slug: str, phase: str, version: VersionNumber, page: PageDep) -> Response:
    """The file of a version as it was uploaded; the audit trail says who took it."""
    return get_data(slug, phase, version, page.account, page.state)


async def _leading_fields(request: Request, page: PageContext, slug: str) -> Form:
    """The fields before the file of a form that belongs to this session and comes from an editor."""
    form_file = await open_form_file(request, FIELDS)
    if form_file is None:
        raise BadRequest("This is not a form with a file.", remedy="Open the page again and choose a file.")
    values = form_file.fields
    page.require_own_form(values.get(CSRF_FIELD))
    await run_in_threadpool(current_organizer, slug, page.account, page.state)
    return Form({name: [value.replace("\r\n", "\n")] for name, value in values.items()})


async def _require_file(request: Request) -> None:
    form_file = await open_form_file(request)
    if form_file is None or not form_file.filename:
        raise BadRequest("No file was chosen.", remedy="Choose a file, then send the form again.")


class _MetadataFile(GoldMetadataRequest):
    """The JSON file of a form, which a known organizer sends."""

    async def max_body_bytes(self, size: int) -> int:  # noqa: ARG002 - the sender is known at once
        """The limit of organizers."""
        return self._app_state.settings.max_accessory


async def _json_of_file(request: Request, kind: str) -> Any:
    body = await _MetadataFile(request.scope, request.receive).body()

    def parse() -> Any:
        try:
            value = parse_strict_json(body)
        except json.JSONDecodeError as error:
            detail = f"The file is not JSON: {error.msg} at line {error.lineno}, column {error.colno}."
            raise BadRequest(detail, remedy=f"It has to look like {METADATA_ROUTES[kind].example}.") from None
        return TypeAdapter(METADATA_BODIES[kind]).validate_python(value)

    return await run_in_threadpool(parse)


def show_gold(
    page: PageContext,
    slug: str,
    phase: str,
    form: Form = NO_FORM,
    status: int = 200,
    *,
    activated: GoldShape | None = None,
    check: Mapping[str, Any] | None = None,
) -> Response:
    """The page, with a form that was refused, the problems of its file, or the version that was just activated."""
    frame = organizer_frame(page, slug)
    versions = get_versions(slug, phase, page.account, page.state, 200).items
    values = {"phase": find_phase(frame, phase), "versions": versions, "activated": activated, "check": check or {}}
    metadata = METADATA_ROUTES.values()
    return render(page, "organize/gold.html", form=form, status=status, frame=frame, metadata=metadata, **values)
