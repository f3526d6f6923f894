"""Scores in NumPy .npz files: arrays as they stand in the file, put in order in one copy."""

from typing import Any, BinaryIO, Final

import numpy as np
from numpy.typing import NDArray

from app.formats.readers.npz import scores_alone
from app.formats.reading_rules import Limits
from app.formats.vectorized.scores.row_template import Unfit
from app.formats.vectorized.scores.score_rows import Collected, order_of
from app.scoring.declaration.task import TaskSpec
from app.scoring.string_table import PAD, Spans, words_of

_AT_ONCE: Final = 1 << 15
"""Scores looked at together."""
_IDS: Final = 1 << 14
_ASCII: Final = 0x80


def read_arrays(stream: BinaryIO, into: Collected, spec: TaskSpec, limits: Limits) -> None:
    """Take the ids and scores of an .npz file; raises Unfit."""
    data = _whole(stream, limits)
    found = scores_alone(data, limits)
    if found is None:
        raise Unfit
    ids, scores, names = found
    if scores.ndim == 1:
        if names is not None or spec.task != "binary" or spec.positive_label is None:
            raise Unfit
        scores = scores[:, None]
    elif scores.shape[1] != len(spec.classes):
        raise Unfit
    order = None if names is None else order_of(names, spec.classes)
    if len(ids) != into.due:
        raise Unfit
    for start in range(0, len(ids), _IDS):
        if not into.take_ids(_spans(ids[start : start + _IDS])):
            raise Unfit
    step = max(1, _AT_ONCE // scores.shape[1])
    for start in range(0, len(scores), step):
        part = np.ascontiguousarray(scores[start : start + step], dtype=np.float64)
        if not into.take_scores(part, order):
            raise Unfit


def _whole(stream: BinaryIO, limits: Limits) -> bytes:
    size = stream.seek(0, 2)
    stream.seek(0)
    if size > limits.expanded_bytes:
        raise Unfit
    return stream.read()


def _spans(ids: NDArray[Any]) -> Spans:
    """Texts of an array as bytes that follow each other, each filled up with NUL; raises Unfit for what is not ASCII.

    A text with NUL inside is no known one, and those at its end are no part of it for NumPy either.
    """
    if not ids.dtype.itemsize:
        raise Unfit
    if ids.dtype.kind == "U":
        points = np.ascontiguousarray(ids).astype(ids.dtype.newbyteorder("="), copy=False).view(np.uint32)
        if int(points.max()) >= _ASCII:
            raise Unfit
        signs = points.astype(np.uint8).reshape(len(ids), -1)
    else:
        signs = np.ascontiguousarray(ids).view(np.uint8).reshape(len(ids), -1)
    width = signs.shape[1]
    lengths = width - (signs[:, ::-1] != 0).argmax(axis=1)
    if not signs[np.arange(len(ids)), lengths - 1].all():
        raise Unfit  # one is empty
    buffer = np.zeros(signs.size + PAD, dtype=np.uint8)
    buffer[: signs.size] = signs.ravel()
    starts = np.arange(len(ids), dtype=np.int64) * width
    return Spans(words_of(buffer), starts, lengths)
