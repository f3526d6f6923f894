"""The agreed metrics of a submission, described as on its board: equation, symbols and conventions."""

from typing import Any

from app.actions.access import Caller, load_visible_phase
from app.actions.challenges.change_recipe import parse_stored_recipe
from app.actions.submissions.submission_access import load_visible_submission
from app.scoring.catalogue.description import describe_call
from app.scoring.declaration.recipe import ScoringRecipe
from app.store.queries import challenges
from app.store.session import ReadSession


def read_agreed_recipe(session: ReadSession, caller: Caller, submission_id: str) -> ScoringRecipe:
    """The recipe in force for a submission; raises NotFound unless the caller may see the submission."""
    _, phase, _ = load_visible_submission(session, caller, submission_id)
    return parse_stored_recipe(phase, challenges.active_recipe(session, phase))


def describe_metrics(recipe: ScoringRecipe) -> list[dict[str, Any]]:
    """The metrics of a recipe, as it lists them, each with whether it is the primary one."""
    return [describe_call(call) | {"is_primary": call.text == recipe.primary} for call in recipe.metrics]


def primary_metric(session: ReadSession, caller: Caller, slug: str, phase_slug: str) -> str:
    """The key of the metric that ranks the board of a phase, as scores name it; raises NotFound."""
    phase = load_visible_phase(session, caller, slug, phase_slug)
    return parse_stored_recipe(phase, challenges.active_recipe(session, phase)).primary
