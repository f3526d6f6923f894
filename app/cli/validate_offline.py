"""Validates predictions offline, against ids and classes."""

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
    """What an offline check knows of a challenge: files with ids, classes and recipe, and the task."""

    ids: Path
    classes: Path
    task: Task | None = None
    positive_label: str | None = None
    recipe: Path | None = None


def validate_file(
    file: Path, challenge: OfflineChallenge, layout: str | None = None
) -> tuple[dict[str, Any], list[str]]:
    """Validate predictions against ids and classes: `{"valid", "total", "problems", "notes"}`, and the assumptions made.

    With the task and the recipe of the challenge, the report is byte for byte the service's reply to a dry run under its
    default limits; without a recipe, that under a recipe without options whose metrics need only labels.
    """
    from app.pipeline import build_lookup_tables, normalize_distinct, validate_predictions
    from app.scoring.declaration.task import TaskSpec

    task, positive, assumptions = challenge.task, challenge.positive_label, list[str]()
    if task is None:
        task, assumptions = value_parsing.infer_task(file, positive, layout)
    spec = TaskSpec(task, normalize_distinct(value_parsing.read_strings(challenge.classes)), positive)
    if positive is not None and positive not in spec.classes:
        value_parsing.refuse_unknown_label(positive, spec.classes, "--positive-label")
    rules = None if challenge.recipe is None else _rules_of_recipe(value_parsing.read_json(challenge.recipe), spec)
    index = value_parsing.read_id_index(challenge.ids)
    source, tables = value_parsing.make_source(file, layout), build_lookup_tables(index, spec.classes)
    try:
        _, problems, notes = validate_predictions(index, spec, source, rules=rules, tables=tables)
    except MemoryError:
        remedy = "Remove data that is not scored, or check it by the service."
        raise CommandError("too_large", f"{file}: not enough memory to read it.", remedy) from None
    if rules is None:
        assumptions = [*assumptions, "checked without a recipe; --recipe checks what metrics need besides labels"]
    return problems.to_dict() | {"notes": notes}, assumptions


def _rules_of_recipe(body: Any, spec: "TaskSpec") -> "ReadingRules":
    """What the recipe refuses; `body` may be a recipe, a recipe version or a challenge, as the service returns them."""
    from app.formats import ReadingRules
    from app.scoring.declaration.recipe import parse_recipe

    for key in ("recipe", "body"):
        if isinstance(body, Mapping) and isinstance(body.get(key), Mapping):
            body = body[key]
    if not isinstance(body, Mapping) or "primary" not in body:
        detail = "The recipe file contains no recipe."
        raise CommandError("wrong_shape", detail, "Use the JSON of GET /challenges/{slug}/recipe.")
    fields = ("primary", "metrics", "tie_breakers", "options", "selection", "decision", "disclosure")
    known = {name: body[name] for name in fields if name in body}
    parsed = parse_recipe(known, spec.task, positive_label=spec.positive_label, classes=spec.classes, stored=True)
    return ReadingRules.strictest(parsed.metrics, parsed.primary)
