"""CSV and TSV files of two columns, one label per id, without quotation marks."""

import re

import numpy as np

from app.formats.vectorized.labels.id_join import IdJoin
from app.formats.vectorized.labels.json_framing import HEAD_BYTES
from app.formats.vectorized.labels.span_window import SpanWindow
from app.formats.vectorized.unsupported import require, require_match

_NEWLINE, _CARRIAGE_RETURN = ord("\n"), ord("\r")


def read_delimited_pairs(window: SpanWindow, join: IdJoin, separator: str) -> None:
    """Read all ids and labels of a file; raises UnsupportedLayout.

    The window refuses files with a quotation mark, so each separator and each newline really delimits a field. If these
    alternate throughout, each line has exactly two fields: there are no blank lines and none that is too short or long.
    """
    window.fill()
    names = re.compile(rb"(id|label)" + separator.encode() + rb"(id|label)(\r?)\n")
    header = require_match(names, window.text(0, HEAD_BYTES))
    require(header[1] != header[2])
    window.drop(header.end())
    returns_per_line = len(header[3])
    while True:
        window.fill()
        data = window.data
        if window.ended and len(data) and data[-1] != _NEWLINE:
            # The last line may lack its line ending. With the ending of the header it is read like all others.
            window.append(header[3] + b"\n")
            data = window.data
        delimiters = np.flatnonzero((data == ord(separator)) | (data == _NEWLINE))
        count = len(delimiters) // 2
        require(count >= 1 and (not window.ended or int(delimiters[-1]) == len(data) - 1))
        middles, ends = delimiters[: 2 * count : 2], delimiters[1 : 2 * count : 2]
        require((data[middles] != _NEWLINE).all() and (data[ends] == _NEWLINE).all())
        # Each line ends as the header does, and no other CR occurs, which the strict reader would report.
        size = int(ends[-1]) + 1
        require((data[ends - 1] == _CARRIAGE_RETURN).sum() == count * returns_per_line)
        require(np.count_nonzero(data[:size] == _CARRIAGE_RETURN) == count * returns_per_line)
        first = window.spans(np.concatenate([[-1], ends[:-1]]), middles)
        second = window.spans(middles, ends - returns_per_line)
        join.take_ids(second if header[1] == b"label" else first)
        join.take_labels(first if header[1] == b"label" else second)
        window.drop(size)
        if window.ended:
            require(not len(window.data))
            return
