"""Parses option values and small input files: numbers, labels, ids, gold metadata, and the task inferred from a file."""

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
    from app.scoring.evaluation_input import IdIndex

_MAX_NUMBER_LENGTH = 40  # characters; the exact fraction of a longer number could be huge


def make_source(path: Path, layout: str | None = None) -> "SourceFile":
    """A file of labels, with the format detected from its name and layout."""
    from app.formats import detect_file_kind
    from app.pipeline import SourceFile

    return SourceFile(path, detect_file_kind(path.name, None, None, layout))


def parse_share(text: str | None, hint: str) -> Fraction | None:
    """The exact number between 0 and 1, a decimal or a fraction, that the option `hint` gives."""
    if text is None:
        return None
    try:
        share = Fraction(text) if len(text) <= _MAX_NUMBER_LENGTH else None
    except (ValueError, ZeroDivisionError):
        share = None
    if share is None or not 0 <= share <= 1:
        detail = f"'{text[:_MAX_NUMBER_LENGTH]}' is not a number between 0 and 1, such as 0.05"
        raise typer.BadParameter(detail, param_hint=hint)
    return share


def parse_number(text: str, hint: str) -> float:
    """The finite number that the option `hint` gives."""
    try:
        number = float(text)
    except ValueError:
        number = math.inf
    if not math.isfinite(number):
        raise typer.BadParameter(f"'{text[:_MAX_NUMBER_LENGTH]}' is not a number", param_hint=hint)
    return number


def list_labels(classes: Sequence[str]) -> str:
    """The first labels, for a message."""
    return ", ".join(classes[:10]) + (", …" if len(classes) > 10 else "")


def refuse_unknown_label(label: str, classes: Sequence[str], hint: str) -> NoReturn:
    """Raise BadParameter: the option `hint` does not name one of the labels."""
    raise typer.BadParameter(f"'{label}' is not one of the labels: {list_labels(classes)}", param_hint=hint)


def read_json(path: Path) -> Any:
    """The JSON value in a small file; repeated keys are refused."""
    try:
        return json.loads(read_text(path), object_pairs_hook=_object_without_repeated_keys)
    except ValueError as error:
        raise CommandError("syntax", f"{path}: {error}.", "The file must contain one JSON value in UTF-8.") from None


def _object_without_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        duplicate = next(key for index, (key, _) in enumerate(pairs) if any(key == other for other, _ in pairs[:index]))
        raise ValueError(f"the key {json.dumps(duplicate)} occurs twice")
    return value


def read_text(path: Path) -> str:
    """The text of a small file, which may be compressed."""
    from app.formats import DEFAULT_LIMITS, Problems, detect_file_kind
    from app.formats.content.decompression import read_bytes

    problems, encoding = Problems(), detect_file_kind(path.name, None, None).encoding
    with path.open("rb") as stream:
        data = read_bytes(stream, encoding, limits=DEFAULT_LIMITS, problems=problems)
    if data is None:
        problem = problems.first[0]
        detail = f"{path}: {problem.message}"
        raise CommandError(problem.code, detail, "Check that the file is complete, or decompress it first.")
    return data.decode("utf-8-sig")


def read_strings(path: Path) -> list[str]:
    """The JSON list of labels or ids in a file; integers are converted to text."""
    values = read_json(path)
    if not isinstance(values, list):
        raise CommandError("wrong_shape", f"{path} does not contain a JSON list.", 'Use a list such as ["a", "b"].')
    return [_require_string(path, value) for value in values]


def _require_string(path: Path, value: Any) -> str:
    if isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool)):
        return str(value)
    raise CommandError("wrong_shape", f"{path}: {json.dumps(value)} is not a string.", "Put ids and labels in quotes.")


def read_gold_metadata(paths: Mapping[str, Path | None]) -> dict[str, Any]:
    """The gold metadata of the given files, in canonical form, by kind."""
    from app.errors import InvalidContent
    from app.scoring.declaration.gold_metadata import GOLD_METADATA_KINDS

    metadata = {}
    for name, path in paths.items():
        if path is None:
            continue
        try:
            metadata[name] = GOLD_METADATA_KINDS[name].parse(read_json(path))
        except InvalidContent as error:
            raise CommandError("invalid_accessory", f"{path}: {error.detail}", error.advice) from None
    return metadata


def default_positive_label(preset: str | None, classes: Sequence[str] | None) -> str | None:
    """The positive label if none is given: the first class if the preset's tool uses that, else None."""
    from app.scoring.declaration.convention_presets import PRESETS

    known = PRESETS.get(preset or "")
    return classes[0] if known is not None and known.positive_first and classes else None


