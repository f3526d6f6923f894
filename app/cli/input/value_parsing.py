"""Reads the small files and words that offline commands are given: JSON tables, ids, options, the task type of a gold."""

import csv
import io
import json
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import typer

from app.cli.options import Task
from app.cli.terminal.output import CommandError

if TYPE_CHECKING:
    from app.pipeline import SourceFile
    from app.scoring.declaration.metric import MetricCall
    from app.scoring.declaration.task import TaskSpec

_MAX_NUMBER_LENGTH = 40  # characters of a number on the command line


def make_source(path: Path, layout: str | None = None) -> "SourceFile":
    """A file of labels and how it is to be read, by its name and layout."""
    from app.formats import detect_file_kind
    from app.pipeline import SourceFile

    return SourceFile(path, detect_file_kind(path.name, None, None, layout))


def parse_share(text: str | None, hint: str) -> Fraction | None:
    """A number between 0 and 1 that an option gives as a decimal or a fraction, exactly; `hint` is what it is called."""
    if text is None:
        return None
    try:
        found = Fraction(text) if len(text) <= _MAX_NUMBER_LENGTH else None
    except (ValueError, ZeroDivisionError):
        found = None
    if found is None or not 0 <= found <= 1:
        raise typer.BadParameter(
            f"'{text[:_MAX_NUMBER_LENGTH]}' is no share between 0 and 1, such as 0.05", param_hint=hint
        )
    return found


def parse_number(text: str, hint: str) -> float:
    """A finite number that an option gives; `hint` is what it is called."""
    try:
        found = float(text)
    except ValueError:
        found = math.inf
    if not math.isfinite(found):
        raise typer.BadParameter(f"'{text[:_MAX_NUMBER_LENGTH]}' is no number", param_hint=hint)
    return found


def refuse_positive_label(label: str, classes: Sequence[str]) -> NoReturn:
    """Wrong usage: the positive label is none of the labels."""
    refuse_unknown_label(label, classes, "--positive-label")


def refuse_unknown_label(label: str, classes: Sequence[str], hint: str) -> NoReturn:
    """Wrong usage: an option (`hint`) names what is none of the labels."""
    some = ", ".join(classes[:10]) + (", …" if len(classes) > 10 else "")
    raise typer.BadParameter(f"'{label}' is no label here; there are: {some}", param_hint=hint)


def read_json(path: Path) -> Any:
    """The JSON value of a small file; repeated keys are refused."""
    try:
        return json.loads(read_text(path), object_pairs_hook=_object_without_repeated_keys)
    except ValueError as error:
        raise CommandError("syntax", f"{path}: {error}.", "It has to hold one JSON value in UTF-8.") from None


def _object_without_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        twice = next(key for index, (key, _) in enumerate(pairs) if any(key == other for other, _ in pairs[:index]))
        raise ValueError(f"the key {json.dumps(twice)} occurs twice")
    return made


def read_text(path: Path) -> str:
    """The text of a small file, which may be compressed."""
    return _read_decompressed(path).decode("utf-8-sig")


def _read_decompressed(path: Path) -> bytes:
    from app.formats import DEFAULT_LIMITS, Problems, detect_file_kind
    from app.formats.decompression import read_bytes

    problems = Problems()
    with path.open("rb") as stream:
        data = read_bytes(
            stream, detect_file_kind(path.name, None, None).encoding, limits=DEFAULT_LIMITS, problems=problems
        )
    if data is None:
        found = problems.first[0]
        raise CommandError(found.code, f"{path}: {found.message}", "Give the file whole, or without compression.")
    return data


def read_strings(path: Path) -> list[str]:
    """A JSON list of labels or ids; integers stand for their decimal text."""
    found = read_json(path)
    if not isinstance(found, list):
        raise CommandError("wrong_shape", f"{path}: a JSON list is needed.", 'Write it like ["a", "b"].')
    return [_require_string(path, value) for value in found]


def _require_string(path: Path, value: Any) -> str:
    if isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool)):
        return str(value)
    raise CommandError("wrong_shape", f"{path}: {json.dumps(value)} is not a text.", "Write ids and labels in quotes.")


def read_gold_metadata(given: Mapping[str, Path | None]) -> dict[str, Any]:
    """What stands beside gold, in canonical form by name of the accessory, from the files that hold it."""
    from app.errors import InvalidContent
    from app.scoring.declaration.gold_metadata import GOLD_METADATA_KINDS

    found = {}
    for name, path in given.items():
        if path is None:
            continue
        try:
            found[name] = GOLD_METADATA_KINDS[name].parse(read_json(path))
        except InvalidContent as fault:
            raise CommandError("invalid_accessory", f"{path}: {fault.detail}", fault.advice) from None
    return found


