"""Which file the fast tier may try, and what it makes of one."""

from typing import BinaryIO

import numpy as np

from app.formats.columns import check_set_label_count
from app.formats.decompression import DecompressionError, iter_decompressed
from app.formats.detection import FileKind
from app.formats.reading_rules import Limits
from app.formats.table_validation import assemble_labels, has_repeated_labels
from app.formats.vectorized.labels.delimited_pairs import read_delimited_pairs
from app.formats.vectorized.labels.id_join import IdJoin, LookupTables
from app.formats.vectorized.labels.json_columns import is_json_columns, read_json_columns
from app.formats.vectorized.labels.json_framing import HEAD_BYTES, detect_json_framing, detect_json_lines_framing
from app.formats.vectorized.labels.label_sets import read_label_sets
from app.formats.vectorized.labels.single_label import read_single_labels
from app.formats.vectorized.labels.span_window import SPAN_WINDOW_BYTES, SpanWindow, UnsupportedLabelLayout
from app.scoring.evaluation_input import Labels
from app.scoring.string_table import MAX_STRING_BYTES, PADDING_BYTES, Spans, words_of

_SEPARATOR_OF_FORMAT = {"csv": ",", "tsv": "\t"}
_RESERVED_NAMES = (b"predictions", b"documents", b"ids", b"labels", b"scores", b"classes", b"label", b"id")
"""Names that mean something in a file: where an instance or class is called so, the strict reader tells what is meant."""


def read_labels(
    stream: BinaryIO,
    kind: FileKind,
    tables: LookupTables,
    *,
    sets: bool,
    limits: Limits,
    window: int = SPAN_WINDOW_BYTES,
) -> Labels | None:
    """The labels of n instances in the order of their table; None at the first doubt, which says nothing of the file.

    `sets`: each instance has a list of labels. So many bytes are looked at together (`window`). Raises TooManyRows.
    """
    few = limits.records >= len(tables.ids) and limits.text_length >= MAX_STRING_BYTES and limits.nesting >= 8
    few = few and limits.columns >= 2
    if not few or kind.layout or kind.format not in {"json", "jsonl", *_SEPARATOR_OF_FORMAT}:
        return None
    join = IdJoin(tables)
    never = b'"' if kind.format in _SEPARATOR_OF_FORMAT else b"\\"
    try:
        bytes_of = iter_decompressed(stream, kind.encoding, limits)
        _read_by_format(SpanWindow(bytes_of, never, window), kind.format, join, sets=sets)
        rows, codes, counts = join.finish()
    except (UnsupportedLabelLayout, DecompressionError):
        return None
    if counts is None:
        return assemble_labels(rows, codes, None, len(rows))
    check_set_label_count(len(codes), limits)
    sizes = counts.tolist()
    if has_repeated_labels(codes, sizes, len(tables.classes)):
        return None
    return assemble_labels(rows, codes, sizes, len(rows))


def _read_by_format(window: SpanWindow, form: str, join: IdJoin, *, sets: bool) -> None:
    """Take the file in the way that its beginning tells; raises Doubt."""
    tables = join.tables
    if form in _SEPARATOR_OF_FORMAT:
        if sets or _contains_any_name(tables, _RESERVED_NAMES):
            raise UnsupportedLabelLayout
        read_delimited_pairs(window, join, _SEPARATOR_OF_FORMAT[form])
        return
    if not (tables.ids.is_json_safe and tables.classes.is_json_safe):
        raise UnsupportedLabelLayout  # what has to be escaped never stands in a file as it is
    window.fill()
    head = window.text(0, HEAD_BYTES)
    if form == "json" and is_json_columns(head):
        read_json_columns(window, join, sets=sets)
        return
    frame = detect_json_lines_framing(head) if form == "jsonl" else detect_json_framing(head)
    if frame is None or (not frame.names and _contains_any_name(tables, _RESERVED_NAMES)):
        raise UnsupportedLabelLayout
    (read_label_sets if sets else read_single_labels)(window, frame, join)


def _contains_any_name(tables: LookupTables, names: tuple[bytes, ...]) -> bool:
    """Whether an id or class is one of these names."""
    for name in names:
        buffer = np.frombuffer(name + bytes(PADDING_BYTES), dtype=np.uint8)
        asked = Spans(words_of(buffer), np.array([0]), np.array([len(name)]))
        if tables.ids.rows(asked) is not None or tables.classes.rows(asked) is not None:
            return True
    return False
