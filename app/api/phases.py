"""Phases: time windows of a challenge with their own gold, quota and leaderboard; and the template for submissions."""

from pathlib import Path
from typing import Annotated, Literal, get_args

from fastapi import Query, Request, Response
from pydantic import AfterValidator, Field
from starlette.concurrency import run_in_threadpool

from app import errors
from app.actions.access import Caller, load_visible_phase
from app.actions.challenges.delete_phase import delete_phase
from app.actions.challenges.make_template import make_template, template_source
from app.actions.challenges.pause_phase import pause_phase, resume_phase
from app.actions.challenges.plan_phases import (
    create_phase,
    edit_phase,
    has_own_recipe,
    is_open_now,
    list_phases,
    phase_labels,
    visible_phase_classes,
)
from app.actions.scoring_tasks.scoring_request import GoldReference
from app.api.dependencies import (
    AppStateDep,
    AuditedOrganizerDep,
    CallerDep,
    Cursor,
    Limit,
    OrganizerDep,
    caller_key,
    paginate,
)
from app.api.field_types import Body, GivenMoment, Moment, Name, Page, Shape, reply_example, request_example
from app.api.http.json_body import api_router
from app.api.http.problem_documents import TOKEN_OPTIONAL, error_responses, success_response
from app.api.http.uploads import DownloadResponse, delete_unreferenced
from app.api.label_fields import PhaseRules, TaskName
from app.api.limits.reader_queue import TooManyWaiting
from app.api.openapi import examples
from app.api.reasons import NO_REASON, OptionalReason, Reason
from app.formats.templates.build_template import TEMPLATES
from app.store.session import ReadSession
from app.store.tables import Phase
from app.text.given_times import in_zone, optional_in_zone

router = api_router("phases")

Report = Literal["scores", "intervals", "per_class", "confusion", "curves", "significance", "rankings", "history"]
BoardRule = Literal["public", "hidden", "after_close"]
BOARD_RULE_DESCRIPTION = (
    "`after_close`: shown once the phase has closed and all submissions from before have been scored."
)
LateRule = Literal["refuse", "unofficial"]
LATE_RULE_DESCRIPTION = (
    "What happens to submissions after the close: `unofficial` ones are scored, marked and never ranked."
)
QuotaLimit = Annotated[int, Field(ge=1, le=10**9, strict=True)]


def _require_distinct(reports: list[Report]) -> list[Report]:
    if len(set(reports)) != len(reports):
        raise ValueError("a report is listed twice")
    return reports


Reports = Annotated[list[Report], AfterValidator(_require_distinct)]
_DEFAULT_REPORTS: list[Report] = ["scores", "intervals", "significance"]


class Quota(Body):
    """How much a team may submit. A limit that is absent or null does not apply."""

    per_day: QuotaLimit | None = Field(None, description="Submissions per day, in the time zone of the challenge.")
    total: QuotaLimit | None = None
    concurrent: QuotaLimit | None = Field(None, description="Submissions that are queued or running at the same time.")
    invalid_per_day: QuotaLimit | None = Field(
        None,
        description="Files per day that were rejected, exceeded a scoring limit or were cancelled by the team; they "
        "do not count otherwise. Files that are still being checked count as well.",
    )


class NewPhase(PhaseRules):
    """A phase to add."""

    model_config = request_example(
        name="final",
        opens_at="2027-03-01T00:00:00Z",
        closes_at="2027-03-08T00:00:00Z",
        quota={"per_day": 2, "total": 5},
        leaderboard="after_close",
    )

    name: Name = Field(examples=["main"])
    opens_at: GivenMoment | None = Field(None, description="When the phase opens for submissions. Default: now.")
    closes_at: GivenMoment | None = Field(
        None,
        description="When the phase closes: what comes at this time or later is late (see `late`). Default: never.",
    )
    late: LateRule = Field("refuse", description=LATE_RULE_DESCRIPTION)
    quota: Quota = Field(default_factory=Quota)
    leaderboard: BoardRule = Field("public", description=BOARD_RULE_DESCRIPTION)
    reports: Reports = Field(default_factory=_DEFAULT_REPORTS.copy)
    anonymous: bool = Field(False, description="Whether to hide team names from everybody but organizers.")


class PhaseEdit(PhaseRules):
    """The fields of a phase that may change."""

    model_config = request_example(closes_at="2027-03-15T00:00:00Z", leaderboard="public")

    name: Name = Field("", description="The slug becomes that of the name; the former one redirects.")
    opens_at: GivenMoment | None = Field(None, description="When the phase opens for submissions; null means now.")
    closes_at: GivenMoment | None = None
    late: LateRule = Field("refuse", description=LATE_RULE_DESCRIPTION)
    quota: Quota = Field(default_factory=Quota)
    leaderboard: BoardRule = Field("public", description=BOARD_RULE_DESCRIPTION)
    reports: Reports = Field(default_factory=_DEFAULT_REPORTS.copy)
    anonymous: bool = False


