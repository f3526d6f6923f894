"""The canonical content of predictions: the same bytes for the same content, whatever format it was sent in.

It is the RFC 8785 form of `{"ids": […], "labels": […]}`, or with `classes` and `scores` (docs/receipts.md). Only its
SHA-256 is computed. What depends on the gold alone is hashed once for each gold.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from app.gold import Gold
from app.scoring.evaluation_input import MISSING_CODE, Labels, PredictionArrays

if TYPE_CHECKING:
    from hashlib import _Hash

UNKNOWN_LABEL, REPEATED_LABEL = 0, 1
"""What stands for a label outside the classes, and for a repetition, where the options of a recipe count them."""
_BLOCK_BYTES: Final = 1 << 20
_BLOCK_ROWS: Final = 1 << 15
_MAX_TABLE_BYTES: Final = 1 << 24
_HASHED_IDS: Final = "hash of the ids"
_LABEL_PIECES: Final = "labels as JSON"
_SET_PIECES: Final = "label sets as JSON"


def content_sha256(gold: Gold, predictions: PredictionArrays) -> str:
    """The SHA-256 of the canonical content of predictions in the order of the gold, in hexadecimal."""
    if predictions.scores is not None:
        columns = _score_columns(gold, predictions.scores.shape[1])
        digest = hashlib.sha256(b'{"classes":%s,"ids":' % canonical_json(columns))
        for part in id_list(gold):
            digest.update(part)
    else:
        digest = _hashed_ids(gold).copy()
    if predictions.labels is not None:
        digest.update(b',"labels":')
        for part in label_list(predictions.labels, gold):
            digest.update(part)
    if predictions.scores is not None:
        digest.update(b',"scores":"%s"' % scores_sha256(predictions.scores).encode())
    digest.update(b"}")
    return digest.hexdigest()


def _hashed_ids(gold: Gold) -> "_Hash":
    """The hash so far of content that begins with the ids of this gold."""
    digest: _Hash | None = gold.derived.get(_HASHED_IDS)
    if digest is None:
        digest = hashlib.sha256(b'{"ids":')
        for part in id_list(gold):
            digest.update(part)
        gold.derived[_HASHED_IDS] = digest
    return digest


def canonical_json(value: Any) -> bytes:
    """The RFC 8785 form of texts, whole numbers and lists of them, which is what Python writes for these."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def id_list(gold: Gold) -> Iterator[bytes]:
    """The canonical list of the scored ids, in parts: those of a large gold need not be in memory together."""
    table = gold.index.table
    yield b"["
    for start in range(0, len(gold.index), _BLOCK_ROWS):
        comma = b"," if start else b""
        if table is None or not table.is_json_safe:
            yield comma + canonical_json(gold.ids[start : start + _BLOCK_ROWS])[1:-1]
        else:
            words = np.ascontiguousarray(table.words[start : start + _BLOCK_ROWS])
            yield comma + b'"' + b'","'.join(words.view(f"S{8 * table.width}")[:, 0].tolist()) + b'"'
    yield b"]"


def label_list(labels: Labels, gold: Gold) -> Iterator[bytes]:
    """The canonical list of labels, in parts: a text or null for each instance, or a list for each with label sets."""
    if labels.offsets is None:
        pieces = gold.derived.get(_LABEL_PIECES) or _keep_pieces(gold, _LABEL_PIECES, _label_pieces(gold.spec.classes))
        codes = np.where(labels.codes == MISSING_CODE, len(pieces.texts) - 1, labels.codes)
        return pieces.join(codes)
    pieces = gold.derived.get(_SET_PIECES) or _keep_pieces(gold, _SET_PIECES, _set_pieces(gold.spec.classes))
    count, offsets = (len(pieces.texts) - 2) // 2, labels.offsets
    sizes, rows = np.diff(offsets), np.arange(labels.n)
    is_first = np.zeros(len(labels.codes), dtype=np.int64)
    is_first[offsets[:-1][sizes > 0]] = 1
    codes = np.empty(len(labels.codes) + labels.n, dtype=np.int64)
    codes[np.arange(len(labels.codes)) + np.repeat(rows, sizes)] = labels.codes + count * is_first
    codes[offsets[1:] + rows] = np.where(sizes > 0, 2 * count, 2 * count + 1)
    return pieces.join(codes)


class _Pieces:
    """Texts of which a list is joined; a text that ends an item ends with a comma."""

    def __init__(self, texts: Sequence[bytes]) -> None:
        self.texts = texts
        # NUL pads them to one width: JSON has none, as it escapes it.
        fits = len(texts) * max(map(len, texts)) <= _MAX_TABLE_BYTES
        self._table = np.array(texts) if fits else None

    def join(self, codes: NDArray[np.integer]) -> Iterator[bytes]:
        """The list of the texts with these numbers, in parts."""
        rows = _BLOCK_ROWS if self._table is None else max(1, _BLOCK_BYTES // self._table.itemsize)
        yield b"["
        for start in range(0, len(codes), rows):
            part = self._join(codes[start : start + rows])
            yield part if start + rows < len(codes) else part.removesuffix(b",")
        yield b"]"

    def _join(self, codes: NDArray[np.integer]) -> bytes:
        if self._table is None:
            return b"".join([self.texts[code] for code in codes.tolist()])
        return self._table.take(codes).tobytes().translate(None, b"\0")


def _keep_pieces(gold: Gold, name: str, texts: Sequence[bytes]) -> _Pieces:
    pieces = gold.derived[name] = _Pieces(texts)
    return pieces


def _encoded_labels(classes: Sequence[str]) -> list[bytes]:
    """The JSON of each label code."""
    return [*map(canonical_json, classes), b"%d" % UNKNOWN_LABEL, b"%d" % REPEATED_LABEL]


def _label_pieces(classes: Sequence[str]) -> list[bytes]:
    return [*(b"%s," % text for text in _encoded_labels(classes)), b"null,"]


def _set_pieces(classes: Sequence[str]) -> list[bytes]:
    """Later labels of a set, its first label, its end, and an empty set."""
    texts = _encoded_labels(classes)
    return [*(b",%s" % text for text in texts), *(b"[%s" % text for text in texts), b"],", b"[],"]


def scores_sha256(scores: NDArray[np.float64]) -> str:
    """The SHA-256 of a matrix of scores as little-endian binary64, row by row; zero has no sign, NaN is 7ff8000000000000."""
    digest = hashlib.sha256()
    rows = max(1, _BLOCK_BYTES // (8 * max(1, scores.shape[1])))
    for start in range(0, len(scores), rows):
        block = scores[start : start + rows] + 0.0
        missing = np.isnan(block)
        if missing.any():
            block[missing] = np.nan
        digest.update(np.ascontiguousarray(block, dtype="<f8").tobytes())
    return digest.hexdigest()


def _score_columns(gold: Gold, count: int) -> Sequence[str]:
    """The labels of the columns of scores: all classes, or in a binary task the positive label alone."""
    classes = list(gold.spec.classes)
    return [gold.spec.positive_label or ""] if count == 1 and len(classes) != 1 else classes