def default_positive_label(preset: str | None, classes: Sequence[str] | None) -> str | None:
    """The positive label where nobody says it: the first class, under a preset whose tool takes that."""
    from app.scoring.declaration.presets import PRESETS

    known = PRESETS.get(preset or "")
    return classes[0] if known is not None and known.positive_first and classes else None


def check_hierarchy(spec: "TaskSpec", calls: Sequence["MetricCall"]) -> None:
    """Refuse metrics of a hierarchy in which a class is missing."""
    from app.errors import InvalidContent
    from app.scoring.declaration.gold_metadata import GOLD_METADATA_KINDS, check_metadata_labels
    from app.scoring.declaration.metric import HIERARCHY

    if spec.hierarchy is not None and any(HIERARCHY in call.metric.needs for call in calls):
        try:
            check_metadata_labels(GOLD_METADATA_KINDS["hierarchy"], spec.hierarchy.to_json(), spec.classes)
        except InvalidContent as fault:
            raise CommandError("invalid_accessory", fault.detail, fault.advice) from None


def read_ids(path: Path) -> list[str]:
    """The ids to predict: a JSON list of ids, a template or gold file in any format, or one id a line."""
    name = path.name.lower().removesuffix(".gz").removesuffix(".zst")
    try:
        if name.endswith((".csv", ".tsv", ".tab")):
            return _ids_of_csv(path, "," if name.endswith(".csv") else "\t")
        if name.endswith((".npz", ".parquet", ".pq", ".arrow", ".feather")):
            return _ids_of_columns(path)
        if name.endswith((".jsonl", ".ndjson")):
            return [_record_id(path, json.loads(line)) for line in read_text(path).splitlines()]
        if name.endswith(".json"):
            return _ids_of_json(path)
        return [line.strip() for line in read_text(path).splitlines() if line.strip()]
    except ValueError as error:
        raise CommandError(
            "syntax", f"{path}: {error}.", "Give a list of ids, or a template file (assay template)."
        ) from None


def _ids_of_columns(path: Path) -> list[str]:
    from app.offline import read_ids as ids_of

    found, problems = ids_of(make_source(path))
    if found is None:
        first = problems.first[0]
        raise CommandError(first.code, f"{path}: {first.message}", "Give a template file (assay template).")
    return found


def _ids_of_csv(path: Path, separator: str) -> list[str]:
    rows = csv.DictReader(io.StringIO(read_text(path), newline=""), strict=True, delimiter=separator)
    if "id" not in (rows.fieldnames or ()):
        raise CommandError("missing_id", f"{path}: the header names no column 'id'.", "Begin the file with: id,label")
    return [row["id"] for row in rows]


def _ids_of_json(path: Path) -> list[str]:
    found = read_json(path)
    if isinstance(found, dict):
        found = next(
            (found[key] for key in ("predictions", "documents", "ids") if isinstance(found.get(key), list)), found
        )
    # What is left of an object is a map: its keys are the ids.
    return [_record_id(path, one) for one in found] if isinstance(found, list | dict) else [_record_id(path, found)]


def _record_id(path: Path, record: Any) -> str:
    if not isinstance(record, dict):
        return _require_string(path, record)
    for key in ("id", "pmid"):
        if key in record:
            return _require_string(path, record[key])
    raise CommandError("missing_id", f"{path}: a record has no id.", 'Write records like {"id": "t1", "label": "a"}.')


def parse_option_pairs(given: Sequence[str], hint: str = "--option") -> dict[str, str]:
    """The values of an option that is given as `name=value` and may be repeated; `hint` is what it is called."""
    found: dict[str, str] = {}
    for pair in given:
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            raise typer.BadParameter(f"'{pair}' is not name=value", param_hint=hint)
        if name.strip() in found:
            raise typer.BadParameter(f"'{name.strip()}' is given twice", param_hint=hint)
        found[name.strip()] = value.strip()
    return found


def infer_task(path: Path, positive_label: str | None, layout: str | None = None) -> tuple[Task, list[str]]:
    """The task type that a file of labels speaks of, and a sentence that says why it was taken."""
    from app.pipeline import infer_task

    task = infer_task(make_source(path, layout), positive_label)
    why = {
        "multilabel": "the file gives lists of labels",
        "binary": "a positive label is given",
        "multiclass": "the file gives one label per instance",
    }[task]
    return task, [f"the task is taken to be {task}, since {why} (--task says otherwise)"]
