"""Challenges, their recipes and their organizers."""

from typing import Annotated, Any, Literal

from fastapi import Depends, Query, Response
from pydantic import AfterValidator, Field, WithJsonSchema

from app import errors
from app.actions.access import Caller, load_visible_challenge
from app.actions.challenges.change_recipe import change_recipe, read_recipe
from app.actions.challenges.create_challenge import create_challenge, require_can_create_challenge
from app.actions.challenges.manage_challenge import (
    delete_challenge,
    edit_challenge,
    list_challenges,
    list_organizers,
    remove_organizer,
    set_organizer_role,
)
from app.actions.challenges.plan_phases import list_phases, visible_challenge_classes
from app.api.dependencies import AccountDep, AppStateDep, CallerDep, Cursor, Limit, OrganizerDep, paginate
from app.api.field_types import (
    Body,
    Email,
    Label,
    Moment,
    Name,
    Page,
    Shape,
    Slug,
    Text,
    is_label,
    limit_invalid_values,
    reply_example,
    request_example,
    require_plain_json,
)
from app.api.http.json_body import api_router
from app.api.http.problem_documents import TOKEN_OPTIONAL, error_responses
from app.api.openapi import examples
from app.api.phases import NewPhase, PhaseShape, phase_shape
from app.api.recipes import RecipeShape, recipe_shape
from app.store.session import ReadSession
from app.store.tables import Challenge, Organizer

router = api_router("challenges")

TaskName = Literal["binary", "multiclass", "multilabel"]
Visibility = Literal["public", "private"]
RegistrationRule = Literal["open", "approval", "invitation"]


# Recipes are validated by the scorer, which reports every fault with its location. The schemas here are documentation.
_METRIC_OBJECT_SCHEMA = {
    "type": "object",
    "required": ["key"],
    "properties": {
        "key": {"type": "string", "examples": ["f_beta_macro"]},
        "params": {"type": "object", "examples": [{"beta": 0.5}]},
        "options": {"type": "object", "examples": [{"zero_division": "0"}]},
        "name": {"type": "string", "description": "The column title on the leaderboard."},
    },
}
_METRIC_SCHEMA = {"anyOf": [{"type": "string", "examples": ["f1_macro"]}, _METRIC_OBJECT_SCHEMA]}
_DIGITS_SCHEMA = {"anyOf": [{"type": "integer", "minimum": 1, "maximum": 17}, {"const": "full"}], "default": 6}
_DISCLOSURE_SCHEMA = {
    "type": "object",
    "description": "How many significant digits participants and visitors see.",
    "properties": {"digits": _DIGITS_SCHEMA},
}

MAX_METRICS = 500


def _limit_metrics(value: Any) -> Any:
    if isinstance(value, list) and len(value) > MAX_METRICS:
        raise ValueError(f"has {len(value)} metrics; at most {MAX_METRICS} are computed")
    return value


MetricField = Annotated[Any, AfterValidator(require_plain_json), WithJsonSchema(_METRIC_SCHEMA)]
MetricsField = Annotated[
    Any,
    AfterValidator(require_plain_json),
    AfterValidator(_limit_metrics),
    WithJsonSchema({"type": "array", "maxItems": MAX_METRICS, "items": _METRIC_SCHEMA}),
]
OptionsField = Annotated[Any, AfterValidator(require_plain_json), WithJsonSchema({"type": "object"})]
DecisionField = Annotated[
    Any,
    AfterValidator(require_plain_json),
    WithJsonSchema({"anyOf": [{"type": "object"}, {"type": "string"}, {"type": "null"}]}),
]


class RecipeBody(Body):
    """The metrics and ranking rules of a challenge."""

    model_config = request_example(
        primary="f1_macro",
        metrics=["f1_macro", {"key": "f_beta_macro", "params": {"beta": 0.5}, "name": "F0.5"}, "accuracy"],
        tie_breakers=["accuracy"],
        options={"zero_division": "0"},
        selection="best",
        disclosure={"digits": 6},
    )

    primary: MetricField = Field(examples=["f1_macro"])
    metrics: MetricsField = Field(default_factory=list, examples=[["f1_macro", "accuracy"]])
    tie_breakers: MetricsField = Field(default_factory=list)
    options: OptionsField = Field(default_factory=dict, description="Options that apply to all metrics.")
    selection: Annotated[
        Any, AfterValidator(require_plain_json), WithJsonSchema({"enum": ["best", "latest", "selected"]})
    ] = "best"
    decision: DecisionField = Field(None, description="How labels follow from scores in files without labels.")
    disclosure: Annotated[Any, AfterValidator(require_plain_json), WithJsonSchema(_DISCLOSURE_SCHEMA)] = Field(
        default_factory=lambda: {"digits": 6}
    )


