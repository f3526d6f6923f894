"""Suggestions for mistyped ids and labels: the known text that is most probably meant."""

import re
import unicodedata
from collections.abc import Collection

from app.text.close_matches import close_matches

_WORD_SEPARATORS = re.compile(r"[\s_\-]+")
_ZERO_PADDING = re.compile(r"(?<!\d)0+(?=\d)")
_FILE_EXTENSION = re.compile(r"\.[a-z][a-z0-9]{1,4}\Z")
_LAST_WORD = re.compile(r"[0-9]+|[^\W_]+")
_MAX_COMPARED = 300
"""With more known texts, similar ones are not searched for."""
_MAX_FOLDED = 200_000
"""With more known texts, folded forms are not searched for."""
_MAX_SEARCHES = 200
"""How many texts of a file are compared with all known texts, which takes milliseconds each: twice what is listed."""


def fold_text(text: str) -> str:
    """A text without common variations: case, spaces and joiners, zero padding, compatibility forms."""
    flat = unicodedata.normalize("NFKC", text).casefold()
    return _ZERO_PADDING.sub("", _WORD_SEPARATORS.sub("", flat))


def last_word(text: str) -> str | None:
    """The part of an id that survives a changed prefix or file ending: its last number or word."""
    flat = _FILE_EXTENSION.sub("", unicodedata.normalize("NFKC", text[-200:]).casefold())
    match = _LAST_WORD.match(flat[::-1])  # reversed, so that the search is linear
    return _ZERO_PADDING.sub("", match.group()[::-1]) if match else None


class SuggestionFinder:
    """Finds the known text that is closest to a given one; its tables are built on first use."""

    def __init__(self, known: Collection[str]) -> None:
        self._known = known
        self._folded: dict[str, str] | None = None
        self._tails: dict[str, str | None] = {}
        self._searches = 0

    def find(self, text: str) -> str | None:
        """The first known text with the same folded form, the only one with the same tail, or the most similar one."""
        if len(self._known) > _MAX_FOLDED:
            return None
        if self._folded is None:
            self._folded = self._build_index()
        flat = fold_text(text[:1000])
        if flat in self._folded:
            return self._folded[flat]
        if near := self._tails.get(last_word(text[:1000]) or ""):
            return near
        if len(self._folded) > _MAX_COMPARED or len(flat) > 100 or self._searches >= _MAX_SEARCHES:
            return None
        self._searches += 1
        return next((self._folded[match] for match in close_matches(flat, self._folded, most=1, cutoff=0.8)), None)

    def _build_index(self) -> dict[str, str]:
        folded: dict[str, str] = {}
        for name in self._known:
            folded.setdefault(fold_text(name), name)
            end = last_word(name)
            if end is not None:
                self._tails[end] = None if end in self._tails else name
        return folded
