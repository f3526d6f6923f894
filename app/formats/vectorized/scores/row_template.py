"""The common parts of all rows of a file: the first row is parsed, and gives the bytes between the values."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from app.formats.vectorized.span_window import LEADING_BYTES, SpanWindow
from app.formats.vectorized.unsupported import UnsupportedLayout, decode_utf8, require
from app.scoring.string_table import Int, Spans, Words

ValueKind = Literal["id", "score", ""]
ValueSlot = tuple[int, int, ValueKind]
"""The start and end of a value, and its kind."""
MAX_SEPARATOR_BYTES: Final = 256
"""Most bytes before a value."""
_MAX_TOKEN_BYTES: Final = 4096
_TOKEN: Final = re.compile(
    rb"[ \t\r\n]*(?:(?P<string>\"[^\"\\\x00-\x1f]*\")|(?P<number>-?[0-9][0-9.eE+-]*)|(?P<sign>[{}\[\],:]))"
)
_MASKS: Final = np.array([(1 << (8 * count)) - 1 for count in range(9)], dtype=np.uint64)


class IncompleteRow(UnsupportedLayout):
    """The text ends before the row does."""


@dataclass(slots=True)
class FirstRow:
    """The first row, a JSON value: the positions of its values, and the class names of its scores if it has any.

    It is a record of an id and scores, or scores alone; anything else raises UnsupportedLayout.
    """

    text: bytes
    position: int
    max_scores: int
    value_slots: list[ValueSlot] = field(default_factory=list)
    names: list[str] | None = None
    is_single: bool = False
    """Whether there is one score alone, not in a list or object."""

    @classmethod
    def parse(cls, text: bytes, max_scores: int) -> "FirstRow":
        """Parse the value at the start of the text; `position` is then its end."""
        row = cls(text, 0, max_scores)
        kind, start, end = row._next_token()
        if kind == "number":
            row.value_slots.append((start, end, "score"))
            row.is_single = True
        elif text[start:end] == b"[":
            row._list()
        else:
            require(text[start:end] == b"{")
            row._record()
        return row

    def _next_token(self) -> tuple[str, int, int]:
        match = _TOKEN.match(self.text, self.position)
        if match is None or match.lastgroup is None or match.end() == len(self.text):
            raise IncompleteRow if match or len(self.text) - self.position < _MAX_TOKEN_BYTES else UnsupportedLayout
        self.position = match.end()
        return match.lastgroup, *match.span(match.lastgroup)

    def _sign(self, allowed: bytes) -> bytes:
        """The next token, which must be one of the allowed signs."""
        _, start, end = self._next_token()
        require(end - start == 1 and self.text[start:end] in allowed)
        return self.text[start:end]

    def _number(self) -> None:
        kind, start, end = self._next_token()
        require(kind == "number" and len(self.value_slots) <= self.max_scores)
        self.value_slots.append((start, end, "score"))

    def _string(self) -> tuple[int, int]:
        """The start and end of the next token, which must be a string, without its quotes."""
        kind, start, end = self._next_token()
        require(kind == "string")
        return start + 1, end - 1

    def _key(self) -> bytes:
        start, end = self._string()
        self._sign(b":")
        return self.text[start:end]

    def _list(self) -> None:
        self._number()
        while self._sign(b",]") == b",":
            self._number()

    def _object(self) -> None:
        self.names = []
        while True:
            self.names.append(decode_utf8(self._key()))
            self._number()
            if self._sign(b",}") == b"}":
                return

    def _record(self) -> None:
        keys: list[bytes] = []
        while True:
            keys.append(self._key())
            self._field(keys[-1])
            if self._sign(b",}") == b"}":
                break
        require(sorted(keys) in ([b"id", b"scores"], [b"id", b"score"]))

    def _field(self, key: bytes) -> None:
        if key == b"id":
            self.value_slots.append((*self._string(), "id"))
        elif key == b"score":
            self.is_single = True
            self._number()
        else:
            require(key == b"scores")
            self._list() if self._sign(b"[{") == b"[" else self._object()


@dataclass(frozen=True, slots=True)
class RowTemplate:
    """A row of D pieces, each ended by a separator: the constant bytes before and after the value, and its kind."""

    prefixes: Sequence[bytes]
    suffixes: Sequence[bytes]
    kinds: Sequence[ValueKind]

    @classmethod
    def of(cls, row: bytes, slots: Sequence[ValueSlot], separators: bytes) -> "RowTemplate":
        """The template of a row without its last separator.

        Raises UnsupportedLayout where two values share a piece or a value contains a separator.
        """
        cuts = [-1, *(at for at, byte in enumerate(row) if byte in separators), len(row)]
        prefixes: list[bytes] = []
        suffixes: list[bytes] = []
        kinds: list[ValueKind] = []
        pending = list(slots)
        for low, high in pairwise(cuts):
            no_value: ValueSlot = (high, high, "")
            start, end, kind = no_value if not pending or pending[0][0] > high else pending.pop(0)
            require(end <= high and not (pending and pending[0][0] < high))
            prefixes.append(row[low + 1 : start])
            suffixes.append(row[end:high])
            kinds.append(kind)
        require(not pending and max(map(len, (*prefixes, *suffixes))) <= MAX_SEPARATOR_BYTES)
        return cls(prefixes, suffixes, kinds)

    def __len__(self) -> int:
        return len(self.kinds)


class TemplateMatcher:
    """Compares many rows in a buffer with one template."""

    def __init__(self, template: RowTemplate) -> None:
        self.template = template
        kinds = np.array(template.kinds)
        self.score_pieces = _as_slice(np.flatnonzero(kinds == "score"))
        ids = np.flatnonzero(kinds == "id").tolist()
        self.id_piece = ids[0] if ids else None
        self.constant_pieces = np.flatnonzero(kinds == "").tolist()
        self._prefix_lengths = np.array([len(part) for part in template.prefixes])
        self._suffix_lengths = np.array([len(part) for part in template.suffixes])
        self._checks = _build_word_checks(template.prefixes)

    def match(self, window: SpanWindow, starts: Int, stops: Int) -> bool:
        """Whether everything but the values equals the template; pieces are R × D starts and stops.

        Each piece begins and ends with its constant bytes, and a piece without a value has no other bytes. What lies
        between them is a value, which the caller parses or looks up.
        """
        data, view = window.data, window.view
        for pieces, words, masks in self._checks:
            if len(words) == 1 and int(masks[0].max()) <= 0xFF:
                if not (data[starts[:, pieces]] == words[0].astype(np.uint8)).all():
                    return False
                continue
            for at, (word, mask) in enumerate(zip(words, masks, strict=True)):
                if not ((view[starts[:, pieces] + 8 * at] & mask) == word).all():
                    return False
        for at, part in enumerate(self.template.suffixes):
            if part and not window.matches_at(stops[:, at] - len(part), part).all():
                return False
        return all((stops[:, at] - starts[:, at] == self._prefix_lengths[at]).all() for at in self.constant_pieces)

    def numbers(self, starts: Int, stops: Int) -> tuple[Int, Int]:
        """The starts and ends of the scores, row by row, in the window's data_and_leading."""
        pieces = self.score_pieces
        begins = starts[:, pieces] + (self._prefix_lengths[pieces] + LEADING_BYTES)
        ends = stops[:, pieces] - (self._suffix_lengths[pieces] - LEADING_BYTES)
        return begins.ravel(), ends.ravel()

    def ids(self, window: SpanWindow, starts: Int, stops: Int) -> Spans:
        """The ids of the rows; raises UnsupportedLayout if one is empty."""
        assert self.id_piece is not None
        begin = starts[:, self.id_piece] + self._prefix_lengths[self.id_piece]
        lengths = stops[:, self.id_piece] - self._suffix_lengths[self.id_piece] - begin
        require(int(lengths.min()) > 0)
        return Spans(window.view, begin, lengths)


