"""The messages between the service and a scoring process: requests, replies, and their encoding as lines of JSON.

Each message is one JSON object on one line. An object that encodes a dataclass carries the name of its class as `type`.
Only the fields listed in `_DECODERS` are decoded to dataclasses or paths: whatever users wrote (recipes, gold metadata,
labels) stays plain JSON, even if it has a key `type`.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, cast, get_args

from app.formats import FileKind, Problems
from app.pipeline import SourceFile
from app.prepared.gold_source import GoldFile, GoldSource, PreparedFile
from app.scoring_processes.item_requests import AnalyzeItems, ItemSystem, TryRelabelling, WriteCorrectedGold

JsonObject = Mapping[str, Any]

# ---- requests


@dataclass(frozen=True, slots=True)
class CheckGold:
    """Read gold and check it; the reply is a GoldSummary, a FileResult with problems, or a Refusal.

    With `active`, the gold is to follow this version after submissions: it is refused if it cannot, and compared.
    """

    gold: GoldSource
    active: GoldSource | None = None
    keeps_splits: bool = False
    """Whether the instances must stay in the splits of the active version, because its private scores are released."""
    takes_over: bool = False
    """Whether the metadata is that of the active version: what does not fit the instances is left out."""
    nonce: str | None = None
    """The key of the commitment to the gold, in hexadecimal; None if none is wanted."""


@dataclass(frozen=True, slots=True)
class ValidatePredictions:
    """Check predictions without scoring them; the reply is a FileResult."""

    gold: GoldSource
    predictions: SourceFile
    recipe: JsonObject


@dataclass(frozen=True, slots=True)
class ScorePredictions:
    """Check predictions and score them on each split; the reply is a FileResult."""

    gold: GoldSource
    predictions: SourceFile
    recipe: JsonObject
    accepted: bool = False
    """Whether the file was accepted before: missing ids count as empty predictions, unknown ones are ignored."""


@dataclass(frozen=True, slots=True)
class WriteTemplate:
    """Write the file that a participant fills in to `target`; the reply is FileWritten or a Refusal."""

    gold: GoldSource
    format: str
    scores: bool
    target: Path


@dataclass(frozen=True, slots=True)
class WriteReport:
    """Write the detailed report of a finished submission to `target`; the reply is FileWritten or a Refusal.

    Like all requests that read a finished submission again, it takes the file as accepted.
    """

    gold: GoldSource
    predictions: SourceFile
    recipe: JsonObject
    split: str
    parts: Sequence[str]
    digits: int | None
    include_size: bool
    """Whether the report contains the number of instances of the split."""
    head: JsonObject
    """The first members of the JSON report."""
    as_csv: bool
    target: Path
    points: int | None = None
    """The maximum number of points of each curve; None for all."""


@dataclass(frozen=True, slots=True)
class WriteInstances:
    """Write the predicted and actual classes of each instance to `target` as JSON; the reply is FileWritten."""

    gold: GoldSource
    predictions: SourceFile
    recipe: JsonObject
    head: JsonObject
    """The first members of the JSON document."""
    target: Path


@dataclass(frozen=True, slots=True)
class ReadExcerpts:
    """Read what stands in a file at the locations of these problems; the reply is Excerpts. It needs no gold."""

    predictions: SourceFile
    problems: Sequence[JsonObject]


@dataclass(frozen=True, slots=True)
class ComputeIntervals:
    """Compute the intervals of the scores of stored predictions on each split; the reply is an AnalysisResult."""

    gold: GoldSource
    predictions: SourceFile
    recipe: JsonObject
    draw_seed: str


@dataclass(frozen=True, slots=True)
class BoardFile:
    """The stored predictions of one row of a board; `key` is the id of its submission."""

    key: str
    predictions: SourceFile


@dataclass(frozen=True, slots=True)
class CompareBoard:
    """Compare the rows of a board on a split by one metric, or by all (None); the reply is an AnalysisResult."""

    gold: GoldSource
    recipe: JsonObject
    draw_seed: str
    split: str
    metric: str | None
    entries: Sequence[BoardFile]


GoldRequest = (
    CheckGold
    | ValidatePredictions
    | ScorePredictions
    | WriteTemplate
    | WriteReport
    | WriteInstances
    | ComputeIntervals
    | CompareBoard
    | AnalyzeItems
    | TryRelabelling
    | WriteCorrectedGold
)
Request = ReadExcerpts | GoldRequest

# ---- replies


@dataclass(frozen=True, slots=True)
class Ready:
    """The process has started; sent once, before the first request is read."""


@dataclass(frozen=True, slots=True)
class GoldFileNeeded:
    """The request names gold that is not prepared here; send it again with a file of the gold."""

    damaged: bool = False
    """Whether the request named a prepared file that cannot be used."""


@dataclass(frozen=True, slots=True)
class GoldSummary:
    """Valid gold, summarized in the columns of its row, and the counts of its classes."""

    instances: int
    classes: list[str]
    has_splits: bool
    public_instances: int | None
    weighted: bool
    void_instances: int
    longest_id: int
    """Bytes of the longest id in UTF-8, rounded up to whole words."""
    notes: list[str]
    class_counts: dict[str, list[int]] = field(default_factory=dict)
    """Per split, or under 'all' without splits, how many instances have each class; not stored."""
    void_ids: list[str] | None = None
    """The ids that the active version knows and the file lacks, sorted; None without any."""
    ids_hash: str = ""
    """Of all ids that are known: those of the file and these (app.scoring.gold_content_hash.ids_hash)."""
    difference: dict[str, Any] | None = None
    """From the active version (app.gold_difference); None without one."""
    commitment: str | None = None
    """The commitment under the nonce of the request (app.receipts.gold_commitment)."""
    left_out: list[str] = field(default_factory=list)
    """The fields of the metadata that were not taken over, because they do not fit the instances."""


@dataclass(frozen=True, slots=True)
class FileResult:
    """The result of reading a file: its problems, or where predictions were scored, their scores."""

    valid: bool
    total: dict[str, int]
    """Number of problems by code."""
    problems: list[dict[str, Any]]
    """The first problems in full."""
    total_at_least: bool = False
    """Whether reading stopped early, so that there may be more problems than were counted."""
    notes: list[str] = field(default_factory=list)
    scores: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    """By split and canonical metric string: `value`, `reason` and `notes`."""
    empty_by_split: dict[str, int] = field(default_factory=dict)
    """How many instances of each split have no prediction in a file that was accepted before; empty if all have one."""
    content_sha256: str | None = None
    """Of the canonical content of predictions that were scored (app.receipts.content)."""

    @classmethod
    def of(
        cls,
        problems: Problems,
        notes: Sequence[str] = (),
        scores: JsonObject | None = None,
        empty_by_split: Mapping[str, int] | None = None,
        content_sha256: str | None = None,
    ) -> "FileResult":
        """The result of a file with these problems."""
        found: dict[str, Any] = {"scores": dict(scores or {}), "empty_by_split": dict(empty_by_split or {})}
        return cls(**problems.to_dict(), notes=list(notes), **found, content_sha256=content_sha256)

    @property
    def empty_predictions(self) -> int:
        """How many instances have no prediction in a file that was accepted before, and count as empty ones."""
        return self.empty_by_split.get("all", 0)

    def to_dict(self) -> dict[str, Any]:
        """The reply to a dry run: everything but scores and hash; `total_at_least` only where it is true."""
        result: dict[str, Any] = {"valid": self.valid, "total": self.total, "problems": self.problems}
        return result | ({"total_at_least": True} if self.total_at_least else {}) | {"notes": self.notes}


@dataclass(frozen=True, slots=True)
class AnalysisResult:
    """The result of an analysis: intervals by split and canonical metric string, or the comparison of a board."""

    result: dict[str, Any]


@dataclass(frozen=True, slots=True)
class FileWritten:
    """The target of the request has been written."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """The request cannot be met, for the reason given; repeating it would not help."""

    detail: str
    remedy: str | None = None
    errors: list[Any] | None = None
    needs_probabilities: bool = False
    """Whether the requested part of a report needs scores of another kind than the submission has."""


@dataclass(frozen=True, slots=True)
class ProcessFailure:
    """There is no result: a file is missing (`detail` is its path), a limit was exceeded, or the code has a fault."""

    reason: Literal["file", "memory", "cpu", "internal"]
    detail: str = ""


EXCERPTS_TOO_COSTLY = "What stands there is not shown, because reading the file again takes too much time or memory."


@dataclass(frozen=True, slots=True)
class Excerpts:
    """The text at each location, where it was found, and in one sentence why more is not shown, if that is so."""

    texts: list[str | None]
    left_out: str | None = None


Reply = (
    Ready
    | Excerpts
    | GoldFileNeeded
    | GoldSummary
    | FileResult
    | AnalysisResult
    | FileWritten
    | Refusal
    | ProcessFailure
)


@dataclass(frozen=True, slots=True)
class ReplyEnvelope:
    """A reply, with what the service has to know about the process itself."""

    reply: Reply
    remarks: list[str] = field(default_factory=list)
    """Warnings for the operator."""
    memory_exhausted: bool = False
    """Whether memory ran out, so that the process is to be replaced by a new one."""


@dataclass(frozen=True, slots=True)
class CpuLimitAnnouncement:
    """Sent before a stage begins: the reply that applies if the kernel kills the process for its CPU time in it."""

    reply: Reply


Message = Request | ReplyEnvelope | CpuLimitAnnouncement

# ---- encoding

_PARTS = (
    *(CpuLimitAnnouncement, ReplyEnvelope, GoldSource, GoldFile, PreparedFile, SourceFile, FileKind, BoardFile),
    ItemSystem,
)
_CLASSES = {cls.__name__: cls for cls in (*get_args(Request), *get_args(Reply), *_PARTS)}


def encode(message: Message) -> bytes:
    """The message as one line of JSON."""
    return json.dumps(message, default=_to_json).encode() + b"\n"


def decode_request(line: bytes) -> Request:
    """The request on a line."""
    return cast("Request", _from_json(json.loads(line)))


def decode_reply(line: bytes | bytearray) -> ReplyEnvelope | CpuLimitAnnouncement:
    """The reply or announcement on a line."""
    return cast("ReplyEnvelope | CpuLimitAnnouncement", _from_json(json.loads(line)))


def _to_json(value: Any) -> Any:
    if isinstance(value, Path):
        return str(value)
    return {"type": type(value).__name__} | {item.name: getattr(value, item.name) for item in fields(value)}


def _from_json(values: dict[str, Any] | None) -> Any:
    if values is None:
        return None
    cls: Callable[..., Any] = _CLASSES[values.pop("type")]
    return cls(**{name: _DECODERS[name](value) if name in _DECODERS else value for name, value in values.items()})


_DECODERS: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("gold", "file", "prepared", "source", "kind", "predictions", "reply", "active"), _from_json),
    **dict.fromkeys(("path", "target"), Path),
    **dict.fromkeys(("entries", "systems"), lambda values: [_from_json(value) for value in values]),
}
