"""Files of scores alone, read by the vectorized reader: JSON records, columns and lines, CSV and TSV."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Final

from app.formats.column_data import ReaderContext
from app.formats.problems import Problems
from app.formats.readers.table_header import identify_columns
from app.formats.reading_rules import Limits
from app.formats.vectorized.labels.json_columns import read_id_column
from app.formats.vectorized.scores.row_template import FirstRow, RowTemplate, TemplateMatcher, ValueKind
from app.formats.vectorized.scores.score_collector import ScoreCollector, check_single_score, class_order
from app.formats.vectorized.scores.template_rows import TemplateRowReader, read_line_rows, read_list_rows
from app.formats.vectorized.span_window import SpanWindow
from app.formats.vectorized.unsupported import UnsupportedLayout, decode_utf8, require, require_match
from app.scoring.declaration.task import TaskSpec

_TOP_LEVEL_KEY: Final = re.compile(rb'"(ids|scores|classes|predictions)"[ \t\r\n]*:[ \t\r\n]*\[')
_CLASS_NAMES: Final = re.compile(rb'"[^"\\\x00-\x1f]*+"(?:[ \t\r\n]*+,[ \t\r\n]*+"[^"\\\x00-\x1f]*+")*+[ \t\r\n]*+')
"""Possessive, as remembering the points to backtrack to would take a hundred bytes per name."""
_MAX_KEY_BYTES: Final = 1 << 10
_MAX_HEADER_BYTES: Final = 1 << 20
_WHITESPACE: Final = re.compile(rb"[ \t\r\n]*")


def read_scores(window: SpanWindow, form: str, collector: ScoreCollector, limits: Limits) -> None:
    """Read all scores of a file, and its ids; raises UnsupportedLayout.

    The collector has the ids already if these are the first column of a JSON file and the window is behind the last one.
    """
    # The end of the first row is recognized by the separator behind it.
    require(collector.missing_rows > 1)
    if window.separator:
        _read_delimited(window, collector, limits)
    elif form == "jsonl":
        read_line_rows(window, collector, lambda first_row: _score_order(collector.spec, None, first_row))
        _check_end(window, (b"", b"\n"))
    else:
        _JsonDocument(window, collector).read()


def _read_delimited(window: SpanWindow, collector: ScoreCollector, limits: Limits) -> None:
    """Read a table: a header with the id first and scores after it, then rows without quotation marks.

    The header is identified by the code of the strict reader, so that both give columns the same meaning.
    """
    spec = collector.spec
    line = _header_line(window)
    line_end = b"\r" if line.endswith(b"\r") else b""
    line = line.removesuffix(line_end)
    require(b"\r" not in line)
    names = decode_utf8(line).split(window.separator)
    context = ReaderContext(spec.task, gold=False, limits=limits, problems=Problems(), classes=spec.classes)
    header, _ = identify_columns(names, context, separator=window.separator)
    if header is None or dict(header.used) != {"id": 0} or list(header.scores) != list(range(1, len(names))):
        raise UnsupportedLayout
    require(len(names) > 1)
    if header.score_names is None:
        check_single_score(spec)
    order = None if header.score_names is None else class_order(header.score_names, spec.classes)
    window.drop(len(line + line_end) + 1)
    count = len(header.scores)
    kinds: list[ValueKind] = ["id", *(["score"] * count)]  # type: ignore[list-item]
    template = RowTemplate([b""] * (1 + count), [b""] * count + [line_end], kinds)
    TemplateRowReader(window, TemplateMatcher(template), window.separator.encode() + b"\n", collector, order).run()
    _check_end(window, (b"", b"\n"))


def _header_line(window: SpanWindow) -> bytes:
    """The first line of the file, without its newline; raises UnsupportedLayout if there is no other."""
    size = 1 << 10
    while b"\n" not in (head := window.ahead(size)):
        require(len(head) == size < _MAX_HEADER_BYTES)
        size *= 4
    return head.partition(b"\n")[0]


def _skip_whitespace(window: SpanWindow) -> None:
    """Move to the next byte that is not JSON white space."""
    window.drop(require_match(_WHITESPACE, window.data.data).end())
    while not (len(window) or window.ended):
        window.fill()
        window.drop(require_match(_WHITESPACE, window.data.data).end())


def _check_end(window: SpanWindow, endings: Sequence[bytes]) -> None:
    """Raise UnsupportedLayout unless the rest of the file is one of these endings."""
    window.fill()
    require(window.ended and window.text(0, len(window)) in endings)


def _score_order(spec: TaskSpec, classes: Sequence[str] | None, first_row: FirstRow) -> Sequence[int] | None:
    """The position of each class in a row; raises UnsupportedLayout unless a row has exactly one score per class."""
    if first_row.is_single and classes is None:
        check_single_score(spec)
        return None
    require(first_row.names is None or classes is None)
    names = first_row.names if first_row.names is not None else classes
    require(sum(kind == "score" for _, _, kind in first_row.value_slots) == len(spec.classes))
    return None if names is None else class_order(names, spec.classes)


class _JsonDocument:
    """A JSON document: a list of records, or an object with such a list or with columns."""

    def __init__(self, window: SpanWindow, collector: ScoreCollector) -> None:
        self.window, self.collector, self.spec = window, collector, collector.spec
        self.keys = [b"ids"] if collector.join.id_count else []
        """The keys of the document so far."""
        self.classes: list[str] | None = None
        self.has_score_lists = True
        """Whether scores are lists, whose order the file's list of classes then gives."""

    def read(self) -> None:
        """Read the whole document, or what follows the list of ids; raises UnsupportedLayout."""
        if not self.keys and self._skip_sign(b"["):
            self._read_rows(b"predictions")
        else:
            if self.keys:
                require(self._skip_sign(b"]"))
            else:
                require(self._skip_sign(b"{"))
                self._read_field()
            while self._skip_sign(b","):
                self._read_field()
            require(self._skip_sign(b"}"))
        require(sorted(self.keys) in _DOCUMENT_SHAPES and (not self.classes or self.has_score_lists))
        _skip_whitespace(self.window)
        _check_end(self.window, (b"",))

    def _skip_sign(self, sign: bytes) -> bool:
        """Whether this character comes next, after white space; if so, move past it."""
        _skip_whitespace(self.window)
        if self.window.ahead(1) != sign:
            return False
        self.window.drop(1)
        return True

    def _read_field(self) -> None:
        _skip_whitespace(self.window)
        match = require_match(_TOP_LEVEL_KEY, self.window.ahead(_MAX_KEY_BYTES))
        require(match[1] not in self.keys)
        self.window.drop(match.end())
        if match[1] == b"classes":
            self._read_class_names()
        else:
            self._read_rows(match[1])

    def _read_class_names(self) -> None:
        """Read the names of the classes, which must precede the scores unless they have the order of the task."""
        size = 2 * _MAX_KEY_BYTES
        # A list that fills less than half of the bytes cannot continue behind them.
        while 2 * (match := require_match(_CLASS_NAMES, self.window.ahead(size))).end() >= size:
            size *= 2
        names = json.loads(f"[{decode_utf8(match[0])}]")
        require(not self.collector.score_rows or tuple(names) == tuple(self.spec.classes))
        self.classes = names
        self.keys.append(b"classes")
        self.window.drop(match.end())
        require(self._skip_sign(b"]"))

    def _read_rows(self, key: bytes) -> None:
        _skip_whitespace(self.window)
        self.keys.append(key)
        if key == b"ids":
            read_id_column(self.window, self.collector.join)
        else:
            read_list_rows(self.window, self.collector, self._resolve_order)
        require(self._skip_sign(b"]"))

    def _resolve_order(self, first_row: FirstRow) -> Sequence[int] | None:
        """The position of each class in a row of scores, by what the file has said so far; raises UnsupportedLayout."""
        kinds = {kind for _, _, kind in first_row.value_slots}
        require(kinds == _VALUE_KINDS_OF_KEY[self.keys[-1]])
        self.has_score_lists = first_row.names is None and not first_row.is_single
        return _score_order(self.spec, self.classes, first_row)


_VALUE_KINDS_OF_KEY: Final[Mapping[bytes, set[ValueKind]]] = {
    b"predictions": {"id", "score"},
    b"scores": {"score"},
}
_DOCUMENT_SHAPES: Final = (
    [b"predictions"],
    [b"classes", b"predictions"],
    [b"ids", b"scores"],
    [b"classes", b"ids", b"scores"],
)
