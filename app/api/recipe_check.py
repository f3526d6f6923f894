"""Check a recipe before it is activated: what its metrics mean, and what its scores would give away."""

from typing import Annotated, Any

from fastapi import Depends
from pydantic import Field

from app import errors
from app.actions.access import Caller, load_organized_challenge
from app.actions.challenges.preview_recipe import preview_recipe
from app.actions.submissions.board_scores import describe_selection
from app.actions.submissions.ladder_board import describe_feedback
from app.api.challenges import RecipePhase
from app.api.dependencies import AccountDep, AppStateDep
from app.api.field_types import Shape, reply_example
from app.api.http.json_body import api_router
from app.api.http.problem_documents import error_responses
from app.api.ladder_fields import LadderCheck
from app.api.openapi import challenge_examples as examples
from app.api.recipe_body import RecipeBody
from app.api.recipes import InferenceShape, inference_shape
from app.api.selection_rule import SelectionRule
from app.scoring.catalogue.description import describe_call
from app.scoring.declaration.recipe import ScoringRecipe
from app.scoring.uncertainty.ladder_wording import announce_guarantee, why_heuristic
from app.store.session import ReadSession

router = api_router("challenges")


class RecipeCheck(Shape):
    """What a valid recipe would mean for the phases that it would score."""

    model_config = reply_example(examples.RECIPE_CHECK)

    primary: str = Field(description="The metric string that ranks.")
    metrics: list[dict[str, Any]] = Field(description="The metrics with equations and options, as boards show them.")
    selection: SelectionRule
    ladder: LadderCheck | None = Field(None, description="What is shown instead of scores; null for scores.")
    inference: list[InferenceShape] = Field(
        description="For each phase, an upper bound on what the scores would reveal about its gold."
    )


def current_reader(slug: str, caller: AccountDep, state: AppStateDep) -> Caller:
    """The caller, who organizes the challenge, so that a lack of rights is reported before a faulty body."""
    with state.db.read() as session:
        load_organized_challenge(session, caller, slug, writes=False)
    return caller


@router.post(
    "/challenges/{slug}/recipe/check",
    summary="Check a recipe",
    responses=error_responses(errors.Forbidden, errors.NotFound, errors.InvalidRecipe),
)
def post_recipe_check(
    slug: str,
    body: RecipeBody,
    caller: Annotated[Caller, Depends(current_reader)],
    state: AppStateDep,
    phase: RecipePhase = None,
) -> RecipeCheck:
    """Returns the equations of a recipe and what its scores would give away, and changes nothing.

    With `phase`, as the recipe of this phase alone. An invalid recipe is refused with all of its faults. Requires an
    organizer of any role.
    """
    with state.db.read() as session:
        return check_recipe(session, caller, slug, body.model_dump(exclude_none=True), phase)


def check_recipe(
    session: ReadSession, caller: Caller, slug: str, fields: dict[str, Any], phase: str | None
) -> RecipeCheck:
    """The check of the fields of a recipe; raises InvalidRecipe with all faults, NotFound and Forbidden."""
    found = preview_recipe(session, caller, slug, fields, phase)
    recipe = found.recipe
    return RecipeCheck(
        primary=recipe.primary,
        metrics=[describe_call(call) for call in recipe.metrics],
        selection=SelectionRule.model_validate(
            describe_selection(recipe.selection, recipe.selection_max, recipe.tie_breakers)
        ),
        ladder=_check_ladder(recipe),
        inference=[inference_shape(bound) for bound in found.bounds],
    )


def _check_ladder(recipe: ScoringRecipe) -> LadderCheck | None:
    told, primary = describe_feedback(recipe), recipe.call(recipe.primary)
    if told is None or recipe.ladder is None or primary is None:
        return None
    is_heuristic = why_heuristic(recipe.ladder, primary, weighted=False, grouped=False) is not None
    return LadderCheck(**told, heuristic=is_heuristic, guarantee=announce_guarantee(recipe.ladder, primary))
