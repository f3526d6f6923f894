"""Store drafts of the gold labels of a phase and their metadata, and read them."""

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, cast

from app.actions.access import Caller, load_organized_phase
from app.errors import GoldNotDraft, InvalidGold, InvalidRequest, NotFound
from app.files import StoredFile
from app.formats import FileKind
from app.pipeline import SourceFile
from app.prepared.gold_source import GoldFile, GoldSource
from app.scoring.declaration.gold_metadata import GOLD_METADATA_KINDS, check_metadata_labels
from app.scoring.declaration.task import TaskKind
from app.scoring_processes import ScoringProcesses
from app.scoring_processes.messages import CheckGold, FileResult, GoldSummary, Refusal
from app.store.queries import gold
from app.store.session import ReadSession, WriteSession
from app.store.tables import Challenge, GoldVersion, Phase, Submission

CLASSES_NAME = "classes"


def new_gold_file(path: Path, kind: FileKind, challenge: Challenge, sha256: str) -> GoldFile:
    """An uploaded file that is to become a draft; its SHA-256 lets the scoring process prepare the gold at once."""
    task = cast("TaskKind", challenge.task)
    return GoldFile(SourceFile(path, kind), task, challenge.positive_label, challenge.classes, sha256=sha256)


def stored_file_kind(row: GoldVersion | Submission) -> FileKind:
    """The format, encoding and layout of the stored file of a row."""
    return FileKind(row.format, row.encoding, row.layout)


def stored_gold_file(path: Path, version: GoldVersion, challenge: Challenge) -> GoldFile:
    """The file of a stored version."""
    file = new_gold_file(path, stored_file_kind(version), challenge, version.sha256)
    return replace(file, classes=version.classes, metadata=version.accessories)


def inspect_gold(processes: ScoringProcesses, file: GoldFile) -> GoldSummary:
    """Have a scoring process read the gold; raises InvalidGold with all of its problems."""
    reply = processes.call(CheckGold(GoldSource(file=file)))
    if isinstance(reply, GoldSummary):
        return reply
    if isinstance(reply, Refusal):
        errors: dict[str, Any] = {} if reply.errors is None else {"errors": reply.errors}
        raise InvalidGold(reply.detail, remedy=reply.remedy, total={}, problems=[], **errors)
    assert isinstance(reply, FileResult)
    file_problems = reply.to_dict()
    raise InvalidGold(
        **{name: file_problems[name] for name in ("total", "total_at_least", "problems") if name in file_problems}
    )


def store_gold(
    session: WriteSession,
    caller: Caller,
    slug: str,
    phase_slug: str,
    *,
    stored: StoredFile,
    kind: FileKind,
    summary: GoldSummary,
    declared: bool,
) -> GoldVersion:
    """Store a draft, the next version of the gold of the phase.

    `declared` is whether the challenge had classes when the file was inspected; other gold may have fixed them since.
    """
    phase = load_organized_phase(session, caller, slug, phase_slug)
    version = GoldVersion(
        phase_id=phase.id,
        version=gold.next_version(session, phase.id),
        status="draft",
        file_key=stored.key,
        sha256=stored.sha256,
        size=stored.size,
        **kind.to_dict(),
        classes_declared=declared,
        **asdict(summary),
        created_by=caller.user_id,
    )
    session.add(version)
    session.flush()
    return version


def load_gold_version(
    session: ReadSession, caller: Caller, slug: str, phase_slug: str, version: int, *, writes: bool = False
) -> tuple[Phase, GoldVersion]:
    """One version, for organizers; raises NotFound."""
    phase = load_organized_phase(session, caller, slug, phase_slug, writes=writes)
    row = gold.by_version(session, phase.id, version)
    if row is None:
        raise NotFound(f"The phase has no gold version {version}.")
    return phase, row


def list_gold_versions(session: ReadSession, caller: Caller, slug: str, phase_slug: str) -> list[GoldVersion]:
    """All versions, newest first, for organizers."""
    return gold.versions(session, load_organized_phase(session, caller, slug, phase_slug, writes=False).id)


def changed_gold_file(
    session: ReadSession, caller: Caller, slug: str, phase_slug: str, number: int, *, path: Path, name: str, value: Any
) -> GoldFile:
    """The gold of a draft with changed metadata, to be checked before the change is stored; raises GoldNotDraft."""
    phase, version = load_gold_version(session, caller, slug, phase_slug, number, writes=True)
    if version.status != "draft":
        raise GoldNotDraft
    file = stored_gold_file(path, version, phase.challenge)
    if not version.classes_declared:
        file = replace(file, classes=None)
    _check_gold_metadata(name, value, version)
    if name == CLASSES_NAME:
        return replace(file, classes=value)
    return replace(file, metadata=version.accessories | {GOLD_METADATA_KINDS[name].field: value})


def parse_gold_metadata(name: str, value: Any) -> Any:
    """The stored form of gold metadata; raises InvalidRequest with all faults."""
    return value if name == CLASSES_NAME else GOLD_METADATA_KINDS[name].parse(value)


def _check_gold_metadata(name: str, value: Any, version: GoldVersion) -> None:
    """Raise InvalidRequest for labels outside the vocabulary, and for classes that omit labels in use."""
    if name != CLASSES_NAME:
        check_metadata_labels(GOLD_METADATA_KINDS[name], value, version.classes)
        return
    if len(set(value)) != len(value) or not value:
        raise InvalidRequest("The classes must be distinct labels, at least one.")
    for kind in GOLD_METADATA_KINDS.values():
        if kind.field in version.accessories:
            check_metadata_labels(kind, version.accessories[kind.field], value)


def put_gold_metadata(
    session: WriteSession,
    caller: Caller,
    slug: str,
    phase_slug: str,
    number: int,
    *,
    name: str,
    value: Any,
    summary: GoldSummary,
) -> GoldVersion:
    """Set the classes or other metadata of a draft; raises GoldNotDraft."""
    _, version = load_gold_version(session, caller, slug, phase_slug, number, writes=True)
    if version.status != "draft":
        raise GoldNotDraft
    _check_gold_metadata(name, value, version)  # again: other metadata may have changed since the first check
    if name == CLASSES_NAME:
        version.classes = summary.classes
        version.classes_declared = True
        version.notes = summary.notes
    else:
        version.accessories = version.accessories | {GOLD_METADATA_KINDS[name].field: value}
    session.flush()
    return version
