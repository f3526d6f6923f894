"""Put gold labels in force: the first version of a phase at once."""

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
    """The version now in force, and what the organizer should know.

    Raises GoldActive, GoldNotDraft,
    InvalidGold, and InvalidRecipe when the recipe names labels that are not among the classes.
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
    """The first gold in force fixes the classes of the challenge; a draft read before that must keep to them."""
    challenge = phase.challenge
    if challenge.classes is None:
        challenge.classes = version.classes
        return
    known = set(challenge.classes)
    strange = [label for label in version.classes if label not in known]
    if strange:
        raise InvalidGold(
            f"{pluralize(len(strange), 'label of this gold is', 'labels of this gold are')} not among the classes of the challenge, which earlier gold fixed: "
            f"{', '.join(map(repr, strange[:5]))}."
        )
    if not version.classes_declared:
        version.classes = challenge.classes


def _require_known_labels(session: WriteSession, phase: Phase, version: GoldVersion) -> None:
    """The positive label, and the labels that the recipe names, must be among the classes."""
    positive = phase.challenge.positive_label
    if positive is not None and positive not in version.classes:
        raise InvalidGold(f"The positive label '{positive}' is not among the classes {version.classes[:10]}.")
    recipe = challenges.active_recipe(session, phase.challenge_id)
    normalize_recipe(
        recipe.body, task=phase.challenge.task, positive_label=positive, classes=version.classes, stored=True
    )


def _remarks(session: WriteSession, phase: Phase, version: GoldVersion, *, first: bool) -> list[str]:
    """What the organizer should know; `first` gold of the challenge fixed the classes unless they were declared."""
    remarks = []
    if first and not version.classes_declared:
        remarks.append(
            f"No classes were declared, so the {pluralize(len(version.classes), 'label')} of this gold, sorted, "
            "are the vocabulary from now on, and everybody may read them once a phase with gold has opened."
        )
    recipe = parse_stored_recipe(phase.challenge, challenges.active_recipe(session, phase.challenge_id))
    for accessory in GOLD_METADATA_KINDS.values():
        lacking = [call.text for call in recipe.metrics if accessory.field in call.metric.needs]
        if lacking and not version.accessories.get(accessory.field):
            what = accessory.name.replace("-", " ").replace("train ", "training ")
            remarks.append(f"{', '.join(lacking)} will be null: this gold has no {what}.")
    remarks += _missing_cost_remarks(
        version, [call.text for call in recipe.metrics if call.metric.key == "expected_cost"]
    )
    weights = version.accessories.get("class_weights")
    weightless = [name for name in version.classes if name not in (weights or {})]
    weighted = [call.text for call in recipe.metrics if call.metric.key == "weighted_accuracy"]
    if weighted and weights and weightless:
        without = pluralize(len(weightless), "class has", "classes have")
        remarks.append(f"{', '.join(weighted)} will be null: {without} no weight.")
    return remarks


def _missing_cost_remarks(version: GoldVersion, metrics: list[str]) -> list[str]:
    """A remark where the cost matrix leaves errors without a cost."""
    costs = version.accessories.get("cost_matrix")
    if not metrics or not costs:
        return []
    lacking = next(
        filter(None, (_first_missing_cost(gold, costs.get(gold, {}), version.classes) for gold in version.classes)),
        None,
    )
    if lacking is None:
        return []
    return [
        f"{', '.join(metrics)} will be null: the cost matrix does not say what some errors cost, such as {lacking}."
    ]


def _first_missing_cost(gold: str, row: Mapping[str, float], classes: Sequence[str]) -> str | None:
    """An error on this class that its row gives no cost; a row of full length, which names classes only, has them all."""
    if len(row) - (gold in row) >= len(classes) - 1:
        return None
    return next((f"{gold} taken for {label}" for label in classes if label != gold and label not in row), None)
