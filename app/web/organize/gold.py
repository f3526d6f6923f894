"""The gold labels of a phase: upload with their check, metadata, activation, and the versions."""

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Annotated, Any

from fastapi import Query, Request
from pydantic import TypeAdapter
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from app.api.dependencies import current_organizer
from app.api.gold import (
    METADATA_BODIES,
    METADATA_ROUTES,
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
from app.api.gold_differences import difference_file, get_difference
from app.api.gold_shapes import GoldShape
from app.api.http.json_body import GoldMetadataRequest, parse_strict_json
from app.api.reasons import Activation
from app.errors import BadRequest, InvalidGold, NotFound, TooManyRequests, Unavailable
from app.web.form_upload import open_upload_form, require_file
from app.web.forms import PART, FieldFault, Form, attempt, attempt_async
from app.web.notices import notice
from app.web.organize.corrections import REQUESTED
from app.web.organize.form_values import editor
from app.web.organize.frame import organizer_frame
from app.web.organize.phases import find_phase
from app.web.page import FormDep, PageContext, PageDep, page_router, redirect
from app.web.rendering import NO_FORM, render

router = page_router()
UPLOADED = notice("gold_uploaded", "The file is read and stored as a draft. Check what was read, then activate it.")
METADATA_SET = notice("gold_metadata_set", "The draft has the new metadata.")
DELETED = notice("gold_deleted", "The draft is deleted.")

MAX_ROWS = 1000
MAX_CHANGES = 100
"""How many changed instances a page shows."""
MAX_COUNTED_CLASSES = 30
"""How many classes of a file that was just uploaded are shown with their counts beside what else was read."""


@router.get("/challenges/{slug}/organize/phases/{phase}/gold")
async def get_gold(
    slug: str, phase: str, page: PageDep, checked: Annotated[int | None, Query(ge=1, le=2**31 - 1)] = None
) -> Response:
    """Shows the versions of the gold, the one that was just `checked` with its classes, and asks for a file."""
    found = None
    if checked is not None:
        with suppress(NotFound, TooManyRequests, Unavailable):  # a draft that was deleted since, or no reader is free
            found = await get_class_counts(slug, phase, checked, page.account, page.state)
    counts = None if found is None else found.counts
    return await run_in_threadpool(show_gold, page, slug, phase, checked=checked, counts=counts)


@router.post("/challenges/{slug}/organize/phases/{phase}/gold")
async def post_gold_file(slug: str, phase: str, page: PageDep, request: Request) -> Response:
    """Reads and checks a gold file, and stores it as a draft."""
    form, filename = await _open_form(request, page, slug)

    async def act() -> Response:
        require_file(filename)
        try:
            shape = await post_gold(slug, phase, request, page.account.with_reason(form.reason()), page.state)
        except InvalidGold as error:
            refused = form.with_fault(error)
            return await run_in_threadpool(show_gold, page, slug, phase, refused, error.status, check=error.extra)
        path = f"/challenges/{slug}/organize/phases/{phase}/gold?checked={shape.version}#versions"
        return redirect(page, path, done=UPLOADED)

    return await attempt_async(form, act, lambda refused, status: show_gold(page, slug, phase, refused, status))


@router.post("/challenges/{slug}/organize/phases/{phase}/gold/{version}/metadata/{kind}")
async def post_metadata_file(
    slug: str, phase: str, version: VersionNumber, kind: str, page: PageDep, request: Request
) -> Response:
    """Sets one kind of metadata of a draft from a JSON file."""
    form, filename = await _open_form(request, page, slug)
    if kind not in METADATA_ROUTES:
        raise NotFound(f"There is no metadata '{kind}'.")

    async def act() -> Response:
        require_file(filename)
        value = await _json_of_file(request, kind)
        caller = page.account.with_reason(form.reason())
        await set_gold_metadata(page.state, caller, slug, phase, version, name=kind, value=value)
        return redirect(page, f"/challenges/{slug}/organize/phases/{phase}/gold#versions", done=METADATA_SET)

    def again(refused: Form, status: int) -> Response:
        faults = [FieldFault("", _in_file(fault), fault.remedy) for fault in refused.faults]
        return show_gold(page, slug, phase, Form(refused.fields, faults), status)

    return await attempt_async(form, act, again)


@router.post("/challenges/{slug}/organize/phases/{phase}/gold/{version}/activate")
def post_activation(slug: str, phase: str, version: VersionNumber, page: PageDep, form: FormDep) -> Response:
    """Activates a version, and shows what the organizer should know about it."""
    caller = editor(page, slug)

    def act() -> Response:
        order = Activation(reason=form.text("reason"), lists_instances=form.value("lists_instances") != "")
        shape = post_activate(slug, phase, version, caller, page.state, Response(), order)
        if shape.status == "activating":
            return redirect(page, f"/challenges/{slug}/organize/corrections?phase={phase}", done=REQUESTED)
        return show_gold(page, slug, phase, activated=shape)

    return attempt(form, act, lambda refused, status: show_gold(page, slug, phase, refused, status))


@router.post("/challenges/{slug}/organize/phases/{phase}/gold/{version}/delete")
def post_deletion(slug: str, phase: str, version: VersionNumber, page: PageDep, form: FormDep) -> Response:
    """Deletes a draft."""
    caller = editor(page, slug)

    def act() -> Response:
        remove_version(slug, phase, version, caller.with_reason(form.reason()), page.state)
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


@router.get("/challenges/{slug}/organize/phases/{phase}/gold/{version}/difference")
def show_difference(
    slug: str,
    phase: str,
    version: VersionNumber,
    page: PageDep,
    cursor: Annotated[str | None, Query(max_length=1000)] = None,
) -> Response:
    """How a version differs from the one that it follows, instance by instance."""
    frame = organizer_frame(page, slug)
    found = get_difference(slug, phase, version, page.account, page.state, limit=MAX_CHANGES, cursor=cursor)
    gold = get_version(slug, phase, version, page.account, page.state)
    before, after = (_sum_of_splits(side) for side in (found.class_counts.before, found.class_counts.after))
    rows = [row for row in zip(gold.classes, before, after, strict=True) if row[1] != row[2]]
    values: dict[str, Any] = {"difference": found, "rows": rows[:MAX_ROWS], "left_out": len(rows[MAX_ROWS:])}
    values |= {"phase": find_phase(frame, phase), "gold": gold, "continued": cursor is not None}
    return render(page, "organize/gold_difference.html", frame=frame, **values)


def _sum_of_splits(counts: Mapping[str, list[int]]) -> list[int]:
    return [sum(numbers) for numbers in zip(*counts.values(), strict=True)]


@router.get("/challenges/{slug}/organize/phases/{phase}/gold/{version}/difference.csv")
def get_difference_file(slug: str, phase: str, version: VersionNumber, page: PageDep) -> Response:
    """All instances that changed, as a file."""
    return difference_file(slug, phase, version, page.account, page.state)


@router.get("/challenges/{slug}/organize/phases/{phase}/gold/{version}/data")
def get_gold_file(slug: str, phase: str, version: VersionNumber, page: PageDep) -> Response:
    """The file of a version as it was uploaded; the audit trail says who took it."""
    return get_data(slug, phase, version, page.account, page.state)


async def _open_form(request: Request, page: PageContext, slug: str) -> tuple[Form, str]:
    """The fields of a form that comes from an editor, and the name of its file, which is not read yet."""
    form, filename = await open_upload_form(page, request, (PART, "reason"))
    await run_in_threadpool(current_organizer, slug, page.account, page.state)
    return form, filename


def _in_file(fault: FieldFault) -> str:
    """A fault of metadata with its place in the file, if it has one."""
    return fault.detail if fault.name in {"", "file"} else f"{fault.name} {fault.detail}"


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
    checked: int | None = None,
    counts: Mapping[str, list[int]] | None = None,
) -> Response:
    """The page, with a form that was refused, the problems of its file, or the version that was just activated."""
    frame = organizer_frame(page, slug)
    versions = get_versions(slug, phase, page.account, page.state, 200).items
    values: dict[str, Any] = {"phase": find_phase(frame, phase), "versions": versions, "activated": activated}
    values |= {"check": check or {}, "checked": checked, "counts": counts or {}, "most_rows": MAX_COUNTED_CLASSES}
    metadata = METADATA_ROUTES.values()
    return render(page, "organize/gold.html", form=form, status=status, frame=frame, metadata=metadata, **values)
