"""Which file the fast tier may try, and what it makes of one."""

from typing import BinaryIO

import numpy as np

from app.formats.columns import check_sets
from app.formats.decompression import Refused, pieces
from app.formats.detection import FileKind
from app.formats.reading_rules import Limits
from app.formats.table_validation import assemble, repeats
from app.formats.vectorized.labels.delimited_pairs import read_pairs
from app.formats.vectorized.labels.id_join import Join, Tables
from app.formats.vectorized.labels.json_columns import is_columns, read_lists
from app.formats.vectorized.labels.json_framing import HEAD, json_frame, lines_frame
from app.formats.vectorized.labels.label_sets import read_sets
from app.formats.vectorized.labels.single_label import read_units
from app.formats.vectorized.labels.span_window import SIZE, Doubt, Window
from app.scoring.evaluation_input import Labels
from app.scoring.string_table import LONGEST, PAD, Spans, words_of

_SEPARATORS = {"csv": ",", "tsv": "\t"}
_MEANT_OTHERWISE = (b"predictions", b"documents", b"ids", b"labels", b"scores", b"classes", b"label", b"id")
"""Names that mean something in a file: where an instance or class is called so, the strict reader tells what is meant."""


def read_quickly(
    stream: BinaryIO, kind: FileKind, tables: Tables, *, sets: bool, limits: Limits, window: int = SIZE
) -> Labels | None:
    """The labels of n instances in the order of their table; None at the first doubt, which says nothing of the file.

    `sets`: each instance has a list of labels. So many bytes are looked at together (`window`). Raises TooManyRows.
    """
    few = limits.records >= len(tables.ids) and limits.text_length >= LONGEST and limits.nesting >= 8
    few = few and limits.columns >= 2
    if not few or kind.layout or kind.format not in {"json", "jsonl", *_SEPARATORS}:
        return None
    join = Join(tables)
    never = b'"' if kind.format in _SEPARATORS else b"\\"
    try:
        bytes_of = pieces(stream, kind.encoding, limits)
        _read(Window(bytes_of, never, window), kind.format, join, sets=sets)
        rows, codes, counts = join.finish()
    except (Doubt, Refused):
        return None
    if counts is None:
        return assemble(rows, codes, None, len(rows))
    check_sets(len(codes), limits)
    sizes = counts.tolist()
    if repeats(codes, sizes, len(tables.classes)):
        return None
    return assemble(rows, codes, sizes, len(rows))


def _read(window: Window, form: str, join: Join, *, sets: bool) -> None:
    """Take the file in the way that its beginning tells; raises Doubt."""
    tables = join.tables
    if form in _SEPARATORS:
        if sets or _has(tables, _MEANT_OTHERWISE):
            raise Doubt
        read_pairs(window, join, _SEPARATORS[form])
        return
    if not (tables.ids.plain and tables.classes.plain):
        raise Doubt  # what has to be escaped never stands in a file as it is
    window.fill()
    head = window.text(0, HEAD)
    if form == "json" and is_columns(head):
        read_lists(window, join, sets=sets)
        return
    frame = lines_frame(head) if form == "jsonl" else json_frame(head)
    if frame is None or (not frame.names and _has(tables, _MEANT_OTHERWISE)):
        raise Doubt
    (read_sets if sets else read_units)(window, frame, join)


def _has(tables: Tables, names: tuple[bytes, ...]) -> bool:
    """Whether an id or class is one of these names."""
    for name in names:
        buffer = np.frombuffer(name + bytes(PAD), dtype=np.uint8)
        asked = Spans(words_of(buffer), np.array([0]), np.array([len(name)]))
        if tables.ids.rows(asked) is not None or tables.classes.rows(asked) is not None:
            return True
    return False
