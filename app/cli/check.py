"""Checks predictions on this machine, against ids and classes alone."""

from pathlib import Path
from typing import Any

from app.cli import inputs
from app.cli.options import Task


def check(file: Path, *, ids: Path, classes: Path, task: Task | None, positive_label: str | None) -> dict[str, Any]:
    """Check predictions against ids and classes alone: `{"valid", "total", "problems", "notes"}`."""
    from app.pipeline import normalized, validate
    from app.scoring.task import TaskSpec

    kind, said = (task, []) if task is not None else inputs.infer_task(file, positive_label)
    spec = TaskSpec(kind, normalized(inputs.strings(classes)), positive_label)
    if positive_label is not None and positive_label not in spec.classes:
        inputs.refuse_positive(positive_label, spec.classes)
    _, problems, notes = validate(inputs.read_ids(ids), spec, inputs.source(file))
    return inputs.without_phase(problems.to_dict(), "file of ids") | {"notes": [*said, *notes]}
