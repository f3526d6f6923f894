"""A file of labels or scores on disk, and the strict reading of it."""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from app.formats.column_data import NormalizedTable
from app.formats.content.format_detection import FileKind
from app.formats.problems import Problems
from app.formats.reading_rules import Limits
from app.formats.strict_reader import read_table
from app.scoring.declaration.task import TaskSpec


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file and how to read it."""

    path: Path
    kind: FileKind


def read_source(
    source: SourceFile,
    spec: TaskSpec,
    *,
    gold: bool,
    problems: Problems,
    limits: Limits,
    declared: bool = True,
    known_classes: Collection[str] = (),
    wants_scores: bool = False,
) -> NormalizedTable:
    """Read the table of a file; its problems are added to `problems`.

    `declared`: the classes of `spec` are the vocabulary; otherwise `known_classes` are some of its classes.
    """
    with source.path.open("rb") as stream:
        return read_table(
            stream,
            source.kind,
            task=spec.task,
            gold=gold,
            problems=problems,
            classes=spec.classes if declared else None,
            known_classes=known_classes,
            wants_scores=wants_scores,
            limits=limits,
        )
