"""Gold labels: upload, accessories, activation. For organizers only."""

from typing import Annotated, Any

from fastapi import Body, Path, Query, Request
from pydantic import Field
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from app import errors
from app.actions.access import Caller, load_organized_phase
from app.actions.challenges.activate_gold import activate_gold
from app.actions.challenges.inference_bounds import read_inference_bound
from app.actions.challenges.upload_gold import (
    changed_gold_file,
    inspect_gold,
    list_gold_versions,
    load_gold_version,
    new_gold_file,
    parse_gold_metadata,
    put_gold_metadata,
    store_gold,
)
from app.api.dependencies import AccountDep, AppState, AppStateDep, Cursor, Limit, OrganizerDep, paginate
from app.api.field_types import (
    MAX_COUNT,
    Label,
    Moment,
    Page,
    Shape,
    is_count,
    is_label,
    is_weight,
    limit_invalid_values,
    reply_example,
)
from app.api.json_body import AccessoryRoute, api_router
from app.api.limits.reader_queue import TooManyWaiting
from app.api.openapi import examples
from app.api.problems import error_responses, json_examples, success_response
from app.api.recipes import InferenceShape, inference_shape
from app.api.uploads import Filename, Layout, file_request_body, receive_upload, request_file_kind, stored_file_response
from app.files import StoredFile
from app.formats import FileKind
from app.store.session import WriteSession
from app.store.tables import GoldVersion

router = api_router("gold", prefix="/challenges/{slug}/phases/{phase}/gold", route_class=AccessoryRoute)
VersionNumber = Annotated[int, Path(ge=1, le=2**31 - 1)]
Cost = Annotated[float, Field(ge=-1e12, le=1e12, allow_inf_nan=False)]


class GoldShape(Shape):
    """A version of the gold labels."""

    model_config = reply_example(examples.GOLD)

    version: int
    status: str = Field(examples=["active"])
    instances: int
    classes: list[str]
    has_splits: bool
    sha256: str
    size: int
    format: str
    train_frequencies: dict[str, int] | None = None
    class_weights: dict[str, float] | None = None
    accessories: list[str] = Field(description="What stands beside the labels.")
    notes: list[str]
    created_at: Moment
    activated_at: Moment | None
    remarks: list[str] = Field(default_factory=list, description="What the organizer should know.")
    inference: InferenceShape | None = Field(None, description="After activation: what scores can tell of this gold.")


def _activate(session: WriteSession, who: Caller, slug: str, phase: str, number: int) -> GoldShape:
    """Put a version in force, and say what there is to know."""
    version, remarks = activate_gold(session, who, slug, phase, number)
    return _gold_shape(version, remarks).model_copy(
        update={"inference": inference_shape(read_inference_bound(session, who, slug, phase))}
    )


def _gold_shape(version: GoldVersion, remarks: list[str] | None = None) -> GoldShape:
    own = {name: getattr(version, name) for name in GoldShape.model_fields if hasattr(version, name)}
    beside = version.accessories
    small = {name: beside.get(name) for name in ("train_frequencies", "class_weights")}
    return GoldShape.model_validate(own | small | {"accessories": sorted(beside), "remarks": remarks or []})


@router.post(
    "",
    status_code=201,
    summary="Upload gold labels",
    responses=error_responses(
        errors.Forbidden,
        errors.NotFound,
        errors.GoldAlreadyActive,
        errors.TooLarge,
        errors.UnsupportedMedia,
        errors.InvalidGold,
        errors.InvalidContent,
        TooManyWaiting,
        errors.Unavailable,
        errors.StorageAlmostFull,
    ),
    openapi_extra=file_request_body("The gold file, in any format that predictions may have.", examples.GOLD_FILE),
)
async def post_gold(
    slug: str,
    phase: str,
    request: Request,
    who: AccountDep,
    parts: AppStateDep,
    *,
    activate: Annotated[bool, Query(description="Put it in force at once.")] = False,
    filename: Filename = None,
    layout: Layout = None,
) -> GoldShape:
    """A draft, or with `activate=true` in force at once; a file with problems is refused with all of them."""
    await run_in_threadpool(_check_upload, parts, who, slug, phase)
    kind = request_file_kind(request, filename, layout)

    def store(stored: StoredFile) -> GoldShape:
        return _store_gold(parts, who, slug, phase, stored, kind, activate=activate)

    with parts.gold_readers.queue.enter(str(who.user_id)) as place:
        return await receive_upload(request, parts, store, turn=place.wait_for_turn)


def _check_upload(parts: AppState, who: Caller, slug: str, phase: str) -> None:
    with parts.db.read() as session:
        load_organized_phase(session, who, slug, phase)


