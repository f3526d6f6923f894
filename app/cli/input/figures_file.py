"""Reads tables of published figures, CSV or JSON, keeping each figure as it was printed."""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.cli.input import value_parsing
from app.cli.terminal.output import CommandError

if TYPE_CHECKING:
    from app.analysis.convert.statements import PublishedFigures

_REMEDY = 'Write it like {"label": "cat", "size": 120, "precision": "0.81"}, or as CSV: label,size,precision.'
_SYSTEM_COLUMN = "system"


def read_statements(path: Path, plain: "PublishedFigures") -> "dict[str, PublishedFigures]":
    """What a table states of each system that it names ('' where it names none).

    Each row is about one class, or, without a label, about the whole task; there its size is the number of instances.
    `plain` holds what the command line says about all of them.
    """
    from dataclasses import replace

    found: dict[str, list[dict[str, str]]] = {}
    for row in _read_rows(path):
        found.setdefault(row.pop(_SYSTEM_COLUMN, "").strip(), []).append(row)
    if not found:
        raise CommandError("no_rows", f"{path} has no rows.", _REMEDY)
    made = {}
    for system, rows in found.items():
        of_classes = [row for row in rows if row.get("label", "").strip()]
        whole, n = dict(plain.whole), plain.n
        for row in rows:
            if not row.get("label", "").strip():
                size = row.pop("size", "") or row.pop("n", "")
                n = n if not size.strip() else _parse_instance_count(path, size)
                whole |= {name: text for name, text in row.items() if text.strip()}
        made[system] = replace(plain, rows=of_classes, whole=whole, n=n)
    return made


def _parse_instance_count(path: Path, text: str) -> int:
    if text.strip().isdecimal():
        return int(text)
    raise CommandError("wrong_shape", f"{path}: '{text}' is no number of instances.", "Write a whole number.")


def _read_rows(path: Path) -> list[dict[str, str]]:
    name = path.name.lower().removesuffix(".gz").removesuffix(".zst")
    if name.endswith((".csv", ".tsv", ".tab")):
        return _parse_csv(path, value_parsing.read_text(path), tabs=not name.endswith(".csv"))
    return [_row_of_texts(path, row) for row in _parse_json(path, value_parsing.read_text(path))]


def _parse_csv(path: Path, text: str, *, tabs: bool) -> list[dict[str, str]]:
    header = text.partition("\n")[0]
    separator = "\t" if tabs else ";" if ";" in header else ","
    try:
        reader = csv.DictReader(io.StringIO(text, newline=""), strict=True, delimiter=separator)
        names = [name.strip().lower() for name in reader.fieldnames or ()]
        if len(set(names)) < len(names):
            raise CommandError("wrong_shape", f"{path}: a column of the header occurs twice.", _REMEDY)
        reader.fieldnames = names
        rows = list(reader)
    except csv.Error as error:
        raise CommandError("syntax", f"{path}: {error}.", _REMEDY) from None
    for number, row in enumerate(rows, start=1):
        if None in row or None in row.values():
            raise CommandError("wrong_shape", f"{path}: row {number} has not as many cells as the header.", _REMEDY)
    return rows


def _parse_json(path: Path, text: str) -> Sequence[Any]:
    try:
        found = json.loads(text, parse_float=str, parse_int=str)  # 0.780 keeps its last digit
    except ValueError as error:
        raise CommandError("syntax", f"{path}: {error}.", _REMEDY) from None
    if not isinstance(found, list):
        raise CommandError("wrong_shape", f"{path}: a JSON list of rows is needed.", _REMEDY)
    return found


def _row_of_texts(path: Path, row: Any) -> dict[str, str]:
    if not isinstance(row, Mapping):
        raise CommandError("wrong_shape", f"{path}: {json.dumps(row)} is no row.", _REMEDY)
    for name, value in row.items():
        if value is not None and not isinstance(value, str):
            detail = f"{path}: {json.dumps(name)} is {json.dumps(value)}, which is neither a text nor a number."
            raise CommandError("wrong_shape", detail, _REMEDY)
    return {name.strip().lower(): value or "" for name, value in row.items()}
