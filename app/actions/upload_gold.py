"""Store a draft of the gold labels of a phase, with what scoring them needs, and read it back."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from app.actions.access import Caller, require_organizer, see_phase
from app.children import Children
from app.errors import GoldNotDraft, InvalidGold, InvalidRequest, NotFound
from app.files import Stored
from app.formats import FileKind
from app.store import gold
from app.store.session import ReadSession, WriteSession
from app.store.tables import Challenge, GoldVersion, Phase, Submission

ACCESSORIES = {"classes": "classes", "train-frequencies": "train_frequencies", "class-weights": "class_weights"}
WEIGHTS = (1e-12, 1e12)  # the least and the greatest class weight that is not 0


def check_gold_upload(session: ReadSession, caller: Caller, slug: str, phase_slug: str) -> Phase:
    """The phase, if the caller may upload its gold; asked before the body is read."""
    phase = see_phase(session, caller, slug, phase_slug)
    require_organizer(session, caller, phase.challenge)
    return phase


def gold_request(
    path: Path, kind: FileKind, challenge: Challenge, *, classes: list[str] | None, accessories: Mapping[str, Any]
) -> dict[str, Any]:
    """What a child needs to know to read gold."""
    return {
        "path": str(path),
        **kind.to_dict(),
        "task": challenge.task,
        "positive_label": challenge.positive_label,
        "classes": classes,
        "train_frequencies": accessories.get("train_frequencies"),
        "class_weights": accessories.get("class_weights"),
    }


def stored_kind(row: GoldVersion | Submission) -> FileKind:
    """How the file of a row is read."""
    return FileKind(row.format, row.encoding, row.layout)


def request_of(path: Path, version: GoldVersion, challenge: Challenge) -> dict[str, Any]:
    """What a child needs to know to read a stored version."""
    return gold_request(
        path,
        stored_kind(version),
        challenge,
        classes=version.classes,
        accessories={"train_frequencies": version.train_frequencies, "class_weights": version.class_weights},
    )


def inspect(children: Children, request: Mapping[str, Any]) -> dict[str, Any]:
    """Have a child read the gold; raises InvalidGold with everything that is wrong with it."""
    answer = children.ask({"kind": "gold", "gold": dict(request)})
    if not answer["valid"]:
        raise InvalidGold(answer.get("detail"), total=answer["total"], problems=answer["problems"])
    return answer


def store_gold(
    session: WriteSession,
    caller: Caller,
    slug: str,
    phase_slug: str,
    *,
    stored: Stored,
    kind: FileKind,
    inspected: Mapping[str, Any],
    declared: bool,
) -> GoldVersion:
    """A draft, the next version of the phase's gold.

    `declared` says whether the challenge had classes when the file was inspected: other gold may have fixed them since.
    """
    phase = check_gold_upload(session, caller, slug, phase_slug)
    version = GoldVersion(
        phase_id=phase.id,
        version=gold.next_version(session, phase.id),
        status="draft",
        file_key=stored.key,
        sha256=stored.sha256,
        size=stored.size,
        **kind.to_dict(),
        instances=inspected["instances"],
        classes=inspected["classes"],
        classes_declared=declared,
        has_splits=inspected["has_splits"],
        notes=inspected["notes"],
        created_by=caller.user_id,
    )
    session.add(version)
    session.flush()
    return version


def see_gold(
    session: ReadSession, caller: Caller, slug: str, phase_slug: str, version: int, *, writes: bool = False
) -> tuple[Phase, GoldVersion]:
    """One version, for organizers; raises NotFound."""
    phase = see_phase(session, caller, slug, phase_slug)
    require_organizer(session, caller, phase.challenge, writes=writes)
    row = gold.by_version(session, phase.id, version)
    if row is None:
        raise NotFound(f"The phase has no gold version {version}.")
    return phase, row


def list_gold(session: ReadSession, caller: Caller, slug: str, phase_slug: str) -> list[GoldVersion]:
    """All versions, newest first, for organizers."""
    phase = see_phase(session, caller, slug, phase_slug)
    require_organizer(session, caller, phase.challenge, writes=False)
    return gold.versions(session, phase.id)


def changed_request(
    session: ReadSession, caller: Caller, slug: str, phase_slug: str, number: int, *, path: Path, name: str, value: Any
) -> dict[str, Any]:
    """What a child has to check before an accessory of a draft changes; raises GoldNotDraft."""
    phase, version = see_gold(session, caller, slug, phase_slug, number, writes=True)
    if version.status != "draft":
        raise GoldNotDraft
    request = request_of(path, version, phase.challenge)
    if not version.classes_declared:
        request["classes"] = None
    check_accessory(name, value, version)
    return request | {ACCESSORIES[name]: value}


def check_accessory(name: str, value: Any, version: GoldVersion) -> None:
    """Raise InvalidRequest for labels outside the vocabulary, and for classes that leave out labels in use."""
    if name == "classes":
        if len(set(value)) != len(value) or not value:
            raise InvalidRequest("The classes must be different labels, at least one.")
        for other in ("train_frequencies", "class_weights"):
            _check_known(getattr(version, other) or {}, value, f"of the {other.replace('_', ' ')} of this draft ")
        return
    _check_known(value, version.classes, "")
    if name == "class-weights":
        _check_weights(value)


def _check_known(labels: Mapping[str, Any], classes: Sequence[str], whose: str) -> None:
    known = set(classes)
    strange = [label for label in labels if label not in known]
    if strange:
        raise InvalidRequest(
            f"{len(strange)} labels {whose}are not among the classes: {', '.join(map(repr, strange[:5]))}.",
            errors=[{"pointer": f"/{label}", "detail": "is not among the classes"} for label in strange[:100]],
        )


def _check_weights(weights: Mapping[str, float]) -> None:
    """Raise InvalidRequest for weights of which none counts, or so far apart that sums of them outgrow a number."""
    low, high = WEIGHTS
    if not any(weights.values()):
        raise InvalidRequest("All class weights are 0; give at least one class a weight.")
    faults = [
        {"pointer": f"/{label}", "detail": f"must be 0, or from {low:g} to {high:g}"}
        for label, weight in weights.items()
        if weight and not low <= weight <= high
    ]
    if faults:
        raise InvalidRequest(f"{len(faults)} weights are too small or too large.", errors=faults[:100])


def put_accessory(
    session: WriteSession,
    caller: Caller,
    slug: str,
    phase_slug: str,
    number: int,
    *,
    name: str,
    value: Any,
    inspected: Mapping[str, Any],
) -> GoldVersion:
    """Set classes, training frequencies or class weights of a draft; raises GoldNotDraft."""
    _, version = see_gold(session, caller, slug, phase_slug, number, writes=True)
    if version.status != "draft":
        raise GoldNotDraft
    check_accessory(name, value, version)  # again: another accessory may have changed meanwhile
    if name == "classes":
        version.classes = inspected["classes"]
        version.classes_declared = True
        version.notes = inspected["notes"]
    else:
        setattr(version, ACCESSORIES[name], value)
    session.flush()
    return version
