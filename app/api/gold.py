"""Gold labels: upload, metadata, activation. For organizers only."""

import json
from dataclasses import replace
from typing import Annotated, Any

from fastapi import Body, Path, Query, Request
from pydantic import Field
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from app import errors
from app.actions.access import Caller, load_organized_phase
from app.actions.challenges.activate_gold import activate_gold
from app.actions.challenges.gold_correction import find_followed_gold
from app.actions.challenges.inference_bounds import read_inference_bound
from app.actions.challenges.upload_gold import (
    FollowedGold,
    changed_gold_file,
    delete_gold,
    download_gold,
    inspect_gold,
    list_gold_versions,
    load_gold_version,
    load_label_rules,
    new_gold_file,
    parse_gold_metadata,
    put_gold_metadata,
    store_gold,
    stored_gold_file,
)
from app.actions.scoring_tasks.scoring_request import GoldReference, gold_reference, publish_prepared_gold
from app.actions.versions.read_switches import SwitchView, switch_of_gold
from app.api.dependencies import (
    AccountDep,
    AppState,
    AppStateDep,
    AuditedAccountDep,
    AuditedOrganizerDep,
    Cursor,
    Limit,
    paginate,
)
from app.api.field_types import (
    MAX_COUNT,
    Label,
    Page,
    Shape,
    is_count,
    is_label,
    is_weight,
    limit_invalid_values,
    reply_example,
)
from app.api.gold_shapes import GoldShape, gold_shape, with_switch
from app.api.http.json_body import GoldMetadataRoute, api_router
from app.api.http.problem_documents import error_responses, json_examples, success_response
from app.api.http.uploads import (
    Filename,
    Layout,
    delete_unreferenced,
    file_request_body,
    receive_upload,
    request_file_kind,
    stored_file_response,
)
from app.api.limits.reader_queue import TooManyWaiting
from app.api.openapi import examples, gold_examples
from app.api.reasons import NO_ACTIVATION, Activation
from app.api.recipes import inference_shape
from app.files import StoredFile
from app.formats import FileKind
from app.gold_metadata import CLASSES, GOLD_METADATA, GoldMetadataDeclaration
from app.prepared.gold_source import GoldFile
from app.scoring_processes.messages import GoldSummary
from app.store.session import ReadSession, WriteSession
from app.store.tables import GoldVersion

router = api_router("gold", prefix="/challenges/{slug}/phases/{phase}/gold", route_class=GoldMetadataRoute)
VersionNumber = Annotated[int, Path(ge=1, le=2**31 - 1)]
Cost = Annotated[float, Field(ge=-1e12, le=1e12, allow_inf_nan=False)]


class ClassCounts(Shape):
    """How often each class occurs in a version of the gold."""

    model_config = reply_example(gold_examples.CLASS_COUNTS)

    classes: list[str]
    counts: dict[str, list[int]] = Field(
        description="By split, `all` without splits: how many instances have each class, in the order of the classes."
    )


def _activate(
    state: AppState, session: WriteSession, caller: Caller, slug: str, phase: str, number: int, *, lists: bool = False
) -> GoldShape:
    """Activate a version, and report remarks, what its scores reveal, and the switch if it needs one."""
    version, remarks = activate_gold(session, caller, slug, phase, number, queue=state.queue, lists_instances=lists)
    inference = inference_shape(read_inference_bound(session, caller, slug, phase))
    shape = gold_shape(version, remarks).model_copy(update={"inference": inference})
    return with_switch(shape, _switch_to(state, session, caller, slug, phase, version))


def _switch_to(
    state: AppState, session: ReadSession, caller: Caller, slug: str, phase: str, version: GoldVersion
) -> SwitchView | None:
    organized = load_organized_phase(session, caller, slug, phase, writes=False)
    return switch_of_gold(session, organized, version, slots=state.settings.workers)


