"""CSV and TSV of two columns, one label for each id, without any quotation mark."""

import re

import numpy as np

from app.formats.vectorized.labels.id_join import IdJoin
from app.formats.vectorized.labels.json_framing import HEAD_BYTES
from app.formats.vectorized.labels.span_window import SpanWindow, UnsupportedLabelLayout

_NEWLINE, _CARRIAGE_RETURN = ord("\n"), ord("\r")


def read_delimited_pairs(window: SpanWindow, join: IdJoin, separator: str) -> None:
    """Take all ids and labels of a file; raises Doubt."""
    window.fill()
    names = rb"(id|label)" + separator.encode() + rb"(id|label)(\r?)\n"
    header = re.compile(names).match(window.text(0, HEAD_BYTES))
    if header is None or header[1] == header[2]:
        raise UnsupportedLabelLayout
    window.drop(header.end())
    returns = len(header[3])
    while True:
        window.fill()
        data = window.data
        if window.ended and len(data) and data[-1] != _NEWLINE:
            window.append(header[3] + b"\n")
            data = window.data
        signs = np.flatnonzero((data == ord(separator)) | (data == _NEWLINE))
        count = len(signs) // 2
        if count < 1 or (window.ended and int(signs[-1]) != len(data) - 1):
            raise UnsupportedLabelLayout
        middles, ends = signs[: 2 * count : 2], signs[1 : 2 * count : 2]
        if (data[middles] == _NEWLINE).any() or (data[ends] != _NEWLINE).any():
            raise UnsupportedLabelLayout
        if (data[ends - 1] == _CARRIAGE_RETURN).sum() != count * returns:
            raise UnsupportedLabelLayout
        size = int(ends[-1]) + 1
        if np.count_nonzero(data[:size] == _CARRIAGE_RETURN) != count * returns:
            raise UnsupportedLabelLayout
        first = window.spans(np.concatenate([[-1], ends[:-1]]), middles)
        second = window.spans(middles, ends - returns)
        join.take_ids(second if header[1] == b"label" else first)
        join.take_labels(first if header[1] == b"label" else second)
        window.drop(size)
        if window.ended:
            if len(window.data):
                raise UnsupportedLabelLayout
            return
