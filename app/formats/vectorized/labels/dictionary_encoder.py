"""Dictionary encoding: repeated texts become codes, and only the distinct ones become Python strings."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from app.formats.normalize import normalize_clean_texts
from app.formats.reading_rules import Limits
from app.formats.vectorized.unsupported import UnsupportedLayout, require
from app.scoring.string_table import MAX_STRING_BYTES, Spans, StringTable, Words

Codes = NDArray[np.int32]
_FIRST_PRINTABLE = 0x20
_MAX_WORDS = MAX_STRING_BYTES // 8


def text_words(spans: Spans) -> list[Words]:
    """The words of k ≥ 1 texts (see Spans.words); raises UnsupportedLayout if one is empty, long or has a control character."""
    words = spans.words(_MAX_WORDS)
    if words is None:
        raise UnsupportedLayout
    if len(spans):
        # Every byte below 0x20 must be padding: then no text contains NUL or any other control character.
        padding = 8 * len(words) * len(spans) - int(spans.lengths.sum())
        controls = sum(int(np.count_nonzero(word.view(np.uint8) < _FIRST_PRINTABLE)) for word in words)
        require(spans.lengths.all() and controls == padding)
    return words


def require_normalized(words: Sequence[Words], limits: Limits) -> None:
    """Raise UnsupportedLayout unless these texts are valid UTF-8 in Unicode NFC, as ids and labels must be."""
    if all(int(np.bitwise_or.reduce(word) & np.uint64(0x8080808080808080)) == 0 for word in words):
        return
    table = np.column_stack(words)
    # All texts are decoded together: a text that ends within a character would make that fail.
    texts = decode_rows(table)
    require(normalize_clean_texts(texts, limits) == texts)


def decode_rows(words: Words) -> list[str]:
    """The strings of rows of words (n × w) without NUL; raises UnsupportedLayout if one is not valid UTF-8."""
    rows = np.ascontiguousarray(words).view(f"S{8 * words.shape[1]}")[:, 0]
    try:
        return [text.decode() for text in rows.tolist()]
    except UnicodeDecodeError:
        raise UnsupportedLayout from None


@dataclass(slots=True)
class DictionaryEncoder:
    """Turns texts into the codes of a dictionary, which grows by unknown texts up to `limit` texts.

    The texts of `known` have their row numbers as codes; with `limit` = len(known) no other text is supported.
    """

    limit: int
    known: StringTable | None = None
    blocks: list[Codes] = field(default_factory=list)

    def take(self, spans: Spans) -> None:
        """Encode the texts that come next; raises UnsupportedLayout."""
        if not len(spans):
            return
        words = text_words(spans)
        codes = np.full(len(spans), -1, dtype=np.int32) if self.known is None else self.known.rows_if_known(words)
        unknown = np.flatnonzero(codes < 0)
        if len(unknown):
            first = 0 if self.known is None else len(self.known)
            codes[unknown] = first + self._add([word[unknown] for word in words])
        self.blocks.append(codes)

    def _add(self, words: Sequence[Words]) -> Codes:
        """Add texts to the dictionary; for each its position among the new distinct ones."""
        order = np.lexsort(words)
        differs = np.zeros(len(order), dtype=bool)
        differs[0] = True
        for word in words:
            ordered = word[order]
            differs[1:] |= ordered[1:] != ordered[:-1]
        codes = np.empty(len(order), dtype=np.int32)
        codes[order] = np.cumsum(differs) - 1
        new = np.column_stack(words)[order[differs]]
        self._grow(new)
        return codes

    def _grow(self, new: Words) -> None:
        old = new[:0] if self.known is None else self.known.words
        require(len(old) + len(new) <= self.limit)
        width = max(old.shape[1], new.shape[1])
        words = np.zeros((len(old) + len(new), width), dtype=np.uint64)
        words[: len(old), : old.shape[1]] = old
        words[len(old) :, : new.shape[1]] = new
        self.known = StringTable.from_words(words)
        require(self.known is not None)

    def codes(self) -> Codes:
        """The codes of all texts so far, which are forgotten."""
        codes = np.concatenate(self.blocks) if self.blocks else np.empty(0, dtype=np.int32)
        self.blocks.clear()
        return codes

    def texts(self) -> list[str]:
        """The texts of the dictionary, by code; raises UnsupportedLayout if one is not valid UTF-8."""
        return [] if self.known is None else decode_rows(self.known.words)


def sorted_classes(classes: Sequence[str]) -> tuple[tuple[str, ...], Codes]:
    """Classes in the order of code points, and for each code among `classes` the one in this order."""
    in_order = sorted(classes)
    position = {label: code for code, label in enumerate(in_order)}
    return tuple(in_order), np.array([position[label] for label in classes], dtype=np.int32)
