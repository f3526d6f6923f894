"""Where a scoring process finds gold: by a name that identifies its content, in a prepared or in the uploaded file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
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
    void_ids: Sequence[str] = ()
    """Ids that an earlier version of the gold held and this file does not, sorted."""
    sha256: str = ""
    """Of the file; empty where the gold will not be stored, so that it is not prepared either."""


@dataclass(frozen=True, slots=True)
class PreparedFile:
    """A file of prepared gold."""

    path: Path
    sha256: str | None = None
    """Its checksum as stored in the database (array_file.declared_sha256); None if it is stored nowhere else."""


@dataclass(frozen=True, slots=True)
class GoldSource:
    """Gold by name (app.scoring.gold_content_hash), by file, or by both; an empty name is unknown."""

    name: str = ""
    file: GoldFile | None = None
    prepared: PreparedFile | None = None
