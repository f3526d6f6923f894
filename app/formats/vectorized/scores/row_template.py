"""What all rows of a file have in common: the first one is taken apart, and tells what must stand between the values."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from app.scoring.string_table import Bytes, Int, Spans, Words

ValueKind = Literal["id", "score", ""]
ValueSlot = tuple[int, int, ValueKind]
"""Where a value stands, and what it is."""
MAX_SEPARATOR_BYTES: Final = 256
"""Bytes that may stand before a value."""
_MAX_TOKEN_BYTES: Final = 4096
_TOKEN: Final = re.compile(
    rb"[ \t\r\n]*(?:(?P<string>\"[^\"\\\x00-\x1f]*\")|(?P<number>-?[0-9][0-9.eE+-]*)|(?P<sign>[{}\[\],:]))"
)
_MASKS: Final = np.array([(1 << (8 * count)) - 1 for count in range(9)], dtype=np.uint64)


class UnsupportedScoreLayout(Exception):
    """The file is not laid out in a way that is read fast."""


class IncompleteRow(UnsupportedScoreLayout):
    """The text ends before the row does."""


@dataclass(slots=True)
class FirstRow:
    """The first row, a JSON value: where its values stand, and the names of its scores if it gives any.

    Raises Unfit for what is neither a record of an id and scores, nor one or a list of those, nor a string.
    """

    text: bytes
    at: int
    most: int
    """How many scores a row may have."""
    value_slots: list[ValueSlot] = field(default_factory=list)
    names: list[str] | None = None
    single: bool = False
    """Whether the one score stands alone."""

    @classmethod
    def of(cls, text: bytes, most: int) -> "FirstRow":
        """Take the value apart that the text begins with; `at` is then where it ends."""
        sample = cls(text, 0, most)
        kind, start, end = sample._next()
        if kind == "string":
            sample.value_slots.append((start + 1, end - 1, "id"))
        elif kind == "number":
            sample.value_slots.append((start, end, "score"))
            sample.single = True
        elif text[start:end] == b"[":
            sample._list()
        elif text[start:end] == b"{":
            sample._record()
        else:
            raise UnsupportedScoreLayout
        return sample

    def _next(self) -> tuple[str, int, int]:
        found = _TOKEN.match(self.text, self.at)
        if found is None or found.lastgroup is None or found.end() == len(self.text):
            raise IncompleteRow if found or len(self.text) - self.at < _MAX_TOKEN_BYTES else UnsupportedScoreLayout
        self.at = found.end()
        return found.lastgroup, *found.span(found.lastgroup)

    def _sign(self, due: bytes) -> bytes:
        """The next sign, one of those due."""
        _, start, end = self._next()
        if self.text[start:end] not in {due[at : at + 1] for at in range(len(due))}:
            raise UnsupportedScoreLayout
        return self.text[start:end]

    def _number(self) -> None:
        kind, start, end = self._next()
        if kind != "number" or len(self.value_slots) > self.most:
            raise UnsupportedScoreLayout
        self.value_slots.append((start, end, "score"))

    def _key(self) -> bytes:
        kind, start, end = self._next()
        if kind != "string":
            raise UnsupportedScoreLayout
        self._sign(b":")
        return self.text[start + 1 : end - 1]

    def _list(self) -> None:
        self._number()
        while self._sign(b",]") == b",":
            self._number()

    def _object(self) -> None:
        self.names = []
        while True:
            try:
                self.names.append(self._key().decode())
            except UnicodeDecodeError:
                raise UnsupportedScoreLayout from None
            self._number()
            if self._sign(b",}") == b"}":
                return

    def _record(self) -> None:
        given: list[bytes] = []
        while True:
            given.append(self._key())
            self._field(given[-1])
            if self._sign(b",}") == b"}":
                break
        if sorted(given) not in ([b"id", b"scores"], [b"id", b"score"]):
            raise UnsupportedScoreLayout

    def _field(self, key: bytes) -> None:
        if key == b"id":
            kind, start, end = self._next()
            if kind != "string":
                raise UnsupportedScoreLayout
            self.value_slots.append((start + 1, end - 1, "id"))
        elif key == b"score":
            self.single = True
            self._number()
        elif key == b"scores":
            self._list() if self._sign(b"[{") == b"[" else self._object()
        else:
            raise UnsupportedScoreLayout


@dataclass(frozen=True, slots=True)
class RowTemplate:
    """Rows of D pieces, each ended by a separator: what stands in each before and after its value, and what that is."""

    before: Sequence[bytes]
    after: Sequence[bytes]
    kinds: Sequence[ValueKind]

    @classmethod
    def of(cls, row: bytes, holes: Sequence[ValueSlot], separators: bytes) -> "RowTemplate":
        """Of a row without its last separator; raises Unfit where two values share a piece, or one spans several."""
        cuts = [-1, *(at for at, sign in enumerate(row) if sign in separators), len(row)]
        before: list[bytes] = []
        after: list[bytes] = []
        kinds: list[ValueKind] = []
        left = list(holes)
        for low, high in pairwise(cuts):
            none: ValueSlot = (high, high, "")
            start, end, kind = none if not left or left[0][0] > high else left.pop(0)
            if end > high or (left and left[0][0] < high):
                raise UnsupportedScoreLayout
            before.append(row[low + 1 : start])
            after.append(row[end:high])
            kinds.append(kind)
        if left or max(map(len, (*before, *after))) > MAX_SEPARATOR_BYTES:
            raise UnsupportedScoreLayout
        return cls(before, after, kinds)

    def __len__(self) -> int:
        return len(self.kinds)


class TemplateMatcher:
    """Rows of one template in a buffer, looked at together."""

    def __init__(self, template: RowTemplate) -> None:
        self.template = template
        kinds = np.array(template.kinds)
        scores = np.flatnonzero(kinds == "score")
        self.scores = _as_slice(scores) if len(scores) else None
        ids = np.flatnonzero(kinds == "id").tolist()
        self.id = ids[0] if ids else None
        self.constant_pieces = np.flatnonzero(kinds == "").tolist()
        self._before = np.array([len(part) for part in template.before])
        self._after = np.array([len(part) for part in template.after])
        self._checks = _build_word_checks(template.before)

    def match(self, text: Bytes, view: Words, starts: Int, stops: Int) -> bool:
        """Whether everything but the values is as in the template; pieces are R × D places where they start and stop."""
        for places, words, masks in self._checks:
            if len(words) == 1 and int(masks[0].max()) <= 0xFF:
                if not (text[starts[:, places]] == words[0].astype(np.uint8)).all():
                    return False
                continue
            for at, (word, mask) in enumerate(zip(words, masks, strict=True)):
                if not ((view[starts[:, places] + 8 * at] & mask) == word).all():
                    return False
        for at, part in enumerate(self.template.after):
            if part and not _matches_at(view, stops[:, at] - len(part), part):
                return False
        return all((stops[:, at] - starts[:, at] == self._before[at]).all() for at in self.constant_pieces)

    def numbers(self, starts: Int, stops: Int) -> tuple[Int, Int]:
        """Where the scores start and stop, row by row."""
        places = self.scores
        assert places is not None
        return (starts[:, places] + self._before[places]).ravel(), (stops[:, places] - self._after[places]).ravel()

    def ids(self, view: Words, starts: Int, stops: Int) -> Spans | None:
        """The ids of the rows; None where one is empty."""
        assert self.id is not None
        begin = starts[:, self.id] + self._before[self.id]
        lengths = stops[:, self.id] - self._after[self.id] - begin
        return Spans(view, begin, lengths) if int(lengths.min()) > 0 else None


def _as_slice(places: NDArray[np.intp]) -> slice | NDArray[np.intp]:
    """Places that follow each other as a slice, which costs no copy."""
    if len(places) and places[-1] - places[0] == len(places) - 1:
        return slice(int(places[0]), int(places[-1]) + 1)
    return places


def _build_word_checks(
    parts: Sequence[bytes],
) -> list[tuple[slice | NDArray[np.intp], NDArray[np.uint64], NDArray[np.uint64]]]:
    """For pieces that begin alike in length: which they are, and the words (J × K) that must stand there under masks."""
    by_words: dict[int, list[int]] = {}
    for at, part in enumerate(parts):
        if part:
            by_words.setdefault(-(-len(part) // 8) if len(part) > 1 else 0, []).append(at)
    found = []
    for count, places in by_words.items():
        words = [_to_words(parts[at], max(1, count)) for at in places]
        sizes = np.array(
            [[min(8, max(0, len(parts[at]) - 8 * word)) for at in places] for word in range(max(1, count))]
        )
        found.append((_as_slice(np.array(places)), np.array(words, dtype=np.uint64).T, _MASKS[sizes]))
    return found


def _to_words(part: bytes, count: int) -> list[int]:
    padded = part.ljust(8 * count, b"\0")
    return [int.from_bytes(padded[8 * at : 8 * at + 8], "little") for at in range(count)]


def _matches_at(view: Words, places: Int, part: bytes) -> bool:
    """Whether these bytes stand at all places."""
    for at, word in enumerate(_to_words(part, -(-len(part) // 8))):
        mask = _MASKS[min(8, len(part) - 8 * at)]
        if not ((view[places + 8 * at] & mask) == word).all():
            return False
    return True
