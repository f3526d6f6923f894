"""Reads tables of published figures from CSV or JSON, with each figure exactly as printed."""

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

_REMEDY = 'Use rows such as {"label": "cat", "size": 120, "precision": "0.81"}, or CSV: label,size,precision.'
_SYSTEM_COLUMN = "system"


def read_statements(path: Path, plain: "PublishedFigures") -> "dict[str, PublishedFigures]":
    """The figures in a table by system; the name is '' for rows without one.

    A row with a label is about that class. A row without a label is about the whole task, and its size is the number of
    instances. `plain` has the figures from the command line, which apply to all systems.
    """
    from dataclasses import replace

    rows_by_system: dict[str, list[dict[str, str]]] = {}
    for row in _read_rows(path):
        rows_by_system.setdefault(row.pop(_SYSTEM_COLUMN, "").strip(), []).append(row)
    if not rows_by_system:
        raise CommandError("no_rows", f"{path} has no rows.", _REMEDY)
    statements = {}
    for system, rows in rows_by_system.items():
        of_classes = [row for row in rows if row.get("label", "").strip()]
        whole, n = dict(plain.whole), plain.n
        for row in rows:
            if not row.get("label", "").strip():
                size = row.pop("size", "") or row.pop("n", "")
                n = n if not size.strip() else _parse_instance_count(path, size)
                whole |= {name: text for name, text in row.items() if text.strip()}
        statements[system] = replace(plain, rows=of_classes, whole=whole, n=n)
    return statements


def _parse_instance_count(path: Path, text: str) -> int:
    if text.strip().isdecimal():
        return int(text)
    raise CommandError("wrong_shape", f"{path}: '{text}' is not a number of instances.", "Use a whole number.")


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
            raise CommandError("wrong_shape", f"{path}: row {number} has more or fewer cells than the header.", _REMEDY)
    return rows


def _parse_json(path: Path, text: str) -> Sequence[Any]:
    try:
        rows = json.loads(text, parse_float=str, parse_int=str)  # as texts, so that 0.780 keeps its last digit
    except ValueError as error:
        raise CommandError("syntax", f"{path}: {error}.", _REMEDY) from None
    if not isinstance(rows, list):
        raise CommandError("wrong_shape", f"{path} does not contain a JSON list of rows.", _REMEDY)
    return rows


def _row_of_texts(path: Path, row: Any) -> dict[str, str]:
    if not isinstance(row, Mapping):
        raise CommandError("wrong_shape", f"{path}: {json.dumps(row)} is not a row.", _REMEDY)
    for name, value in row.items():
        if value is not None and not isinstance(value, str):
            detail = f"{path}: {json.dumps(name)} is {json.dumps(value)}, which is neither text nor a number."
            raise CommandError("wrong_shape", detail, _REMEDY)
    return {name.strip().lower(): value or "" for name, value in row.items()}
