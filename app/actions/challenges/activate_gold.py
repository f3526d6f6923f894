"""Activate gold labels: at once before the first submission, else by a switch of the board."""

from collections.abc import Mapping, Sequence

from app.actions.access import Caller
from app.actions.audit.record import record
from app.actions.challenges.change_recipe import normalize_recipe, parse_stored_recipe, require_unknown_cells_fit
from app.actions.challenges.upload_gold import load_gold_version
from app.actions.scoring_tasks.score_tests_again import score_tests_again
from app.actions.versions.request_switch import (
    record_switch,
    request_switch,
    require_no_pending_switch,
    require_reason,
)
from app.actions.versions.require_comparable import require_comparable
from app.actions.versions.target_scores import target_scorer_version
from app.errors import GoldNotDraft, InvalidGold, PhaseReleased
from app.queue import Queue
from app.scoring.declaration.gold_metadata import GOLD_METADATA_KINDS
from app.scoring.declaration.metric import UNKNOWN_CELLS
from app.scoring.declaration.metric_syntax import pluralize
from app.scoring.declaration.requirements import unknown_cells_reason
from app.store import clock
from app.store.queries import challenges, gold, label_rules
from app.store.queries.board_versions import BoardVersion, active_version
from app.store.session import WriteSession
from app.store.tables import GoldVersion, Phase

_MAX_LISTED = 10  # labels in a remark


def activate_gold(
    session: WriteSession,
    caller: Caller,
    slug: str,
    phase_slug: str,
    number: int,
    *,
    queue: Queue,
    lists_instances: bool = False,
) -> tuple[GoldVersion, list[str]]:
    """Activate a draft or a retired version; returns it with remarks for the organizer.

    Before the first submission it is active at once. After that, the switch of the board is requested, with a reason:
    the version is `activating` until every submission has its scores. The caller's lock of the challenge keeps
    submissions out until this is stored. Raises SwitchPending, ReasonRequired, PhaseReleased, GoldNotDraft,
    InvalidGold, and InvalidRecipe if the recipe names labels that are not among the classes.
    """
    phase, version = load_gold_version(session, caller, slug, phase_slug, number, writes=True)
    require_no_pending_switch(session, phase)
    if version.status == "active":
        return version, ["It is active already, so nothing was done."]
    before = active_version(session, phase)
    is_correction = before is not None and challenges.has_submissions(session, phase.id)
    if phase.released_at is not None and not is_correction:
        raise PhaseReleased("The private scores of this phase have been released, so the splits of its gold stay.")
    if version.status not in {"draft", "retired"}:
        raise GoldNotDraft
    if is_correction:
        require_reason(caller)
    _settle_classes(phase, version)
    if is_correction and before is not None:
        require_comparable(session, phase, before.gold, version)
    _require_known_labels(session, phase, version)
    remarks = _remarks(session, phase, version)
    target = BoardVersion(version, challenges.active_recipe(session, phase), phase.scorer_version)
    numbers = {"active_gold": (None if before is None else before.gold.version, version.version)}
    record(session, caller, "gold.activate", challenge=phase.challenge, of=phase, changes=numbers)
    if is_correction:
        target = target._replace(scorer_version=target_scorer_version(phase.scorer_version))
        request_switch(session, caller, phase, before, target, lists_instances=lists_instances)
        return version, remarks
    if before is not None:
        before.gold.status = "retired"
        session.flush()
    version.status = "active"
    version.activated_at = clock.now(session)
    session.flush()
    record_switch(session, caller, phase, before, target)
    score_tests_again(session, queue, phase)
    return version, remarks


def _settle_classes(phase: Phase, version: GoldVersion) -> None:
    """Take the classes that the challenge or the phase declares, which may have changed since the file was read."""
    rules = label_rules.of_phase(phase)
    if (version.task, version.positive_label) != (rules.task, rules.positive_label):
        was, now = (
            f"'{task}'" if label is None else f"'{task}' with the positive label '{label}'"
            for task, label in ((version.task, version.positive_label), rules[:2])
        )
        raise InvalidGold(
            f"This version was read for the task {was}, but the task is {now} now. Upload the file again."
        )
    if rules.classes is None:
        return
    if version.status == "retired" and version.classes != rules.classes:
        raise InvalidGold("The classes were changed since this version was active. Upload the file again.")
    known = set(rules.classes)
    unknown = [label for label in version.classes if label not in known]
    if unknown:
        count = pluralize(len(unknown), "label of this gold is", "labels of this gold are")
        labels = ", ".join(map(repr, unknown[:5]))
        raise InvalidGold(f"{count} not among the declared classes: {labels}.")
    if not version.classes_declared:
        if version.classes != rules.classes:
            version.commitment = None  # it was over the classes before; the next score that needs it renews it
        version.classes, version.classes_declared = rules.classes, True


