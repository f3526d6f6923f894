"""The cells of the fault table, and the answers of the reader to them."""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from app.errors import AssayError
from app.formats import Limits, ReadingRules, detect_file_kind
from app.formats.problems import Problems
from app.pipeline import SourceFile, validate_predictions
from app.scoring.declaration.recipe import parse_recipe
from app.scoring.declaration.task import TaskKind, TaskSpec

IDS = ("t1", "t2", "t3")
CLASSES = ("cat", "dog", "eel")
ProblemFields = dict[str, Any]

SMALL_LIMITS: dict[str, Any] = {"expanded_bytes": 2048, "records": 5, "columns": 6, "text_length": 20, "nesting": 8}
"""The limits of cells about size; the setting of the service for each is in SETTING_OF."""
SETTING_OF = {
    "expanded_bytes": "max_expanded",
    "records": "max_records",
    "columns": "max_columns",
    "text_length": "max_text_length",
    "nesting": "max_nesting",
}


@dataclass(frozen=True)
class CellChallenge:
    """What predictions are checked against: a task over IDS, and a recipe of one metric."""

    task: TaskKind
    primary: str
    gold: tuple[Mapping[str, Any], ...]
    classes: tuple[str, ...] = CLASSES
    positive: str | None = None

    @property
    def recipe(self) -> dict[str, Any]:
        """The recipe as the request that creates the challenge gives it."""
        return {"primary": self.primary, "metrics": [self.primary]}

    @cached_property
    def spec(self) -> TaskSpec:
        """The task with its classes."""
        return TaskSpec(self.task, self.classes, self.positive)

    @cached_property
    def rules(self) -> ReadingRules:
        """What the recipe refuses."""
        parsed = parse_recipe(self.recipe, self.task, positive_label=self.positive, classes=self.classes)
        return ReadingRules.strictest(parsed.metrics, parsed.primary)


_SINGLE = tuple({"id": name, "label": label} for name, label in zip(IDS, CLASSES, strict=True))
_BINARY = tuple({"id": name, "label": label} for name, label in zip(IDS, ("cat", "dog", "dog"), strict=True))
_SETS = tuple({"id": name, "labels": [label]} for name, label in zip(IDS, CLASSES, strict=True))
CHALLENGES = {
    "label": CellChallenge("multiclass", "accuracy", _SINGLE),
    "sets": CellChallenge("multilabel", "f1_micro", _SETS),
    "probabilities": CellChallenge("multiclass", "log_loss", _SINGLE),
    "binary": CellChallenge("binary", "log_loss", _BINARY, ("cat", "dog"), "dog"),
    "brier": CellChallenge("multiclass", "brier_multiclass_sum", _SINGLE),
}


@dataclass(frozen=True, slots=True)
class Cell:
    """A faulty file, how it is sent, and the answer: `problems` in full, or `refused`, a status and a code.

    `challenge` is a key of CHALLENGES; `small` checks under the limits SMALL.
    """

    body: bytes
    problems: tuple[ProblemFields, ...] = ()
    challenge: str = "label"
    media: str | None = "application/json"
    encoding: str = ""
    layout: str = ""
    filename: str = ""
    refused: tuple[int, str] | None = None
    small: bool = False


@dataclass(frozen=True, slots=True)
class Fault:
    """A row of the table: a fault, and for each column its cell or the reason that there is none."""

    name: str
    meaning: str
    cells: Mapping[str, Cell | str]


@dataclass(frozen=True, slots=True)
class Group:
    """Faults of one kind, which make one table over these columns."""

    name: str
    columns: Sequence[str]
    faults: Sequence[Fault] = field(default_factory=tuple)


def problem_at(code: str, pointer: str | None = None, instance_id: str | None = None, **more: Any) -> ProblemFields:
    """The expected fields of a problem; `got` and `expected` may be among `more`."""
    found = {"code": code, "pointer": pointer, "instance_id": instance_id, **more}
    return {key: value for key, value in found.items() if value is not None}


def missing_instances(*names: str) -> list[ProblemFields]:
    """The ids that are missed at the end of an answer."""
    return [problem_at("missing_instances", instance_id=name) for name in names]


LOCATION_FIELDS = ("code", "pointer", "line", "column", "instance_id")


def compared_fields(found: Sequence[Mapping[str, Any]], wanted: Sequence[ProblemFields]) -> list[ProblemFields]:
    """The problems of an answer, reduced to code, location, instance and the further fields that a cell names."""
    field_names = [(*LOCATION_FIELDS, *(one.keys() & {"expected", "got"})) for one in wanted]
    field_names += [LOCATION_FIELDS] * (len(found) - len(field_names))
    return [{key: one[key] for key in keys if key in one} for one, keys in zip(found, field_names, strict=False)]


def read_offline(cell: Cell) -> tuple[Problems, list[str]]:
    """What `assay validate` answers; raises AssayError where the file is refused unread."""
    kind = detect_file_kind(cell.filename, cell.media, cell.encoding, cell.layout)
    challenge = CHALLENGES[cell.challenge]
    limits = replace(Limits(), **SMALL_LIMITS) if cell.small else Limits()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        path.write_bytes(cell.body)
        _, problems, notes = validate_predictions(
            IDS, challenge.spec, SourceFile(path, kind), rules=challenge.rules, limits=limits
        )
    return problems, notes


def actual_answer(cell: Cell) -> tuple[list[ProblemFields], tuple[int, str] | None]:
    """The problems (in the fields that the cell speaks of), or the refusal, that a cell really gets."""
    try:
        problems, _ = read_offline(cell)
    except AssayError as refusal:
        return [], (refusal.status, refusal.code)
    assert problems.count == len(problems.first)
    return compared_fields([one.to_dict() for one in problems.first], cell.problems), None


def cells_of_columns(
    columns: Sequence[str], make: Callable[[str], Cell], /, **others: Cell | str
) -> dict[str, Cell | str]:
    """A cell for each of these columns; `others` are cells of other columns, or the reasons that they have none."""
    return {**{name: make(name) for name in columns}, **others}
