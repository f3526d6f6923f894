"""Known texts as arrays: which row a text is, told for many at once from their bytes, without a Python string of any.

Texts stand as rows of 8-byte words filled up with zeros, found by a keyed hash and compared whole, so that equality is
exact whatever the hash does. All state is in three arrays, which may lie in a file that several processes map.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Words = NDArray[np.uint64]
Int = NDArray[np.int64]

MAX_STRING_BYTES: Final = 256
"""Bytes of the longest text that a table takes."""
PADDING_BYTES: Final = MAX_STRING_BYTES + 8
"""Bytes that must follow the last text in a buffer, whatever they are: words are read whole."""
DEFAULT_HASH_KEY: Final = b"texts that nobody hostile chose."
"""A key for tables that only their owner's texts reach."""

_MAX_PADDING_WASTE: Final = 1 << 24
_MAX_PROBES: Final = 512
_MAX_KEY_ATTEMPTS: Final = 4
_U: Final = np.uint64
_FREE_SLOT: Final = _U((1 << 64) - 1)
_TAG_MASK: Final = _U(0xFFFFFFFF)
_LOW_BYTE_MASK: Final = _U(0xFF)
_LENGTH_MASKS: Final = np.array([(1 << (8 * count)) - 1 for count in range(9)], dtype=np.uint64)


def words_of(buffer: Bytes) -> Words:
    """The 8-byte little-endian word at every offset of a buffer of B ≥ 8 bytes: a view of B - 7 words."""
    return np.ndarray((len(buffer) - 7,), "<u8", buffer, strides=(1,))


