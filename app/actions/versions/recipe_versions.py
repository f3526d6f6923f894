"""Read the versions of recipes, and activate a draft or a former one."""

from app.actions.access import Caller, load_organized_challenge, load_visible_challenge
from app.actions.audit.record import record
from app.actions.challenges.change_recipe import normalize_recipe
from app.actions.challenges.replace_recipe import (
    RecipeInForce,
    finish_change,
    former_versions,
    needs_switch,
    require_fit,
)
from app.actions.versions.request_switch import request_switch, require_reason
from app.actions.versions.target_scores import target_scorer_version
from app.errors import NotFound
from app.queue import Queue
from app.store.queries import board_switches, challenges, label_rules
from app.store.session import ReadSession, WriteSession
from app.store.tables import Challenge, Phase, Recipe


def list_recipe_versions(session: ReadSession, caller: Caller, slug: str) -> list[RecipeInForce]:
    """All versions of the recipes of a challenge and its phases, newest first, for organizers."""
    challenge = load_organized_challenge(session, caller, slug, writes=False)
    return [_with_phases(session, challenge, row) for row in challenges.recipes_of(session, challenge.id)]


def read_recipe_version(session: ReadSession, caller: Caller, slug: str, version: int) -> RecipeInForce:
    """One version; drafts are for organizers. Raises NotFound."""
    found = _load_version(session, load_visible_challenge(session, caller, slug), version)
    if found.recipe.status == "draft":
        load_organized_challenge(session, caller, slug, writes=False)
    return found


def _load_version(session: ReadSession, challenge: Challenge, version: int) -> RecipeInForce:
    row = board_switches.recipe_by_version(session, challenge.id, version)
    if row is None:
        raise NotFound(f"The challenge has no recipe version {version}.")
    return _with_phases(session, challenge, row)


def _with_phases(session: ReadSession, challenge: Challenge, row: Recipe) -> RecipeInForce:
    phases = challenges.phases_of(session, challenge.id)
    own = next((phase for phase in phases if phase.id == row.phase_id), None)
    if row.phase_id is not None:
        return RecipeInForce(challenge, row, [own] if own is not None else [], own)
    return RecipeInForce(challenge, row, challenges.phases_that_share(session, challenge.id))


def pending_switches_to(session: ReadSession, recipe: Recipe) -> list[tuple[str, int]]:
    """The pending switches that put this version into force: the slug of each phase, and the number of its switch."""
    if recipe.status == "active":
        return []
    rows = board_switches.pending_to_recipe(session, recipe.id)
    return [(session.get_one(Phase, row.phase_id).slug, row.number) for row in rows]


def activate_recipe(
    session: WriteSession,
    caller: Caller,
    slug: str,
    version: int,
    *,
    queue: Queue,
    lists_instances: bool = False,
) -> RecipeInForce:
    """Activate a version: at once if that needs no new scores, else by a switch of all boards that it scores.

    Once something was submitted, a reason is needed. Raises SwitchPending, ReasonRequired, RecipeInUse for a change of
    a Ladder, and InvalidRecipe if gold does not support it.
    """
    found = _load_version(session, load_organized_challenge(session, caller, slug), version)
    recipe, own = found.recipe, found.phase
    if recipe.status == "active":
        return found
    if recipe.phase_id is not None and own is None:
        raise NotFound("The phase of this recipe was deleted.")
    rules = label_rules.of_challenge(found.challenge) if own is None else label_rules.of_phase(own)
    scoring = normalize_recipe(recipe.body, rules, stored=True)[1]
    require_fit(session, recipe.body, found.phases, stored=True)
    former = former_versions(session, found.phases)
    active = challenges.shared_recipe(session, found.challenge.id)
    active = active if own is None else challenges.active_recipe(session, own)
    switches = needs_switch(session, found.phases, active, scoring)
    if any(challenges.has_submissions(session, phase.id) for phase in found.phases):
        require_reason(caller)
    changes = {"recipe_version": (active.version, version)}
    record(session, caller, "recipe.activate", challenge=found.challenge, of=own or found.challenge, changes=changes)
    if switches:
        _request_switches(session, caller, found, lists_instances=lists_instances)
        return found
    _retire(session, found.challenge, own)
    recipe.status = "active"
    finish_change(session, queue, caller, former)
    return found


def _request_switches(session: WriteSession, caller: Caller, found: RecipeInForce, *, lists_instances: bool) -> None:
    """Request the switch of each phase that the recipe scores and that has gold; they are done together."""
    for phase, before in former_versions(session, found.phases):
        if before is not None:
            scorer_version = target_scorer_version(phase.scorer_version)
            target = before._replace(recipe=found.recipe, scorer_version=scorer_version)
            request_switch(session, caller, phase, before, target, lists_instances=lists_instances)


def _retire(session: WriteSession, challenge: Challenge, own: Phase | None) -> None:
    former = challenges.shared_recipe(session, challenge.id) if own is None else challenges.own_recipe(session, own.id)
    if former is not None:
        former.status = "retired"
    session.flush()
