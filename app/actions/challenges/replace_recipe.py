"""Read, replace and drop recipes: that of a challenge, and those of phases that have their own."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from app.actions.access import (
    Caller,
    load_organized_challenge,
    load_organized_phase,
    load_visible_challenge,
    load_visible_phase,
)
from app.actions.audit.record import record
from app.actions.challenges.change_recipe import (
    add_recipe,
    normalize_recipe,
    require_equivalent,
    require_unknown_cells_fit,
)
from app.actions.scoring_tasks.score_tests_again import score_tests_again
from app.errors import NotFound, PhaseReleased
from app.queue import Queue
from app.scoring.declaration.recipe import ScoringRecipe
from app.store.queries import challenges, gold, label_rules
from app.store.session import ReadSession, WriteSession
from app.store.tables import Challenge, Phase, Recipe


class RecipeInForce(NamedTuple):
    """An active recipe and the phases that are scored by it; `phase` is the one whose own it is."""

    challenge: Challenge
    recipe: Recipe
    phases: list[Phase]
    phase: Phase | None = None


def read_recipe(session: ReadSession, caller: Caller, slug: str, phase_slug: str | None = None) -> RecipeInForce:
    """The recipe that the phases of a challenge share, or that of one phase; raises NotFound."""
    if phase_slug is None:
        return _shared(session, load_visible_challenge(session, caller, slug))
    phase = load_visible_phase(session, caller, slug, phase_slug)
    own = challenges.own_recipe(session, phase.id)
    return _shared(session, phase.challenge) if own is None else RecipeInForce(phase.challenge, own, [phase], phase)


def _shared(session: ReadSession, challenge: Challenge) -> RecipeInForce:
    sharing = challenges.phases_that_share(session, challenge.id)
    return RecipeInForce(challenge, challenges.shared_recipe(session, challenge.id), sharing)


def change_recipe(
    session: WriteSession,
    caller: Caller,
    slug: str,
    body: Mapping[str, Any],
    *,
    queue: Queue,
    phase: str | None = None,
) -> RecipeInForce:
    """Activate a new recipe of a challenge or of one phase.

    Raises RecipeInUse if anything was submitted that it would compute other values for, and InvalidRecipe.
    """
    if phase is not None:
        return set_phase_recipe(session, queue, caller, load_organized_phase(session, caller, slug, phase), body)
    before = _shared(session, load_organized_challenge(session, caller, slug))
    stored, scoring = normalize_recipe(body, label_rules.of_challenge(before.challenge))
    _require_fit(session, body, before.phases)
    if stored == before.recipe.body:
        return before
    _require_unused(session, before.phases, before.recipe, scoring)
    before.recipe.status = "retired"
    after = add_recipe(session, before.challenge, None, stored, scoring)
    _finish(session, queue, caller, before.challenge, bodies=(before.recipe.body, stored))
    return before._replace(recipe=after)


def set_phase_recipe(
    session: WriteSession, queue: Queue, caller: Caller, phase: Phase, body: Mapping[str, Any]
) -> RecipeInForce:
    """Give a phase a recipe of its own; raises RecipeInUse and InvalidRecipe."""
    own, before = challenges.own_recipe(session, phase.id), challenges.active_recipe(session, phase)
    stored, scoring = normalize_recipe(body, label_rules.of_phase(phase))
    _require_fit(session, body, [phase])
    if own is not None and stored == own.body:
        return RecipeInForce(phase.challenge, own, [phase], phase)
    _require_unused(session, [phase], before, scoring)
    if own is not None:
        own.status = "retired"
    after = add_recipe(session, phase.challenge, phase, stored, scoring)
    _finish(session, queue, caller, phase, bodies=(own and own.body, stored))
    return RecipeInForce(phase.challenge, after, [phase], phase)


def drop_recipe(session: WriteSession, queue: Queue, caller: Caller, slug: str, phase_slug: str) -> RecipeInForce:
    """Let a phase share the recipe of its challenge again; raises NotFound, RecipeInUse and InvalidRecipe."""
    phase = load_organized_phase(session, caller, slug, phase_slug)
    drop_phase_recipe(session, queue, caller, phase)
    return _shared(session, phase.challenge)


def drop_phase_recipe(session: WriteSession, queue: Queue, caller: Caller, phase: Phase) -> None:
    """The same for a phase that was loaded for its organizers."""
    own = challenges.own_recipe(session, phase.id)
    if own is None:
        raise NotFound(f"The phase '{phase.slug}' has no recipe of its own.")
    shared = challenges.shared_recipe(session, phase.challenge_id)
    scoring = normalize_recipe(shared.body, label_rules.of_phase(phase), stored=True)[1]
    _require_fit(session, shared.body, [phase])
    _require_unused(session, [phase], own, scoring)
    own.status = "retired"
    _finish(session, queue, caller, phase, bodies=(own.body, None))


def _require_fit(session: ReadSession, body: Mapping[str, Any], phases: Sequence[Phase]) -> None:
    """Raise InvalidRecipe if the recipe names labels or metrics that one of these phases or its gold lacks."""
    for phase in phases:
        active = gold.active(session, phase.id)
        rules = label_rules.of_phase(phase) if active is None else label_rules.of_gold(active)
        require_unknown_cells_fit(normalize_recipe(body, rules)[1], active)


def _require_unused(session: ReadSession, phases: Sequence[Phase], before: Recipe, after: ScoringRecipe) -> None:
    """Raise RecipeInUse if something was submitted to one of these phases, unless both recipes compute the same.

    Raises PhaseReleased if the recipe would rank the teams of a released phase in another way.
    """
    for phase in phases:
        submitted = challenges.has_submissions(session, phase.id)
        if not submitted and phase.released_at is None:
            continue  # the labels may just have changed, so the former recipe need not fit them
        agreed = normalize_recipe(before.body, label_rules.of_phase(phase), stored=True)[1]
        if phase.released_at is not None and _ranking_rules(agreed) != _ranking_rules(after):
            raise PhaseReleased(f"The final ranks of '{phase.slug}' have been released, so the ranking rules stay.")
        if submitted:
            require_equivalent(agreed, after)


def _ranking_rules(recipe: ScoringRecipe) -> tuple[Any, ...]:
    return recipe.primary, recipe.tie_breakers, recipe.selection, recipe.selection_max


def _finish(
    session: WriteSession,
    queue: Queue,
    caller: Caller,
    row: Challenge | Phase,
    *,
    bodies: tuple[Any, Any],
) -> None:
    """Record the change, and have test entries scored by the new recipe."""
    session.flush()
    challenge = row if isinstance(row, Challenge) else row.challenge
    record(session, caller, "recipe.change", challenge=challenge, of=row, changes={"recipe": bodies})
    phases = challenges.phases_that_share(session, row.id) if isinstance(row, Challenge) else [row]
    for phase in phases:
        score_tests_again(session, queue, phase)
