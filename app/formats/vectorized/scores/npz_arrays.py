"""Scores in NumPy .npz files: the arrays of the file, put in order in one copy."""

from typing import Any, BinaryIO, Final

import numpy as np
from numpy.typing import NDArray

from app.formats.readers.npz import read_score_arrays
from app.formats.reading_rules import Limits
from app.formats.vectorized.scores.score_collector import ScoreCollector, check_single_score, class_order
from app.formats.vectorized.unsupported import UnsupportedLayout, require
from app.scoring.string_table import PADDING_BYTES, Spans, words_of

_SCORES_PER_BLOCK: Final = 1 << 15
"""Scores processed together."""
_IDS_PER_BLOCK: Final = 1 << 14
_ASCII_LIMIT: Final = 0x80


def read_npz_scores(stream: BinaryIO, collector: ScoreCollector, limits: Limits) -> None:
    """Read the ids and scores of an .npz file; raises UnsupportedLayout."""
    arrays = read_score_arrays(_read_whole_file(stream, limits), limits)
    if arrays is None:
        raise UnsupportedLayout
    ids, scores, names = arrays
    spec = collector.spec
    if scores.ndim == 1:
        require(names is None)
        check_single_score(spec)
        scores = scores[:, None]
    else:
        require(scores.shape[1] == len(spec.classes))
    order = None if names is None else class_order(names, spec.classes)
    for start in range(0, len(ids), _IDS_PER_BLOCK):
        collector.join.take_ids(_id_spans(ids[start : start + _IDS_PER_BLOCK]))
    step = max(1, _SCORES_PER_BLOCK // scores.shape[1])
    for start in range(0, len(scores), step):
        collector.take_scores(np.ascontiguousarray(scores[start : start + step], dtype=np.float64), order)


def _read_whole_file(stream: BinaryIO, limits: Limits) -> bytes:
    size = stream.seek(0, 2)
    stream.seek(0)
    require(size <= limits.expanded_bytes)
    return stream.read()


def _id_spans(ids: NDArray[Any]) -> Spans:
    """The texts of an array as bytes of fixed width, filled up with NUL; raises UnsupportedLayout unless all are ASCII.

    NUL needs no check: a text with NUL inside is not a known id, and NumPy does not count NUL at the end as part of a text.
    """
    require(ids.dtype.itemsize > 0)
    if ids.dtype.kind == "U":
        points = np.ascontiguousarray(ids).astype(ids.dtype.newbyteorder("="), copy=False).view(np.uint32)
        require(int(points.max()) < _ASCII_LIMIT)
        rows = points.astype(np.uint8).reshape(len(ids), -1)
    else:
        rows = np.ascontiguousarray(ids).view(np.uint8).reshape(len(ids), -1)
    width = rows.shape[1]
    lengths = width - (rows[:, ::-1] != 0).argmax(axis=1)
    # In an empty text argmax finds no byte and reports the full width, whose last byte is NUL.
    require(rows[np.arange(len(ids)), lengths - 1].all())
    buffer = np.zeros(rows.size + PADDING_BYTES, dtype=np.uint8)
    buffer[: rows.size] = rows.ravel()
    starts = np.arange(len(ids), dtype=np.int64) * width
    return Spans(words_of(buffer), starts, lengths)
