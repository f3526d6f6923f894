"""Files of scores alone, read by the vectorized reader: JSON records, columns and lines, CSV, TSV and .npz."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import BinaryIO, Final

from app.formats.column_data import ReaderContext
from app.formats.content.decompression import DecompressionError, iter_decompressed
from app.formats.content.format_detection import FORMATS, FileKind
from app.formats.problems import Problems
from app.formats.readers.table_header import identify_columns
from app.formats.reading_rules import Limits, ReadingRules
from app.formats.vectorized.scores.decimal_parsing import MAX_NUMBER_LENGTH
from app.formats.vectorized.scores.file_window import BYTE_WINDOW_BYTES, ByteWindow
from app.formats.vectorized.scores.npz_arrays import read_npz_scores
from app.formats.vectorized.scores.row_template import FirstRow, RowTemplate, ValueKind
from app.formats.vectorized.scores.score_collector import ScoreRowCollector, class_order
from app.formats.vectorized.scores.template_rows import (
    read_line_rows,
    read_list_rows,
    read_template_rows,
    skip_whitespace,
)
from app.formats.vectorized.unsupported import UnsupportedLayout, require, require_match
from app.scoring.declaration.task import TaskSpec
from app.scoring.numeric.exact import Floats
from app.scoring.string_table import StringTable

_TOP_LEVEL_KEY: Final = re.compile(rb'"(ids|scores|classes|predictions)"[ \t\r\n]*:[ \t\r\n]*\[')
_CLASS_NAMES: Final = re.compile(rb'"[^"\\\x00-\x1f]*+"(?:[ \t\r\n]*+,[ \t\r\n]*+"[^"\\\x00-\x1f]*+")*+[ \t\r\n]*+')
"""Possessive, as remembering the points to backtrack to would take a hundred bytes per name."""
_MAX_KEY_BYTES: Final = 1 << 10


def read_scores(
    stream: BinaryIO,
    kind: FileKind,
    ids: StringTable,
    spec: TaskSpec,
    *,
    rules: ReadingRules,
    limits: Limits,
    window: int = BYTE_WINDOW_BYTES,
) -> Floats | None:
    """The scores of n instances, n × m in the order of the ids and classes, or n × 1.

    None where the strict reader must read the file. `window` is the number of bytes processed together.
    """
    # With limits at least this wide, no file that passes the checks below can exceed them, so they are not checked again.
    within_limits = limits.records >= len(ids) and limits.text_length >= MAX_NUMBER_LENGTH and limits.nesting >= 8
    if not within_limits or kind.layout or len(ids) < 2:
        return None
    collector = ScoreRowCollector(ids, spec, probabilities=rules.probabilities)
    try:
        _read_by_format(stream, kind, collector, ids, spec, limits=limits, window=window)
    except (UnsupportedLayout, DecompressionError, ValueError, MemoryError):
        # MemoryError: the scores of all instances may not fit into memory although those of the file do.
        return None
    return collector.matrix()


def _read_by_format(
    stream: BinaryIO,
    kind: FileKind,
    collector: ScoreRowCollector,
    ids: StringTable,
    spec: TaskSpec,
    *,
    limits: Limits,
    window: int,
) -> None:
    if kind.format == "npz":
        require(not kind.encoding)
        read_npz_scores(stream, collector, spec, limits)
        return
    # No other binary format has a vectorized reader. An id that needs an escape in JSON cannot be compared byte for byte.
    form = FORMATS[kind.format]
    require(not form.is_binary and ids.is_json_safe)
    text = ByteWindow(iter_decompressed(stream, kind.encoding, limits), window)
    if form.separator:
        _read_delimited(form.separator, text, collector, spec, limits)
    elif kind.format == "jsonl":
        read_line_rows(text, collector, lambda first_row: _score_order(spec, None, first_row))
        _check_end(text, (b"", b"\n"))
    else:
        _JsonDocument(text, collector, spec).read()


def _read_delimited(
    separator: str, window: ByteWindow, collector: ScoreRowCollector, spec: TaskSpec, limits: Limits
) -> None:
    """Read a table: a header with the id first and scores after it, then rows without quotation marks.

    The header is identified by the code of the strict reader, so that both give columns the same meaning.
    """
    line, end, _ = window.ahead().partition(b"\n")
    line_end = b"\r" if line.endswith(b"\r") else b""
    line = line.removesuffix(line_end)
    require(bool(end) and b'"' not in line and b"\r" not in line)
    names = line.decode().split(separator)
    context = ReaderContext(spec.task, gold=False, limits=limits, problems=Problems(), classes=spec.classes)
    header, _ = identify_columns(names, context, separator=separator)
    if header is None or dict(header.used) != {"id": 0} or list(header.scores) != list(range(1, len(names))):
        raise UnsupportedLayout
    if header.score_names is None:
        _check_single_score(spec)
    order = None if header.score_names is None else class_order(header.score_names, spec.classes)
    window.position += len(line + line_end) + 1
    count = len(header.scores)
    kinds: list[ValueKind] = ["id", *(["score"] * count)]  # type: ignore[list-item]
    template = RowTemplate([b""] * (1 + count), [b""] * count + [line_end], kinds)
    read_template_rows(window, template, separator.encode() + b"\n", collector, order)
    _check_end(window, (b"", b"\n"))


def _check_end(window: ByteWindow, endings: Sequence[bytes]) -> None:
    """Raise UnsupportedLayout unless the rest of the file is one of these endings."""
    require(window.remaining() in endings)


def _score_order(spec: TaskSpec, classes: Sequence[str] | None, first_row: FirstRow) -> Sequence[int] | None:
    """The position of each class in a row; raises UnsupportedLayout unless a row has exactly one score per class."""
    if first_row.is_single and classes is None:
        _check_single_score(spec)
        return None
    require(first_row.names is None or classes is None)
    names = first_row.names if first_row.names is not None else classes
    require(sum(kind == "score" for _, _, kind in first_row.value_slots) == len(spec.classes))
    return None if names is None else class_order(names, spec.classes)


def _check_single_score(spec: TaskSpec) -> None:
    """One score per instance is that of the positive label; raises UnsupportedLayout where there is none."""
    require(spec.task == "binary" and spec.positive_label is not None)


class _JsonDocument:
    """A JSON document: a list of records, or an object with such a list or with columns."""

    def __init__(self, window: ByteWindow, collector: ScoreRowCollector, spec: TaskSpec) -> None:
        self.window, self.collector, self.spec = window, collector, spec
        self.keys: list[bytes] = []
        """The keys of the document so far."""
        self.classes: list[str] | None = None
        self.has_score_lists = True
        """Whether scores are lists, whose order the file's list of classes then gives."""

    def read(self) -> None:
        """Read the whole document; raises UnsupportedLayout."""
        if self._skip_sign(b"["):
            self._read_rows(b"predictions")
        elif self._skip_sign(b"{"):
            self._read_field()
            while self._skip_sign(b","):
                self._read_field()
            require(self._skip_sign(b"}"))
        require(sorted(self.keys) in _DOCUMENT_SHAPES and (not self.classes or self.has_score_lists))
        skip_whitespace(self.window)
        _check_end(self.window, (b"",))

    def _skip_sign(self, sign: bytes) -> bool:
        """Whether this character comes next, after white space; if so, move past it."""
        skip_whitespace(self.window)
        if self.window.ahead(1) != sign:
            return False
        self.window.position += 1
        return True

    def _read_field(self) -> None:
        skip_whitespace(self.window)
        self.window.ensure_available(_MAX_KEY_BYTES)
        match = require_match(_TOP_LEVEL_KEY, self.window.ahead(_MAX_KEY_BYTES))
        require(match[1] not in self.keys)
        self.window.position += match.end()
        if match[1] == b"classes":
            self._read_class_names()
        else:
            self._read_rows(match[1])

    def _read_class_names(self) -> None:
        """Read the names of the classes, which must precede the scores unless they have the order of the task."""
        is_available, size, match = True, _MAX_KEY_BYTES, None
        # A list that fills less than half of the bytes read cannot continue behind them.
        while is_available and (match is None or match.end() >= size // 2):
            size *= 2
            is_available = self.window.ensure_available(size)
            match = _CLASS_NAMES.match(self.window.ahead(size))
        if match is None:
            raise UnsupportedLayout
        names = json.loads(b"[" + match[0] + b"]")
        require(not self.collector.score_rows or tuple(names) == tuple(self.spec.classes))
        self.classes = names
        self.keys.append(b"classes")
        self.window.position += match.end()
        require(self._skip_sign(b"]"))

    def _read_rows(self, key: bytes) -> None:
        skip_whitespace(self.window)
        self.keys.append(key)
        read_list_rows(self.window, self.collector, self._resolve_order)
        require(self._skip_sign(b"]"))

    def _resolve_order(self, first_row: FirstRow) -> Sequence[int] | None:
        """The position of each class in a row of scores, by what the file has said so far; raises UnsupportedLayout."""
        kinds = {kind for _, _, kind in first_row.value_slots}
        require(kinds == _VALUE_KINDS_OF_KEY[self.keys[-1]])
        if "score" not in kinds:
            return None
        self.has_score_lists = first_row.names is None and not first_row.is_single
        return _score_order(self.spec, self.classes, first_row)


_VALUE_KINDS_OF_KEY: Final[Mapping[bytes, set[ValueKind]]] = {
    b"predictions": {"id", "score"},
    b"ids": {"id"},
    b"scores": {"score"},
}
_DOCUMENT_SHAPES: Final = (
    [b"predictions"],
    [b"classes", b"predictions"],
    [b"ids", b"scores"],
    [b"classes", b"ids", b"scores"],
)