@router.post(
    "",
    status_code=201,
    summary="Upload gold labels",
    responses=error_responses(
        errors.Forbidden,
        errors.NotFound,
        errors.SwitchPending,
        errors.ReasonRequired,
        errors.TooLarge,
        errors.UnsupportedMedia,
        errors.InvalidGold,
        errors.InvalidContent,
        TooManyWaiting,
        errors.Unavailable,
        errors.StorageAlmostFull,
    ),
    openapi_extra=file_request_body("The gold file, in any of the formats.", examples.GOLD_FILE),
)
async def post_gold(
    slug: str,
    phase: str,
    request: Request,
    caller: AuditedAccountDep,
    state: AppStateDep,
    *,
    activate: Annotated[bool, Query(description="Activate the version at once.")] = False,
    filename: Filename = None,
    layout: Layout = None,
) -> GoldShape:
    """Uploads a file as a new draft version, or activates it at once with `activate=true`.

    A file with problems is refused, and the reply lists all of them. Once something was submitted, except for tests by
    organizers, the file is read against the active version: it has its classes, takes over its metadata, and may lack
    instances, which become void, but not add any. `difference` counts what changes.
    """
    await run_in_threadpool(_check_upload, state, caller, slug, phase)
    kind = await request_file_kind(request, filename, layout)

    def store(stored: StoredFile) -> GoldShape:
        return _store_gold(state, caller, slug, phase, stored, kind, activate=activate)

    with state.gold_readers.queue.enter(str(caller.user_id)) as position:
        return await receive_upload(request, state, store, turn=position.wait_for_turn)


def _check_upload(state: AppState, caller: Caller, slug: str, phase: str) -> None:
    with state.db.read() as session:
        load_organized_phase(session, caller, slug, phase)


def _store_gold(
    state: AppState, caller: Caller, slug: str, phase: str, stored: StoredFile, kind: FileKind, *, activate: bool
) -> GoldShape:
    with state.db.read() as session:
        followed = find_followed_gold(session, caller, slug, phase)
        rules = load_label_rules(session, caller, slug, phase) if followed is None else followed.rules
    with state.files.local_path(stored.key) as path:
        file = new_gold_file(path, kind, rules, stored.sha256)
        if followed is not None:
            file = replace(file, metadata=followed.version.accessories)
        summary = _inspect(state, file, followed, takes_over=True)
    with state.db.write() as session:
        read: dict[str, Any] = {
            "stored": stored,
            "kind": kind,
            "summary": summary,
            "rules": rules,
            "followed": followed,
        }
        row = store_gold(session, caller, slug, phase, **read)
        gold = gold_reference(row)
        shape = _activate(state, session, caller, slug, phase, row.version) if activate else gold_shape(row)
    _publish(state, gold)
    return shape


def _inspect(state: AppState, file: GoldFile, followed: FollowedGold | None, takes_over: bool = False) -> GoldSummary:
    """What a reader process says about gold, and how it differs from the version that it is to follow, if any."""
    processes = state.gold_readers.processes
    if followed is None:
        return inspect_gold(processes, file)
    with state.files.local_path(followed.version.file_key) as path:
        rules = {"keeps_splits": followed.keeps_splits, "takes_over": takes_over}
        return inspect_gold(processes, file, followed.source(path), **rules)


def _publish(state: AppState, gold: GoldReference) -> None:
    """Let all processes use the gold that was prepared while it was inspected, so that no submission waits for that."""
    publish_prepared_gold(state.db, state.files, state.gold_readers.processes, gold)


@router.get("", summary="List gold versions", responses=error_responses(errors.Forbidden, errors.NotFound))
def get_versions(
    slug: str, phase: str, caller: AccountDep, state: AppStateDep, limit: Limit = 50, cursor: Cursor = None
) -> Page[GoldShape]:
    """Returns the gold versions of a phase, newest first."""
    with state.db.read() as session:
        versions = list_gold_versions(session, caller, slug, phase)
        rows, following = paginate(versions, lambda row: row.version, limit=limit, cursor=cursor)
        return Page(items=[gold_shape(row) for row in rows], next=following)


