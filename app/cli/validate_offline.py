"""Checks predictions on this machine, against ids and classes alone."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.cli.input import value_parsing
from app.cli.options import Task
from app.cli.terminal.output import CommandError

if TYPE_CHECKING:
    from app.formats import ReadingRules
    from app.scoring.declaration.task import TaskSpec


@dataclass(frozen=True, slots=True)
class OfflineChallenge:
    """What is known of a challenge without its service: files of ids, classes and recipe, and the task."""

    ids: Path
    classes: Path
    task: Task | None = None
    positive_label: str | None = None
    recipe: Path | None = None


def validate_file(file: Path, told: OfflineChallenge, layout: str | None = None) -> tuple[dict[str, Any], list[str]]:
    """Check predictions against ids and classes alone: `{"valid", "total", "problems", "notes"}`, and what was assumed.

    With the task and the recipe of the challenge, in every byte what its service answers to a dry run under its default
    limits; without a recipe, as under one without options whose metrics need labels.
    """
    from app.pipeline import normalize_distinct, validate_predictions
    from app.scoring.declaration.task import TaskSpec

    positive = told.positive_label
    kind, said = (told.task, []) if told.task is not None else value_parsing.infer_task(file, positive, layout)
    spec = TaskSpec(kind, normalize_distinct(value_parsing.read_strings(told.classes)), positive)
    if positive is not None and positive not in spec.classes:
        value_parsing.refuse_positive_label(positive, spec.classes)
    rules = None if told.recipe is None else _rules_of_recipe(value_parsing.read_json(told.recipe), spec)
    ids = sorted(normalize_distinct(value_parsing.read_ids(told.ids)))  # as the service has them, whatever the file is
    try:
        _, problems, notes = validate_predictions(ids, spec, value_parsing.make_source(file, layout), rules=rules)
    except MemoryError:
        remedy = "Leave out what is not scored, or check it by the service."
        raise CommandError("too_large", f"{file}: reading it takes more memory than there is.", remedy) from None
    if rules is None:
        said = [*said, "checked without a recipe; what its metrics ask for beyond labels is checked with --recipe"]
    return problems.to_dict() | {"notes": notes}, said


def _rules_of_recipe(found: Any, spec: "TaskSpec") -> "ReadingRules":
    """What the recipe refuses; it may stand inside a challenge or a version of a recipe, as the service shows them."""
    from app.formats import ReadingRules
    from app.scoring.declaration.recipe import parse_recipe

    body = found
    for key in ("recipe", "body"):
        if isinstance(body, Mapping) and isinstance(body.get(key), Mapping):
            body = body[key]
    if not isinstance(body, Mapping) or "primary" not in body:
        detail = "The recipe file holds no recipe."
        raise CommandError("wrong_shape", detail, "Give the JSON of GET /challenges/{slug}/recipe.")
    fields = ("primary", "metrics", "tie_breakers", "options", "selection", "decision", "disclosure")
    known = {name: body[name] for name in fields if name in body}
    parsed = parse_recipe(known, spec.task, positive_label=spec.positive_label, classes=spec.classes, stored=True)
    return ReadingRules.strictest(parsed.metrics, parsed.primary)
