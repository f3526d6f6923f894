"""CSV and TSV files with one label per id and without quotation marks."""

import re
from collections.abc import Sequence

import numpy as np

from app.formats.vectorized.labels.label_sink import LabelSink, take_values
from app.formats.vectorized.span_window import HEAD_BYTES, SpanWindow
from app.formats.vectorized.unsupported import require, require_match
from app.scoring.string_table import Int

_NEWLINE, _CARRIAGE_RETURN = ord("\n"), ord("\r")


def read_delimited_rows(window: SpanWindow, sink: LabelSink) -> None:
    """Read all ids and labels of a file, and the further fields of its sink; raises UnsupportedLayout.

    The window refuses files with a quotation mark, so each separator and each newline really delimits a field. If each
    newline follows the same number of separators, each line has the fields of the header: there are no blank lines and
    none that is too short or long.
    """
    window.fill()
    sign = window.separator.encode()
    header = require_match(re.compile(rb"(\w+(?:" + sign + rb"\w+)+)(\r?)\n"), window.text(0, HEAD_BYTES))
    names = header[1].split(sign)
    required = {b"id", b"label"}
    require(len(set(names)) == len(names) and required <= set(names) <= {*required, *sink.further_fields})
    require(not {b"split", b"Usage"}.issubset(names))
    window.drop(header.end())
    while True:
        window.fill()
        data = window.data
        if window.ended and len(data) and data[-1] != _NEWLINE:
            # The last line may lack its line ending. With the ending of the header it is read like all others.
            window.append(header[2] + b"\n")
            data = window.data
        delimiters = np.flatnonzero((data == ord(sign)) | (data == _NEWLINE))
        count = len(delimiters) // len(names)
        require(count >= 1 and (not window.ended or int(delimiters[-1]) == len(data) - 1))
        grid = delimiters[: count * len(names)].reshape(count, len(names))
        require((data[grid[:, :-1]] != _NEWLINE).all() and (data[grid[:, -1]] == _NEWLINE).all())
        _take_rows(window, names, sink, grid, len(header[2]))
        window.drop(int(grid[-1, -1]) + 1)
        if window.ended:
            require(not len(window.data))
            return


def _take_rows(window: SpanWindow, names: Sequence[bytes], sink: LabelSink, ends: Int, returns_per_line: int) -> None:
    """Take rows whose fields end at these delimiters (rows × fields); raises UnsupportedLayout."""
    data, lines = window.data, ends[:, -1]
    # Each line ends as the header does, and no other CR occurs, which the strict reader would report.
    returns = len(lines) * returns_per_line
    require((data[lines - 1] == _CARRIAGE_RETURN).sum() == returns)
    require(np.count_nonzero(data[: int(lines[-1]) + 1] == _CARRIAGE_RETURN) == returns)
    begins = np.concatenate([[-1], lines[:-1]])
    for at, name in enumerate(names):
        spans = window.spans(begins, ends[:, at] - returns_per_line * (at == len(names) - 1))
        begins = ends[:, at]
        take_values(sink, name, spans)
