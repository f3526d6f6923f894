"""Check and change how a challenge, or a phase that is a subtask, reads labels: task, positive label and classes."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from app.actions.access import Caller
from app.actions.audit.record import changed_fields, record
from app.actions.challenges.change_recipe import normalize_recipe
from app.errors import InvalidRecipe, LabelRulesInUse, PhaseReleased
from app.store.queries import challenges, gold, label_rules
from app.store.queries.label_rules import LabelRules
from app.store.session import ReadSession, WriteSession
from app.store.tables import Challenge, Phase

LABEL_FIELDS = ("task", "positive_label", "classes")
RULE_FIELDS = frozenset({*LABEL_FIELDS, "recipe"})
Faults = list[dict[str, str]]


def rule_faults(rules: LabelRules) -> Faults:
    """Faults of a task, a positive label and classes that contradict each other."""
    faults: Faults = []
    task, positive, classes = rules
    if task == "binary" and not positive:
        faults.append({"pointer": "/positive_label", "detail": "a binary task needs its positive label"})
    if task != "binary" and positive:
        faults.append({"pointer": "/positive_label", "detail": f"a {task} task has no positive label"})
    if classes is not None:
        if len(set(classes)) != len(classes):
            faults.append({"pointer": "/classes", "detail": "a class is listed twice"})
        if not classes:
            faults.append({"pointer": "/classes", "detail": "list at least one class, or leave the classes out"})
        if task == "multiclass" and len(classes) == 1:
            faults.append({"pointer": "/classes", "detail": "a multiclass task has at least two classes, not 1"})
        if task == "binary" and len(classes) != 2:
            faults.append({"pointer": "/classes", "detail": f"a binary task has two classes, not {len(classes)}"})
        if positive and positive not in classes:
            faults.append({"pointer": "/positive_label", "detail": "is not among the classes"})
    return faults


def own_rule_faults(own: Mapping[str, Any], shared: LabelRules) -> Faults:
    """Faults of the label rules that a phase states itself, beside those of its challenge."""
    if own.get("classes") is not None and shared.classes is not None:
        detail = "the challenge declares classes, which bind every phase; declare them for the phases alone"
        return [{"pointer": "/classes", "detail": detail}]
    if not any(own.get(name) is not None for name in LABEL_FIELDS):
        return []
    return rule_faults(planned_rules(own, shared))


def planned_rules(own: Mapping[str, Any], shared: LabelRules) -> LabelRules:
    """The label rules of a phase that states these itself."""
    return label_rules.combine(shared, *(own.get(name) for name in LABEL_FIELDS))


def recipe_faults(recipe: Mapping[str, Any], rules: LabelRules, *, own: bool) -> Faults:
    """Faults of a recipe in a phase with these label rules, whose own it is or which shares that of the challenge."""
    try:
        normalize_recipe(recipe, rules, stored=not own)
    except InvalidRecipe as bad:
        faults: Faults = bad.extra["errors"]
        if own:
            return [{**fault, "pointer": "/recipe" + fault["pointer"]} for fault in faults]
        reasons = "; ".join(dict.fromkeys(fault["detail"].rstrip(".") for fault in faults))
        detail = f"the recipe of the challenge does not fit this phase, which needs one of its own: {reasons}"
        return [{"pointer": "/recipe", "detail": detail}]
    return []


@contextmanager
def recipe_within_body() -> Iterator[None]:
    """Let the faults of a recipe name their places in a body that holds it as the field `recipe`."""
    try:
        yield
    except InvalidRecipe as bad:
        errors = [{**fault, "pointer": "/recipe" + fault["pointer"]} for fault in bad.extra["errors"]]
        raise InvalidRecipe(bad.detail, errors=errors) from bad


def change_label_rules(
    session: WriteSession, caller: Caller, row: Challenge | Phase, changes: Mapping[str, Any]
) -> Faults:
    """Set label rules of a challenge or a phase; returns the faults that they have then.

    Gold that was read with other rules retires. Raises LabelRulesInUse if anything was submitted that they concern, and
    PhaseReleased.
    """
    challenge = row if isinstance(row, Challenge) else row.challenge
    changes = {name: value for name, value in changes.items() if getattr(row, name) != value}
    phases = challenges.phases_of(session, challenge.id) if isinstance(row, Challenge) else [row]
    before, changed = {phase.id: label_rules.of_phase(phase) for phase in phases}, changed_fields(row, changes)
    for name, value in changes.items():
        setattr(row, name, value)
    for phase in phases:
        if label_rules.of_phase(phase) == before[phase.id]:
            continue
        if phase.released_at is not None:
            raise PhaseReleased(f"The private scores of '{phase.slug}' have been released, so its gold stays.")
        if challenges.has_submissions(session, phase.id):
            raise LabelRulesInUse(
                f"Something was submitted to the phase '{phase.slug}', so its labels stay as they are."
            )
        _retire_gold(session, caller, phase)
    if changed:
        record(session, caller, "labels.change", challenge=challenge, of=row, changes=changed)
    session.flush()
    shared = label_rules.of_challenge(challenge)
    if isinstance(row, Phase):
        return own_rule_faults(_own_fields(row), shared)
    return [*rule_faults(shared), *_faults_of_phases(phases, shared)]


def _retire_gold(session: WriteSession, caller: Caller, phase: Phase) -> None:
    active = gold.active(session, phase.id)
    if active is not None:
        active.status = "retired"
        changes = {"active_gold": (active.version, None)}
        record(session, caller, "gold.retire", challenge=phase.challenge, of=phase, changes=changes)


def _own_fields(phase: Phase) -> dict[str, Any]:
    return {name: getattr(phase, name) for name in LABEL_FIELDS}


def _faults_of_phases(phases: Sequence[Phase], shared: LabelRules) -> Faults:
    return [
        {"pointer": fault["pointer"], "detail": f"in the phase '{phase.slug}': {fault['detail']}"}
        for phase in phases
        for fault in own_rule_faults(_own_fields(phase), shared)
    ]


def unfit_recipe_faults(session: ReadSession, phase: Phase) -> Faults:
    """Faults of the active recipe of a phase under its label rules."""
    recipe = challenges.active_recipe(session, phase)
    return recipe_faults(recipe.body, label_rules.of_phase(phase), own=recipe.phase_id is not None)
