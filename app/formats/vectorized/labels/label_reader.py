"""Chooses the vectorized reader for a file of labels, and assembles the result."""

from typing import BinaryIO

import numpy as np

from app.formats.column_data import check_set_label_count
from app.formats.content.decompression import DecompressionError, iter_decompressed
from app.formats.content.format_detection import FORMATS, FileKind
from app.formats.reading_rules import Limits
from app.formats.validation.table_validation import assemble_labels, has_repeated_labels
from app.formats.vectorized.labels.delimited_pairs import read_delimited_pairs
from app.formats.vectorized.labels.id_join import IdJoin, LookupTables
from app.formats.vectorized.labels.json_columns import is_json_columns, read_json_columns
from app.formats.vectorized.labels.json_framing import HEAD_BYTES, detect_json_framing, detect_json_lines_framing
from app.formats.vectorized.labels.json_label_sets import read_label_sets
from app.formats.vectorized.labels.json_single_labels import read_single_labels
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
    window: int = SPAN_WINDOW_BYTES,
) -> Labels | None:
    """The labels of n instances in the order of their table; None where the strict reader must read the file.

    `sets`: each instance has a list of labels. `window` is the number of bytes processed together. Raises TooManyRows.
    """
    # With limits at least this wide, no file that passes the checks below can exceed them, so they are not checked again.
    within_limits = limits.records >= len(tables.ids) and limits.text_length >= MAX_STRING_BYTES
    within_limits = within_limits and limits.nesting >= 8 and limits.columns >= 2
    form = FORMATS[kind.format]
    if not within_limits or kind.layout or form.is_binary:
        return None
    join = IdJoin(tables)
    try:
        # A table with a quotation mark, or JSON with an escape, would need more than comparing bytes.
        forbidden = b'"' if form.separator else b"\\"
        pieces = iter_decompressed(stream, kind.encoding, limits)
        _read_by_format(SpanWindow(pieces, forbidden, window), kind.format, join, sets=sets)
        rows, codes, counts = join.finish()
    except (UnsupportedLayout, DecompressionError):
        return None
    if counts is None:
        return assemble_labels(rows, codes, None, len(rows))
    check_set_label_count(len(codes), limits)
    sizes = counts.tolist()
    if has_repeated_labels(codes, sizes, len(tables.classes)):
        return None
    return assemble_labels(rows, codes, sizes, len(rows))


def _read_by_format(window: SpanWindow, form: str, join: IdJoin, *, sets: bool) -> None:
    """Read the file with the reader for its layout, detected from its head; raises UnsupportedLayout."""
    tables = join.tables
    if separator := FORMATS[form].separator:
        require(not sets and not _contains_any_name(tables, _RESERVED_NAMES))
        read_delimited_pairs(window, join, separator)
        return
    # A text that needs an escape in JSON cannot be compared byte for byte.
    require(tables.ids.is_json_safe and tables.classes.is_json_safe)
    window.fill()
    head = window.text(0, HEAD_BYTES)
    if form == "json" and is_json_columns(head):
        read_json_columns(window, join, sets=sets)
        return
    frame = detect_json_lines_framing(head) if form == "jsonl" else detect_json_framing(head)
    if frame is None or (not frame.names and _contains_any_name(tables, _RESERVED_NAMES)):
        raise UnsupportedLayout
    (read_label_sets if sets else read_single_labels)(window, frame, join)


def _contains_any_name(tables: LookupTables, names: tuple[bytes, ...]) -> bool:
    """Whether an id or class has one of these names."""
    for name in names:
        buffer = np.frombuffer(name + bytes(PADDING_BYTES), dtype=np.uint8)
        span = Spans(words_of(buffer), np.array([0]), np.array([len(name)]))
        if tables.ids.rows(span) is not None or tables.classes.rows(span) is not None:
            return True
    return False
