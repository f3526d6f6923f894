"""Phases: windows of a challenge with their own gold, quota and board; and the template to fill in."""

from pathlib import Path
from typing import Annotated, Literal, get_args

from fastapi import Query, Request, Response
from pydantic import AfterValidator, Field
from starlette.concurrency import run_in_threadpool

from app import errors
from app.actions.access import Caller, load_visible_phase
from app.actions.challenges.make_template import make_template, template_source
from app.actions.challenges.plan_phases import create_phase, edit_phase, is_open_now, list_phases, visible_phase_classes
from app.actions.scoring_tasks.scoring_request import GoldReference
from app.api.dependencies import AppStateDep, CallerDep, Cursor, Limit, OrganizerDep, caller_key, paginate
from app.api.field_types import Body, Moment, Name, Page, Shape, reply_example, request_example
from app.api.json_body import api_router
from app.api.limits.reader_queue import TooManyWaiting
from app.api.openapi import examples
from app.api.problems import TOKEN_OPTIONAL, error_responses, success_response
from app.api.uploads import WholeFileResponse
from app.formats.template import TEMPLATES
from app.store.session import ReadSession
from app.store.tables import Phase

router = api_router("phases")

Report = Literal["scores", "per_class", "confusion", "curves"]
BoardRule = Literal["public", "hidden", "after_close"]
BOARD_RULE_DESCRIPTION = (
    "after_close: shown once the phase has closed and everything that came before the close has been scored."
)
QuotaLimit = Annotated[int, Field(ge=1, le=10**9, strict=True)]


def _require_distinct(reports: list[Report]) -> list[Report]:
    if len(set(reports)) != len(reports):
        raise ValueError("a report is named twice")
    return reports


Reports = Annotated[list[Report], AfterValidator(_require_distinct)]


def _default_reports() -> list[Report]:
    return ["scores"]


class Quota(Body):
    """How much a team may submit; what is absent has no limit."""

    per_day: QuotaLimit | None = Field(None, description="Per day of the challenge's time zone.")
    total: QuotaLimit | None = None
    concurrent: QuotaLimit | None = Field(None, description="Queued or running at once.")
    invalid_per_day: QuotaLimit | None = Field(
        None,
        description="Files per day that were rejected, whose scoring met a limit, or that the team cancelled, not charged "
        "otherwise; files still being checked count too.",
    )


class NewPhase(Body):
    """A phase to add."""

    model_config = request_example(
        name="final",
        opens_at="2027-03-01T00:00:00Z",
        closes_at="2027-03-08T00:00:00Z",
        quota={"per_day": 2, "total": 5},
        leaderboard="after_close",
    )

    name: Name = Field(examples=["main"])
    opens_at: Moment | None = Field(None, description="Default: now.")
    closes_at: Moment | None = Field(None, description="The first moment that is too late; default: never.")
    quota: Quota = Field(default_factory=Quota)
    leaderboard: BoardRule = Field("public", description=BOARD_RULE_DESCRIPTION)
    reports: Reports = Field(default_factory=_default_reports)
    anonymous: bool = Field(False, description="Hide team names from everybody but organizers.")


class PhaseEdit(Body):
    """What may change of a phase."""

    model_config = request_example(closes_at="2027-03-15T00:00:00Z", leaderboard="public")

    opens_at: Moment | None = Field(None, description="null: now.")
    closes_at: Moment | None = None
    quota: Quota = Field(default_factory=Quota)
    leaderboard: BoardRule = Field("public", description=BOARD_RULE_DESCRIPTION)
    reports: Reports = Field(default_factory=_default_reports)
    anonymous: bool = False


class PhaseShape(Shape):
    """A phase."""

    model_config = reply_example(examples.PHASE)

    slug: str
    name: str
    opens_at: Moment
    closes_at: Moment | None
    open: bool = Field(description="Whether submissions are admitted now.")
    quota: Quota
    leaderboard: BoardRule = Field(description=BOARD_RULE_DESCRIPTION)
    reports: list[Report]
    anonymous: bool
    classes: list[str] | None = Field(
        description="The label vocabulary, once it is fixed; labels that gold named from the opening on."
    )


def phase_shape(session: ReadSession, who: Caller, phase: Phase) -> PhaseShape:
    """A stored phase as a reply to this caller."""
    return PhaseShape(
        slug=phase.slug,
        name=phase.name,
        opens_at=phase.opens_at,
        closes_at=phase.closes_at,
        open=is_open_now(session, phase),
        quota=Quota.model_validate(phase.quota),
        leaderboard=phase.leaderboard,
        reports=[name for name in phase.reports if name in get_args(Report)],  # older releases took more kinds
        anonymous=phase.anonymous,
        classes=visible_phase_classes(session, who, phase),
    )