@router.get("/{version}", summary="Read a gold version", responses=error_responses(errors.Forbidden, errors.NotFound))
def get_version(slug: str, phase: str, version: VersionNumber, caller: AccountDep, state: AppStateDep) -> GoldShape:
    """Returns the status and properties of a version, without the labels."""
    with state.db.read() as session:
        row = load_gold_version(session, caller, slug, phase, version)[1]
        return with_switch(gold_shape(row), _switch_to(state, session, caller, slug, phase, row))


@router.get(
    "/{version}/data",
    summary="Download a gold file",
    response_class=Response,
    responses=success_response("The file exactly as it was uploaded.", examples.STORED_GOLD)
    | error_responses(errors.Forbidden, errors.NotFound),
)
def get_data(slug: str, phase: str, version: VersionNumber, caller: AccountDep, state: AppStateDep) -> Response:
    """Returns the uploaded file of a version. The audit trail shows who downloaded it."""
    with state.db.write() as session:
        row = download_gold(session, caller, slug, phase, version)
    return stored_file_response(state, row, f"gold-{row.version}")


@router.post(
    "/{version}/activate",
    status_code=201,
    summary="Activate a gold version",
    responses=error_responses(
        errors.Forbidden,
        errors.NotFound,
        errors.SwitchPending,
        errors.ReasonRequired,
        errors.GoldNotDraft,
        errors.PhaseReleased,
        errors.InvalidGold,
        errors.InvalidRecipe,
        errors.InvalidRequest,
    ),
)
def post_activate(
    slug: str,
    phase: str,
    version: VersionNumber,
    caller: AccountDep,
    state: AppStateDep,
    response: Response,
    body: Activation = NO_ACTIVATION,
) -> GoldShape:
    """Activates a version. Before the first submission, except for tests by organizers, it is active at once (201).

    After that a reason is required, and the reply is 202: the version is `activating` while all submissions are scored
    by it. Then the boards switch at once, and the former version retires. It can be activated again in the same way.
    """
    with state.db.write() as session:
        acting = caller.with_reason(body.reason)
        shape = _activate(state, session, acting, slug, phase, version, lists=body.lists_instances)
    response.status_code = 202 if shape.status == "activating" else 201
    return shape


@router.delete(
    "/{version}",
    status_code=204,
    summary="Delete a draft of the gold",
    responses=error_responses(errors.Forbidden, errors.NotFound, errors.GoldNotDraft),
)
def remove_version(
    slug: str, phase: str, version: VersionNumber, caller: AuditedAccountDep, state: AppStateDep
) -> Response:
    """Deletes a draft with its file."""
    with state.db.write() as session:
        key = delete_gold(session, caller, slug, phase, version)
    delete_unreferenced(state.files, key)
    return Response(status_code=204)


METADATA_ROUTES = {kind.name: kind for kind in (CLASSES, *GOLD_METADATA)}
_Partition = Annotated[dict[Label, Label], Field(min_length=1)]
METADATA_BODIES: dict[str, Any] = {
    "classes": Annotated[list[Label], limit_invalid_values(is_label)],
    "train-frequencies": Annotated[
        dict[Label, Annotated[int, Field(ge=0, le=MAX_COUNT)]], limit_invalid_values(is_count), Field(min_length=1)
    ],
    "class-weights": Annotated[
        dict[Label, Annotated[float, Field(ge=0, allow_inf_nan=False)]],
        limit_invalid_values(is_weight),
        Field(min_length=1),
    ],
    "hierarchy": dict[str, Any],
    "cost-matrix": Annotated[dict[Label, dict[Label, Cost]], Field(min_length=1)],
    "folds": _Partition,
    "groups": _Partition,
    "unknown-cells": Annotated[dict[Label, Annotated[list[Label], Field(min_length=1)]], Field(min_length=1)],
}
"""The request body of each route, by the name of its kind, in the order of the API documentation."""


