"""Checks predictions on this machine, against ids and classes alone."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.cli.input import value_parsing
from app.cli.options import Task
from app.cli.terminal.output import Refused

if TYPE_CHECKING:
    from app.formats import Rules
    from app.scoring.declaration.task import TaskSpec


@dataclass(frozen=True, slots=True)
class Told:
    """What is known of a challenge without its service: files of ids, classes and recipe, and the task."""

    ids: Path
    classes: Path
    task: Task | None = None
    positive_label: str | None = None
    recipe: Path | None = None


def check(file: Path, told: Told, layout: str | None = None) -> tuple[dict[str, Any], list[str]]:
    """Check predictions against ids and classes alone: `{"valid", "total", "problems", "notes"}`, and what was assumed.

    With the task and the recipe of the challenge, in every byte what its service answers to a dry run under its default
    limits; without a recipe, as under one without options whose metrics need labels.
    """
    from app.pipeline import normalized, validate
    from app.scoring.declaration.task import TaskSpec

    positive = told.positive_label
    kind, said = (told.task, []) if told.task is not None else value_parsing.infer_task(file, positive, layout)
    spec = TaskSpec(kind, normalized(value_parsing.strings(told.classes)), positive)
    if positive is not None and positive not in spec.classes:
        value_parsing.refuse_positive(positive, spec.classes)
    rules = None if told.recipe is None else _rules(value_parsing.read_json(told.recipe), spec)
    ids = sorted(normalized(value_parsing.read_ids(told.ids)))  # as the service has them, whatever the file is
    try:
        _, problems, notes = validate(ids, spec, value_parsing.source(file, layout), rules=rules)
    except MemoryError:
        remedy = "Leave out what is not scored, or check it by the service."
        raise Refused("too_large", f"{file}: reading it takes more memory than there is.", remedy) from None
    if rules is None:
        said = [*said, "checked without a recipe; what its metrics ask for beyond labels is checked with --recipe"]
    return problems.to_dict() | {"notes": notes}, said


def _rules(found: Any, spec: "TaskSpec") -> "Rules":
    """What the recipe refuses; it may stand inside a challenge or a version of a recipe, as the service shows them."""
    from app.formats import Rules
    from app.scoring.declaration.recipe import parse_recipe

    body = found
    for key in ("recipe", "body"):
        if isinstance(body, Mapping) and isinstance(body.get(key), Mapping):
            body = body[key]
    if not isinstance(body, Mapping) or "primary" not in body:
        detail = "The recipe file holds no recipe."
        raise Refused("wrong_shape", detail, "Give the JSON of GET /challenges/{slug}/recipe.")
    fields = ("primary", "metrics", "tie_breakers", "options", "selection", "decision", "disclosure")
    known = {name: body[name] for name in fields if name in body}
    parsed = parse_recipe(known, spec.task, positive_label=spec.positive_label, classes=spec.classes, stored=True)
    return Rules.strictest(parsed.metrics, parsed.primary)
