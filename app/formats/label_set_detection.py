"""Infers from a file whether its instances have one label each or sets of labels."""

import contextlib
import csv
import io
import json
from typing import Any, BinaryIO

from app.formats.column_data import ReaderContext, TooManyRows
from app.formats.content.decompression import read_bytes
from app.formats.content.format_detection import FORMATS, FileKind
from app.formats.content.utf8_decoding import decode_utf8
from app.formats.format_declaration import Format
from app.formats.problems import Problems, TooManyProblems
from app.formats.readers.strict_json import json_decoder
from app.formats.reading_rules import Limits
from app.formats.strict_reader import binary_file_problem, read_columns
from app.formats.value_locations import ColumnListsLayout


def has_label_sets(stream: BinaryIO, kind: FileKind, limits: Limits) -> bool:
    """True if the first instance has a set of labels; for a table, if any row has one or the column's name says so.

    False where this cannot be determined. Problems are not reported here: reading the file with the resulting task
    reports them all.
    """
    problems, form = Problems(), FORMATS[kind.format]
    data = read_bytes(stream, kind.encoding, limits=limits, problems=problems)
    if data is None:
        return False
    if form.is_binary:
        return _columns_have_sets(data, form, kind, limits)
    text = None
    if binary_file_problem(data) is None:
        with contextlib.suppress(TooManyProblems):
            text = decode_utf8(data, by_line=True, problems=problems)
    if text is None:
        return False
    if form.separator:
        return kind.layout == "long" or _table_has_sets(text, form.separator)
    document = text.split("\n", 1)[0] if form.has_record_per_line else text
    with contextlib.suppress(json.JSONDecodeError, RecursionError):
        return _document_has_sets(json_decoder(limits).decode(document), is_record=form.has_record_per_line)
    return False


def _columns_have_sets(data: bytes, form: Format, kind: FileKind, limits: Limits) -> bool:
    """Whether a file of columns has lists of labels, a column named `labels`, or several labels in a cell.

    In .npz files the array of labels has the same name for both tasks.
    """
    context = ReaderContext("multilabel", gold=True, limits=limits, problems=Problems(), sets=True)
    try:
        columns = read_columns(form, data, context)
    except (TooManyRows, TooManyProblems):
        return False
    if columns is None or columns.labels is None:
        return False
    layout = columns.layout
    has_lists = isinstance(layout, ColumnListsLayout) and not layout.has_joined_labels
    is_named = form.key != "npz" and layout.name("label") == "labels"
    has_several = any(isinstance(labels, list) and len(labels) > 1 for labels in columns.labels)
    return kind.layout == "long" or has_lists or is_named or has_several


def _table_has_sets(text: str, separator: str) -> bool:
    """Whether a table has a column of label sets, by its name or by the character that joins labels."""
    rows = csv.reader(io.StringIO(text, newline="\n"), delimiter=separator)
    try:
        header = next(rows, [])
        if "label" not in header:
            return "labels" in header
        at = header.index("label")
        return any("|" in row[at] for row in rows if len(row) > at)
    except csv.Error:
        return False


def _document_has_sets(document: Any, *, is_record: bool) -> bool:
    """Whether a decoded document, or a single record, has sets of labels (objects are tuples of pairs, see strict_json)."""
    fields: dict[str, Any] = dict(document) if type(document) is tuple else {}
    if is_record:
        return "labels" in fields and "label" not in fields
    records = document if type(document) is list else fields.get("predictions", fields.get("documents"))
    if type(records) is list:
        return bool(records) and _document_has_sets(records[0], is_record=True)
    if type(fields.get("ids")) is list and type(fields.get("labels")) is list:
        return bool(fields["labels"]) and type(fields["labels"][0]) is list
    return bool(fields) and type(next(iter(fields.values()))) is list
