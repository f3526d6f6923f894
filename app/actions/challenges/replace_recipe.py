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
    computes_same_ranking_values,
    normalize_recipe,
    require_equivalent,
    require_same_ladder,
    require_unknown_cells_fit,
)
from app.actions.scoring_tasks.score_tests_again import score_tests_again
from app.actions.versions.request_switch import record_switch, require_no_pending_switch
from app.errors import NotFound, PhaseReleased
from app.queue import Queue
from app.scoring.declaration.recipe import ScoringRecipe
from app.store.queries import challenges, gold, label_rules
from app.store.queries.board_versions import BoardVersion, active_version
from app.store.session import ReadSession, WriteSession
from app.store.tables import Challenge, Phase, Recipe


class RecipeInForce(NamedTuple):
    """A recipe, active or another version, and the phases that it scores; `phase` is the one whose own it is."""

    challenge: Challenge
    recipe: Recipe
    phases: list[Phase]
    phase: Phase | None = None


FormerVersions = Sequence[tuple[Phase, BoardVersion | None]]
"""Phases with the versions that were in force before a change."""


def read_recipe(session: ReadSession, caller: Caller, slug: str, phase_slug: str | None = None) -> RecipeInForce:
    """The recipe that the phases of a challenge share, or that of one phase; raises NotFound."""
    if phase_slug is None:
        return shared_recipe(session, load_visible_challenge(session, caller, slug))
    phase = load_visible_phase(session, caller, slug, phase_slug)
    own = challenges.own_recipe(session, phase.id)
    if own is None:
        return shared_recipe(session, phase.challenge)
    return RecipeInForce(phase.challenge, own, [phase], phase)


def shared_recipe(session: ReadSession, challenge: Challenge) -> RecipeInForce:
    """The recipe that the phases of a challenge share."""
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
    draft: bool | None = None,
) -> RecipeInForce:
    """Store a new recipe of a challenge or of one phase, and activate it at once if that needs no new scores.

    Otherwise it stays a draft; with `draft` always, and with `draft=False` never: then it is refused. Raises
    RecipeInUse, PhaseReleased, SwitchPending and InvalidRecipe.
    """
    if phase is not None:
        organized = load_organized_phase(session, caller, slug, phase)
        return set_phase_recipe(session, queue, caller, organized, body, draft=draft)
    before = shared_recipe(session, load_organized_challenge(session, caller, slug))
    stored, scoring = normalize_recipe(body, label_rules.of_challenge(before.challenge))
    require_fit(session, body, before.phases)
    if stored == before.recipe.body:
        return before
    if _is_draft(session, before.phases, before.recipe, scoring, wanted=draft):
        return before._replace(recipe=_store_draft(session, caller, before.challenge, stored, scoring))
    former = former_versions(session, before.phases)
    before.recipe.status = "retired"
    after = add_recipe(session, before.challenge, None, stored, scoring)
    record_change(session, caller, before.challenge, bodies=(before.recipe.body, stored))
    finish_change(session, queue, caller, former)
    return before._replace(recipe=after)


def set_phase_recipe(
    session: WriteSession,
    queue: Queue,
    caller: Caller,
    phase: Phase,
    body: Mapping[str, Any],
    *,
    draft: bool | None = None,
) -> RecipeInForce:
    """Give a phase a recipe of its own, as a draft if that needs new scores; raises RecipeInUse and InvalidRecipe."""
    own, before = challenges.own_recipe(session, phase.id), challenges.active_recipe(session, phase)
    stored, scoring = normalize_recipe(body, label_rules.of_phase(phase))
    require_fit(session, body, [phase])
    if own is not None and stored == own.body:
        return RecipeInForce(phase.challenge, own, [phase], phase)
    if _is_draft(session, [phase], before, scoring, wanted=draft):
        after = _store_draft(session, caller, phase, stored, scoring)
        return RecipeInForce(phase.challenge, after, [phase], phase)
    former = former_versions(session, [phase])
    if own is not None:
        own.status = "retired"
    after = add_recipe(session, phase.challenge, phase, stored, scoring)
    record_change(session, caller, phase, bodies=(own and own.body, stored))
    finish_change(session, queue, caller, former)
    return RecipeInForce(phase.challenge, after, [phase], phase)


def drop_recipe(session: WriteSession, queue: Queue, caller: Caller, slug: str, phase_slug: str) -> RecipeInForce:
    """Let a phase share the recipe of its challenge again; raises NotFound, RecipeInUse and InvalidRecipe."""
    phase = load_organized_phase(session, caller, slug, phase_slug)
    drop_phase_recipe(session, queue, caller, phase)
    return shared_recipe(session, phase.challenge)


