"""Activate gold labels, the first version of a phase."""

from collections.abc import Mapping, Sequence

from app.actions.access import Caller
from app.actions.challenges.change_recipe import normalize_recipe, parse_stored_recipe
from app.actions.challenges.upload_gold import load_gold_version
from app.errors import GoldAlreadyActive, GoldNotDraft, InvalidGold
from app.scoring.declaration.gold_metadata import GOLD_METADATA_KINDS
from app.scoring.declaration.metric_syntax import pluralize
from app.store import clock
from app.store.queries import challenges, gold
from app.store.session import WriteSession
from app.store.tables import GoldVersion, Phase


def activate_gold(
    session: WriteSession, caller: Caller, slug: str, phase_slug: str, number: int
) -> tuple[GoldVersion, list[str]]:
    """Activate a draft; returns it with remarks for the organizer.

    Raises GoldAlreadyActive, GoldNotDraft, InvalidGold, and InvalidRecipe if the recipe names labels that are not among
    the classes.
    """
    phase, version = load_gold_version(session, caller, slug, phase_slug, number, writes=True)
    if version.status == "active":
        return version, []
    if gold.active(session, phase.id) is not None:
        raise GoldAlreadyActive
    if version.status != "draft":
        raise GoldNotDraft
    first = phase.challenge.classes is None
    _fix_challenge_classes(phase, version)
    _require_known_labels(session, phase, version)
    remarks = _remarks(session, phase, version, first=first)
    version.status = "active"
    version.activated_at = clock.now(session)
    session.flush()
    return version, remarks


def _fix_challenge_classes(phase: Phase, version: GoldVersion) -> None:
    """Take the classes of the challenge from its first active gold; later gold must not have others.

    A draft may have been read before other gold fixed the classes: then it takes them over.
    """
    challenge = phase.challenge
    if challenge.classes is None:
        challenge.classes = version.classes
        return
    known = set(challenge.classes)
    unknown = [label for label in version.classes if label not in known]
    if unknown:
        count = pluralize(len(unknown), "label of this gold is", "labels of this gold are")
        labels = ", ".join(map(repr, unknown[:5]))
        raise InvalidGold(f"{count} not among the classes of the challenge, which earlier gold fixed: {labels}.")
    if not version.classes_declared:
        version.classes = challenge.classes


def _require_known_labels(session: WriteSession, phase: Phase, version: GoldVersion) -> None:
    """Require that the positive label and the labels that the recipe names are among the classes."""
    positive = phase.challenge.positive_label
    if positive is not None and positive not in version.classes:
        raise InvalidGold(f"The positive label '{positive}' is not among the classes {version.classes[:10]}.")
    body, task = challenges.active_recipe(session, phase.challenge_id).body, phase.challenge.task
    normalize_recipe(body, task=task, positive_label=positive, classes=version.classes, stored=True)


def _remarks(session: WriteSession, phase: Phase, version: GoldVersion, *, first: bool) -> list[str]:
    """Remarks for the organizer; the `first` gold of a challenge fixed its classes, unless they were declared."""
    remarks = []
    if first and not version.classes_declared:
        remarks.append(
            f"No classes were declared, so the {pluralize(len(version.classes), 'label')} of this gold, sorted, "
            "are the vocabulary from now on, and everybody can read them once a phase with gold has opened."
        )
    recipe = parse_stored_recipe(phase.challenge, challenges.active_recipe(session, phase.challenge_id))
    for kind in GOLD_METADATA_KINDS.values():
        metrics = [call.text for call in recipe.metrics if kind.field in call.metric.needs]
        if metrics and not version.accessories.get(kind.field):
            name = kind.name.replace("-", " ").replace("train ", "training ")
            remarks.append(f"{', '.join(metrics)} will be null: this gold has no {name}.")
    cost_metrics = [call.text for call in recipe.metrics if call.metric.key == "expected_cost"]
    remarks += _missing_cost_remarks(version, cost_metrics)
    weights = version.accessories.get("class_weights")
    without_weight = [name for name in version.classes if name not in (weights or {})]
    weight_metrics = [call.text for call in recipe.metrics if call.metric.key == "weighted_accuracy"]
    if weight_metrics and weights and without_weight:
        count = pluralize(len(without_weight), "class has", "classes have")
        remarks.append(f"{', '.join(weight_metrics)} will be null: {count} no weight.")
    return remarks


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