def _require_known_labels(session: WriteSession, phase: Phase, version: GoldVersion) -> None:
    """Require that the positive label and the labels that the recipe names are among the classes."""
    positive = version.positive_label
    if positive is not None and positive not in version.classes:
        raise InvalidGold(f"The positive label '{positive}' is not among the classes {version.classes[:10]}.")
    body = challenges.active_recipe(session, phase).body
    require_unknown_cells_fit(normalize_recipe(body, label_rules.of_gold(version), stored=True)[1], version)


def _remarks(session: WriteSession, phase: Phase, version: GoldVersion) -> list[str]:
    """Remarks for the organizer."""
    remarks = []
    if not version.classes_declared:
        remarks.append(
            f"No classes were declared, so the {pluralize(len(version.classes), 'label')} of this gold, sorted, "
            "are the vocabulary of this phase, and everybody can read them once it has opened."
        )
    remarks += _differences(session, phase, version)
    recipe = parse_stored_recipe(phase, challenges.active_recipe(session, phase))
    for kind in GOLD_METADATA_KINDS.values():
        metrics = [call.text for call in recipe.metrics if kind.field in call.metric.needs]
        if metrics and not version.accessories.get(kind.field):
            name = kind.name.replace("-", " ").replace("train ", "training ")
            remarks.append(f"{', '.join(metrics)} will be null: this gold has no {name}.")
    lacking = [call.text for call in recipe.metrics if unknown_cells_reason(call) is not None]
    if lacking and version.accessories.get(UNKNOWN_CELLS):
        remarks.append(f"{', '.join(lacking)} will be null: not defined for gold with unknown cells.")
    cost_metrics = [call.text for call in recipe.metrics if call.metric.key == "expected_cost"]
    remarks += _missing_cost_remarks(version, cost_metrics)
    weights = version.accessories.get("class_weights")
    without_weight = [name for name in version.classes if name not in (weights or {})]
    weight_metrics = [call.text for call in recipe.metrics if call.metric.key == "weighted_accuracy"]
    if weight_metrics and weights and without_weight:
        count = pluralize(len(without_weight), "class has", "classes have")
        remarks.append(f"{', '.join(weight_metrics)} will be null: {count} no weight.")
    return remarks


def _differences(session: WriteSession, phase: Phase, version: GoldVersion) -> list[str]:
    """Remarks on classes that only one of this phase and another one of the same task has."""
    remarks = []
    for sibling in challenges.phases_of(session, phase.challenge_id):
        other = None if sibling.id == phase.id else gold.active(session, sibling.id)
        if other is None or other.task != version.task:
            continue
        here, there = (_list_labels(of, without) for of, without in ((version, other), (other, version)))
        if here or there:
            parts = [f"{labels} only {where}" for labels, where in ((here, "here"), (there, "there")) if labels]
            remarks.append(f"The classes differ from those of the phase '{sibling.slug}': {'; '.join(parts)}.")
    return remarks


def _list_labels(of: GoldVersion, without: GoldVersion) -> str:
    """Some of the classes that another version does not have."""
    known = set(without.classes)
    labels = [label for label in of.classes if label not in known]
    shown = ", ".join(f"'{label}'" for label in labels[:_MAX_LISTED])
    return shown + (f" and {len(labels) - _MAX_LISTED} more" if len(labels) > _MAX_LISTED else "")


def _missing_cost_remarks(version: GoldVersion, metrics: list[str]) -> list[str]:
    """A remark if the cost matrix leaves errors without a cost."""
    costs = version.accessories.get("cost_matrix")
    if not metrics or not costs:
        return []
    classes = version.classes
    lacking = next(filter(None, (_first_missing_cost(label, costs.get(label, {}), classes) for label in classes)), None)
    reason = f"the cost matrix has no cost for some errors, such as {lacking}"
    return [] if lacking is None else [f"{', '.join(metrics)} will be null: {reason}."]


def _first_missing_cost(gold: str, row: Mapping[str, float], classes: Sequence[str]) -> str | None:
    """An error on this class without a cost in its row, if any.

    A row of full length has them all, as it names only classes.
    """
    if len(row) - (gold in row) >= len(classes) - 1:
        return None
    return next((f"{gold} predicted as {label}" for label in classes if label != gold and label not in row), None)
