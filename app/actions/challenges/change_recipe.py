"""Check recipes, and tell which of them compute the same values."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from app.errors import InvalidContent, InvalidRecipe, RecipeInUse
from app.scoring.declaration.metric import UNKNOWN_CELLS, MetricCall
from app.scoring.declaration.recipe import ScoringRecipe, parse_recipe
from app.scoring.declaration.requirements import (
    UNKNOWN_CELLS_REMEDY,
    require_unknown_cells_option,
    unknown_cells_reason,
)
from app.store.queries import challenges, label_rules
from app.store.queries.label_rules import LabelRules
from app.store.session import ReadSession, WriteSession
from app.store.tables import Challenge, GoldVersion, Phase, Recipe

RECIPE_DEFAULTS: dict[str, Any] = {"tie_breakers": [], "options": {}, "selection": "best", "disclosure": {"digits": 6}}


NormalizedRecipe = tuple[dict[str, Any], ScoringRecipe]


def normalize_recipe(recipe: Mapping[str, Any], rules: LabelRules, *, stored: bool = False) -> NormalizedRecipe:
    """The recipe in its stored form, with defaults and canonical metric strings, and in the form that scoring uses.

    Raises InvalidRecipe with all faults.
    """
    body = RECIPE_DEFAULTS | dict(recipe)
    scoring = parse_recipe(body, rules.task, positive_label=rules.positive_label, classes=rules.classes, stored=stored)
    body["primary"] = _canonical_metric(body["primary"], scoring.primary)
    body["tie_breakers"] = list(scoring.tie_breakers)
    pairs = zip(body.get("metrics") or [], scoring.listed, strict=True)
    metric_list = [_canonical_metric(metric, call.text) for metric, call in pairs]
    body["metrics"] = metric_list or [call.text for call in scoring.metrics]
    if scoring.ladder is not None:
        body["ladder"] = scoring.ladder.body()
    return body, scoring


def _canonical_metric(metric: Any, text: str) -> Any:
    """The stored form of a metric: its canonical string, the key of its scores, unless it has a display name."""
    return metric if isinstance(metric, Mapping) and metric.get("name") else text


def recipe_fingerprint(recipe: ScoringRecipe) -> str:
    """A hash that is equal for recipes that compute the same values: of the metrics with all their options."""
    parts = sorted(f"{call.text} {sorted({**call.params, **_listed_options(call)}.items())}" for call in recipe.metrics)
    decision = json.dumps(recipe.decision, sort_keys=True)
    return hashlib.sha256("\n".join([*parts, decision]).encode()).hexdigest()


def require_unknown_cells_fit(recipe: ScoringRecipe, gold: GoldVersion | None) -> None:
    """Raise InvalidRecipe if the gold has unknown cells and a metric of the recipe does not leave them out."""
    if gold is None or not gold.accessories.get(UNKNOWN_CELLS):
        return
    primary = next(call for call in recipe.metrics if call.text == recipe.primary)
    reason = unknown_cells_reason(primary)
    if reason is not None:
        raise InvalidRecipe(f"'{primary.text}' would rank nobody: {reason}.", remedy=UNKNOWN_CELLS_REMEDY)
    try:
        require_unknown_cells_option(recipe.metrics)
    except InvalidContent as error:
        raise InvalidRecipe(error.detail, remedy=UNKNOWN_CELLS_REMEDY) from None


def _listed_options(call: MetricCall) -> dict[str, str]:
    """All options of a call, without one that older hashes do not have and that is not in use."""
    return {name: value for name, value in call.options.items() if (name, value) != (UNKNOWN_CELLS, "reject")}


def equivalent_recipe_ids(session: ReadSession, recipe: Recipe) -> list[str]:
    """Ids of the recipes that compute the same values as this one, so that their scores can replace each other."""
    rows = challenges.recipes_of(session, recipe.challenge_id)
    return [row.id for row in rows if row.fingerprint == recipe.fingerprint]


def parse_stored_recipe(phase: Phase, recipe: Recipe) -> ScoringRecipe:
    """A stored recipe in the form that scoring uses in this phase."""
    return normalize_recipe(recipe.body, label_rules.of_phase(phase), stored=True)[1]


def add_recipe(
    session: WriteSession,
    challenge: Challenge,
    phase: Phase | None,
    body: dict[str, Any],
    scoring: ScoringRecipe,
    *,
    status: str = "active",
) -> Recipe:
    """Store the next version of the recipe of a challenge or of one phase.

    If it is to be active, the former one has retired.
    """
    session.flush()
    known = challenges.recipes_of(session, challenge.id)
    recipe = Recipe(
        challenge_id=challenge.id,
        phase_id=None if phase is None else phase.id,
        version=known[0].version + 1 if known else 1,
        status=status,
        body=body,
        fingerprint=recipe_fingerprint(scoring),
    )
    session.add(recipe)
    session.flush()
    return recipe


def require_equivalent(before: ScoringRecipe, after: ScoringRecipe) -> None:
    """Raise RecipeInUse unless only selection, tie-breakers, disclosure or names of metrics differ.

    A Ladder may be added, but neither changed nor dropped.
    """
    if before.primary != after.primary:
        raise RecipeInUse(f"Submissions exist, so '{before.primary}' stays the primary metric.")
    were, are = ({call.text for call in recipe.metrics} for recipe in (before, after))
    if were != are:
        changed = ", ".join(f"'{text}'" for text in sorted(were ^ are))
        raise RecipeInUse(f"Submissions exist, so the same metrics have to be computed; this differs: {changed}.")
    require_same_ladder(before, after)
    if recipe_fingerprint(before) != recipe_fingerprint(after):
        raise RecipeInUse


def require_same_ladder(before: ScoringRecipe, after: ScoringRecipe) -> None:
    """Raise RecipeInUse if a Ladder would be changed or dropped, which would tell participants more."""
    if before.ladder is not None and before.ladder != after.ladder:
        detail = (
            "Submissions exist, so the Ladder stays: without it, or with another step, participants would learn more."
        )
        raise RecipeInUse(detail, remedy="Keep 'ladder' as it is, or release the private scores after the close.")


def computes_same_ranking_values(before: ScoringRecipe, after: ScoringRecipe) -> bool:
    """Whether both recipes compute the same values and rank by the same metric, so that stored scores serve both."""
    return before.primary == after.primary and recipe_fingerprint(before) == recipe_fingerprint(after)
