"""Known strings as arrays: looks up the rows of many strings at once from their bytes, without creating Python strings.

A string is a row of 8-byte words padded with zeros. It is found by a keyed hash and then compared as a whole, so
equality is exact even if hashes collide. All state is in three arrays, which may be in a file that several processes
map.
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
"""The length in bytes of the longest string that a table accepts."""
PADDING_BYTES: Final = MAX_STRING_BYTES + 8
"""The number of bytes, with any content, that must follow the last string in a buffer: whole words are read."""
DEFAULT_HASH_KEY: Final = b"texts that nobody hostile chose."
"""The key of tables that look up only trusted strings."""

_MAX_PADDING_WASTE: Final = 1 << 24  # bytes of padding allowed beyond four times the strings themselves
_MAX_PROBES: Final = 512  # slots inspected for one string; a longer run of full slots makes a table unusable
_MAX_KEY_ATTEMPTS: Final = 4  # keys tried before giving up on a table
_BLOCK: Final = 1 << 20  # slots or strings processed together
_U: Final = np.uint64
_FREE_SLOT: Final = _U((1 << 64) - 1)
_TAG_MASK: Final = _U(0xFFFFFFFF)
_LOW_BYTE_MASK: Final = _U(0xFF)
_LENGTH_MASKS: Final = np.array([(1 << (8 * count)) - 1 for count in range(9)], dtype=np.uint64)


def words_of(buffer: Bytes) -> Words:
    """The 8-byte little-endian words at all offsets of a buffer of B ≥ 8 bytes: an overlapping view of B - 7 words."""
    return np.ndarray((len(buffer) - 7,), "<u8", buffer, strides=(1,))


def is_mostly_padding(count: int, width: int, total_bytes: int) -> bool:
    """Whether `count` strings of together `total_bytes` bytes would waste most of a table of `width` words each."""
    return count * width * 8 > 4 * total_bytes + _MAX_PADDING_WASTE


@dataclass(frozen=True, slots=True)
class Spans:
    """k strings in a buffer (see words_of, PADDING_BYTES): the start of each, and its length in bytes."""

    view: Words
    starts: Int
    lengths: Int

    def __len__(self) -> int:
        return len(self.starts)

    def words(self, most: int) -> list[Words] | None:
        """The words of all strings, one array per position, zero after the end; None if one exceeds `most` words."""
        if not len(self):
            return []
        shortest, longest = int(self.lengths.min()), int(self.lengths.max())
        count = max(1, -(-longest // 8))
        return [self._word(at, shortest, longest) for at in range(count)] if count <= most else None

    def end_with_nul(self) -> bool:
        """Whether any string ends with NUL: zeros are the padding, so it would look like a shorter string."""
        last = self.starts + self.lengths
        last -= 1
        nul = (self.view[last] & _LOW_BYTE_MASK) == 0
        return bool((nul & (self.lengths != 0)).any())

    def _word(self, at: int, shortest: int, longest: int) -> Words:
        words: Words = self.view[self.starts + 8 * at] if at else self.view[self.starts]
        if shortest >= 8 * at + 8:  # no string ends within this word: nothing to mask
            return words
        if shortest == longest:
            words &= _LENGTH_MASKS[shortest - 8 * at]
        else:
            words &= _LENGTH_MASKS.take(np.clip(self.lengths - 8 * at, 0, 8))
        return words


@dataclass(frozen=True)
class StringTable:
    """n distinct strings without NUL, in row order.

    `words` are n × w. `slots` is an open-addressing hash table whose size is a power of two. A slot has the low half of
    the hash in its upper 32 bits (the tag) and the row number in its lower 32 bits; a free slot is all ones. `key` is
    the secret of the hash, w + 2 odd numbers.
    """

    words: Words
    slots: Words
    key: Words

    def __len__(self) -> int:
        return len(self.words)

    @property
    def width(self) -> int:
        """The number of words per string."""
        return int(self.words.shape[1])

    @classmethod
    def build(cls, texts: Sequence[str], key: bytes = DEFAULT_HASH_KEY) -> "StringTable | None":
        """A table of distinct strings; None if they are too long or their lengths differ too much.

        The result is also None if a string is empty, contains NUL or is not valid UTF-8; no valid file contains such
        a string.

        `key` seeds the hash. Keep it secret: otherwise others can choose colliding strings, which cost time but never
        return a wrong row.
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
        words = Spans(words_of(buffer), starts, lengths).words(MAX_STRING_BYTES // 8)
        if words is None or not lengths.all() or is_mostly_padding(len(texts), len(words), int(lengths.sum())):
            return None
        return cls.from_words(np.column_stack(words), key)

    @classmethod
    def from_words(cls, words: Words, key: bytes = DEFAULT_HASH_KEY) -> "StringTable | None":
        """A table of n ≥ 1 distinct strings that are given by their words (n × w); None if no hash tells them apart.

        `key` as in `build`. The words are not copied.
        """
        for secret in _hash_keys(key, words.shape[1] + 2):
            hashes = _hash_words([words[:, at] for at in range(words.shape[1])], secret)
            slots = _build_slots(hashes)
            if slots is not None:
                return cls(words, slots, secret)
        return None

    def rows(self, strings: Spans, likely: int = 0) -> NDArray[np.int32] | None:
        """The row of each string; None if any of them is unknown.

        `likely` is the row of the first string if the strings are in the order of the table. That case is tried first,
        because it needs no hashing.
        """
        words = strings.words(self.width)
        if not words:
            return None if words is None else np.empty(0, dtype=np.int32)
        if strings.end_with_nul():
            return None
        if self._in_order(words, likely):
            return np.arange(likely, likely + len(strings), dtype=np.int32)
        rows = _find_rows(self.slots, _hash_words(words, self.key))
        # A row of -1 reads the last string, which differs from one that is unknown.
        return rows if self._equal(self.words.take(rows, axis=0), words) else None

    def rows_if_known(self, words: Sequence[Words]) -> NDArray[np.int32]:
        """The row of each string, given by its words (see Spans.words); -1 for an unknown string."""
        rows = _find_rows(self.slots, _hash_words(words[: self.width], self.key))
        known = rows >= 0
        found = self.words.take(rows, axis=0)
        for at in range(max(self.width, len(words))):
            known &= (found[:, at] if at < self.width else 0) == (words[at] if at < len(words) else 0)
        return np.where(known, rows, np.int32(-1))

    def _in_order(self, wanted: Sequence[Words], first: int) -> bool:
        count = len(wanted[0])
        # The first words of four rows rule out most other orders before everything is compared.
        if first + count > len(self) or not np.array_equal(self.words[first : first + 4, 0], wanted[0][:4]):
            return False
        return self._equal(self.words[first : first + count], wanted)

    def _equal(self, table_words: Words, string_words: Sequence[Words]) -> bool:
        """Whether table rows are exactly these strings: equal words, and only padding after them."""
        same = all(np.array_equal(table_words[:, at], words) for at, words in enumerate(string_words))
        return same and not table_words[:, len(string_words) :].any()

    def texts(self) -> list[str]:
        """The Python strings, in row order."""
        rows = np.ascontiguousarray(self.words).view(f"S{8 * self.width}")[:, 0]
        return b"\0".join(rows.tolist()).decode().split("\0")

    @cached_property
    def is_json_safe(self) -> bool:
        """Whether every string needs no escaping in JSON: no quotation mark, backslash or control character in any."""
        for start in range(0, len(self), 1 << 16):
            part = np.ascontiguousarray(self.words[start : start + (1 << 16)]).view(np.uint8)
            # Subtracting 1 wraps the padding 0 to 255, so only the control characters 1 to 31 are below 31.
            if ((part - np.uint8(1) < 31) | (part == ord('"')) | (part == ord("\\"))).any():
                return False
        return True


def _hash_keys(key: bytes, count: int) -> Iterator[Words]:
    """A few rows of odd numbers derived from a key with splitmix64 (Steele, Lea and Flood, OOPSLA 2014, section 4)."""
    state = 0
    for start in range(0, len(key), 8):
        state ^= int.from_bytes(key[start : start + 8], "little")
    for _ in range(_MAX_KEY_ATTEMPTS):
        numbers = np.empty(count, dtype=np.uint64)
        for at in range(count):
            state = (state + 0x9E3779B97F4A7C15) & (1 << 64) - 1
            mixed = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & (1 << 64) - 1
            mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & (1 << 64) - 1
            numbers[at] = (mixed ^ (mixed >> 31)) | 1
        yield numbers


def _hash_words(words: Sequence[Words], key: Words) -> Words:
    """The hashes of k strings from their words; trailing zero words do not matter, so a table may be wider.

    The hash is a sum of products with secret odd numbers, mixed by multiply and xor-shift so that every bit spreads.
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
    """The hash table, at most two thirds full; None if a run of full slots is too long or a row cannot be found.

    All rows are inserted at once, in the order of their hashes, as each then follows the one before it or has its own
    slot. This writes the slots one after the other, which is much faster than in the order of the rows.
    """
    count = len(hashes)
    bits, row_bits = max(4, (count + count // 2).bit_length()), _U(count.bit_length())
    # The low bits of a hash give way to its row number; the high ones, which remain, decide its slot.
    keys = hashes >> row_bits << row_bits
    numbers = np.arange(count, dtype=np.int64)
    keys |= numbers.view(np.uint64)
    keys.sort()
    rows = (keys & ((_U(1) << row_bits) - _U(1))).astype(np.int32)
    keys >>= _U(64 - bits)
    positions = keys.view(np.int64)
    positions -= numbers
    np.maximum.accumulate(positions, out=positions)
    positions += numbers
    del numbers
    slots = np.full(1 << bits, _FREE_SLOT, dtype=np.uint64)
    inside = int(np.searchsorted(positions, len(slots)))
    for start in range(0, inside, _BLOCK):
        block = slice(start, min(start + _BLOCK, inside))
        slots[positions[block]] = _slot_entries(hashes, rows[block])
    if inside < count:  # those beyond the end go on at the beginning
        slots[np.flatnonzero(slots == _FREE_SLOT)[: count - inside]] = _slot_entries(hashes, rows[inside:])
    # Two strings could have the same tag in the same run of slots; then the second would never be found.
    blocks = (rows[start : start + _BLOCK] for start in range(0, count, _BLOCK))
    return slots if all(np.array_equal(_find_rows(slots, hashes[block]), block) for block in blocks) else None


def _slot_entries(hashes: Words, rows: NDArray[np.int32]) -> Words:
    """The slots of these rows: tag and row number."""
    return (hashes[rows] << _U(32)) | rows.astype(np.uint64)


def _find_rows(slots: Words, hashes: Words) -> NDArray[np.int32]:
    """The row with the same tag for each hash, by linear probing; -1 where there is none."""
    mask = len(slots) - 1
    positions = (hashes >> _U(65 - len(slots).bit_length())).view(np.int64)
    tags = hashes << _U(32)
    entries = slots.take(positions)
    pending = np.flatnonzero(((entries ^ tags) > _TAG_MASK) & (entries != _FREE_SLOT))
    positions, tags = positions[pending], tags[pending]
    for _ in range(_MAX_PROBES):
        if not len(pending):
            break
        positions = (positions + 1) & mask
        probed = slots.take(positions)
        entries[pending] = probed
        remaining = ((probed ^ tags) > _TAG_MASK) & (probed != _FREE_SLOT)
        pending, positions, tags = pending[remaining], positions[remaining], tags[remaining]
    entries[pending] = _FREE_SLOT
    # The row number of a free slot, 32 ones, is -1.
    return entries.astype(np.uint32).view(np.int32)
