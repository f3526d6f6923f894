"""Scores in NumPy .npz files: arrays as they stand in the file, put in order in one copy."""

from typing import Any, BinaryIO, Final

import numpy as np
from numpy.typing import NDArray

from app.formats.readers.npz import read_score_arrays
from app.formats.reading_rules import Limits
from app.formats.vectorized.scores.row_template import UnsupportedScoreLayout
from app.formats.vectorized.scores.score_rows import ScoreRowCollector, class_order
from app.scoring.declaration.task import TaskSpec
from app.scoring.string_table import PADDING_BYTES, Spans, words_of

_SCORES_PER_BLOCK: Final = 1 << 15
"""Scores looked at together."""
_IDS_PER_BLOCK: Final = 1 << 14
_ASCII_LIMIT: Final = 0x80


def read_npz_scores(stream: BinaryIO, into: ScoreRowCollector, spec: TaskSpec, limits: Limits) -> None:
    """Take the ids and scores of an .npz file; raises Unfit."""
    data = _read_whole_file(stream, limits)
    found = read_score_arrays(data, limits)
    if found is None:
        raise UnsupportedScoreLayout
    ids, scores, names = found
    if scores.ndim == 1:
        if names is not None or spec.task != "binary" or spec.positive_label is None:
            raise UnsupportedScoreLayout
        scores = scores[:, None]
    elif scores.shape[1] != len(spec.classes):
        raise UnsupportedScoreLayout
    order = None if names is None else class_order(names, spec.classes)
    if len(ids) != into.due:
        raise UnsupportedScoreLayout
    for start in range(0, len(ids), _IDS_PER_BLOCK):
        if not into.take_ids(_id_spans(ids[start : start + _IDS_PER_BLOCK])):
            raise UnsupportedScoreLayout
    step = max(1, _SCORES_PER_BLOCK // scores.shape[1])
    for start in range(0, len(scores), step):
        part = np.ascontiguousarray(scores[start : start + step], dtype=np.float64)
        if not into.take_scores(part, order):
            raise UnsupportedScoreLayout


def _read_whole_file(stream: BinaryIO, limits: Limits) -> bytes:
    size = stream.seek(0, 2)
    stream.seek(0)
    if size > limits.expanded_bytes:
        raise UnsupportedScoreLayout
    return stream.read()


def _id_spans(ids: NDArray[Any]) -> Spans:
    """Texts of an array as bytes that follow each other, each filled up with NUL; raises Unfit for what is not ASCII.

    A text with NUL inside is no known one, and those at its end are no part of it for NumPy either.
    """
    if not ids.dtype.itemsize:
        raise UnsupportedScoreLayout
    if ids.dtype.kind == "U":
        points = np.ascontiguousarray(ids).astype(ids.dtype.newbyteorder("="), copy=False).view(np.uint32)
        if int(points.max()) >= _ASCII_LIMIT:
            raise UnsupportedScoreLayout
        signs = points.astype(np.uint8).reshape(len(ids), -1)
    else:
        signs = np.ascontiguousarray(ids).view(np.uint8).reshape(len(ids), -1)
    width = signs.shape[1]
    lengths = width - (signs[:, ::-1] != 0).argmax(axis=1)
    if not signs[np.arange(len(ids)), lengths - 1].all():
        raise UnsupportedScoreLayout  # one is empty
    buffer = np.zeros(signs.size + PADDING_BYTES, dtype=np.uint8)
    buffer[: signs.size] = signs.ravel()
    starts = np.arange(len(ids), dtype=np.int64) * width
    return Spans(words_of(buffer), starts, lengths)
