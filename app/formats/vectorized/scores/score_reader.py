"""Files of scores alone: JSON records, columns and lines, CSV and TSV, read fast where they are simply laid out and sound."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import BinaryIO, Final

from app.formats.columns import ReaderContext
from app.formats.decompression import DecompressionError, iter_decompressed
from app.formats.detection import FileKind
from app.formats.problems import Problems
from app.formats.readers.table_header import identify_columns
from app.formats.reading_rules import Limits, ReadingRules
from app.formats.vectorized.scores.byte_window import BYTE_WINDOW_BYTES, ByteWindow
from app.formats.vectorized.scores.decimal_parsing import MAX_NUMBER_LENGTH
from app.formats.vectorized.scores.npz_arrays import read_npz_scores
from app.formats.vectorized.scores.row_template import FirstRow, RowTemplate, UnsupportedScoreLayout, ValueKind
from app.formats.vectorized.scores.score_rows import ScoreRowCollector, class_order
from app.formats.vectorized.scores.template_rows import (
    read_line_rows,
    read_list_rows,
    read_template_rows,
    skip_whitespace,
)
from app.scoring.declaration.task import TaskSpec
from app.scoring.numeric.exact import Floats
from app.scoring.string_table import StringTable

_TOP_LEVEL_KEY: Final = re.compile(rb'"(ids|scores|classes|predictions)"[ \t\r\n]*:[ \t\r\n]*\[')
_CLASS_NAMES: Final = re.compile(rb'"[^"\\\x00-\x1f]*+"(?:[ \t\r\n]*+,[ \t\r\n]*+"[^"\\\x00-\x1f]*+")*+[ \t\r\n]*+')
"""Possessive: to remember where it could give back takes a hundred bytes a name."""
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
    """The scores of n instances in a file, n × m in the order of the ids and classes, or n × 1.

    None at the first doubt, which says nothing of the file. So many bytes are looked at together (`window`).
    """
    few = limits.records >= len(ids) and limits.text_length >= MAX_NUMBER_LENGTH and limits.nesting >= 8
    if (
        not few
        or kind.layout
        or kind.format not in {"npz", *_FORMAT_READERS}
        or (kind.format == "npz" and kind.encoding)
        or len(ids) < 2
    ):
        return None
    into = ScoreRowCollector(ids, spec, probabilities=rules.probabilities)
    try:
        if kind.format == "npz":
            read_npz_scores(stream, into, spec, limits)
        elif ids.is_json_safe:
            bytes_of = iter_decompressed(stream, kind.encoding, limits)
            _FORMAT_READERS[kind.format](ByteWindow(bytes_of, window), into, spec, limits)
    except (
        UnsupportedScoreLayout,
        DecompressionError,
        ValueError,
        MemoryError,
    ):  # the scores of all instances may not fit, those of the file may
        return None
    return into.matrix()


def _read_json(window: ByteWindow, into: ScoreRowCollector, spec: TaskSpec, _: Limits) -> None:
    _JsonDocument(window, into, spec).read()


def _read_json_lines(window: ByteWindow, into: ScoreRowCollector, spec: TaskSpec, _: Limits) -> None:
    def order(sample: FirstRow) -> Sequence[int] | None:
        return _score_order(spec, None, sample)

    read_line_rows(window, into, order)
    _check_end(window, (b"", b"\n"))


def _read_delimited(
    separator: str, window: ByteWindow, into: ScoreRowCollector, spec: TaskSpec, limits: Limits
) -> None:
    """Rows of text behind a line that names the columns: the id, and scores."""
    line, end, _ = window.ahead().partition(b"\n")
    after = b"\r" if line.endswith(b"\r") else b""
    line = line.removesuffix(after)
    if not end or b'"' in line or b"\r" in line:
        raise UnsupportedScoreLayout
    names = line.decode().split(separator)
    reading = ReaderContext(spec.task, gold=False, limits=limits, problems=Problems(), classes=spec.classes)
    header, _ = identify_columns(names, reading, separator=separator)
    if header is None or dict(header.used) != {"id": 0} or list(header.scores) != list(range(1, len(names))):
        raise UnsupportedScoreLayout
    if header.score_names is None:
        _check_single_score(spec)
    order = None if header.score_names is None else class_order(header.score_names, spec.classes)
    window.at += len(line + after) + 1
    count = len(header.scores)
    template = RowTemplate([b""] * (1 + count), [b""] * count + [after], ["id", *["score"] * count])  # type: ignore[list-item]
    read_template_rows(window, template, separator.encode() + b"\n", into, order)
    _check_end(window, (b"", b"\n"))


def _check_end(window: ByteWindow, endings: Sequence[bytes]) -> None:
    if window.remaining() not in endings:
        raise UnsupportedScoreLayout


def _score_order(spec: TaskSpec, classes: Sequence[str] | None, sample: FirstRow) -> Sequence[int] | None:
    """Where each class stands in a row; raises Unfit where rows do not give one score for each."""
    if sample.single and classes is None:
        _check_single_score(spec)
        return None
    if sample.names is not None and classes is not None:
        raise UnsupportedScoreLayout
    names = sample.names if sample.names is not None else classes
    count = sum(kind == "score" for _, _, kind in sample.value_slots)
    if count != len(spec.classes):
        raise UnsupportedScoreLayout
    return None if names is None else class_order(names, spec.classes)


def _check_single_score(spec: TaskSpec) -> None:
    """One score for each instance is that of the positive label; raises Unfit where there is none."""
    if spec.task != "binary" or spec.positive_label is None:
        raise UnsupportedScoreLayout


class _JsonDocument:
    """A JSON document: a list of records, or an object with one, or with columns."""

    def __init__(self, window: ByteWindow, into: ScoreRowCollector, spec: TaskSpec) -> None:
        self.window, self.collector, self.spec = window, into, spec
        self.seen: list[bytes] = []
        self.classes: list[str] | None = None
        self.listed = True
        """Whether scores are lists, whose classes the file may name."""

    def read(self) -> None:
        """Read it all; raises Unfit."""
        skip_whitespace(self.window)
        if self._sign(b"["):
            self._rows(b"predictions")
        elif self._sign(b"{"):
            while True:
                self._field()
                if not self._sign(b","):
                    break
            if not self._sign(b"}"):
                raise UnsupportedScoreLayout
        if sorted(self.seen) not in _DOCUMENT_SHAPES or (self.classes and not self.listed):
            raise UnsupportedScoreLayout
        skip_whitespace(self.window)
        _check_end(self.window, (b"",))

    def _sign(self, sign: bytes) -> bool:
        """Whether this sign is next, behind white space; if so it is passed."""
        skip_whitespace(self.window)
        if self.window.ahead(1) != sign:
            return False
        self.window.at += 1
        return True

    def _field(self) -> None:
        skip_whitespace(self.window)
        self.window.hold(_MAX_KEY_BYTES)
        found = _TOP_LEVEL_KEY.match(self.window.ahead(_MAX_KEY_BYTES))
        if found is None or found[1] in self.seen:
            raise UnsupportedScoreLayout
        self.window.at += found.end()
        if found[1] == b"classes":
            self._read_class_names()
        else:
            self._rows(found[1])

    def _read_class_names(self) -> None:
        """The names of the classes, which have to come before the scores unless they are in the order of the task."""
        held, size = True, _MAX_KEY_BYTES
        found = None
        while held and (found is None or found.end() >= size // 2):
            size *= 2
            held = self.window.hold(size)
            found = _CLASS_NAMES.match(self.window.ahead(size))
        if found is None:
            raise UnsupportedScoreLayout
        names = json.loads(b"[" + found[0] + b"]")
        if self.collector.given and tuple(names) != tuple(self.spec.classes):
            raise UnsupportedScoreLayout
        self.classes = names
        self.seen.append(b"classes")
        self.window.at += found.end()
        if not self._sign(b"]"):
            raise UnsupportedScoreLayout

    def _rows(self, key: bytes) -> None:
        skip_whitespace(self.window)
        self.seen.append(key)
        read_list_rows(self.window, self.collector, self._told)
        if not self._sign(b"]"):
            raise UnsupportedScoreLayout

    def _told(self, sample: FirstRow) -> Sequence[int] | None:
        """Where each class stands in a row of scores, as far as the file has said so; raises Unfit where it cannot be."""
        kinds = {kind for _, _, kind in sample.value_slots}
        if kinds != _VALUE_KINDS_OF_KEY[self.seen[-1]]:
            raise UnsupportedScoreLayout
        if "score" not in kinds:
            return None
        self.listed = sample.names is None and not sample.single
        return _score_order(self.spec, self.classes, sample)


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
_FORMAT_READERS: Final[Mapping[str, Callable[[ByteWindow, ScoreRowCollector, TaskSpec, Limits], None]]] = {
    "json": _read_json,
    "jsonl": _read_json_lines,
    "csv": partial(_read_delimited, ","),
    "tsv": partial(_read_delimited, "\t"),
}