class PhaseShape(Shape):
    """A phase."""

    model_config = reply_example(examples.PHASE)

    slug: str
    name: str
    opens_at: Moment
    opens_at_local: str = Field(description="The same time in the time zone of the challenge.")
    closes_at: Moment | None
    closes_at_local: str | None
    timezone: str = Field(description="The time zone of the challenge.")
    open: bool = Field(description="Whether the phase accepts submissions now that are ranked.")
    late: LateRule = Field(description=LATE_RULE_DESCRIPTION)
    paused_at: Moment | None = Field(description="Since when the phase accepts no submissions; null unless paused.")
    paused_at_local: str | None
    pause_reason: str | None
    quota: Quota
    leaderboard: BoardRule = Field(description=BOARD_RULE_DESCRIPTION)
    reports: list[Report]
    anonymous: bool
    released_at: Moment | None = Field(description="When the private scores were released; null before.")
    released_at_local: str | None
    task: TaskName
    positive_label: str | None
    classes: list[str] | None = Field(
        description="The label vocabulary, once it is known. One of the phase's own is shown once the phase has opened."
    )
    own_recipe: bool = Field(description="Whether the phase has a recipe of its own instead of that of the challenge.")


def phase_shape(session: ReadSession, caller: Caller, phase: Phase) -> PhaseShape:
    """A stored phase as a reply to this caller."""
    task, positive_label = phase_labels(phase)
    zone = phase.challenge.timezone
    return PhaseShape(
        slug=phase.slug,
        name=phase.name,
        opens_at=phase.opens_at,
        closes_at=phase.closes_at,
        opens_at_local=in_zone(phase.opens_at, zone),
        closes_at_local=optional_in_zone(phase.closes_at, zone),
        timezone=zone,
        open=is_open_now(session, phase),
        late=phase.late,
        paused_at=phase.paused_at,
        paused_at_local=optional_in_zone(phase.paused_at, zone),
        pause_reason=phase.pause_reason,
        quota=Quota.model_validate(phase.quota),
        leaderboard=phase.leaderboard,
        reports=[name for name in phase.reports if name in get_args(Report)],  # Older releases had more kinds.
        anonymous=phase.anonymous,
        released_at=phase.released_at,
        released_at_local=optional_in_zone(phase.released_at, zone),
        task=task,
        positive_label=positive_label,
        classes=visible_phase_classes(session, caller, phase),
        own_recipe=has_own_recipe(session, phase),
    )


@router.get(
    "/challenges/{slug}/phases",
    summary="List phases",
    responses=error_responses(errors.NotFound),
    openapi_extra=TOKEN_OPTIONAL,
)
def get_phases(
    slug: str, caller: CallerDep, state: AppStateDep, limit: Limit = 50, cursor: Cursor = None
) -> Page[PhaseShape]:
    """Returns the phases of a challenge in their order."""
    with state.db.read() as session:
        all_phases = list_phases(session, caller, slug)
        rows, following = paginate(all_phases, lambda row: row.slug, limit=limit, cursor=cursor)
        return Page(items=[phase_shape(session, caller, phase) for phase in rows], next=following)


@router.post(
    "/challenges/{slug}/phases",
    status_code=201,
    summary="Add a phase",
    responses=error_responses(
        errors.Forbidden,
        errors.NotFound,
        errors.PhaseNameTaken,
        errors.TooManyPhases,
        errors.InvalidRequest,
        errors.InvalidRecipe,
    ),
)
def post_phase(slug: str, body: NewPhase, caller: AuditedOrganizerDep, state: AppStateDep) -> PhaseShape:
    """Adds a phase. Its slug is derived from its name."""
    with state.db.write() as session:
        return phase_shape(session, caller, create_phase(session, caller, slug, body.model_dump(exclude_unset=True)))


@router.get(
    "/challenges/{slug}/phases/{phase}",
    summary="Read a phase",
    responses=error_responses(errors.NotFound),
    openapi_extra=TOKEN_OPTIONAL,
)
def get_phase(slug: str, phase: str, caller: CallerDep, state: AppStateDep) -> PhaseShape:
    """Returns the time window, the quota and the visibility of a phase."""
    with state.db.read() as session:
        return phase_shape(session, caller, load_visible_phase(session, caller, slug, phase))


