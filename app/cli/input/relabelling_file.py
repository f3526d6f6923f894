"""Reads the changes of a relabelling: JSON, JSON Lines or CSV with ids and new labels."""

import csv
import io
import json
from pathlib import Path
from typing import Any

from app.cli.input import value_parsing
from app.cli.terminal.output import CommandError

_NEW = ("labels", "label", "new")


def read_changes(path: Path) -> list[dict[str, Any]]:
    """Changes as the API takes them: `id` and `labels`, null where the instance is to be void.

    A record has `id` and one of `label`, `labels` and `new`. In CSV an empty cell voids the instance, and line breaks
    separate several labels.
    """
    text = value_parsing.read_text(path)
    try:
        records = _json_records(text) if text.lstrip()[:1] in {"[", "{"} else _csv_records(text)
        changes = [_change(record) for record in records]
    except (ValueError, TypeError, AttributeError, KeyError) as error:
        detail = f"{path} is no list of changes: {error}."
        raise CommandError(
            "syntax", detail, 'Write [{"id": "i1", "label": "cat"}, {"id": "i2", "label": null}].'
        ) from error
    if not changes:
        raise CommandError("no_changes", f"{path} has no changes.", "List at least one instance.")
    return changes


def _json_records(text: str) -> list[Any]:
    if text.lstrip().startswith("["):
        return list(json.loads(text))
    return [json.loads(line) for line in text.splitlines() if line.strip()]


def _csv_records(text: str) -> list[Any]:
    rows = list(csv.DictReader(io.StringIO(text)))
    field = next((name for name in _NEW if rows and name in rows[0]), None)
    if rows and field is None:
        raise ValueError("it has no column 'label'")
    return [
        {"id": row["id"], "labels": (row[field or ""] or "").split("\n") if row[field or ""] else None} for row in rows
    ]


def _change(record: Any) -> dict[str, Any]:
    fields = [name for name in _NEW if name in record]
    if len(fields) != 1:
        raise ValueError(f"a record needs 'id' and one of {', '.join(_NEW)}")
    value = record[fields[0]]
    labels = value if value is None or isinstance(value, list) else [value]
    return {"id": str(record["id"]), "labels": None if labels is None else [str(label) for label in labels]}
