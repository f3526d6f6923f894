"""Files of scores alone: JSON records, columns and lines, CSV and TSV, read fast where they are simply laid out and sound."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import BinaryIO, Final

from app.formats.columns import Reading
from app.formats.decompression import Refused, pieces
from app.formats.detection import FileKind
from app.formats.problems import Problems
from app.formats.readers.table_header import tell_columns
from app.formats.reading_rules import Limits, Rules
from app.formats.vectorized.scores.byte_window import SIZE, Window
from app.formats.vectorized.scores.decimal_parsing import LONGEST
from app.formats.vectorized.scores.npz_arrays import read_arrays
from app.formats.vectorized.scores.row_template import Kind, Sample, Template, Unfit
from app.formats.vectorized.scores.score_rows import Collected, order_of
from app.formats.vectorized.scores.template_rows import read_lines, read_rows, read_values, skip_white
from app.scoring.declaration.task import TaskSpec
from app.scoring.numeric.exact import Floats
from app.scoring.string_table import TextTable

_KEY: Final = re.compile(rb'"(ids|scores|classes|predictions)"[ \t\r\n]*:[ \t\r\n]*\[')
_CLASSES: Final = re.compile(rb'"[^"\\\x00-\x1f]*+"(?:[ \t\r\n]*+,[ \t\r\n]*+"[^"\\\x00-\x1f]*+")*+[ \t\r\n]*+')
"""Possessive: to remember where it could give back takes a hundred bytes a name."""
_LONGEST_KEY: Final = 1 << 10


def read_scores(
    stream: BinaryIO,
    kind: FileKind,
    ids: TextTable,
    spec: TaskSpec,
    *,
    rules: Rules,
    limits: Limits,
    window: int = SIZE,
) -> Floats | None:
    """The scores of n instances in a file, n × m in the order of the ids and classes, or n × 1.

    None at the first doubt, which says nothing of the file. So many bytes are looked at together (`window`).
    """
    few = limits.records >= len(ids) and limits.text_length >= LONGEST and limits.nesting >= 8
    if (
        not few
        or kind.layout
        or kind.format not in {"npz", *_FORMS}
        or (kind.format == "npz" and kind.encoding)
        or len(ids) < 2
    ):
        return None
    into = Collected(ids, spec, probabilities=rules.probabilities)
    try:
        if kind.format == "npz":
            read_arrays(stream, into, spec, limits)
        elif ids.plain:
            bytes_of = pieces(stream, kind.encoding, limits)
            _FORMS[kind.format](Window(bytes_of, window), into, spec, limits)
    except (Unfit, Refused, ValueError, MemoryError):  # the scores of all instances may not fit, those of the file may
        return None
    return into.matrix()


def _read_json(window: Window, into: Collected, spec: TaskSpec, _: Limits) -> None:
    _Document(window, into, spec).read()


def _read_json_lines(window: Window, into: Collected, spec: TaskSpec, _: Limits) -> None:
    def order(sample: Sample) -> Sequence[int] | None:
        return _order(spec, None, sample)

    read_lines(window, into, order)
    _end(window, (b"", b"\n"))


def _read_table(separator: str, window: Window, into: Collected, spec: TaskSpec, limits: Limits) -> None:
    """Rows of text behind a line that names the columns: the id, and scores."""
    line, end, _ = window.ahead().partition(b"\n")
    after = b"\r" if line.endswith(b"\r") else b""
    line = line.removesuffix(after)
    if not end or b'"' in line or b"\r" in line:
        raise Unfit
    names = line.decode().split(separator)
    reading = Reading(spec.task, gold=False, limits=limits, problems=Problems(), classes=spec.classes)
    header, _ = tell_columns(names, reading, separator=separator)
    if header is None or dict(header.used) != {"id": 0} or list(header.scores) != list(range(1, len(names))):
        raise Unfit
    if header.score_names is None:
        _check_single(spec)
    order = None if header.score_names is None else order_of(header.score_names, spec.classes)
    window.at += len(line + after) + 1
    count = len(header.scores)
    template = Template([b""] * (1 + count), [b""] * count + [after], ["id", *["score"] * count])  # type: ignore[list-item]
    read_rows(window, template, separator.encode() + b"\n", into, order)
    _end(window, (b"", b"\n"))


def _end(window: Window, endings: Sequence[bytes]) -> None:
    if window.rest() not in endings:
        raise Unfit


def _order(spec: TaskSpec, classes: Sequence[str] | None, sample: Sample) -> Sequence[int] | None:
    """Where each class stands in a row; raises Unfit where rows do not give one score for each."""
    if sample.single and classes is None:
        _check_single(spec)
        return None
    if sample.names is not None and classes is not None:
        raise Unfit
    names = sample.names if sample.names is not None else classes
    count = sum(kind == "score" for _, _, kind in sample.holes)
    if count != len(spec.classes):
        raise Unfit
    return None if names is None else order_of(names, spec.classes)


def _check_single(spec: TaskSpec) -> None:
    """One score for each instance is that of the positive label; raises Unfit where there is none."""
    if spec.task != "binary" or spec.positive_label is None:
        raise Unfit


class _Document:
    """A JSON document: a list of records, or an object with one, or with columns."""

    def __init__(self, window: Window, into: Collected, spec: TaskSpec) -> None:
        self.window, self.into, self.spec = window, into, spec
        self.seen: list[bytes] = []
        self.classes: list[str] | None = None
        self.listed = True
        """Whether scores are lists, whose classes the file may name."""

    def read(self) -> None:
        """Read it all; raises Unfit."""
        skip_white(self.window)
        if self._sign(b"["):
            self._rows(b"predictions")
        elif self._sign(b"{"):
            while True:
                self._field()
                if not self._sign(b","):
                    break
            if not self._sign(b"}"):
                raise Unfit
        if sorted(self.seen) not in _SHAPES or (self.classes and not self.listed):
            raise Unfit
        skip_white(self.window)
        _end(self.window, (b"",))

    def _sign(self, sign: bytes) -> bool:
        """Whether this sign is next, behind white space; if so it is passed."""
        skip_white(self.window)
        if self.window.ahead(1) != sign:
            return False
        self.window.at += 1
        return True

    def _field(self) -> None:
        skip_white(self.window)
        self.window.hold(_LONGEST_KEY)
        found = _KEY.match(self.window.ahead(_LONGEST_KEY))
        if found is None or found[1] in self.seen:
            raise Unfit
        self.window.at += found.end()
        if found[1] == b"classes":
            self._classes()
        else:
            self._rows(found[1])

    def _classes(self) -> None:
        """The names of the classes, which have to come before the scores unless they are in the order of the task."""
        held, size = True, _LONGEST_KEY
        found = None
        while held and (found is None or found.end() >= size // 2):
            size *= 2
            held = self.window.hold(size)
            found = _CLASSES.match(self.window.ahead(size))
        if found is None:
            raise Unfit
        names = json.loads(b"[" + found[0] + b"]")
        if self.into.given and tuple(names) != tuple(self.spec.classes):
            raise Unfit
        self.classes = names
        self.seen.append(b"classes")
        self.window.at += found.end()
        if not self._sign(b"]"):
            raise Unfit

    def _rows(self, key: bytes) -> None:
        skip_white(self.window)
        self.seen.append(key)
        read_values(self.window, self.into, self._told)
        if not self._sign(b"]"):
            raise Unfit

    def _told(self, sample: Sample) -> Sequence[int] | None:
        """Where each class stands in a row of scores, as far as the file has said so; raises Unfit where it cannot be."""
        kinds = {kind for _, _, kind in sample.holes}
        if kinds != _GIVEN[self.seen[-1]]:
            raise Unfit
        if "score" not in kinds:
            return None
        self.listed = sample.names is None and not sample.single
        return _order(self.spec, self.classes, sample)


_GIVEN: Final[Mapping[bytes, set[Kind]]] = {b"predictions": {"id", "score"}, b"ids": {"id"}, b"scores": {"score"}}
_SHAPES: Final = (
    [b"predictions"],
    [b"classes", b"predictions"],
    [b"ids", b"scores"],
    [b"classes", b"ids", b"scores"],
)
_FORMS: Final[Mapping[str, Callable[[Window, Collected, TaskSpec, Limits], None]]] = {
    "json": _read_json,
    "jsonl": _read_json_lines,
    "csv": partial(_read_table, ","),
    "tsv": partial(_read_table, "\t"),
}
