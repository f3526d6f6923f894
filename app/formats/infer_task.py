"""Whether a file gives one label or sets of labels."""

import contextlib
import csv
import io
import json
from typing import Any, BinaryIO

from app.formats.columns import ReaderContext, TooManyRows
from app.formats.decoding import decode_utf8
from app.formats.decompression import read_bytes
from app.formats.detection import FORMATS, FileKind
from app.formats.layouts import ColumnListsLayout
from app.formats.problems import Problems, TooManyProblems
from app.formats.reader import READERS
from app.formats.readers.strict_json import json_decoder
from app.formats.reading_rules import Limits


def has_label_sets(stream: BinaryIO, kind: FileKind, limits: Limits) -> bool:
    """True if the first instance has a set of labels (in a table: if any has, or its column says so).

    False where nothing can be told.

    Faults are not reported here: reading the file with the task that results reports them all.
    """
    problems = Problems()
    data = read_bytes(stream, kind.encoding, limits=limits, problems=problems)
    if data is None:
        return False
    if FORMATS[kind.format].binary:
        return _columns_have_sets(data, kind, limits)
    text = None
    with contextlib.suppress(TooManyProblems):
        text = decode_utf8(data, by_line=True, problems=problems)
    if text is None:
        return False
    if kind.format in {"csv", "tsv"}:
        return kind.layout == "long" or _table_has_sets(text, "," if kind.format == "csv" else "\t")
    first_line = text.split("\n", 1)[0]
    with contextlib.suppress(json.JSONDecodeError, RecursionError):
        return _document_has_sets(
            json_decoder(limits).decode(first_line if kind.format == "jsonl" else text), kind.format
        )
    return False


def _columns_have_sets(data: bytes, kind: FileKind, limits: Limits) -> bool:
    """Whether a file of columns has lists of labels, a column that is called so, or several labels in a cell.

    In .npz files the array of labels has one name, whatever it holds.
    """
    reading = ReaderContext("multilabel", gold=True, limits=limits, problems=Problems(), sets=True)
    try:
        columns = READERS[kind.format](data, reading)
    except (TooManyRows, TooManyProblems):
        return False
    if columns is None or columns.labels is None:
        return False
    layout = columns.layout
    listed = isinstance(layout, ColumnListsLayout) and not layout.has_joined_labels
    named = kind.format != "npz" and layout.name("label") == "labels"
    several = any(isinstance(labels, list) and len(labels) > 1 for labels in columns.labels)
    return kind.layout == "long" or listed or named or several


def _table_has_sets(text: str, separator: str) -> bool:
    """Whether a table has a column of label sets, by its name or by the sign that joins labels."""
    rows = csv.reader(io.StringIO(text, newline="\n"), delimiter=separator)
    try:
        header = next(rows, [])
        if "label" not in header:
            return "labels" in header
        at = header.index("label")
        return any("|" in row[at] for row in rows if len(row) > at)
    except csv.Error:
        return False


def _document_has_sets(document: Any, form: str) -> bool:
    """Look at a decoded document, or at the record of a line (objects are tuples of pairs, see strict_json)."""
    fields: dict[str, Any] = dict(document) if type(document) is tuple else {}
    if form == "jsonl":
        return "labels" in fields and "label" not in fields
    records = document if type(document) is list else fields.get("predictions", fields.get("documents"))
    if type(records) is list:
        return bool(records) and _document_has_sets(records[0], "jsonl")
    if type(fields.get("ids")) is list and type(fields.get("labels")) is list:
        return bool(fields["labels"]) and type(fields["labels"][0]) is list
    return bool(fields) and type(next(iter(fields.values()))) is list