def drop_phase_recipe(session: WriteSession, queue: Queue, caller: Caller, phase: Phase) -> None:
    """The same for a phase that was loaded for its organizers."""
    own = challenges.own_recipe(session, phase.id)
    if own is None:
        raise NotFound(f"The phase '{phase.slug}' has no recipe of its own.")
    shared = challenges.shared_recipe(session, phase.challenge_id)
    scoring = normalize_recipe(shared.body, label_rules.of_phase(phase), stored=True)[1]
    require_fit(session, shared.body, [phase])
    _require_unused(session, phase, own, scoring)
    former = former_versions(session, [phase])
    own.status = "retired"
    record_change(session, caller, phase, bodies=(own.body, None))
    finish_change(session, queue, caller, former)


def require_fit(
    session: ReadSession, body: Mapping[str, Any], phases: Sequence[Phase], *, stored: bool = False
) -> None:
    """Raise InvalidRecipe if the recipe names labels or metrics that one of these phases or its gold lacks."""
    for phase in phases:
        active = gold.active(session, phase.id)
        rules = label_rules.of_phase(phase) if active is None else label_rules.of_gold(active)
        require_unknown_cells_fit(normalize_recipe(body, rules, stored=stored)[1], active)


def needs_switch(session: ReadSession, phases: Sequence[Phase], before: Recipe, after: ScoringRecipe) -> bool:
    """Whether a recipe can only come into force by a switch of the boards of these phases.

    It does if something was submitted that it computes other values for, or if it ranks a released phase in another
    way. Raises RecipeInUse if it would loosen a Ladder.
    """
    needed = False
    for phase in phases:
        submitted = challenges.has_submissions(session, phase.id)
        if not submitted and phase.released_at is None:
            continue  # the labels may just have changed, so the former recipe need not fit them
        agreed = normalize_recipe(before.body, label_rules.of_phase(phase), stored=True)[1]
        if phase.released_at is not None and _ranking_rules(agreed) != _ranking_rules(after):
            needed = True
        if submitted:
            require_same_ladder(agreed, after)
            needed = needed or not computes_same_ranking_values(agreed, after)
    return needed


def _require_unused(session: ReadSession, phase: Phase, before: Recipe, after: ScoringRecipe) -> None:
    """Raise RecipeInUse if something was submitted to a phase, unless both recipes compute the same.

    Raises PhaseReleased if the recipe would rank the teams of a released phase in another way.
    """
    submitted = challenges.has_submissions(session, phase.id)
    if not submitted and phase.released_at is None:
        return
    agreed = normalize_recipe(before.body, label_rules.of_phase(phase), stored=True)[1]
    if phase.released_at is not None and _ranking_rules(agreed) != _ranking_rules(after):
        raise PhaseReleased(f"The final ranks of '{phase.slug}' have been released, so the ranking rules stay.")
    if submitted:
        require_equivalent(agreed, after)


def _ranking_rules(recipe: ScoringRecipe) -> tuple[Any, ...]:
    return recipe.primary, recipe.tie_breakers, recipe.selection, recipe.selection_max


def _is_draft(
    session: ReadSession, phases: Sequence[Phase], before: Recipe, after: ScoringRecipe, *, wanted: bool | None
) -> bool:
    """Whether the recipe stays a draft, as the caller wants it or because it needs a switch."""
    if wanted is False:
        for phase in phases:
            _require_unused(session, phase, before, after)
        return False
    return needs_switch(session, phases, before, after) or bool(wanted)


def _store_draft(
    session: WriteSession, caller: Caller, of: Challenge | Phase, body: dict[str, Any], scoring: ScoringRecipe
) -> Recipe:
    challenge, phase = (of, None) if isinstance(of, Challenge) else (of.challenge, of)
    draft = add_recipe(session, challenge, phase, body, scoring, status="draft")
    changes = {"recipe_version": (None, draft.version), "recipe": (None, body)}
    record(session, caller, "recipe.draft", challenge=challenge, of=of, changes=changes)
    return draft


def former_versions(session: ReadSession, phases: Sequence[Phase]) -> FormerVersions:
    """What is in force in these phases before a change of their recipe; raises SwitchPending."""
    for phase in phases:
        require_no_pending_switch(session, phase)
    return [(phase, active_version(session, phase)) for phase in phases]


def record_change(session: WriteSession, caller: Caller, row: Challenge | Phase, *, bodies: tuple[Any, Any]) -> None:
    """Record the change in the audit trail."""
    session.flush()
    challenge = row if isinstance(row, Challenge) else row.challenge
    record(session, caller, "recipe.change", challenge=challenge, of=row, changes={"recipe": bodies})


def finish_change(session: WriteSession, queue: Queue, caller: Caller, former: FormerVersions) -> None:
    """Record the switch of each board whose recipe changed, and have test entries scored by the new one."""
    session.flush()
    for phase, before in former:
        after = active_version(session, phase)
        if before is not None and after is not None:
            record_switch(session, caller, phase, before, after)
        score_tests_again(session, queue, phase)