class NewChallenge(Body):
    """A challenge to create."""

    model_config = request_example(
        slug="pets",
        title="Cats and dogs",
        description="Which animal is it?",
        task="multiclass",
        classes=["cat", "dog"],
        recipe={"primary": "f1_macro", "metrics": ["f1_macro", "accuracy"]},
        phases=[{"name": "main", "quota": {"per_day": 10}}],
    )

    slug: Slug
    title: Name = Field(examples=["Cats and dogs"])
    description: Text = Field("", max_length=20_000)
    task: TaskName = Field(examples=["multiclass"])
    positive_label: Label | None = Field(None, description="For binary tasks: the label that counts as positive.")
    classes: Annotated[list[Label] | None, limit_invalid_values(is_label)] = Field(
        None, max_length=1_000_000, description="The label vocabulary. Default: the labels of the first gold, sorted."
    )
    timezone: str = Field("UTC", max_length=64, description="The time zone in which the days of daily quotas begin.")
    recipe: RecipeBody
    phases: list[NewPhase] = Field(default_factory=list, max_length=100)
    visibility: Visibility = "public"
    registration: RegistrationRule = "open"
    draft: bool = Field(False, description="Whether the challenge is visible to its organizers only.")


class ChallengeEdit(Body):
    """The fields of a challenge that may change."""

    model_config = request_example(title="Cats and dogs", draft=False)

    title: Name = ""
    description: Text = Field("", max_length=20_000)
    visibility: Visibility = "public"
    registration: RegistrationRule = "open"
    timezone: str = Field("UTC", max_length=64)
    draft: bool = Field(False, description="`false` publishes a draft.")


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


class ChallengeShape(ChallengeRow):
    """A challenge with its recipe and phases."""

    model_config = reply_example(examples.CHALLENGE)

    description: str
    positive_label: str | None
    classes: list[str] | None
    timezone: str
    recipe: RecipeShape
    phases: list[PhaseShape]
    warnings: list[str] = Field(default_factory=list, description="Warnings to the organizer about these rules.")


class NewOrganizer(Body):
    """A user and the role to assign."""

    model_config = request_example(email="ada@example.org", role="editor")

    email: Email
    role: Literal["owner", "editor", "viewer"] = "editor"


class OrganizerShape(Shape):
    """An organizer and their role."""

    model_config = reply_example(examples.ORGANIZER)

    email: str
    name: str
    role: Literal["owner", "editor", "viewer"]


