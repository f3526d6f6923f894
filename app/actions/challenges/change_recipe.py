"""Check a recipe, and activate a new version of it."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from app.actions.access import Caller, load_organized_challenge, load_visible_challenge
from app.errors import RecipeInUse
from app.scoring.declaration.recipe import ScoringRecipe, parse_recipe
from app.scoring.declaration.task import TaskKind
from app.store.queries import challenges, gold
from app.store.session import ReadSession, WriteSession
from app.store.tables import Challenge, Recipe

RECIPE_DEFAULTS: dict[str, Any] = {"tie_breakers": [], "options": {}, "selection": "best", "disclosure": {"digits": 6}}


NormalizedRecipe = tuple[dict[str, Any], ScoringRecipe]
Classes = Sequence[str] | None


def normalize_recipe(
    recipe: Mapping[str, Any], *, task: str, positive_label: str | None, classes: Classes, stored: bool = False
) -> NormalizedRecipe:
    """The recipe in its stored form, with defaults and canonical metric strings, and in the form that scoring uses.

    Raises InvalidRecipe with all faults.
    """
    body = RECIPE_DEFAULTS | dict(recipe)
    scoring = parse_recipe(body, cast("TaskKind", task), positive_label=positive_label, classes=classes, stored=stored)
    body["primary"] = _canonical_metric(body["primary"], scoring.primary)
    body["tie_breakers"] = list(scoring.tie_breakers)
    pairs = zip(body.get("metrics") or [], scoring.listed, strict=True)
    metric_list = [_canonical_metric(metric, call.text) for metric, call in pairs]
    body["metrics"] = metric_list or [call.text for call in scoring.metrics]
    return body, scoring


def _canonical_metric(metric: Any, text: str) -> Any:
    """The stored form of a metric: its canonical string, the key of its scores, unless it has a display name."""
    return metric if isinstance(metric, Mapping) and metric.get("name") else text


def recipe_fingerprint(recipe: ScoringRecipe) -> str:
    """A hash that is equal for recipes that compute the same values: of the metrics with all their options."""
    parts = sorted(f"{call.text} {sorted({**call.params, **call.options}.items())}" for call in recipe.metrics)
    decision = json.dumps(recipe.decision, sort_keys=True)
    return hashlib.sha256("\n".join([*parts, decision]).encode()).hexdigest()


def equivalent_recipe_ids(session: ReadSession, recipe: Recipe) -> list[str]:
    """Ids of the recipes that compute the same values as this one, so that their scores can replace each other."""
    rows = challenges.recipes_of(session, recipe.challenge_id)
    return [row.id for row in rows if row.fingerprint == recipe.fingerprint]


def parse_stored_recipe(challenge: Challenge, recipe: Recipe) -> ScoringRecipe:
    """A stored recipe in the form that scoring uses."""
    return _normalize_for(challenge, recipe.body, challenge.classes, stored=True)[1]


def _normalize_for(
    challenge: Challenge, recipe: Mapping[str, Any], classes: Classes, *, stored: bool = False
) -> NormalizedRecipe:
    task, positive_label = challenge.task, challenge.positive_label
    return normalize_recipe(recipe, task=task, positive_label=positive_label, classes=classes, stored=stored)


def read_recipe(session: ReadSession, caller: Caller, slug: str) -> tuple[Challenge, Recipe]:
    """The active recipe."""
    challenge = load_visible_challenge(session, caller, slug)
    return challenge, challenges.active_recipe(session, challenge.id)


def change_recipe(
    session: WriteSession, caller: Caller, slug: str, body: Mapping[str, Any]
) -> tuple[Challenge, Recipe]:
    """Activate a new version; raises RecipeInUse if submissions exist and the recipe would compute other values."""
    challenge = load_organized_challenge(session, caller, slug)
    before = challenges.active_recipe(session, challenge.id)
    stored, scoring = _normalize_for(challenge, body, challenge.classes)
    for phase in challenges.phases_of(session, challenge.id):
        active = gold.active(session, phase.id)
        if active is not None:
            _normalize_for(challenge, body, active.classes)  # raises if the recipe names labels that this gold lacks
    if stored == before.body:
        return challenge, before
    if challenges.has_submissions(session, challenge.id):
        _require_equivalent(parse_stored_recipe(challenge, before), scoring)
    before.status = "retired"
    session.flush()
    after = Recipe(challenge_id=challenge.id, version=before.version + 1, status="active", body=stored)
    after.fingerprint = recipe_fingerprint(scoring)
    session.add(after)
    session.flush()
    return challenge, after


def _require_equivalent(before: ScoringRecipe, after: ScoringRecipe) -> None:
    """Raise RecipeInUse unless only selection, tie-breakers, disclosure or names of metrics differ."""
    if before.primary != after.primary:
        raise RecipeInUse(f"Submissions exist, so '{before.primary}' stays the primary metric.")
    were, are = ({call.text for call in recipe.metrics} for recipe in (before, after))
    if were != are:
        changed = ", ".join(f"'{text}'" for text in sorted(were ^ are))
        raise RecipeInUse(f"Submissions exist, so the same metrics have to be computed; this differs: {changed}.")
    if recipe_fingerprint(before) != recipe_fingerprint(after):
        raise RecipeInUse
