"""Store drafts of the gold labels of a phase and their metadata, and read them."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from app.actions.access import Caller, load_organized_phase
from app.actions.audit.record import record
from app.errors import GoldNotDraft, InvalidGold, InvalidRequest, NotFound
from app.files import StoredFile
from app.formats import FileKind
from app.pipeline import SourceFile
from app.prepared.gold_source import GoldFile, GoldSource
from app.scoring.declaration.gold_metadata import GOLD_METADATA_KINDS, check_metadata_labels
from app.scoring_processes import ScoringProcesses
from app.scoring_processes.messages import CheckGold, FileResult, GoldSummary, Refusal
from app.store.queries import draft_previews, gold, label_rules
from app.store.queries.label_rules import LabelRules
from app.store.session import ReadSession, WriteSession
from app.store.tables import GoldVersion, Phase, Submission

CLASSES_NAME = "classes"


@dataclass(frozen=True, slots=True)
class FollowedGold:
    """The active version that later gold must follow, because something was submitted; `name` as in GoldSource."""

    version: GoldVersion
    name: str
    keeps_splits: bool
    """Whether the instances must stay in their splits, because the private scores are released."""

    @property
    def rules(self) -> LabelRules:
        """The rules by which the later gold is read: the classes are fixed."""
        return label_rules.of_gold(self.version)

    def source(self, path: Path) -> GoldSource:
        """The active version for a scoring process, whose file is at `path`."""
        return GoldSource(self.name, stored_gold_file(path, self.version))

    def take_over(self, summary: GoldSummary) -> dict[str, Any]:
        """The columns of the later version that do not come from its file."""
        metadata = {name: value for name, value in self.version.accessories.items() if name not in summary.left_out}
        kinds = {kind.field: kind.name for kind in GOLD_METADATA_KINDS.values()}
        what = ", ".join(["classes", "seed of draws", *(name for field, name in kinds.items() if field in metadata)])
        notes = [*summary.notes, f"taken over from version {self.version.version}: {what}"]
        if summary.left_out:
            names = ", ".join(kinds[field] for field in summary.left_out)
            notes.append(f"not taken over, because they do not fit these instances: {names}; add them to this draft")
        seed = self.version.draw_seed
        return {"notes": notes, "draw_seed": seed, "accessories": metadata} | self.difference(summary, metadata)

    def difference(self, summary: GoldSummary, metadata: Mapping[str, Any]) -> dict[str, Any]:
        """The columns that say how gold with this metadata differs from this version."""
        assert summary.difference is not None
        found = dict(summary.difference)
        changes = found.pop("changes")
        fields = {kind.field: kind.name for kind in GOLD_METADATA_KINDS.values()}
        before = self.version.accessories
        differing = [name for field, name in fields.items() if before.get(field) != metadata.get(field)]
        return {"difference": {"base": self.version.version, **found, "metadata": differing}, "changes": changes}


def new_gold_file(path: Path, kind: FileKind, rules: LabelRules, sha256: str) -> GoldFile:
    """An uploaded file that is to become a draft; its SHA-256 lets the scoring process prepare the gold at once."""
    return GoldFile(SourceFile(path, kind), rules.task, rules.positive_label, rules.classes, sha256=sha256)


def stored_file_kind(row: GoldVersion | Submission) -> FileKind:
    """The format, encoding and layout of the stored file of a row."""
    return FileKind(row.format, row.encoding, row.layout)


def stored_gold_file(path: Path, version: GoldVersion) -> GoldFile:
    """The file of a stored version."""
    file = new_gold_file(path, stored_file_kind(version), label_rules.of_gold(version), version.sha256)
    return replace(file, metadata=version.accessories, void_ids=version.void_ids or ())


def load_label_rules(session: ReadSession, caller: Caller, slug: str, phase_slug: str) -> LabelRules:
    """The rules by which gold of this phase is read, for organizers who may upload it."""
    return label_rules.of_phase(load_organized_phase(session, caller, slug, phase_slug))


def inspect_gold(
    processes: ScoringProcesses,
    file: GoldFile,
    active: GoldSource | None = None,
    *,
    nonce: str | None = None,
    keeps_splits: bool = False,
    takes_over: bool = False,
) -> GoldSummary:
    """Have a scoring process read the gold, and commit to it under the nonce; raises InvalidGold with all problems.

    With `active`, it is also compared with that version, which it is to follow.
    """
    reply = processes.call(CheckGold(GoldSource(file=file), active, keeps_splits, takes_over, nonce))
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
    rules: LabelRules,
    followed: FollowedGold | None = None,
    nonce: str | None = None,
) -> GoldVersion:
    """Store a draft, the next version of the gold of the phase, inspected with these rules and this nonce.

    Those of the phase may have changed since. With `followed`, the version takes over what does not stand in its file.
    """
    phase = load_organized_phase(session, caller, slug, phase_slug)
    columns = _columns(summary) | ({} if followed is None else followed.take_over(summary))
    version = GoldVersion(
        phase_id=phase.id,
        version=gold.next_version(session, phase),
        status="draft",
        file_key=stored.key,
        sha256=stored.sha256,
        size=stored.size,
        **kind.to_dict(),
        task=rules.task,
        positive_label=rules.positive_label,
        classes_declared=rules.classes is not None,
        **columns,
        **({} if nonce is None else {"nonce": nonce}),
        created_by=caller.user_id,
    )
    session.add(version)
    if followed is not None:
        _note_known_ids(session, followed, summary)
    session.flush()
    _record(session, caller, phase, "gold.upload", {"gold": (None, version.version), "sha256": (None, stored.sha256)})
    return version


def _columns(summary: GoldSummary) -> dict[str, Any]:
    """The columns that hold what was read; the difference is stored with what it starts from (`FollowedGold`)."""
    return {
        name: value for name, value in asdict(summary).items() if name not in {"class_counts", "difference", "left_out"}
    }


def _note_known_ids(session: WriteSession, followed: FollowedGold, summary: GoldSummary) -> None:
    """Give an active version of an older program the hash of its ids, which the later version shares."""
    active = session.get(GoldVersion, followed.version.id)
    if active is not None and active.ids_hash is None:
        active.ids_hash = summary.ids_hash


def delete_gold(session: WriteSession, caller: Caller, slug: str, phase_slug: str, number: int) -> str:
    """Delete a draft; returns the key of its file, which the caller deletes. Raises NotFound and GoldNotDraft."""
    phase, version = load_gold_version(session, caller, slug, phase_slug, number, writes=True)
    if version.status != "draft":
        raise GoldNotDraft
    key = version.file_key
    phase.deleted_gold_version = max(phase.deleted_gold_version, number)
    draft_previews.delete_of_gold(session, version.id)
    session.delete(version)
    session.flush()
    _record(session, caller, phase, "gold.delete", {"gold": (number, None), "sha256": (version.sha256, None)})
    return key


def _record(
    session: WriteSession, caller: Caller, phase: Phase, action: str, changes: dict[str, tuple[Any, Any]]
) -> None:
    record(session, caller, action, challenge=phase.challenge, of=phase, changes=changes)


def load_gold_version(
    session: ReadSession, caller: Caller, slug: str, phase_slug: str, version: int, *, writes: bool = False
) -> tuple[Phase, GoldVersion]:
    """One version, for organizers; raises NotFound."""
    phase = load_organized_phase(session, caller, slug, phase_slug, writes=writes)
    row = gold.by_version(session, phase.id, version)
    if row is None:
        raise NotFound(f"The phase has no gold version {version}.")
    return phase, row


def download_gold(session: WriteSession, caller: Caller, slug: str, phase_slug: str, number: int) -> GoldVersion:
    """The version whose file is to be sent to an organizer; raises NotFound.

    It is recorded: if the gold becomes known, the first question is who had it.
    """
    phase, version = load_gold_version(session, caller, slug, phase_slug, number)
    _record(session, caller, phase, "gold.download", {"gold": (None, number), "sha256": (None, version.sha256)})
    return version


def open_commitment(session: WriteSession, caller: Caller, slug: str, phase_slug: str, number: int) -> GoldVersion:
    """The version, with the secret key of its commitment, for an organizer who may download it; raises NotFound.

    It is recorded, as a download is.
    """
    phase, version = load_gold_version(session, caller, slug, phase_slug, number, writes=False)
    _record(session, caller, phase, "gold.open", {"gold": (None, number)})
    return version


def list_gold_versions(session: ReadSession, caller: Caller, slug: str, phase_slug: str) -> list[GoldVersion]:
    """All versions, newest first, for organizers."""
    return gold.versions(session, load_organized_phase(session, caller, slug, phase_slug, writes=False).id)


def gold_nonce(session: ReadSession, caller: Caller, slug: str, phase_slug: str, number: int) -> str:
    """The secret key of the commitment to a version that the caller may change."""
    return load_gold_version(session, caller, slug, phase_slug, number, writes=True)[1].nonce


def changed_gold_file(
    session: ReadSession, caller: Caller, slug: str, phase_slug: str, number: int, *, path: Path, name: str, value: Any
) -> GoldFile:
    """The gold of a draft with changed metadata, to be checked before the change is stored; raises GoldNotDraft."""
    _, version = load_gold_version(session, caller, slug, phase_slug, number, writes=True)
    if version.status != "draft":
        raise GoldNotDraft
    file = stored_gold_file(path, version)
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
    file: GoldFile,
    followed: FollowedGold | None = None,
) -> GoldVersion:
    """Set the classes or other metadata of a draft, of which `summary` describes this file; raises GoldNotDraft.

    The difference from the `followed` version is that of the draft with the new metadata. A preview of the draft is
    deleted, because its scores are those of other gold.
    """
    phase, version = load_gold_version(session, caller, slug, phase_slug, number, writes=True)
    if version.status != "draft":
        raise GoldNotDraft
    _check_gold_metadata(name, value, version)  # again: other metadata may have changed since the first check
    if name == CLASSES_NAME:
        version.classes = summary.classes
        version.classes_declared = True
        version.notes = summary.notes
    else:
        version.accessories = version.accessories | {GOLD_METADATA_KINDS[name].field: value}
    version.void_ids, version.ids_hash = summary.void_ids, summary.ids_hash
    if followed is not None:
        for column, found in followed.difference(summary, version.accessories).items():
            setattr(version, column, found)
    draft_previews.delete_of_gold(session, version.id)
    same = version.accessories == file.metadata and summary.classes == version.classes
    version.commitment = summary.commitment if same else None  # else other metadata changed meanwhile
    session.flush()
    _record(session, caller, phase, "gold.metadata", {"gold": (None, number), "kind": (None, name)})
    return version