def _add_metadata_route(kind: GoldMetadataDeclaration, body_type: Any) -> None:
    """Add the route that sets one kind of gold metadata; `put_` and the name of its field are its operation id."""
    example = json.loads(kind.example)
    draft = gold_examples.DRAFT_GOLD if kind is CLASSES else gold_examples.DRAFT_GOLD | {"accessories": [kind.field]}
    if kind.field in GoldShape.model_fields:
        draft = draft | {kind.field: example}
    responses: dict[int | str, dict[str, Any]] = {200: json_examples(draft=draft)}

    async def put_metadata(
        slug: str, phase: str, version: VersionNumber, body: Any, caller: AuditedOrganizerDep, state: AppStateDep
    ) -> GoldShape:
        return await set_gold_metadata(state, caller, slug, phase, version, name=kind.name, value=body)

    put_metadata.__annotations__["body"] = Annotated[body_type, Body(examples=[example])]
    router.put(
        f"/{{version}}/{kind.name}",
        name=f"put_{kind.field}",
        summary=kind.summary,
        description=kind.description,
        responses=responses
        | error_responses(
            errors.Forbidden,
            errors.NotFound,
            errors.GoldNotDraft,
            errors.InvalidGold,
            errors.InvalidContent,
            errors.InvalidRequest,
            TooManyWaiting,
        ),
    )(put_metadata)


@router.get(
    "/{version}/counts",
    summary="Count the instances of each class",
    responses=error_responses(errors.Forbidden, errors.NotFound, TooManyWaiting, errors.Unavailable),
)
async def get_class_counts(
    slug: str, phase: str, version: VersionNumber, caller: AccountDep, state: AppStateDep
) -> ClassCounts:
    """Returns how many instances of a version have each class, by split. A reader process reads the file for it.

    Requires an organizer.
    """

    def count() -> ClassCounts:
        with state.db.read() as session:
            key = load_gold_version(session, caller, slug, phase, version)[1].file_key
        with state.files.local_path(key) as path:
            with state.db.read() as session:
                row = load_gold_version(session, caller, slug, phase, version)[1]
                file, classes = stored_gold_file(path, row), row.classes
            return ClassCounts(classes=classes, counts=inspect_gold(state.gold_readers.processes, file).class_counts)

    with state.gold_readers.queue.enter(str(caller.user_id)) as position:
        await position.wait_for_turn()
        return await run_in_threadpool(count)


async def set_gold_metadata(
    state: AppState, caller: Caller, slug: str, phase: str, version: int, *, name: str, value: Any
) -> GoldShape:
    """Set one kind of metadata of a draft, once it is the caller's turn; the caller may edit the challenge."""
    with state.gold_readers.queue.enter(str(caller.user_id)) as position:
        await position.wait_for_turn()
        return await run_in_threadpool(_set_metadata, state, caller, slug, phase, version, name=name, value=value)


def _set_metadata(
    state: AppState, caller: Caller, slug: str, phase: str, version: int, *, name: str, value: Any
) -> GoldShape:
    """Check the draft together with its new metadata in a scoring process, then store the metadata."""
    value = parse_gold_metadata(name, value)
    with state.db.read() as session:
        key = load_gold_version(session, caller, slug, phase, version, writes=True)[1].file_key
    with state.files.local_path(key) as path:
        with state.db.read() as session:
            file = changed_gold_file(session, caller, slug, phase, version, path=path, name=name, value=value)
            followed = find_followed_gold(session, caller, slug, phase)
        summary = _inspect(state, file, followed)
    with state.db.write() as session:
        change: dict[str, Any] = {"name": name, "value": value, "summary": summary, "followed": followed}
        row = put_gold_metadata(session, caller, slug, phase, version, **change)
        gold, shape = gold_reference(row), gold_shape(row)
    _publish(state, gold)
    return shape


for _name, _body_type in METADATA_BODIES.items():
    _add_metadata_route(METADATA_ROUTES[_name], _body_type)
