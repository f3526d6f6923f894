"""Where a scoring process finds gold: under a name that identifies its content, in the uploaded file, or both."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from app.pipeline import SourceFile
from app.scoring.declaration.task import TaskKind


@dataclass(frozen=True, slots=True)
class GoldFile:
    """An uploaded file of gold, with everything else that reading it takes."""

    source: SourceFile
    task: TaskKind
    positive_label: str | None = None
    classes: Sequence[str] | None = None
    """None: the sorted labels of the file become the vocabulary."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """Canonical gold metadata by field (app.scoring.declaration.gold_metadata)."""
    sha256: str = ""
    """Of the file; empty where the gold will not be stored, so that it is not prepared either."""


@dataclass(frozen=True, slots=True)
class GoldSource:
    """Gold by name (app.scoring.gold_content_hash), by file, or by both; an empty name is unknown."""

    name: str = ""
    file: GoldFile | None = None
