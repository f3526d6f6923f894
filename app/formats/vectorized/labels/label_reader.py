"""Chooses the vectorized reader for a file of labels, and assembles the result."""

import numpy as np

from app.formats.column_data import check_set_label_count
from app.formats.content.format_detection import FORMATS
from app.formats.reading_rules import Limits
from app.formats.validation.table_validation import assemble_labels, has_repeated_labels
from app.formats.vectorized.id_join import IdJoin, LookupTables
from app.formats.vectorized.labels.delimited_rows import read_delimited_rows
from app.formats.vectorized.labels.json_columns import is_json_columns, read_json_columns
from app.formats.vectorized.labels.json_framing import detect_json_framing, detect_json_lines_framing
from app.formats.vectorized.labels.json_label_sets import read_label_sets
from app.formats.vectorized.labels.json_single_labels import read_single_labels
from app.formats.vectorized.labels.label_sink import LabelSink
from app.formats.vectorized.span_window import HEAD_BYTES, SpanWindow
from app.formats.vectorized.unsupported import UnsupportedLayout, require
from app.scoring.evaluation_input import Labels
from app.scoring.string_table import PADDING_BYTES, Spans, words_of

_RESERVED_NAMES = (b"predictions", b"documents", b"ids", b"labels", b"scores", b"classes", b"label", b"id")
"""Names with a meaning in a file. If an instance or class has such a name, the strict reader resolves the ambiguity."""


def read_labels(window: SpanWindow, form: str, join: IdJoin, *, sets: bool, limits: Limits) -> Labels:
    """The labels of n instances in the order of their table; raises UnsupportedLayout, TooManyRows.

    `sets`: each instance has a list of labels. Raises NoLabelColumn if only the ids of the file have been read.
    """
    has_names = read_layout(window, form, join, sets=sets)
    require(not has_names or not contains_reserved_name(join.tables))
    # A text that needs an escape in JSON cannot be compared byte for byte.
    require(FORMATS[form].separator != "" or join.tables.classes.is_json_safe)
    rows, codes, counts = join.finish()
    if counts is None:
        return assemble_labels(rows, codes, None, len(rows))
    check_set_label_count(len(codes), limits)
    sizes = counts.tolist()
    require(not has_repeated_labels(codes, sizes, join.class_count))
    return assemble_labels(rows, codes, sizes, len(rows))


def read_layout(window: SpanWindow, form: str, sink: LabelSink, *, sets: bool) -> bool:
    """Read the file with the reader for its layout, detected from its head; raises UnsupportedLayout.

    Returns whether reserved names among the ids or labels could give the file another meaning (contains_reserved_name).
    """
    if window.separator:
        require(not sets)
        read_delimited_rows(window, sink)
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