def check_hierarchy(spec: "TaskSpec", calls: Sequence["MetricCall"]) -> None:
    """Refuse metrics that need the hierarchy if a class is missing from it."""
    from app.errors import InvalidContent
    from app.scoring.declaration.gold_metadata import GOLD_METADATA_KINDS, check_metadata_labels
    from app.scoring.declaration.metric import HIERARCHY

    if spec.hierarchy is not None and any(HIERARCHY in call.metric.needs for call in calls):
        try:
            check_metadata_labels(GOLD_METADATA_KINDS["hierarchy"], spec.hierarchy.to_json(), spec.classes)
        except InvalidContent as error:
            raise CommandError("invalid_accessory", error.detail, error.advice) from None


def read_id_index(path: Path) -> "IdIndex":
    """The ids to predict (NFC) in the order of the service, each once; from files as `read_ids` reads them.

    Raises InvalidContent if one occurs twice.
    """
    from app.formats import DEFAULT_LIMITS
    from app.formats.vectorized.labels import read_ids as read_plain_ids
    from app.gold import normalize_distinct
    from app.scoring.evaluation_input import IdIndex

    if _bare_name(path).endswith((*_TABLE_ENDINGS, *_LINES_ENDINGS, ".json")):
        with path.open("rb") as stream:
            table = read_plain_ids(stream, make_source(path).kind, DEFAULT_LIMITS)
        if table is not None:
            return IdIndex.from_table(table)
    return IdIndex(sorted(normalize_distinct(read_ids(path))))


_TABLE_ENDINGS = (".csv", ".tsv", ".tab")
_LINES_ENDINGS = (".jsonl", ".ndjson")


def _bare_name(path: Path) -> str:
    """The name of a file in lower case, without the ending of its compression."""
    return path.name.lower().removesuffix(".gz").removesuffix(".zst")


def read_ids(path: Path) -> list[str]:
    """The ids to predict, from a JSON list, a template or gold file in any format, or a text file with one id per line."""
    name = _bare_name(path)
    try:
        if name.endswith(_TABLE_ENDINGS):
            return _ids_of_csv(path, "," if name.endswith(".csv") else "\t")
        if name.endswith((".npz", ".parquet", ".pq", ".arrow", ".feather")):
            return _ids_of_columns(path)
        if name.endswith(_LINES_ENDINGS):
            return [_record_id(path, json.loads(line)) for line in read_text(path).splitlines()]
        if name.endswith(".json"):
            return _ids_of_json(path)
        return [line.strip() for line in read_text(path).splitlines() if line.strip()]
    except (ValueError, csv.Error) as error:
        remedy = "Use a list of ids, or a template file (assay template)."
        raise CommandError("syntax", f"{path}: {error}.", remedy) from None


def _ids_of_columns(path: Path) -> list[str]:
    from app.offline import read_ids

    ids, problems = read_ids(make_source(path))
    if ids is None:
        problem = problems.first[0]
        raise CommandError(problem.code, f"{path}: {problem.message}", "Use a template file (assay template).")
    return ids


def _ids_of_csv(path: Path, separator: str) -> list[str]:
    rows = csv.DictReader(io.StringIO(read_text(path), newline=""), strict=True, delimiter=separator)
    if "id" not in (rows.fieldnames or ()):
        raise CommandError("missing_id", f"{path}: the header has no column 'id'.", "Begin the file with: id,label")
    ids = [row["id"] for row in rows]
    if None in ids:
        raise CommandError(
            "missing_id", f"{path}: a row has no id.", "Write as many fields on each row as in the header."
        )
    return ids


def _ids_of_json(path: Path) -> list[str]:
    value = read_json(path)
    if isinstance(value, dict):
        names = ("predictions", "documents", "ids")
        value = next((value[name] for name in names if isinstance(value.get(name), list)), value)
    # Any other object is a map whose keys are the ids.
    return [_record_id(path, record) for record in (value if isinstance(value, list | dict) else [value])]


def _record_id(path: Path, record: Any) -> str:
    if not isinstance(record, dict):
        return _require_string(path, record)
    for key in ("id", "pmid"):
        if key in record:
            return _require_string(path, record[key])
    raise CommandError("missing_id", f"{path}: a record has no id.", 'Use records such as {"id": "t1", "label": "a"}.')


def parse_option_pairs(pairs: Sequence[str], hint: str = "--option") -> dict[str, str]:
    """The values of the repeatable option `hint`, whose form is `name=value`."""
    values: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = (part.strip() for part in pair.partition("="))
        if not equals or not name:
            raise typer.BadParameter(f"'{pair}' is not name=value", param_hint=hint)
        if name in values:
            raise typer.BadParameter(f"'{name}' is given twice", param_hint=hint)
        values[name] = value
    return values


def infer_task(path: Path, positive_label: str | None, layout: str | None = None) -> tuple[Task, list[str]]:
    """The task inferred from a file of labels, and a note that gives the reason."""
    from app.pipeline import infer_task

    task = infer_task(make_source(path, layout), positive_label)
    reason = {
        "multilabel": "the file has lists of labels",
        "binary": "a positive label is given",
        "multiclass": "the file has one label per instance",
    }[task]
    return task, [f"the task is assumed to be {task}, as {reason} (--task overrides this)"]
