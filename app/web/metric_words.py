"""Agreed recipes for pages: each metric with its equation and conventions, and the rules of the recipe in words."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.actions.challenges.read_agreed_recipes import AgreedRecipe
from app.scoring.catalogue.description import describe_call
from app.scoring.catalogue.settings_description import describe_bounds
from app.scoring.declaration.decision_rules import DECISION_RULES
from app.scoring.declaration.metric import SCORES
from app.scoring.declaration.recipe import ScoringRecipe


@dataclass(frozen=True, slots=True)
class MetricRole:
    """A metric of a recipe: its description, as on a leaderboard, and what it decides."""

    described: dict[str, Any]
    is_primary: bool
    tie_breaker: int | None
    """Its place among the tie-breakers, from 1."""
    is_known: bool = False
    """Whether a recipe above has it too, so that its definition need not be repeated."""


@dataclass(frozen=True, slots=True)
class RecipeWords:
    """A recipe for a page."""

    title: str
    version: int
    metrics: list[MetricRole]
    selection: str
    ladder: str | None
    decision: str | None
    digits: int | None
    needs_scores: bool
    phases: list[str]

    @property
    def primary(self) -> dict[str, Any]:
        """The description of the metric that ranks."""
        return next(each.described for each in self.metrics if each.is_primary)

    @property
    def tie_breakers(self) -> list[dict[str, Any]]:
        """The descriptions of the tie-breakers in their order."""
        found = sorted((each for each in self.metrics if each.tie_breaker), key=lambda each: each.tie_breaker or 0)
        return [each.described for each in found]


def words_of_recipes(agreed: Sequence[AgreedRecipe]) -> list[RecipeWords]:
    """The recipes of a challenge for a page."""
    known: set[str] = set()
    found = []
    for each in agreed:
        found.append(_recipe_words(each, known, alone=len(agreed) == 1))
        known |= {call.text for call in each.recipe.metrics}
    return found


def _recipe_words(agreed: AgreedRecipe, known: Collection[str], *, alone: bool) -> RecipeWords:
    recipe = agreed.recipe
    return RecipeWords(
        title="All phases" if alone else ", ".join(phase.name for phase in agreed.phases),
        version=agreed.version,
        metrics=[_role(call.text, recipe, is_known=call.text in known) for call in recipe.metrics],
        selection=agreed.selection,
        ladder=agreed.ladder,
        decision=None if recipe.decision is None else _decision_words(recipe.decision),
        digits=recipe.digits,
        needs_scores=any(SCORES in call.metric.needs for call in recipe.metrics),
        phases=[phase.slug for phase in agreed.phases],
    )


def _role(text: str, recipe: ScoringRecipe, *, is_known: bool) -> MetricRole:
    place = recipe.tie_breakers.index(text) + 1 if text in recipe.tie_breakers else None
    return MetricRole(describe_metric_of_recipe(text, recipe), text == recipe.primary, place, is_known)


def describe_metric_of_recipe(text: str, recipe: ScoringRecipe) -> dict[str, Any]:
    """The description of a metric of a recipe, with its range in words."""
    call = recipe.call(text)
    assert call is not None
    described = describe_call(call)
    return described | {"range_words": describe_bounds(described["range"])}


def _decision_words(decision: Mapping[str, Any]) -> str:
    rule = DECISION_RULES[decision["rule"]]
    given = [f"{name} = {value}" for name, value in decision.items() if name != "rule"]
    return f"{rule.meaning} ({', '.join(given)})" if given else rule.meaning