def challenge_shape(session: ReadSession, caller: CallerDep, challenge: Challenge) -> ChallengeShape:
    """A challenge with recipe and phases as a reply."""
    return ChallengeShape.model_validate(
        ChallengeRow.model_validate(challenge).model_dump()
        | {
            "description": challenge.description,
            "positive_label": challenge.positive_label,
            "classes": visible_challenge_classes(session, caller, challenge),
            "timezone": challenge.timezone,
            "recipe": recipe_shape(session, caller, *read_recipe(session, caller, challenge.slug)),
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
    responses=error_responses(
        errors.Forbidden, errors.InsufficientScope, errors.SlugTaken, errors.InvalidRequest, errors.InvalidRecipe
    ),
)
def post_challenge(
    body: NewChallenge, caller: Annotated[Caller, Depends(current_creator)], state: AppStateDep
) -> ChallengeShape:
    """Creates a challenge, and publishes it unless `draft` is true.

    Without `phases`, it gets one named `main`, which opens now and has no quota.
    """
    with state.db.write() as session:
        challenge, warnings = create_challenge(
            session,
            caller,
            creation=state.settings.challenge_creation,
            fields=body.model_dump(exclude={"recipe", "phases", "draft"}),
            recipe=body.recipe.model_dump(exclude_none=True),
            phases=[phase.model_dump(exclude_unset=True) for phase in body.phases],
            draft=body.draft,
        )
        shape = challenge_shape(session, caller, challenge)
    return shape.model_copy(update={"warnings": warnings})


@router.get(
    "/challenges",
    summary="List challenges",
    response_model=Page[ChallengeRow],
    responses=error_responses(),
    openapi_extra=TOKEN_OPTIONAL,
)
def get_challenges(caller: CallerDep, state: AppStateDep, limit: Limit = 50, cursor: Cursor = None) -> object:
    """Returns the challenges that you may see, newest first."""
    with state.db.read() as session:
        rows, following = list_challenges(session, caller, limit=limit, cursor=cursor)
        return {"items": rows, "next": following}


@router.get(
    "/challenges/{slug}",
    summary="Read a challenge",
    responses=error_responses(errors.NotFound),
    openapi_extra=TOKEN_OPTIONAL,
)
def get_challenge(slug: str, caller: CallerDep, state: AppStateDep) -> ChallengeShape:
    """Returns a challenge with its recipe and phases."""
    with state.db.read() as session:
        return challenge_shape(session, caller, load_visible_challenge(session, caller, slug))


@router.patch(
    "/challenges/{slug}",
    summary="Edit a challenge",
    responses=error_responses(errors.Forbidden, errors.NotFound, errors.InvalidRequest),
)
def patch_challenge(slug: str, body: ChallengeEdit, caller: OrganizerDep, state: AppStateDep) -> ChallengeShape:
    """Changes the fields that are sent. The slug, the task and the classes cannot be changed."""
    with state.db.write() as session:
        challenge = edit_challenge(session, caller, slug, body.model_dump(exclude_unset=True))
        return challenge_shape(session, caller, challenge)


@router.delete(
    "/challenges/{slug}",
    status_code=204,
    summary="Delete a draft challenge",
    responses=error_responses(errors.Forbidden, errors.NotFound, errors.ChallengeNotDraft),
)
def remove_challenge(slug: str, caller: AccountDep, state: AppStateDep) -> Response:
    """Deletes a challenge that has not been published. Requires the role `owner`."""
    with state.db.write() as session:
        keys = delete_challenge(session, caller, slug)
    for key in keys:
        state.files.delete(key)
    return Response(status_code=204)


@router.get(
    "/challenges/{slug}/recipe",
    summary="Read the active recipe",
    responses=error_responses(errors.NotFound),
    openapi_extra=TOKEN_OPTIONAL,
)
def get_recipe(slug: str, caller: CallerDep, state: AppStateDep) -> RecipeShape:
    """Returns the metrics, their options, and the rules by which submissions are selected and ranked."""
    with state.db.read() as session:
        return recipe_shape(session, caller, *read_recipe(session, caller, slug))


@router.put(
    "/challenges/{slug}/recipe",
    summary="Activate a new recipe",
    responses=error_responses(errors.Forbidden, errors.NotFound, errors.RecipeInUse, errors.InvalidRecipe),
)
def put_recipe(slug: str, body: RecipeBody, caller: OrganizerDep, state: AppStateDep) -> RecipeShape:
    """Activates a new version of the recipe.

    Once there are submissions, only changes that need no rescoring are allowed.
    """
    with state.db.write() as session:
        return recipe_shape(session, caller, *change_recipe(session, caller, slug, body.model_dump(exclude_none=True)))


def _organizer_shape(row: Organizer) -> OrganizerShape:
    return OrganizerShape.model_validate({"email": row.user.email, "name": row.user.name, "role": row.role})


@router.get(
    "/challenges/{slug}/organizers",
    summary="List organizers",
    responses=error_responses(errors.Forbidden, errors.NotFound),
)
def get_organizers(
    slug: str, caller: AccountDep, state: AppStateDep, limit: Limit = 50, cursor: Cursor = None
) -> Page[OrganizerShape]:
    """Returns the organizers of a challenge. Requires an organizer."""
    with state.db.read() as session:
        organizers = list_organizers(session, caller, slug)
        rows, following = paginate(organizers, lambda row: row.user_id, limit=limit, cursor=cursor)
        return Page(items=[_organizer_shape(row) for row in rows], next=following)


@router.post(
    "/challenges/{slug}/organizers",
    status_code=201,
    summary="Add an organizer",
    responses=error_responses(errors.Forbidden, errors.NotFound, errors.LastOwner, errors.InvalidRequest),
)
def post_organizer(slug: str, body: NewOrganizer, caller: OrganizerDep, state: AppStateDep) -> OrganizerShape:
    """Assigns a user a role in the challenge, or changes it. Requires the role `owner`."""
    with state.db.write() as session:
        return _organizer_shape(set_organizer_role(session, caller, slug, email=body.email, role=body.role))


@router.delete(
    "/challenges/{slug}/organizers",
    status_code=204,
    summary="Remove an organizer",
    responses=error_responses(errors.Forbidden, errors.NotFound, errors.LastOwner),
)
def delete_organizer(
    slug: str,
    email: Annotated[Email, Query(description="The e-mail address of the organizer's account.")],
    caller: AccountDep,
    state: AppStateDep,
) -> Response:
    """Removes the role of the user with this address. Requires the role `owner`. The last owner cannot be removed."""
    with state.db.write() as session:
        remove_organizer(session, caller, slug, email)
    return Response(status_code=204)
