"""What differs between two recipes: metrics, options, selection, tie-breakers."""

from typing import Any

from app.actions.challenges.change_recipe import parse_stored_recipe
from app.scoring.declaration.recipe import ScoringRecipe
from app.store.tables import Phase, Recipe


def recipe_changes(phase: Phase, before: Recipe, after: Recipe) -> dict[str, Any] | None:
    """The parts of the recipe that changed, each with its former and its new value; None if it stayed the same."""
    if before.id == after.id:
        return None
    was, is_now = parse_stored_recipe(phase, before), parse_stored_recipe(phase, after)
    old, new = ([call.text for call in recipe.metrics] for recipe in (was, is_now))
    parts = {name: (_part(was, name), _part(is_now, name)) for name in _PARTS}
    parts["options"] = (before.body.get("options") or {}, after.body.get("options") or {})
    return {
        "metrics_added": [text for text in new if text not in old],
        "metrics_removed": [text for text in old if text not in new],
        "changed": {name: {"before": pair[0], "after": pair[1]} for name, pair in parts.items() if pair[0] != pair[1]},
    }


_PARTS = ("primary", "tie_breakers", "selection", "selection_max", "decision", "digits", "ladder")


def _part(recipe: ScoringRecipe, name: str) -> Any:
    found = getattr(recipe, name)
    if name == "ladder":
        return None if found is None else found.body()
    return list(found) if isinstance(found, tuple) else found