def _as_slice(positions: NDArray[np.intp]) -> slice | NDArray[np.intp]:
    """Consecutive positions as a slice, so that indexing makes no copy."""
    if len(positions) and positions[-1] - positions[0] == len(positions) - 1:
        return slice(int(positions[0]), int(positions[-1]) + 1)
    return positions


def _build_word_checks(parts: Sequence[bytes]) -> list[tuple[slice | NDArray[np.intp], Words, Words]]:
    """The comparisons of the bytes before the values, for all pieces together that take the same number of words.

    Each has the positions of the pieces, the expected words (J × K), and their masks.
    """
    by_words: dict[int, list[int]] = {}
    for at, part in enumerate(parts):
        if part:
            # Parts of one byte have a group of their own, as match() compares them without masks.
            by_words.setdefault(-(-len(part) // 8) if len(part) > 1 else 0, []).append(at)
    checks = []
    for key, pieces in by_words.items():
        count = max(1, key)
        padded = b"".join(parts[at].ljust(8 * count, b"\0") for at in pieces)
        words = np.frombuffer(padded, dtype="<u8").reshape(-1, count).T
        sizes = np.array([[min(8, max(0, len(parts[at]) - 8 * word)) for at in pieces] for word in range(count)])
        checks.append((_as_slice(np.array(pieces)), words, _MASKS[sizes]))
    return checks
