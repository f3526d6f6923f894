"""Infers from a file whether its instances have one label each or sets of labels."""

import contextlib
import csv
import io
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, BinaryIO

from app.formats.column_data import ReaderContext, TooManyRows
from app.formats.content.decompression import DecompressionError, iter_decompressed, read_bytes
from app.formats.content.format_detection import FORMATS, FileKind
from app.formats.content.text_start import examine_start
from app.formats.content.utf8_decoding import decode_utf8
from app.formats.format_declaration import Format
from app.formats.problems import Problems, TooManyProblems
from app.formats.readers.strict_json import json_decoder
from app.formats.reading_rules import Limits
from app.formats.strict_reader import binary_file_problem, read_columns
from app.formats.value_locations import ColumnListsLayout

_SPACE = rb"[ \t\r\n]*+"
_RECORDS_OPENING = re.compile(_SPACE + rb'(?:\{%b"(predictions|documents)"%b:%b)?\[%b(?=\{)' % ((_SPACE,) * 4))
_MAP_OPENING = re.compile(_SPACE + rb'\{%b"[^"\\]*+"%b:%b(["\[])' % ((_SPACE,) * 3))
_PLAIN_NAME = re.compile(rb"\w+")


def has_label_sets(stream: BinaryIO, kind: FileKind, limits: Limits) -> bool:
    """True if the first instance has a set of labels; for a table, if any row has one or the column's name says so.

    False where this cannot be determined. Problems are not reported here: reading the file with the resulting task
    reports them all. In JSON and tables the first instance usually tells, and nothing else is decoded. The answer is the
    one that decoding everything would give, except perhaps for an invalid file.
    """
    form = FORMATS[kind.format]
    if not form.is_binary and not kind.layout:
        with contextlib.suppress(DecompressionError):
            answer = _FirstInstance(iter_decompressed(stream, kind.encoding, limits), limits).has_label_sets(form)
            if answer is not None:
                return answer
    stream.seek(0)
    return _file_has_sets(stream, kind, limits)


@dataclass(slots=True)
class _FirstInstance:
    """The beginning of a text, from which the answer usually follows, and a search of the rest for what may change it."""

    pieces: Iterator[bytes]
    limits: Limits
    head: bytes = field(init=False)
    """The first piece of the file."""

    def __post_init__(self) -> None:
        self.head = next(self.pieces, b"")

    def has_label_sets(self, form: Format) -> bool | None:
        """Whether the instances have sets of labels; None if the beginning does not tell. Raises DecompressionError."""
        start = examine_start(self.head, form)
        self.head, form = self.head[start.skipped :], start.form
        if not self.head[:4].isascii() or b"\0" in self.head[:4]:  # the byte order mark of another encoding
            return None
        if form.separator:
            return self._table_has_sets(form.separator.encode())
        return self._record_has_sets(0) if form.has_record_per_line else self._document_has_sets()

    def _table_has_sets(self, separator: bytes) -> bool | None:
        line, end, _ = self.head.partition(b"\n")
        names = line.rstrip(b"\r").split(separator)
        is_plain = end and all(map(_PLAIN_NAME.fullmatch, names)) and b"label" in names
        # In a column called `label`, several labels of an instance are joined by the second sign.
        return False if is_plain and not self._occurs(b'"', b"|") else None

    def _document_has_sets(self) -> bool | None:
        records, document = _RECORDS_OPENING.match(self.head), _MAP_OPENING.match(self.head)
        if records is not None:
            # 'predictions', wherever they stand, come before 'documents'.
            is_clear = records[1] != b"documents" or not self._occurs(b"\\", b'"predictions"')
            return self._record_has_sets(records.end()) if is_clear else None
        # An object is a map only if no key gives it another meaning.
        if document is None or self._occurs(b"\\", b'"predictions"', b'"documents"', b'"ids"'):
            return None
        return document[1] == b"["

    def _record_has_sets(self, start: int) -> bool | None:
        text = self.head[start:].decode(errors="surrogateescape")
        try:
            record, _ = json_decoder(self.limits).raw_decode(text)
        except (json.JSONDecodeError, RecursionError):
            return None
        return _document_has_sets(record, is_record=True) if type(record) is tuple else None

    def _occurs(self, *signs: bytes) -> bool:
        """Whether any of these texts occurs in the file, which is read to its end if none does."""
        tail, overlap = b"", max(map(len, signs)) - 1
        for piece in chain([self.head], self.pieces):
            part = tail + piece
            if any(sign in part for sign in signs):
                return True
            tail = part[max(0, len(part) - overlap) :]
        return False


def _file_has_sets(stream: BinaryIO, kind: FileKind, limits: Limits) -> bool:
    problems, form = Problems(), FORMATS[kind.format]
    data = read_bytes(stream, kind.encoding, limits=limits, problems=problems)
    if data is None:
        return False
    if form.is_binary:
        return _columns_have_sets(data, form, kind, limits)
    text, start = None, examine_start(data, form)
    form = start.form
    if binary_file_problem(data) is None:
        with contextlib.suppress(TooManyProblems):
            text = decode_utf8(data[start.skipped :], by_line=True, problems=problems)
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
