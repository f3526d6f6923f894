"""Add and edit the phases of a challenge."""

from collections.abc import Mapping
from typing import Any

from app.actions import access
from app.actions.audit.record import changed_fields, created_fields, record
from app.actions.challenges.create_challenge import MAX_PHASES, add_phase, raise_if_any, require_valid_window
from app.actions.challenges.phase_rules import (
    LABEL_FIELDS,
    RULE_FIELDS,
    change_label_rules,
    own_rule_faults,
    recipe_within_body,
    unfit_recipe_faults,
)
from app.actions.challenges.rename import rename_phase
from app.actions.challenges.replace_recipe import drop_phase_recipe, set_phase_recipe
from app.actions.challenges.resolve_times import resolve_times
from app.errors import PhaseReleased, TooManyPhases
from app.queue import Queue
from app.store import clock
from app.store.queries import challenges, gold, label_rules
from app.store.session import ReadSession, WriteSession
from app.store.tables import Phase


def list_phases(session: ReadSession, caller: access.Caller, slug: str) -> list[Phase]:
    """All phases in order."""
    return challenges.phases_of(session, access.load_visible_challenge(session, caller, slug).id)


def create_phase(session: WriteSession, caller: access.Caller, slug: str, plan: Mapping[str, Any]) -> Phase:
    """Add a phase after the others; raises TooManyPhases, InvalidRequest with the faults of its rules and its recipe."""
    challenge = access.load_organized_challenge(session, caller, slug)
    if len(challenges.phases_of(session, challenge.id)) >= MAX_PHASES:
        raise TooManyPhases(f"A challenge has at most {MAX_PHASES} phases.")
    plan, faults = resolve_times(plan, challenge.timezone)
    raise_if_any([*faults, *own_rule_faults(plan, label_rules.of_challenge(challenge))])
    with recipe_within_body():
        phase = add_phase(session, challenge, plan, clock.now(session))
    raise_if_any(unfit_recipe_faults(session, phase))
    record(session, caller, "phase.create", challenge=challenge, of=phase, changes=created_fields(plan))
    return phase


def edit_phase(
    session: WriteSession,
    caller: access.Caller,
    slug: str,
    phase_slug: str,
    changes: Mapping[str, Any],
    *,
    queue: Queue,
) -> Phase:
    """Change the name, and with it the slug, the window, quota, visibility, reports or anonymity."""
    phase = access.load_organized_phase(session, caller, slug, phase_slug)
    changes, faults = resolve_times(changes, phase.challenge.timezone)
    raise_if_any(faults)
    if phase.released_at is not None and changes.get("closes_at", phase.closes_at) != phase.closes_at:
        raise PhaseReleased("The private scores of this phase have been released, so its close cannot move.")
    _change_rules(session, queue, caller, phase, changes)
    rest = {name: value for name, value in changes.items() if name not in RULE_FIELDS}
    if "opens_at" in rest and rest["opens_at"] is None:
        rest["opens_at"] = clock.now(session)
    changed = {name: pair for name, pair in changed_fields(phase, rest).items() if pair[0] != pair[1]}
    action = "phase.rename" if set(changed) == {"name"} else "phase.edit"
    before = phase.slug
    if "name" in rest:
        rename_phase(session, phase, rest.pop("name"))
    if changed:
        changed |= {"slug": (before, phase.slug)}
        record(session, caller, action, challenge=phase.challenge, of=phase, changes=changed)
    for name, value in rest.items():
        setattr(phase, name, value)
    require_valid_window(phase.opens_at, phase.closes_at)
    session.flush()
    return phase


def _change_rules(
    session: WriteSession, queue: Queue, caller: access.Caller, phase: Phase, changes: Mapping[str, Any]
) -> None:
    """Change how the phase reads labels and what it is scored by.

    Raises LabelRulesInUse, RecipeInUse, and InvalidRequest or InvalidRecipe with all faults.
    """
    labels = {name: changes[name] for name in LABEL_FIELDS if name in changes}
    if labels:
        raise_if_any(change_label_rules(session, caller, phase, labels))
    with recipe_within_body():
        if changes.get("recipe") is not None:
            set_phase_recipe(session, queue, caller, phase, changes["recipe"], draft=False)
        elif "recipe" in changes and has_own_recipe(session, phase):
            drop_phase_recipe(session, queue, caller, phase)
    if labels:
        raise_if_any(unfit_recipe_faults(session, phase))


def has_own_recipe(session: ReadSession, phase: Phase) -> bool:
    """Whether the phase is scored by a recipe of its own instead of that of the challenge."""
    return challenges.own_recipe(session, phase.id) is not None


def is_open_now(session: ReadSession, phase: Phase) -> bool:
    """Whether the phase accepts submissions now that are ranked."""
    accepting = phase.paused_at is None and phase.challenge.archived_at is None
    return accepting and challenges.is_open(phase, clock.now(session))


def phase_labels(phase: Phase) -> tuple[str, str | None]:
    """The task and the positive label of a phase: its own, else those of the challenge."""
    return label_rules.of_phase(phase)[:2]


def visible_phase_classes(session: ReadSession, caller: access.Caller, phase: Phase) -> list[str] | None:
    """The classes of a phase: those of its active gold, else the declared ones.

    Those of its own, declared or from its gold, only organizers see until it opens; those of the challenge, everybody.
    """
    active = gold.active(session, phase.id)
    classes = label_rules.of_phase(phase).classes if active is None else active.classes
    public = phase.challenge.classes is not None or phase.opens_at <= clock.now(session)
    return classes if public or access.is_organizer(session, caller, phase.challenge) else None