@router.get(
    "/challenges/{slug}/phases",
    summary="List phases",
    responses=error_responses(errors.NotFound),
    openapi_extra=TOKEN_OPTIONAL,
)
def get_phases(
    slug: str, who: CallerDep, parts: AppStateDep, limit: Limit = 50, cursor: Cursor = None
) -> Page[PhaseShape]:
    """In their order."""
    with parts.db.read() as session:
        found = list_phases(session, who, slug)
        rows, following = paginate(found, lambda row: row.slug, limit=limit, cursor=cursor)
        return Page(items=[phase_shape(session, who, phase) for phase in rows], next=following)


@router.post(
    "/challenges/{slug}/phases",
    status_code=201,
    summary="Add a phase",
    responses=error_responses(errors.Forbidden, errors.NotFound, errors.PhaseNameTaken, errors.InvalidRequest),
)
def post_phase(slug: str, body: NewPhase, who: OrganizerDep, parts: AppStateDep) -> PhaseShape:
    """The slug of its name becomes its address."""
    with parts.db.write() as session:
        return phase_shape(session, who, create_phase(session, who, slug, body.model_dump(exclude_unset=True)))


@router.get(
    "/challenges/{slug}/phases/{phase}",
    summary="Read a phase",
    responses=error_responses(errors.NotFound),
    openapi_extra=TOKEN_OPTIONAL,
)
def get_phase(slug: str, phase: str, who: CallerDep, parts: AppStateDep) -> PhaseShape:
    """Window, quota and visibility."""
    with parts.db.read() as session:
        return phase_shape(session, who, load_visible_phase(session, who, slug, phase))


@router.patch(
    "/challenges/{slug}/phases/{phase}",
    summary="Edit a phase",
    responses=error_responses(errors.Forbidden, errors.NotFound, errors.InvalidRequest),
)
def patch_phase(slug: str, phase: str, body: PhaseEdit, who: OrganizerDep, parts: AppStateDep) -> PhaseShape:
    """Only the fields sent change; the name, and so the address, stays."""
    with parts.db.write() as session:
        return phase_shape(session, who, edit_phase(session, who, slug, phase, body.model_dump(exclude_unset=True)))


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
    Query(description="What is to be filled in; without it scores where a metric of the recipe needs them."),
]


@router.get(
    "/challenges/{slug}/phases/{phase}/template",
    summary="Get the file to fill in",
    response_class=Response,
    responses=success_response("Ids sorted by code point, no labels.", examples.TEMPLATE_FILE)
    | error_responses(errors.NotFound, errors.NoOpenPhase, errors.NoGold, TooManyWaiting),
    openapi_extra=TOKEN_OPTIONAL,
)
async def get_template(
    slug: str,
    phase: str,
    request: Request,
    who: CallerDep,
    parts: AppStateDep,
    format_name: TemplateFormat = "json",
    values: TemplateValues = None,
) -> Response:
    """Every id that a submission must have, in the format asked for; for organizers alone until the phase opens."""
    if format_name not in TEMPLATES:
        raise errors.BadRequest(f"format must be one of {', '.join(TEMPLATES)}, not '{format_name}'.")

    def find() -> tuple[GoldReference, bool, bool]:
        with parts.db.read() as session:
            return template_source(session, who, slug, phase)

    gold, needed, organizer = await run_in_threadpool(find)
    if values == "labels" and format_name == "npz":
        raise errors.BadRequest(
            "A template in the format 'npz' has a place for scores.", remedy="Ask for another format."
        )
    scores = needed if values is None else values == "scores"
    kind = f"{format_name}-scores" if scores else format_name
    made = TEMPLATES[format_name]

    def make(target: Path) -> None:
        parts.files.check()
        make_template(
            parts.db, parts.files, parts.readers.children, gold, format_name=format_name, scores=scores, target=target
        )

    name = f"{gold.id}.{kind}"
    path = await parts.generated_files.get_or_generate(name, caller_key(request, who), make, organizer=organizer)
    return WholeFileResponse(
        path,
        media_type=made.media_type,
        filename=f"{slug}-{phase}{made.ending}",
        tag=f"{gold.id}-{kind}",
        sending=parts.generated_files.pin(name),
    )
