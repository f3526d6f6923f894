"""Check a recipe, and put a new version of it in force."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from app.actions.access import Caller, load_visible_challenge, require_organizer
from app.errors import RecipeInUse
from app.scoring.declaration.recipe import ScoringRecipe, parse_recipe
from app.scoring.declaration.task import TaskKind
from app.store.queries import challenges, gold
from app.store.session import ReadSession, WriteSession
from app.store.tables import Challenge, Recipe

RECIPE_DEFAULTS: dict[str, Any] = {"tie_breakers": [], "options": {}, "selection": "best", "disclosure": {"digits": 6}}


def normalize_recipe(
    recipe: Mapping[str, Any],
    *,
    task: str,
    positive_label: str | None,
    classes: Sequence[str] | None,
    stored: bool = False,
) -> tuple[dict[str, Any], ScoringRecipe]:
    """The recipe as stored, defaults filled in and metrics by canonical strings, and as scoring reads it.

    Raises InvalidRecipe with every fault.
    """
    body = RECIPE_DEFAULTS | dict(recipe)
    scoring = parse_recipe(body, cast("TaskKind", task), positive_label=positive_label, classes=classes, stored=stored)
    body["primary"] = _canonical_metric(body["primary"], scoring.primary)
    body["tie_breakers"] = list(scoring.tie_breakers)
    pairs = zip(body.get("metrics") or [], scoring.listed, strict=True)
    body["metrics"] = [_canonical_metric(asked, call.text) for asked, call in pairs] or [
        call.text for call in scoring.metrics
    ]
    return body, scoring


def _canonical_metric(asked: Any, text: str) -> Any:
    """A metric as it is kept: by its canonical string, which the scores are keyed by, unless it has a name to show."""
    return asked if isinstance(asked, Mapping) and asked.get("name") else text


def recipe_fingerprint(recipe: ScoringRecipe) -> str:
    """What two recipes share when they compute the same values: the metrics with all their options."""
    parts = sorted(f"{call.text} {sorted({**call.params, **call.options}.items())}" for call in recipe.metrics)
    decision = json.dumps(recipe.decision, sort_keys=True)
    return hashlib.sha256("\n".join([*parts, decision]).encode()).hexdigest()


def equivalent_recipe_ids(session: ReadSession, recipe: Recipe) -> list[str]:
    """Ids of the recipes that compute what this one does: their scores stand for each other."""
    every = challenges.recipes_of(session, recipe.challenge_id)
    return [row.id for row in every if row.fingerprint == recipe.fingerprint]


def parse_stored_recipe(challenge: Challenge, recipe: Recipe) -> ScoringRecipe:
    """A stored recipe as scoring reads it."""
    rules: dict[str, Any] = {
        "task": challenge.task,
        "positive_label": challenge.positive_label,
        "classes": challenge.classes,
    }
    return normalize_recipe(recipe.body, **rules, stored=True)[1]


def read_recipe(session: ReadSession, caller: Caller, slug: str) -> tuple[Challenge, Recipe]:
    """The recipe in force."""
    challenge = load_visible_challenge(session, caller, slug)
    return challenge, challenges.active_recipe(session, challenge.id)


def change_recipe(
    session: WriteSession, caller: Caller, slug: str, body: Mapping[str, Any]
) -> tuple[Challenge, Recipe]:
    """A new version in force at once; raises RecipeInUse when submissions exist and other values would be computed."""
    challenge = load_visible_challenge(session, caller, slug)
    require_organizer(session, caller, challenge)
    before = challenges.active_recipe(session, challenge.id)
    stored, scoring = normalize_recipe(
        body, task=challenge.task, positive_label=challenge.positive_label, classes=challenge.classes
    )
    for phase in challenges.phases_of(session, challenge.id):
        active = gold.active(session, phase.id)
        if active is not None:
            normalize_recipe(body, task=challenge.task, positive_label=challenge.positive_label, classes=active.classes)
    if stored == before.body:
        return challenge, before
    mark = recipe_fingerprint(scoring)
    if challenges.has_submissions(session, challenge.id):
        _require_equivalent(parse_stored_recipe(challenge, before), scoring)
    before.status = "retired"
    session.flush()
    after = Recipe(
        challenge_id=challenge.id, version=before.version + 1, status="active", body=stored, fingerprint=mark
    )
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
