"""Challenges and their recipes."""

from typing import Annotated, Literal

from fastapi import Depends, Header, Query, Response
from pydantic import AfterValidator, Field

from app import errors
from app.actions.access import Caller
from app.actions.challenges.create_challenge import (
    MAX_PHASES,
    create_challenge,
    plan_challenge,
    require_can_create_challenge,
)
from app.actions.challenges.delete_challenge import delete_challenge
from app.actions.challenges.manage_challenge import edit_challenge, list_challenges
from app.actions.challenges.plan_phases import list_phases
from app.actions.challenges.registration_rules import CODE_HEADER, current_terms
from app.actions.challenges.replace_recipe import change_recipe, drop_recipe, read_recipe
from app.actions.invitations.challenge_invitations import read_challenge_with_code
from app.api.dependencies import (
    AccountDep,
    AppStateDep,
    AuditedAccountDep,
    AuditedOrganizerDep,
    CallerDep,
    Cursor,
    Limit,
    ReasonQuery,
)
from app.api.field_types import (
    Body,
    GivenMoment,
    InvitationCode,
    Moment,
    Name,
    Page,
    Shape,
    Slug,
    Text,
    reply_example,
    request_example,
    require_contact,
)
from app.api.http.json_body import api_router
from app.api.http.problem_documents import TOKEN_OPTIONAL, error_responses
from app.api.http.uploads import delete_unreferenced
from app.api.label_fields import Classes, PositiveLabel, TaskName
from app.api.openapi import examples
from app.api.phases import NewPhase, PhaseShape, phase_shape
from app.api.recipe_body import RecipeBody
from app.api.recipes import RecipeShape, recipe_shape
from app.api.registration_fields import RegistrationField, RegistrationFields, Terms
from app.store.session import ReadSession
from app.store.tables import Challenge
from app.text.given_times import in_zone

router = api_router("challenges")

RecipePhase = Annotated[str | None, Query(description="The slug of a phase. Default: the recipe that phases share.")]
Visibility = Literal["public", "private"]
RegistrationRule = Literal["open", "approval", "invitation"]
TeamSizeLimit = Annotated[
    int | None,
    Field(ge=1, le=1000, strict=True, description="How many members a team may have. Default: any number."),
]
MergeDeadline = Annotated[GivenMoment | None, Field(description="Until when teams may merge. Default: at any time.")]


Contact = Annotated[
    Annotated[str, Field(max_length=500), AfterValidator(require_contact)] | None,
    Field(description="Whom participants can ask: an e-mail address or a web address. Default: none.", examples=[None]),
]
PhaseOrder = Annotated[list[Annotated[str, Field(max_length=64)]], Field(max_length=1000)]


class NewChallenge(Body):
    """A challenge to create."""

    model_config = request_example(
        slug="pets",
        title="Cats and dogs",
        description="Which animal is it?",
        task="multiclass",
        classes=["cat", "dog"],
        contact="ada@example.org",
        recipe={"primary": "f1_macro", "metrics": ["f1_macro", "accuracy"]},
        phases=[{"name": "main", "quota": {"per_day": 10}}],
    )

    slug: Slug
    title: Name = Field(examples=["Cats and dogs"])
    description: Text = Field("", max_length=20_000)
    task: TaskName = Field(examples=["multiclass"])
    positive_label: PositiveLabel = None
    classes: Classes = Field(None, description="The label vocabulary of all phases. Default: each phase has its own.")
    timezone: str = Field(
        "UTC",
        max_length=64,
        description="The time zone in which the days of daily quotas begin, and of times that are given without an offset.",
    )
    recipe: RecipeBody
    phases: list[NewPhase] = Field(default_factory=list, max_length=MAX_PHASES)
    visibility: Visibility = "public"
    registration: RegistrationRule = "open"
    contact: Contact = None
    team_size_limit: TeamSizeLimit = None
    merge_deadline: MergeDeadline = None
    terms: Terms = None
    registration_fields: RegistrationFields = Field(default_factory=list)
    draft: bool = Field(False, description="Whether the challenge is visible to its organizers only.")


class ChallengeEdit(Body):
    """The fields of a challenge that may change."""

    model_config = request_example(title="Cats and dogs", draft=False)

    slug: Slug = Field("", description="Another slug; requests with the former one are redirected.")
    title: Name = ""
    description: Text = Field("", max_length=20_000)
    visibility: Visibility = "public"
    registration: RegistrationRule = "open"
    timezone: str = Field("UTC", max_length=64)
    contact: Contact = None
    team_size_limit: TeamSizeLimit = None
    merge_deadline: MergeDeadline = None
    terms: Terms = None
    registration_fields: RegistrationFields = Field(default_factory=list)
    draft: bool = Field(False, description="`false` publishes a draft.")
    task: TaskName = Field("multiclass", description="Change it together with the recipe if that does not fit.")
    positive_label: PositiveLabel = None
    classes: Classes = None
    recipe: RecipeBody | None = Field(None, description="As for `PUT …/recipe`.")
    phase_order: PhaseOrder = Field(default_factory=list, description="The slugs of all phases, in their new order.")