@dataclass(frozen=True, slots=True)
class Spans:
    """k texts in a buffer (see words_of, PAD): where each begins, and its length in bytes."""

    view: Words
    starts: Int
    lengths: Int

    def __len__(self) -> int:
        return len(self.starts)

    def words(self, most: int) -> list[Words] | None:
        """The words of all texts, word by word, zero beyond the end of each; None where one has more than `most`."""
        if not len(self):
            return []
        shortest, longest = int(self.lengths.min()), int(self.lengths.max())
        count = max(1, -(-longest // 8))
        return [self._word(at, shortest, longest) for at in range(count)] if count <= most else None

    def end_with_nul(self) -> bool:
        """Whether any text ends with NUL, which is what fills the last word: it would look like a shorter text."""
        last = self.starts + self.lengths
        last -= 1
        empty = self.lengths == 0
        found = (self.view[last] & _LOW_BYTE_MASK) == 0
        return bool((found & ~empty).any())

    def _word(self, at: int, shortest: int, longest: int) -> Words:
        found: Words = self.view[self.starts + 8 * at] if at else self.view[self.starts]
        if shortest >= 8 * at + 8:
            return found
        if shortest == longest:
            found &= _LENGTH_MASKS[shortest - 8 * at]
        else:
            found &= _LENGTH_MASKS.take(np.clip(self.lengths - 8 * at, 0, 8))
        return found


@dataclass(frozen=True)
class StringTable:
    """n different texts without NUL, in row order.

    `words` are n × w; `slots` is an open-addressing table of a power of two: the low half of the hash above the row
    number, all ones where free; `key` is the secret of the hash, w + 2 odd numbers.
    """

    words: Words
    slots: Words
    key: Words

    def __len__(self) -> int:
        return len(self.words)

    @property
    def width(self) -> int:
        """Words of a text."""
        return int(self.words.shape[1])

    @classmethod
    def build(cls, texts: Sequence[str], key: bytes = DEFAULT_HASH_KEY) -> "StringTable | None":
        """A table of different texts; None where they are too long or too uneven to stand side by side.

        None too where one is empty, has NUL or is no UTF-8: no file may say it, so none is looked for.

        `key` seeds the hash: keep it secret, or others can choose texts that collide (they then cost time, never a
        wrong row).
        """
        if not texts:
            return None
        try:
            joined = "\0".join(texts).encode()
        except UnicodeEncodeError:
            return None
        buffer = np.frombuffer(joined + b"\0" + bytes(PADDING_BYTES), dtype=np.uint8)
        ends = np.flatnonzero(buffer[: len(joined) + 1] == 0)
        if len(ends) != len(texts):
            return None
        starts = np.concatenate([[0], ends[:-1] + 1])
        lengths = ends - starts
        longest = int(lengths.max())
        width = max(1, -(-longest // 8))
        uneven = len(texts) * width * 8 > 4 * len(joined) + _MAX_PADDING_WASTE
        if uneven or longest > MAX_STRING_BYTES or not lengths.all():
            return None
        words = Spans(words_of(buffer), starts, lengths).words(width)
        assert words is not None
        padded = np.column_stack(words)
        for secret in _hash_keys(key, width + 2):
            hashes = _hash_words(words, secret)
            slots = _build_slots(hashes)
            found = None if slots is None else _find_rows(slots, hashes)
            # Two texts could have the same tag at the same place: the second would never be found.
            if slots is not None and found is not None and np.array_equal(found, np.arange(len(texts))):
                return cls(padded, slots, secret)
        return None

    def rows(self, asked: Spans, likely: int = 0) -> NDArray[np.int32] | None:
        """The row of each text; None where any of them is not known.

        `likely` is the row that the first one has if the texts come in the order of the table, which is looked at first.
        """
        words = asked.words(self.width)
        if not words:
            return None if words is None else np.empty(0, dtype=np.int32)
        if asked.end_with_nul():
            return None
        if self._in_order(words, likely):
            return np.arange(likely, likely + len(asked), dtype=np.int32)
        found = _find_rows(self.slots, _hash_words(words, self.key))
        if found is None or not self._equal(self.words.take(found, axis=0), words):
            return None
        return found

    def _in_order(self, asked: Sequence[Words], first: int) -> bool:
        count = len(asked[0])
        if first + count > len(self) or not np.array_equal(self.words[first : first + 4, 0], asked[0][:4]):
            return False
        return self._equal(self.words[first : first + count], asked)

    def _equal(self, known: Words, asked: Sequence[Words]) -> bool:
        """Whether rows of words are these texts: equal as far as those reach, and nothing after."""
        same = all(np.array_equal(known[:, at], words) for at, words in enumerate(asked))
        return same and not known[:, len(asked) :].any()

    def texts(self) -> list[str]:
        """The texts themselves, in row order."""
        rows = np.ascontiguousarray(self.words).view(f"S{8 * self.width}")[:, 0]
        return b"\0".join(rows.tolist()).decode().split("\0")

    @cached_property
    def is_json_safe(self) -> bool:
        """Whether every text can stand in JSON as it is: no quotation mark, backslash or control character in any."""
        for start in range(0, len(self), 1 << 16):
            part = np.ascontiguousarray(self.words[start : start + (1 << 16)]).view(np.uint8)
            if ((part - np.uint8(1) < 31) | (part == ord('"')) | (part == ord("\\"))).any():
                return False
        return True


def _hash_keys(key: bytes, count: int) -> Iterator[Words]:
    """A few rows of odd numbers that follow from a key: splitmix64 (Steele, Lea and Flood, OOPSLA 2014, section 4)."""
    state = 0
    for start in range(0, len(key), 8):
        state ^= int.from_bytes(key[start : start + 8], "little")
    for _ in range(_MAX_KEY_ATTEMPTS):
        found = np.empty(count, dtype=np.uint64)
        for at in range(count):
            state = (state + 0x9E3779B97F4A7C15) & (1 << 64) - 1
            mixed = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & (1 << 64) - 1
            mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & (1 << 64) - 1
            found[at] = (mixed ^ (mixed >> 31)) | 1
        yield found


def _hash_words(words: Sequence[Words], key: Words) -> Words:
    """The hash of k texts from their words; zero words at the end change nothing, so tables may be wider than texts.

    A sum of products with secret odd numbers, then a mixing that spreads every bit (multiply and xor-shift).
    """
    total = np.full(len(words[0]), key[0], dtype=np.uint64)
    for word, factor in zip(words, key[2:], strict=False):
        mixed = word >> _U(32)
        mixed ^= word
        mixed *= factor
        total += mixed
    part = total >> _U(32)
    total ^= part
    total *= key[1]
    np.right_shift(total, _U(29), out=part)
    total ^= part
    return total


def _build_slots(hashes: Words) -> Words | None:
    """The table of these hashes, at most two thirds full; None where a run of full slots is too long."""
    count = len(hashes)
    bits = max(4, (count + count // 2).bit_length())
    size = 1 << bits
    rows = np.full(size, -1, dtype=np.int32)
    left = np.arange(count, dtype=np.int32)
    places = (hashes >> _U(64 - bits)).astype(np.int64)
    for _ in range(_MAX_PROBES):
        free = rows[places] < 0
        rows[places[free]] = left[free]
        lost = rows[places] != left
        left, places = left[lost], (places[lost] + 1) & (size - 1)
        if not len(left):
            slots = np.full(size, _FREE_SLOT, dtype=np.uint64)
            used = np.flatnonzero(rows >= 0)
            held = rows[used]
            slots[used] = (hashes[held] << _U(32)) | held.astype(np.uint64)
            return slots
    return None


def _find_rows(slots: Words, hashes: Words) -> NDArray[np.int32] | None:
    """The row whose hash is equal as far as the table keeps it; None where any has none."""
    mask = len(slots) - 1
    places = (hashes >> _U(65 - len(slots).bit_length())).view(np.int64)
    tags = hashes << _U(32)
    found = slots.take(places)
    open_ = np.flatnonzero((found ^ tags) > _TAG_MASK)
    places, tags = places[open_], tags[open_]
    for _ in range(_MAX_PROBES):
        if not len(open_):
            return found.astype(np.uint32).view(np.int32)
        if (found[open_] == _FREE_SLOT).any():
            return None
        places = (places + 1) & mask
        met = slots.take(places)
        found[open_] = met
        still = (met ^ tags) > _TAG_MASK
        open_, places, tags = open_[still], places[still], tags[still]
    return None
