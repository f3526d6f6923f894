"""Versions of recipes: read them, and activate a draft or a former one."""

from typing import Annotated

from fastapi import Path, Response

from app import errors
from app.actions.versions.recipe_versions import activate_recipe, list_recipe_versions, read_recipe_version
from app.api.dependencies import AccountDep, AppStateDep, CallerDep, Cursor, Limit, paginate
from app.api.field_types import Page
from app.api.http.json_body import api_router
from app.api.http.problem_documents import TOKEN_OPTIONAL, error_responses
from app.api.reasons import NO_ACTIVATION, Activation
from app.api.recipes import RecipeShape, recipe_shape

router = api_router("challenges", prefix="/challenges/{slug}/recipe")
RecipeVersion = Annotated[int, Path(ge=1, le=2**31 - 1)]


@router.get("/versions", summary="List recipe versions", responses=error_responses(errors.Forbidden, errors.NotFound))
def get_recipe_versions(
    slug: str, caller: AccountDep, state: AppStateDep, limit: Limit = 50, cursor: Cursor = None
) -> Page[RecipeShape]:
    """Returns the versions of the recipes of a challenge and its phases, newest first, for organizers."""
    with state.db.read() as session:
        versions = list_recipe_versions(session, caller, slug)
        rows, following = paginate(versions, lambda each: each.recipe.version, limit=limit, cursor=cursor)
        return Page(items=[recipe_shape(session, caller, each) for each in rows], next=following)


@router.get(
    "/{version}",
    summary="Read a recipe version",
    responses=error_responses(errors.Forbidden, errors.NotFound),
    openapi_extra=TOKEN_OPTIONAL,
)
def get_recipe_version(slug: str, version: RecipeVersion, caller: CallerDep, state: AppStateDep) -> RecipeShape:
    """Returns one version, active or not; drafts are for organizers."""
    with state.db.read() as session:
        return recipe_shape(session, caller, read_recipe_version(session, caller, slug, version))


@router.post(
    "/{version}/activate",
    summary="Activate a recipe version",
    responses=error_responses(
        errors.Forbidden,
        errors.NotFound,
        errors.SwitchPending,
        errors.RecipeInUse,
        errors.ReasonRequired,
        errors.InvalidRecipe,
    ),
)
def post_recipe_activate(
    slug: str,
    version: RecipeVersion,
    caller: AccountDep,
    state: AppStateDep,
    response: Response,
    body: Activation = NO_ACTIVATION,
) -> RecipeShape:
    """Activates a draft or a retired version for the phases that it scores; once something was submitted, with a reason.

    If it computes what is stored already, it is active at once (200). Otherwise the reply is 202: `switches` names the
    pending switch of each phase, and all are done together once every submission has its scores.
    """
    with state.db.write() as session:
        acting = caller.with_reason(body.reason)
        found = activate_recipe(session, acting, slug, version, queue=state.queue, lists_instances=body.lists_instances)
        shape = recipe_shape(session, acting, found)
    response.status_code = 202 if shape.status == "activating" else 200
    return shape
