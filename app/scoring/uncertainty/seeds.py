"""Seeds of resampling, the random source that each gives, and the content of a submission that a seed depends on.

A seed follows from the public draw seed of a gold version and from what is computed, never from gold labels. The source
is PCG64. Its output, 64-bit words, is the same on every machine and in every version of numpy; so are the samples of
`numpy.random.RandomState`, which numpy has frozen (NEP 19).
"""

import hashlib
import itertools
import struct
from collections.abc import Iterable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from app.scoring.evaluation_input import Labels

Purpose = Literal["interval", "pair", "board", "rankings"]
_RESOLUTION = 2.0**-53
_WORD_BITS = 64
_OUTSIDE, _REPEATED = b"\x01", b"\x02"  # labels without a text: outside the vocabulary, repeated within an instance
_TEXT = b"\x00"


def derive_seed(draw_seed: str, purpose: Purpose, *parts: str) -> bytes:
    """32 bytes: SHA-256 over the draw seed, the purpose and the parts, each with its length before it.

    The parts are, in this order: split, metric, and for a submission its content hash; for a pair both content hashes,
    sorted.
    """
    return hashlib.sha256(b"".join(map(_prefixed, (draw_seed, purpose, *parts)))).digest()


def _prefixed(text: str) -> bytes:
    encoded = text.encode("utf-8", "surrogatepass")
    return struct.pack(">Q", len(encoded)) + encoded


class RandomSource:
    """A stream of random numbers that follows from a seed; every call continues the stream."""

    def __init__(self, seed: bytes) -> None:
        self._words = np.random.PCG64(int.from_bytes(seed, "big"))
        self._state = np.random.RandomState(self._words)

    def words(self, size: int) -> NDArray[np.uint64]:
        """So many words of 64 random bits."""
        return self._words.random_raw(size)

    def uniform_indices(self, n: int, size: int) -> NDArray[np.int64]:
        """`size` numbers from 0 to n - 1, each from one word: its first 53 bits as a share of 1, times n."""
        shares = (self._words.random_raw(size) >> np.uint64(11)).astype(np.float64)
        shares *= _RESOLUTION
        shares *= n
        return shares.astype(np.int64)

    def multinomial(self, counts: NDArray[np.int64], draws: int) -> NDArray[np.int64]:
        """Draws × cells: how often each cell occurs among as many instances as `counts` sums to, drawn with replacement.

        `counts` needs a sum above 0.
        """
        total = int(counts.sum())
        return self._state.multinomial(total, counts / total, size=draws).astype(np.int64, copy=False)

    def binomial_half(self, counts: NDArray[np.int64], draws: int) -> NDArray[np.int64]:
        """Draws × cells: how many of `counts` fair coins show heads; exact, as the number of ones in random words."""
        words = -(-counts // _WORD_BITS)
        result = np.zeros((draws, len(counts)), dtype=np.int64)
        filled = np.flatnonzero(words)
        if not len(filled) or not draws:
            return result
        ends = np.cumsum(words[filled])
        masks = np.full(int(ends[-1]), np.uint64(2**64 - 1))
        remainder = (counts[filled] % _WORD_BITS).astype(np.uint64)
        partial = np.flatnonzero(remainder)
        masks[ends[partial] - 1] = (np.uint64(1) << remainder[partial]) - np.uint64(1)
        raw = self._words.random_raw(draws * len(masks)).reshape(draws, len(masks))
        raw &= masks
        starts = np.concatenate([[0], ends[:-1]])
        result[:, filled] = np.add.reduceat(np.bitwise_count(raw), starts, axis=1, dtype=np.int64)
        return result


def random_source(seed: bytes) -> RandomSource:
    """The random source of a seed, at the beginning of its stream."""
    return RandomSource(seed)


def content_hash(
    ids: Sequence[str], labels: Labels | None, classes: Sequence[str], scores: NDArray[np.float64] | None
) -> str:
    """64 hexadecimal digits that name predictions by their content, whatever the order of rows and classes.

    Records are sorted by id, by code points. A label counts as its text; the labels of one instance are sorted. Scores
    (n × classes, or n × 1 for the positive label) count as binary64 in the order of the sorted classes.
    """
    order = sorted(range(len(ids)), key=ids.__getitem__)
    digest = hashlib.sha256(b"assay content 1")
    digest.update(struct.pack(">Q?", len(ids), scores is not None))
    sets = _label_sets(labels, classes, len(ids))
    rows = None
    if scores is not None:
        whole = scores.shape[1] == len(classes)
        columns = sorted(range(len(classes)), key=classes.__getitem__) if whole else list(range(scores.shape[1]))
        digest.update(b"".join(_prefixed(classes[at]) for at in columns) if whole else b"positive label")
        plain = scores[:, columns] + 0.0  # no negative zeros
        plain[np.isnan(plain)] = np.nan
        rows = plain.astype(">f8")
    for row in order:
        digest.update(_prefixed(ids[row]))
        digest.update(sets[row])
        if rows is not None:
            digest.update(rows[row].tobytes())
    return digest.hexdigest()


def _label_sets(labels: Labels | None, classes: Sequence[str], n: int) -> list[bytes]:
    """The labels of each instance as bytes: their number, then the sorted labels."""
    if labels is None:
        return [b""] * n
    texts = [_TEXT + _prefixed(label) for label in classes] + [_OUTSIDE, _REPEATED]
    sets = labels.as_sets()
    assert sets.offsets is not None
    codes, offsets = sets.codes.tolist(), sets.offsets.tolist()
    return [_label_set(texts[code] for code in codes[start:end]) for start, end in itertools.pairwise(offsets)]


def _label_set(texts: Iterable[bytes]) -> bytes:
    ordered = sorted(texts)
    return struct.pack(">Q", len(ordered)) + b"".join(ordered)
