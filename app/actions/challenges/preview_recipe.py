"""What a recipe would mean for a challenge or a phase, before it is activated."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from app.actions.access import Caller, load_organized_challenge, load_organized_phase
from app.actions.challenges.change_recipe import normalize_recipe, require_unknown_cells_fit
from app.actions.challenges.inference_bounds import PhaseInferenceBound, compute_inference_bounds
from app.scoring.declaration.recipe import ScoringRecipe
from app.store.queries import challenges, gold, label_rules
from app.store.session import ReadSession


class RecipePreview(NamedTuple):
    """A valid recipe, and the bound of each phase that it would score."""

    recipe: ScoringRecipe
    bounds: list[PhaseInferenceBound]


def preview_recipe(
    session: ReadSession, caller: Caller, slug: str, body: Mapping[str, Any], phase_slug: str | None = None
) -> RecipePreview:
    """The preview for organizers; raises InvalidRecipe with all faults, NotFound and Forbidden."""
    if phase_slug is None:
        challenge = load_organized_challenge(session, caller, slug, writes=False)
        phases, rules = challenges.phases_that_share(session, challenge.id), label_rules.of_challenge(challenge)
    else:
        phase = load_organized_phase(session, caller, slug, phase_slug, writes=False)
        phases, rules = [phase], label_rules.of_phase(phase)
    recipe = normalize_recipe(body, rules)[1]
    for phase in phases:
        require_unknown_cells_fit(recipe, gold.active(session, phase.id))
    return RecipePreview(recipe, compute_inference_bounds(session, phases, organizer=True, recipe=recipe))