class ChallengeRow(Shape):
    """A challenge in a list."""

    model_config = reply_example(examples.CHALLENGE_ROW)

    slug: str
    title: str
    task: TaskName
    status: Literal["draft", "published"]
    visibility: Visibility
    registration: RegistrationRule
    created_at: Moment
    archived_at: Moment | None = Field(description="Since when the challenge is read-only; null unless it is archived.")


class ChallengeShape(ChallengeRow):
    """A challenge with its recipe and phases."""

    model_config = reply_example(examples.CHALLENGE)

    description: str
    positive_label: str | None
    classes: list[str] | None
    timezone: str
    contact: str | None = Field(description="Whom participants can ask: an e-mail address or a web address.")
    team_size_limit: int | None
    merge_deadline: Moment | None
    merge_deadline_local: str | None = Field(description="The same time in the time zone of the challenge.")
    terms: str | None = Field(description="The text that users accept when they register.")
    terms_version: int = Field(description="The version of the terms; 0 without terms.")
    registration_fields: list[RegistrationField]
    recipe: RecipeShape
    phases: list[PhaseShape]
    warnings: list[str] = Field(default_factory=list, description="Warnings to the organizer about these rules.")


def challenge_shape(session: ReadSession, caller: CallerDep, challenge: Challenge) -> ChallengeShape:
    """A challenge with recipe and phases as a reply."""
    deadline = challenge.merge_deadline
    return ChallengeShape.model_validate(
        ChallengeRow.model_validate(challenge).model_dump()
        | {
            "description": challenge.description,
            "positive_label": challenge.positive_label,
            "classes": challenge.classes,
            "timezone": challenge.timezone,
            "contact": challenge.contact,
            "team_size_limit": challenge.team_size_limit,
            "merge_deadline": deadline,
            "merge_deadline_local": None if deadline is None else in_zone(deadline, challenge.timezone),
            "terms": current_terms(session, challenge),
            "terms_version": challenge.terms_version,
            "registration_fields": challenge.registration_fields,
            "recipe": recipe_shape(session, caller, read_recipe(session, caller, challenge.slug)),
            "phases": [phase_shape(session, caller, phase) for phase in list_phases(session, caller, challenge.slug)],
        }
    )


def current_creator(caller: AccountDep, state: AppStateDep) -> Caller:
    """The caller, if they may create challenges; raises Forbidden. It runs before the body is validated."""
    require_can_create_challenge(caller, state.settings.challenge_creation)
    return caller


@router.post(
    "/challenges",
    status_code=201,
    summary="Create a challenge",
    responses=error_responses(errors.Forbidden, errors.SlugTaken, errors.InvalidRequest, errors.InvalidRecipe),
)
def post_challenge(
    body: NewChallenge,
    caller: Annotated[Caller, Depends(current_creator)],
    state: AppStateDep,
    reason: ReasonQuery = None,
) -> ChallengeShape:
    """Creates a challenge, and publishes it unless `draft` is true.

    Without `phases`, it gets one named `main`, which opens now and has no quota.
    """
    settings = state.settings
    with state.db.read() as session:
        plan = plan_challenge(
            session,
            fields=body.model_dump(exclude={"recipe", "phases", "draft"}),
            recipe=body.recipe.model_dump(exclude_none=True),
            phases=[phase.model_dump(exclude_unset=True) for phase in body.phases],
        )
    with state.db.write() as session:
        rights = {"creation": settings.challenge_creation, "signup": settings.signup}
        challenge, warnings = create_challenge(session, caller.with_reason(reason), plan, draft=body.draft, **rights)
        shape = challenge_shape(session, caller, challenge)
    return shape.model_copy(update={"warnings": warnings})