def _store_gold(
    parts: AppState, who: Caller, slug: str, phase: str, stored: StoredFile, kind: FileKind, *, activate: bool
) -> GoldShape:
    with parts.db.read() as session:
        challenge = load_organized_phase(session, who, slug, phase).challenge
    with parts.files.local_path(stored.key) as path:
        file = new_gold_file(path, kind, challenge, stored.sha256)
        summary = inspect_gold(parts.gold_readers.children, file)
    with parts.db.write() as session:
        declared = challenge.classes is not None
        version = store_gold(session, who, slug, phase, stored=stored, kind=kind, summary=summary, declared=declared)
        if not activate:
            return _gold_shape(version)
        return _activate(session, who, slug, phase, version.version)


@router.get("", summary="List gold versions", responses=error_responses(errors.Forbidden, errors.NotFound))
def get_versions(
    slug: str, phase: str, who: AccountDep, parts: AppStateDep, limit: Limit = 50, cursor: Cursor = None
) -> Page[GoldShape]:
    """Newest first."""
    with parts.db.read() as session:
        found = list_gold_versions(session, who, slug, phase)
        rows, following = paginate(found, lambda row: row.version, limit=limit, cursor=cursor)
        return Page(items=[_gold_shape(row) for row in rows], next=following)


@router.get(
    "/{version}",
    summary="Read a gold version",
    responses=error_responses(errors.Forbidden, errors.NotFound),
)
def get_version(slug: str, phase: str, version: VersionNumber, who: AccountDep, parts: AppStateDep) -> GoldShape:
    """Its state and what belongs to it, not the labels."""
    with parts.db.read() as session:
        return _gold_shape(load_gold_version(session, who, slug, phase, version)[1])


@router.get(
    "/{version}/data",
    summary="Download a gold file",
    response_class=Response,
    responses=success_response("The very bytes that were uploaded.", examples.STORED_GOLD)
    | error_responses(errors.Forbidden, errors.NotFound),
)
def get_data(slug: str, phase: str, version: VersionNumber, who: AccountDep, parts: AppStateDep) -> Response:
    """As it was uploaded."""
    with parts.db.read() as session:
        row = load_gold_version(session, who, slug, phase, version)[1]
    return stored_file_response(parts, row, f"gold-{row.version}")


@router.post(
    "/{version}/activate",
    status_code=201,
    summary="Put a gold version in force",
    responses=error_responses(
        errors.Forbidden, errors.NotFound, errors.GoldAlreadyActive, errors.GoldNotDraft, errors.InvalidGold
    ),
)
def post_activate(slug: str, phase: str, version: VersionNumber, who: AccountDep, parts: AppStateDep) -> GoldShape:
    """The first version of a phase is in force at once."""
    with parts.db.write() as session:
        return _activate(session, who, slug, phase, version)


async def _put_accessory(
    parts: AppState, who: Caller, slug: str, phase: str, version: int, *, name: str, value: Any
) -> GoldShape:
    """Check the draft with its new accessory in a child, then store the accessory."""
    with parts.gold_readers.queue.enter(str(who.user_id)) as place:
        await place.wait_for_turn()
        return await run_in_threadpool(_store_accessory, parts, who, slug, phase, version, name=name, value=value)


def _store_accessory(
    parts: AppState, who: Caller, slug: str, phase: str, version: int, *, name: str, value: Any
) -> GoldShape:
    value = parse_gold_metadata(name, value)
    with parts.db.read() as session:
        key = load_gold_version(session, who, slug, phase, version, writes=True)[1].file_key
    with parts.files.local_path(key) as path:
        with parts.db.read() as session:
            file = changed_gold_file(session, who, slug, phase, version, path=path, name=name, value=value)
        summary = inspect_gold(parts.gold_readers.children, file)
    with parts.db.write() as session:
        return _gold_shape(
            put_gold_metadata(session, who, slug, phase, version, name=name, value=value, summary=summary)
        )


EXAMPLE_FREQUENCIES = {"cat": 812, "dog": 1044}
EXAMPLE_WEIGHTS = {"cat": 0.25, "dog": 0.75}
EXAMPLE_PARTITION = {"t1": "1", "t2": "1", "t3": "2", "t4": "2"}
EXAMPLE_HIERARCHY = {"parents": {"cat": ["pet"], "dog": ["pet"]}}
EXAMPLE_COSTS = {"cat": {"dog": 1}, "dog": {"cat": 5}}


def _accessory_responses(**accessory: Any) -> dict[int | str, dict[str, Any]]:
    """The `responses` of a route that gives a draft this accessory."""
    shown = {name: value for name, value in accessory.items() if value is not ...}  # large ones are named only
    given = {"accessories": sorted(accessory)} if accessory else {}
    return {200: json_examples(draft=examples.DRAFT_GOLD | shown | given)} | error_responses(
        errors.Forbidden,
        errors.NotFound,
        errors.GoldNotDraft,
        errors.InvalidGold,
        errors.InvalidRequest,
        TooManyWaiting,
    )


