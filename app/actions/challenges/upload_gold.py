"""Store a draft of the gold labels of a phase, with what scoring them needs, and read it back."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from app.actions.access import Caller, load_visible_phase, require_organizer
from app.errors import GoldNotDraft, InvalidGold, InvalidRequest, NotFound
from app.files import StoredFile
from app.formats import FileKind
from app.scoring.declaration.gold_metadata import GOLD_METADATA_KINDS, check_metadata_labels
from app.scoring_processes import ScoringProcesses
from app.store.queries import gold
from app.store.session import ReadSession, WriteSession
from app.store.tables import Challenge, GoldVersion, Phase, Submission

CLASSES_ACCESSORY = "classes"


def check_gold_upload(session: ReadSession, caller: Caller, slug: str, phase_slug: str) -> Phase:
    """The phase, if the caller may upload its gold; asked before the body is read."""
    phase = load_visible_phase(session, caller, slug, phase_slug)
    require_organizer(session, caller, phase.challenge)
    return phase


def gold_payload(
    path: Path,
    kind: FileKind,
    challenge: Challenge,
    *,
    sha256: str,
    classes: list[str] | None,
    accessories: Mapping[str, Any],
) -> dict[str, Any]:
    """What a child needs to know to read gold; with the SHA-256 of its file it can make it ready for the time to come."""
    return {
        "path": str(path),
        "sha256": sha256,
        **kind.to_dict(),
        "task": challenge.task,
        "positive_label": challenge.positive_label,
        "classes": classes,
        "beside": dict(accessories),
    }


def stored_file_kind(row: GoldVersion | Submission) -> FileKind:
    """How the file of a row is read."""
    return FileKind(row.format, row.encoding, row.layout)


def stored_gold_payload(path: Path, version: GoldVersion, challenge: Challenge) -> dict[str, Any]:
    """What a child needs to know to read a stored version."""
    return gold_payload(
        path,
        stored_file_kind(version),
        challenge,
        sha256=version.sha256,
        classes=version.classes,
        accessories=version.accessories,
    )


def inspect_gold(children: ScoringProcesses, request: Mapping[str, Any]) -> dict[str, Any]:
    """Have a child read the gold; raises InvalidGold with everything that is wrong with it."""
    answer = children.ask({"kind": "gold", "gold": dict(request)})
    if not answer["valid"]:
        told = {name: answer[name] for name in ("total", "total_at_least", "problems", "errors") if name in answer}
        raise InvalidGold(answer.get("detail"), remedy=answer.get("remedy"), **told)
    return answer


def store_gold(
    session: WriteSession,
    caller: Caller,
    slug: str,
    phase_slug: str,
    *,
    stored: StoredFile,
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
        public_instances=inspected["public_instances"],
        weighted=inspected["weighted"],
        void_instances=inspected["void_instances"],
        longest_id=inspected["longest_id"],
        notes=inspected["notes"],
        created_by=caller.user_id,
    )
    session.add(version)
    session.flush()
    return version


def load_gold_version(
    session: ReadSession, caller: Caller, slug: str, phase_slug: str, version: int, *, writes: bool = False
) -> tuple[Phase, GoldVersion]:
    """One version, for organizers; raises NotFound."""
    phase = load_visible_phase(session, caller, slug, phase_slug)
    require_organizer(session, caller, phase.challenge, writes=writes)
    row = gold.by_version(session, phase.id, version)
    if row is None:
        raise NotFound(f"The phase has no gold version {version}.")
    return phase, row


def list_gold_versions(session: ReadSession, caller: Caller, slug: str, phase_slug: str) -> list[GoldVersion]:
    """All versions, newest first, for organizers."""
    phase = load_visible_phase(session, caller, slug, phase_slug)
    require_organizer(session, caller, phase.challenge, writes=False)
    return gold.versions(session, phase.id)


def changed_gold_payload(
    session: ReadSession, caller: Caller, slug: str, phase_slug: str, number: int, *, path: Path, name: str, value: Any
) -> dict[str, Any]:
    """What a child has to check before an accessory of a draft changes; raises GoldNotDraft."""
    phase, version = load_gold_version(session, caller, slug, phase_slug, number, writes=True)
    if version.status != "draft":
        raise GoldNotDraft
    request = stored_gold_payload(path, version, phase.challenge)
    if not version.classes_declared:
        request["classes"] = None
    check_accessory(name, value, version)
    if name == CLASSES_ACCESSORY:
        return request | {"classes": value}
    return request | {"beside": version.accessories | {GOLD_METADATA_KINDS[name].field: value}}


def parse_accessory(name: str, value: Any) -> Any:
    """An accessory as it is kept; raises InvalidRequest with every fault."""
    return value if name == CLASSES_ACCESSORY else GOLD_METADATA_KINDS[name].parse(value)


def check_accessory(name: str, value: Any, version: GoldVersion) -> None:
    """Raise InvalidRequest for labels outside the vocabulary, and for classes that leave out labels in use."""
    if name != CLASSES_ACCESSORY:
        check_metadata_labels(GOLD_METADATA_KINDS[name], value, version.classes)
        return
    if len(set(value)) != len(value) or not value:
        raise InvalidRequest("The classes must be different labels, at least one.")
    for accessory in GOLD_METADATA_KINDS.values():
        if accessory.field in version.accessories:
            check_metadata_labels(accessory, version.accessories[accessory.field], value)


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
    """Set the classes or an accessory of a draft; raises GoldNotDraft."""
    _, version = load_gold_version(session, caller, slug, phase_slug, number, writes=True)
    if version.status != "draft":
        raise GoldNotDraft
    check_accessory(name, value, version)  # again: another accessory may have changed meanwhile
    if name == CLASSES_ACCESSORY:
        version.classes = inspected["classes"]
        version.classes_declared = True
        version.notes = inspected["notes"]
    else:
        version.accessories = version.accessories | {GOLD_METADATA_KINDS[name].field: value}
    session.flush()
    return version
