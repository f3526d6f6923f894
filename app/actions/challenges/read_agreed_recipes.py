"""Read what a challenge is scored by: the shared recipe and those of phases, in the form that scoring uses."""

from typing import NamedTuple

from app.actions.access import Caller, load_visible_challenge, visible_challenges
from app.actions.challenges.change_recipe import parse_stored_recipe
from app.actions.submissions.board_scores import describe_selection
from app.actions.submissions.ladder_board import describe_feedback
from app.scoring.declaration.recipe import ScoringRecipe
from app.store.queries import challenge_lists, challenges
from app.store.session import ReadSession
from app.store.tables import Phase, Recipe

MAX_CHALLENGES = 20
MAX_RECIPES = 200


class AgreedRecipe(NamedTuple):
    """A recipe in force, and the phases that it scores; `own` is the one phase whose own it is."""

    recipe: ScoringRecipe
    version: int
    phases: list[Phase]
    own: Phase | None
    selection: str
    """Which submission of a team counts, in words."""
    ladder: str | None
    """What is shown instead of scores while a Ladder limits feedback, in words."""


def read_agreed_recipes(session: ReadSession, caller: Caller, slug: str) -> list[AgreedRecipe]:
    """The recipes that score the phases of a challenge, in the order of the phases; raises NotFound."""
    challenge = load_visible_challenge(session, caller, slug)
    phases = challenges.phases_of(session, challenge.id)
    found: dict[str, tuple[Recipe, list[Phase]]] = {}
    for phase in phases:
        stored = challenges.active_recipe(session, phase)
        found.setdefault(stored.id, (stored, []))[1].append(phase)
    return [_agreed(stored, scored) for stored, scored in found.values()]


def _agreed(stored: Recipe, phases: list[Phase]) -> AgreedRecipe:
    recipe = parse_stored_recipe(phases[0], stored)
    rule = describe_selection(recipe.selection, recipe.selection_max, recipe.tie_breakers)
    own = phases[0] if stored.phase_id is not None else None
    told = describe_feedback(recipe)
    meaning = None if told is None else str(told["meaning"])
    return AgreedRecipe(recipe, stored.version, phases, own, str(rule["meaning"]), meaning)


class MetricUse(NamedTuple):
    """A challenge that uses a metric, and the metric strings by which it does."""

    slug: str
    title: str
    strings: list[str]


def challenges_with_metric(session: ReadSession, caller: Caller, key: str) -> tuple[list[MetricUse], bool]:
    """The challenges that the caller sees and that use a metric, by slug, and whether there are more.

    A recipe names a metric by its canonical string, so that the key begins it.
    """
    visible, uses = visible_challenges(caller), dict[str, MetricUse]()
    for challenge, recipe in challenge_lists.active_recipes_with(session, visible, key, limit=MAX_RECIPES):
        strings = [text for text in _metric_strings(recipe) if text.partition(":")[0] == key]
        if not strings:
            continue
        if challenge.id not in uses and len(uses) == MAX_CHALLENGES:
            return list(uses.values()), True
        known = uses.setdefault(challenge.id, MetricUse(challenge.slug, challenge.title, [])).strings
        known += [text for text in strings if text not in known]
    return list(uses.values()), False


def _metric_strings(recipe: Recipe) -> list[str]:
    body = recipe.body
    named = [body["primary"], *body.get("metrics", ()), *body.get("tie_breakers", ())]
    texts = [each if isinstance(each, str) else _text_of(each) for each in named]
    return list(dict.fromkeys(texts))


def _text_of(described: dict[str, object]) -> str:
    return str(described.get("key", ""))