@router.put("/{version}/classes", summary="Declare the classes of a draft", responses=_accessory_responses())
async def put_classes(
    slug: str,
    phase: str,
    version: VersionNumber,
    body: Annotated[list[Label], limit_invalid_values(is_label), Body(examples=[["cat", "dog"]])],
    who: OrganizerDep,
    parts: AppStateDep,
) -> GoldShape:
    """The label vocabulary in its order; every gold label must be among them."""
    return await _put_accessory(parts, who, slug, phase, version, name="classes", value=body)


@router.put(
    "/{version}/train-frequencies",
    summary="Give the training label counts",
    responses=_accessory_responses(train_frequencies=EXAMPLE_FREQUENCIES),
)
async def put_train_frequencies(
    slug: str,
    phase: str,
    version: VersionNumber,
    body: Annotated[
        dict[Label, Annotated[int, Field(ge=0, le=MAX_COUNT)]],
        limit_invalid_values(is_count),
        Field(min_length=1),
        Body(examples=[EXAMPLE_FREQUENCIES]),
    ],
    who: OrganizerDep,
    parts: AppStateDep,
) -> GoldShape:
    """How often each label occurs in the training data; metrics with `_lfb_train` need it."""
    return await _put_accessory(parts, who, slug, phase, version, name="train-frequencies", value=body)


@router.put(
    "/{version}/class-weights",
    summary="Give class weights",
    responses=_accessory_responses(class_weights=EXAMPLE_WEIGHTS),
)
async def put_class_weights(
    slug: str,
    phase: str,
    version: VersionNumber,
    body: Annotated[
        dict[Label, Annotated[float, Field(ge=0, allow_inf_nan=False)]],
        limit_invalid_values(is_weight),
        Field(min_length=1),
        Body(examples=[EXAMPLE_WEIGHTS]),
    ],
    who: OrganizerDep,
    parts: AppStateDep,
) -> GoldShape:
    """The weights of `weighted_accuracy`; they are scaled to sum to one."""
    return await _put_accessory(parts, who, slug, phase, version, name="class-weights", value=body)


@router.put(
    "/{version}/hierarchy", summary="Give the hierarchy of the classes", responses=_accessory_responses(hierarchy=...)
)
async def put_hierarchy(
    slug: str,
    phase: str,
    version: VersionNumber,
    body: Annotated[dict[str, Any], Body(examples=[EXAMPLE_HIERARCHY])],
    who: OrganizerDep,
    parts: AppStateDep,
) -> GoldShape:
    """Each class with its parents, `{"parents": {child: [parent, …]}}`, or its parent, `{"parent": {child: parent}}`.

    Cycles, and classes that are no nodes, are refused.
    """
    return await _put_accessory(parts, who, slug, phase, version, name="hierarchy", value=body)


@router.put(
    "/{version}/cost-matrix", summary="Give the costs of errors", responses=_accessory_responses(cost_matrix=...)
)
async def put_cost_matrix(
    slug: str,
    phase: str,
    version: VersionNumber,
    body: Annotated[dict[Label, dict[Label, Cost]], Field(min_length=1), Body(examples=[EXAMPLE_COSTS])],
    who: OrganizerDep,
    parts: AppStateDep,
) -> GoldShape:
    """What it costs to predict one label (inner) for another (outer); `expected_cost` needs it."""
    return await _put_accessory(parts, who, slug, phase, version, name="cost-matrix", value=body)


@router.put("/{version}/folds", summary="Divide the instances into folds", responses=_accessory_responses(folds=...))
async def put_folds(
    slug: str,
    phase: str,
    version: VersionNumber,
    body: Annotated[dict[Label, Label], Field(min_length=1), Body(examples=[EXAMPLE_PARTITION])],
    who: OrganizerDep,
    parts: AppStateDep,
) -> GoldShape:
    """The fold of each id; metrics of cross-validation need it."""
    return await _put_accessory(parts, who, slug, phase, version, name="folds", value=body)


@router.put("/{version}/groups", summary="Divide the instances into groups", responses=_accessory_responses(groups=...))
async def put_groups(
    slug: str,
    phase: str,
    version: VersionNumber,
    body: Annotated[dict[Label, Label], Field(min_length=1), Body(examples=[EXAMPLE_PARTITION])],
    who: OrganizerDep,
    parts: AppStateDep,
) -> GoldShape:
    """The group of each id: its document, patient or speaker."""
    return await _put_accessory(parts, who, slug, phase, version, name="groups", value=body)