@router.get(
    "/challenges",
    summary="List challenges",
    response_model=Page[ChallengeRow],
    responses=error_responses(),
    openapi_extra=TOKEN_OPTIONAL,
)
def get_challenges(
    caller: CallerDep,
    state: AppStateDep,
    *,
    archived: Annotated[bool, Query(description="List the archived challenges instead of the others.")] = False,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> object:
    """Returns the challenges that you may see, newest first, without archived ones."""
    with state.db.read() as session:
        rows, following = list_challenges(session, caller, archived=archived, limit=limit, cursor=cursor)
        return {"items": rows, "next": following}


@router.get(
    "/challenges/{slug}",
    summary="Read a challenge",
    responses=error_responses(errors.NotFound),
    openapi_extra=TOKEN_OPTIONAL,
)
def get_challenge(
    slug: str,
    caller: CallerDep,
    state: AppStateDep,
    code: Annotated[
        InvitationCode | None, Header(alias=CODE_HEADER, description="The code of an invitation to it.")
    ] = None,
) -> ChallengeShape:
    """Returns a challenge with its recipe and phases.

    A user who holds the code of an invitation to a private challenge reads it too, to register with its terms and fields.
    """
    with state.db.read() as session:
        return challenge_shape(session, caller, read_challenge_with_code(session, caller, slug, code))


@router.patch(
    "/challenges/{slug}",
    summary="Edit a challenge",
    responses=error_responses(
        errors.Forbidden,
        errors.NotFound,
        errors.SlugTaken,
        errors.PhaseReleased,
        errors.LabelRulesInUse,
        errors.RecipeInUse,
        errors.InvalidRequest,
        errors.InvalidRecipe,
    ),
)
def patch_challenge(slug: str, body: ChallengeEdit, caller: AuditedOrganizerDep, state: AppStateDep) -> ChallengeShape:
    """Changes the fields that are sent. Requests with a former slug are redirected to the new one.

    Task, positive label and classes are free until something is submitted to a phase that they concern, except for tests
    by organizers. Gold that was read with another task or other classes retires.
    """
    with state.db.write() as session:
        challenge = edit_challenge(session, caller, slug, body.model_dump(exclude_unset=True), queue=state.queue)
        return challenge_shape(session, caller, challenge)


@router.delete(
    "/challenges/{slug}",
    status_code=204,
    summary="Delete a challenge",
    responses=error_responses(errors.Forbidden, errors.NotFound, errors.ChallengeInUse),
)
def remove_challenge(
    slug: str,
    caller: AuditedAccountDep,
    state: AppStateDep,
    confirm: Annotated[
        str | None, Query(description="The slug again, with which an administrator deletes what was submitted.")
    ] = None,
) -> Response:
    """Deletes a challenge with everything in it, which cannot be undone. Requires the role `owner`.

    Once something was submitted to a published challenge, except for tests by organizers, only an administrator can
    delete it, with `confirm`. The audit trail keeps the record.
    """
    with state.db.write() as session:
        keys = delete_challenge(session, caller, slug, confirm=confirm)
    delete_unreferenced(state.files, *keys)
    return Response(status_code=204)


@router.get(
    "/challenges/{slug}/recipe",
    summary="Read the active recipe",
    responses=error_responses(errors.NotFound),
    openapi_extra=TOKEN_OPTIONAL,
)
def get_recipe(slug: str, caller: CallerDep, state: AppStateDep, phase: RecipePhase = None) -> RecipeShape:
    """Returns the metrics, their options, and the rules by which submissions are selected and ranked.

    With `phase`, those of this phase: its own or those of the challenge.
    """
    with state.db.read() as session:
        return recipe_shape(session, caller, read_recipe(session, caller, slug, phase))


@router.put(
    "/challenges/{slug}/recipe",
    summary="Activate a new recipe",
    responses=error_responses(
        errors.Forbidden, errors.NotFound, errors.RecipeInUse, errors.SwitchPending, errors.InvalidRecipe
    ),
)
def put_recipe(
    slug: str,
    body: RecipeBody,
    caller: AuditedOrganizerDep,
    state: AppStateDep,
    *,
    phase: RecipePhase = None,
    draft: Annotated[bool, Query(description="Leave it a draft in any case.")] = False,
) -> RecipeShape:
    """Activates a new version of the recipe; with `phase`, a recipe of this phase alone.

    Once there are submissions, except for tests by organizers, a recipe that needs new scores becomes a draft, as
    `status` says; so does one that ranks a released phase in another way. `POST …/recipe/{version}/activate` activates
    it with a reason.
    """
    wanted = True if draft else None
    with state.db.write() as session:
        fields = body.model_dump(exclude_none=True)
        stored = change_recipe(session, caller, slug, fields, queue=state.queue, phase=phase, draft=wanted)
        return recipe_shape(session, caller, stored)


@router.delete(
    "/challenges/{slug}/recipe",
    summary="Drop the recipe of a phase",
    responses=error_responses(errors.Forbidden, errors.NotFound, errors.RecipeInUse, errors.InvalidRecipe),
)
def delete_recipe(
    slug: str, caller: AuditedAccountDep, state: AppStateDep, phase: Annotated[str, Query(description="Its slug.")]
) -> RecipeShape:
    """Returns a phase to the recipe of the challenge, which is the reply."""
    with state.db.write() as session:
        return recipe_shape(session, caller, drop_recipe(session, state.queue, caller, slug, phase))
