"""Gold as arrays: the ids of a file, which are not known beforehand, sorted and each once, with their labels."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from app.formats.reading_rules import Limits
from app.formats.vectorized.labels.dictionary_encoder import (
    Codes,
    DictionaryEncoder,
    require_normalized,
    text_words,
)
from app.formats.vectorized.unsupported import UnsupportedLayout, require
from app.scoring.string_table import Int, Spans, StringTable, Words, is_mostly_padding

FURTHER_FIELDS = (b"split", b"Usage", b"weight")
JSON_NUMBER = re.compile(r"(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
"""A number of JSON's grammar that is not negative; the window may hand over other bytes as a number."""
_MAX_DISTINCT_WEIGHTS = 100_000
"""Distinct weights that the dictionary holds: it is built again as it grows."""
_WORD_BITS = 64
_SAMPLE = 1000
"""Texts that mostly tell whether all are in order."""


@dataclass(slots=True)
class GoldCollector:
    """Collects a file of gold; raises UnsupportedLayout where the strict reader must read it.

    Ids are compared as the bytes that they are: each is valid UTF-8 in NFC, of at most MAX_STRING_BYTES bytes.
    """

    limits: Limits
    labels: DictionaryEncoder
    max_labels: int = 0
    counts: list[Int] = field(default_factory=list)
    fields: dict[bytes, DictionaryEncoder] = field(default_factory=dict)
    id_count: int = 0
    label_count: int = 0
    _ids: list[list[Words]] = field(default_factory=list)
    _id_bytes: int = 0

    @property
    def further_fields(self) -> Collection[bytes]:
        """The fields that a file may have besides id and label."""
        return FURTHER_FIELDS

    def take_ids(self, spans: Spans) -> None:
        """Add the ids that come next in the file."""
        self.id_count += len(spans)
        require(self.id_count <= self.limits.records)
        if not len(spans):
            return
        words = text_words(spans)
        require_normalized(words, self.limits)
        self._id_bytes += int(spans.lengths.sum())
        self._ids.append(words)

    def take_labels(self, spans: Spans) -> None:
        """Add the labels that come next in the file."""
        self.label_count += len(spans)
        require(self.label_count <= self.max_labels)
        self.labels.take(spans)

    def take_field(self, name: bytes, spans: Spans) -> None:
        """Add the splits or weights that come next in the file."""
        limit = _MAX_DISTINCT_WEIGHTS if name == b"weight" else 3
        self.fields.setdefault(name, DictionaryEncoder(limit)).take(spans)

    def id_table(self, *, sort: bool = True) -> tuple[StringTable, Int | None]:
        """The table of the ids, and the row of the file for each; None: the order of the file.

        With `sort` the ids are in the order of code points. Raises UnsupportedLayout if an id occurs twice. The ids
        collected are forgotten.
        """
        width = max(map(len, self._ids), default=0)
        require(self.id_count > 0 and not is_mostly_padding(self.id_count, width, self._id_bytes))
        words = np.zeros((self.id_count, width), dtype=np.uint64)
        end = self.id_count
        while self._ids:
            block = self._ids.pop()
            for at, word in enumerate(block):
                words[end - len(word) : end, at] = word
            end -= len(block[0])
        words, order = sort_texts(words) if sort else (words, None)
        table = StringTable.from_words(words)
        if table is None:
            raise UnsupportedLayout
        return table, order


def sort_texts(words: Words) -> tuple[Words, Int | None]:
    """Texts given by their words (n × w) in the order of their bytes, and this order; None where they are in it already.

    The bytes of UTF-8 have the order of the code points, and the padding precedes all of them. Raises UnsupportedLayout
    if a text occurs twice.
    """
    if _is_ascending(words[:_SAMPLE]) and _is_ascending(words):
        return words, None
    numbers = _distinguishing_bytes(words)
    order = np.argsort(numbers)
    words = words.take(order, axis=0)
    if not _is_ascending(words):
        # What is left to sort are runs of texts with the same distinguishing bytes.
        numbers = numbers[order]
        is_equal = numbers[1:] == numbers[:-1]
        rows = np.flatnonzero(np.append(is_equal, False) | np.insert(is_equal, 0, False))
        tied = words[rows]
        rest = np.lexsort([tied[:, at].byteswap() for at in reversed(range(tied.shape[1]))])
        words[rows], order[rows] = tied[rest], order[rows][rest]
        require(_is_ascending(words))
    return words, order


def _is_ascending(words: Words) -> bool:
    """Whether each text is greater than the one before it."""
    is_equal: NDArray[np.bool_] | None = None
    for at in range(words.shape[1]):
        column = words[:, at].byteswap()
        before, after = column[:-1], column[1:]
        is_less, equals = after < before, after == before
        if bool((is_less if is_equal is None else is_less & is_equal).any()):
            return False
        is_equal = equals if is_equal is None else is_equal & equals
        if not is_equal.any():
            return True
    return len(words) == 1


def _distinguishing_bytes(words: Words) -> Words:
    """For each text the eight bytes from the first on in which the texts differ, as a number with the order of the texts."""
    width = words.shape[1]
    for at in range(width):
        column = words[:, at].byteswap()
        differences = int(np.bitwise_or.reduce(column ^ column[0]))
        if not differences:
            continue
        shift = (_WORD_BITS - differences.bit_length()) // 8 * 8
        if shift and at + 1 < width:
            column <<= np.uint64(shift)
            column |= words[:, at + 1].byteswap() >> np.uint64(_WORD_BITS - shift)
        return column
    return words[:, 0]


def codes_in_order(codes: Codes, order: Int | None) -> Codes:
    """Codes of the rows of the file in the order of the ids."""
    return codes if order is None else codes[order]


def sets_of_counts(counts: Sequence[Int]) -> Int:
    """The offsets of sets of labels with these sizes."""
    sizes = np.concatenate(counts)
    offsets = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, out=offsets[1:])
    return offsets