@router.patch(
    "/challenges/{slug}/phases/{phase}",
    summary="Edit a phase",
    responses=error_responses(
        errors.Forbidden,
        errors.NotFound,
        errors.PhaseNameTaken,
        errors.PhaseReleased,
        errors.LabelRulesInUse,
        errors.RecipeInUse,
        errors.InvalidRequest,
        errors.InvalidRecipe,
    ),
)
def patch_phase(slug: str, phase: str, body: PhaseEdit, caller: AuditedOrganizerDep, state: AppStateDep) -> PhaseShape:
    """Changes the fields that are sent. A new name changes the slug; requests with the former one are redirected.

    Task, positive label, classes and recipe are free until something is submitted, except for tests by organizers;
    null returns to those of the challenge. Gold that was read with another task or other classes retires.
    """
    with state.db.write() as session:
        return phase_shape(
            session,
            caller,
            edit_phase(session, caller, slug, phase, body.model_dump(exclude_unset=True), queue=state.queue),
        )


@router.delete(
    "/challenges/{slug}/phases/{phase}",
    status_code=204,
    summary="Delete a phase",
    responses=error_responses(errors.Forbidden, errors.NotFound, errors.PhaseInUse, errors.OnlyPhase),
)
def remove_phase(slug: str, phase: str, caller: AuditedOrganizerDep, state: AppStateDep) -> Response:
    """Deletes a phase with its gold, while nothing was submitted to it; test entries do not count."""
    with state.db.write() as session:
        keys = delete_phase(session, caller, slug, phase)
    delete_unreferenced(state.files, *keys)
    return Response(status_code=204)


@router.post(
    "/challenges/{slug}/phases/{phase}/pause",
    summary="Pause a phase",
    responses=error_responses(errors.Forbidden, errors.NotFound, errors.InvalidRequest),
)
def post_pause(slug: str, phase: str, body: Reason, caller: OrganizerDep, state: AppStateDep) -> PhaseShape:
    """Refuses submissions of participants until the phase is resumed. The close does not move.

    Everybody who sees the phase can read the reason. What was submitted before is scored.
    """
    with state.db.write() as session:
        return phase_shape(session, caller, pause_phase(session, caller, slug, phase, reason=body.reason))


@router.post(
    "/challenges/{slug}/phases/{phase}/resume",
    summary="Resume a phase",
    responses=error_responses(errors.Forbidden, errors.NotFound, errors.InvalidRequest),
)
def post_resume(
    slug: str, phase: str, caller: OrganizerDep, state: AppStateDep, body: OptionalReason = NO_REASON
) -> PhaseShape:
    """Accepts submissions again, within the window of the phase."""
    with state.db.write() as session:
        return phase_shape(session, caller, resume_phase(session, caller.with_reason(body.reason), slug, phase))


TemplateFormat = Annotated[
    str,
    Query(
        alias="format",
        description=f"One of {', '.join(TEMPLATES)}.",
        examples=["csv"],
        json_schema_extra={"enum": list(TEMPLATES)},
    ),
]
TemplateValues = Annotated[
    Literal["labels", "scores"] | None,
    Query(description="What the template is for. Default: scores if a metric of the recipe needs them, else labels."),
]


@router.get(
    "/challenges/{slug}/phases/{phase}/template",
    summary="Download a submission template",
    response_class=Response,
    responses=success_response("The ids, sorted by code point, without labels.", examples.TEMPLATE_FILE)
    | error_responses(errors.NotFound, errors.NoOpenPhase, errors.NoGold, TooManyWaiting),
    openapi_extra=TOKEN_OPTIONAL,
)
async def get_template(
    slug: str,
    phase: str,
    request: Request,
    caller: CallerDep,
    state: AppStateDep,
    format_name: TemplateFormat = "json",
    values: TemplateValues = None,
) -> Response:
    """Returns a file to fill in, with every id that a submission must contain.

    Until the phase opens, it is for organizers only.
    """
    if format_name not in TEMPLATES:
        raise errors.BadRequest(f"format must be one of {', '.join(TEMPLATES)}, not '{format_name}'.")

    def find() -> tuple[GoldReference, bool, bool]:
        with state.db.read() as session:
            return template_source(session, caller, slug, phase)

    gold, needs_scores, organizer = await run_in_threadpool(find)
    if values == "labels" and format_name == "npz":
        raise errors.BadRequest("A template in the format 'npz' is for scores only.", remedy="Choose another format.")
    scores = needs_scores if values is None else values == "scores"
    template = TEMPLATES[format_name]

    def write(target: Path) -> None:
        state.files.check()
        make_template(
            state.db, state.files, state.readers.processes, gold, format_name=format_name, scores=scores, target=target
        )

    name = template_name(gold, format_name, scores=scores)
    path = await state.generated_files.get_or_generate(name, caller_key(request, caller), write, organizer=organizer)
    return DownloadResponse(
        path,
        media_type=template.media_type,
        filename=f"{slug}-{phase}{template.ending}",
        tag=state.generated_files.tag(name),
        sending=state.generated_files.pin(name),
    )


def template_name(gold: GoldReference, format_name: str, *, scores: bool) -> str:
    """The name by which a template is kept."""
    return f"{gold.id}.{format_name}{'-scores' if scores else ''}"
