"""Opens a file of predictions once, and reads its labels or its scores with the vectorized reader for its layout."""

import re
from collections.abc import Sequence
from contextlib import suppress
from typing import BinaryIO, Final

from app.formats.content.decompression import DecompressionError
from app.formats.content.format_detection import FileKind
from app.formats.readers.table_header import label_alias, label_alias_note
from app.formats.reading_rules import Limits, ReadingRules
from app.formats.vectorized.id_join import IdJoin, LookupTables
from app.formats.vectorized.labels.json_columns import NoLabelColumn
from app.formats.vectorized.labels.label_reader import read_labels
from app.formats.vectorized.scores.decimal_parsing import MAX_NUMBER_LENGTH
from app.formats.vectorized.scores.npz_arrays import read_npz_scores
from app.formats.vectorized.scores.score_collector import ScoreCollector
from app.formats.vectorized.scores.score_reader import read_scores
from app.formats.vectorized.span_window import HEAD_BYTES, SPAN_WINDOW_BYTES, SpanWindow, open_window
from app.formats.vectorized.unsupported import UnsupportedLayout, require
from app.scoring.declaration.task import TaskSpec
from app.scoring.evaluation_input import PredictionArrays
from app.scoring.string_table import MAX_STRING_BYTES

_TWO_NAMES: Final = re.compile(rb"[a-zA-Z_]+[,;\t][a-zA-Z_]+(?=\r?\n)")
_FIRST_FIELD: Final = re.compile(rb'"(?:(labels?)|scores?|classes)"[ \t\r\n]*+:')


def read_predictions(
    stream: BinaryIO,
    kind: FileKind,
    tables: LookupTables,
    spec: TaskSpec,
    *,
    rules: ReadingRules,
    limits: Limits,
    join: IdJoin | None = None,
    notes: list[str] | None = None,
    window: int = SPAN_WINDOW_BYTES,
) -> PredictionArrays | None:
    """The labels or scores of n instances in the order of their table; None where the strict reader must read the file.

    `join` joins with these tables, one that refuses other classes unless it is given. `notes` gets what was tolerated.
    `window` is the number of bytes processed together. Raises TooManyRows.
    """
    # With limits at least this wide, no file that a reader accepts can exceed them, so they are not checked again.
    within_limits = limits.records >= len(tables.ids) and limits.nesting >= 8 and limits.columns >= 2
    within_limits = within_limits and limits.text_length >= max(MAX_STRING_BYTES, MAX_NUMBER_LENGTH)
    if not within_limits or kind.layout:
        return None
    try:
        arrays, found = _read(stream, kind, join or IdJoin(tables), spec, rules=rules, limits=limits, size=window)
    except (UnsupportedLayout, DecompressionError, MemoryError):
        # MemoryError: the scores of all instances may not fit into memory although those of the file do.
        return None
    if notes is not None:
        notes += found
    return arrays


def _read(
    stream: BinaryIO, kind: FileKind, join: IdJoin, spec: TaskSpec, *, rules: ReadingRules, limits: Limits, size: int
) -> tuple[PredictionArrays, Sequence[str]]:
    collector = ScoreCollector(join, spec, rules.probabilities)
    if kind.format == "npz":
        require(not kind.encoding)
        read_npz_scores(stream, collector, limits)
        return PredictionArrays(None, collector.finish()), ()
    window = open_window(stream, kind, limits, size)
    # A text that needs an escape in JSON cannot be compared byte for byte.
    require(window.separator != "" or join.tables.ids.is_json_safe)
    if window.separator:
        _name_label_column(window, spec)
    if rules.scores != "due" and _may_hold_labels(window.text(0, HEAD_BYTES), window.separator):
        with suppress(NoLabelColumn):
            labels = read_labels(window, kind.format, join, sets=spec.task == "multilabel", limits=limits)
            return PredictionArrays(labels), window.notes
    read_scores(window, kind.format, collector, limits)
    return PredictionArrays(None, collector.finish()), window.notes


def _name_label_column(window: SpanWindow, spec: TaskSpec) -> None:
    """Give the column of labels its name in a header that has another usual one (see label_alias)."""
    sign = window.separator.encode()
    header = _TWO_NAMES.match(window.text(0, HEAD_BYTES))
    names = [] if header is None else header[0].decode().split(window.separator)
    alias = label_alias(names, spec.classes)
    if header is not None and alias is not None:
        window.drop(header.end())
        window.prepend(sign.join(b"label" if name == alias else b"id" for name in names))
        window.notes.append(label_alias_note(alias))


def _may_hold_labels(head: bytes, separator: str) -> bool:
    """Whether a file with this head has labels alone, or begins with a column of ids."""
    if separator:
        return sorted(head.partition(b"\n")[0].rstrip(b"\r").split(separator.encode())) == [b"id", b"label"]
    # A map has none of these fields.
    field = _FIRST_FIELD.search(head)
    return field is None or field[1] is not None
