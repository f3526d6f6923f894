"""Chooses the vectorized reader for a file of labels, and assembles the result."""

from typing import BinaryIO

import numpy as np

from app.formats.column_data import check_set_label_count
from app.formats.content.decompression import DecompressionError, iter_decompressed
from app.formats.content.format_detection import FORMATS, FileKind
from app.formats.reading_rules import Limits
from app.formats.validation.table_validation import assemble_labels, has_repeated_labels
from app.formats.vectorized.labels.delimited_rows import read_delimited_rows
from app.formats.vectorized.labels.id_join import IdJoin, LookupTables
from app.formats.vectorized.labels.json_columns import is_json_columns, read_json_columns
from app.formats.vectorized.labels.json_framing import HEAD_BYTES, detect_json_framing, detect_json_lines_framing
from app.formats.vectorized.labels.json_label_sets import read_label_sets
from app.formats.vectorized.labels.json_single_labels import read_single_labels
from app.formats.vectorized.labels.label_sink import LabelSink
from app.formats.vectorized.labels.span_window import SPAN_WINDOW_BYTES, SpanWindow
from app.formats.vectorized.unsupported import UnsupportedLayout, require
from app.scoring.evaluation_input import Labels
from app.scoring.string_table import MAX_STRING_BYTES, PADDING_BYTES, Spans, words_of

_RESERVED_NAMES = (b"predictions", b"documents", b"ids", b"labels", b"scores", b"classes", b"label", b"id")
"""Names with a meaning in a file. If an instance or class has such a name, the strict reader resolves the ambiguity."""


def read_labels(
    stream: BinaryIO,
    kind: FileKind,
    tables: LookupTables,
    *,
    sets: bool,
    limits: Limits,
    join: IdJoin | None = None,
    window: int = SPAN_WINDOW_BYTES,
) -> Labels | None:
    """The labels of n instances in the order of their table; None where the strict reader must read the file.

    `sets`: each instance has a list of labels. `join` joins with these tables, one that refuses other classes unless it
    is given. `window` is the number of bytes processed together. Raises TooManyRows.
    """
    # With limits at least this wide, no file that passes the checks below can exceed them, so they are not checked again.
    within_limits = limits.records >= len(tables.ids) and limits.text_length >= MAX_STRING_BYTES
    within_limits = within_limits and limits.nesting >= 8 and limits.columns >= 2
    if not within_limits:
        return None
    join = join or IdJoin(tables)
    try:
        if not FORMATS[kind.format].separator:
            # A text that needs an escape in JSON cannot be compared byte for byte.
            require(tables.ids.is_json_safe and tables.classes.is_json_safe)
        has_names = read_layout(open_window(stream, kind, limits, window), kind.format, join, sets=sets)
        require(not has_names or not contains_reserved_name(tables))
        rows, codes, counts = join.finish()
    except (UnsupportedLayout, DecompressionError):
        return None
    if counts is None:
        return assemble_labels(rows, codes, None, len(rows))
    check_set_label_count(len(codes), limits)
    sizes = counts.tolist()
    if has_repeated_labels(codes, sizes, join.class_count):
        return None
    return assemble_labels(rows, codes, sizes, len(rows))


def open_window(stream: BinaryIO, kind: FileKind, limits: Limits, size: int = SPAN_WINDOW_BYTES) -> SpanWindow:
    """The window at the beginning of a file; raises UnsupportedLayout for a binary format, DecompressionError."""
    form = FORMATS[kind.format]
    require(not form.is_binary and not kind.layout)
    # A table with a quotation mark, or JSON with an escape, would need more than comparing bytes.
    return SpanWindow(iter_decompressed(stream, kind.encoding, limits), b'"' if form.separator else b"\\", size)


def read_layout(window: SpanWindow, form: str, sink: LabelSink, *, sets: bool) -> bool:
    """Read the file with the reader for its layout, detected from its head; raises UnsupportedLayout.

    Returns whether reserved names among the ids or labels could give the file another meaning (contains_reserved_name).
    """
    if separator := FORMATS[form].separator:
        require(not sets)
        read_delimited_rows(window, sink, separator)
        return True
    window.fill()
    head = window.text(0, HEAD_BYTES)
    if form == "json" and is_json_columns(head):
        read_json_columns(window, sink, sets=sets)
        return False
    frame = detect_json_lines_framing(head) if form == "jsonl" else detect_json_framing(head)
    if frame is None:
        raise UnsupportedLayout
    (read_label_sets if sets else read_single_labels)(window, frame, sink)
    return not frame.names


def contains_reserved_name(tables: LookupTables) -> bool:
    """Whether an id or class has a name that also has a meaning of its own in a file."""
    for name in _RESERVED_NAMES:
        buffer = np.frombuffer(name + bytes(PADDING_BYTES), dtype=np.uint8)
        span = Spans(words_of(buffer), np.array([0]), np.array([len(name)]))
        if tables.ids.rows(span) is not None or tables.classes.rows(span) is not None:
            return True
    return False
