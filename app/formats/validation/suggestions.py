"""Suggestions for mistyped ids and labels: the known text that is most probably meant."""

import re
import unicodedata
from collections.abc import Collection

from app.text.close_matches import close_matches

_WORD_SEPARATORS = re.compile(r"[\s_\-]+")
_ZERO_PADDING = re.compile(r"(?<!\d)0+(?=\d)")
_FILE_EXTENSION = re.compile(r"\.[a-z][a-z0-9]{1,4}\Z")
_LAST_WORD = re.compile(r"[0-9]+|[^\W_]+")
_MAX_SIMILARITY_CANDIDATES = 300
"""With more known texts, similar ones are not searched for."""
_MAX_CANDIDATES = 200_000
"""With more known texts, folded forms are not searched for."""
_MAX_SEARCHES = 200
"""How many texts of a file are compared with all known texts, which takes milliseconds each: twice what is listed."""


def fold_text(text: str) -> str:
    """A text without common variations: case, spaces and joiners, zero padding, compatibility forms."""
    folded_text = unicodedata.normalize("NFKC", text).casefold()
    return _ZERO_PADDING.sub("", _WORD_SEPARATORS.sub("", folded_text))


def last_word(text: str) -> str | None:
    """The part of an id that survives a changed prefix or file ending: its last number or word."""
    folded_text = _FILE_EXTENSION.sub("", unicodedata.normalize("NFKC", text[-200:]).casefold())
    match = _LAST_WORD.match(folded_text[::-1])  # reversed, so that the search is linear
    return _ZERO_PADDING.sub("", match.group()[::-1]) if match else None


class SuggestionFinder:
    """Finds the known text that is closest to a given one; its tables are built on first use."""

    def __init__(self, candidates: Collection[str]) -> None:
        self._candidates = candidates
        self._index: dict[str, str] | None = None
        self._tails: dict[str, str | None] = {}
        self._searches = 0

    def find(self, text: str) -> str | None:
        """The first known text with the same folded form, the only one with the same tail, or the most similar one."""
        if len(self._candidates) > _MAX_CANDIDATES:
            return None
        if self._index is None:
            self._index = self._build_index()
        folded_text = fold_text(text[:1000])
        if folded_text in self._index:
            return self._index[folded_text]
        if match := self._index.get(folded_text.removesuffix(".0")):  # an integer that was written as a float
            return match
        if match := self._tails.get(last_word(text[:1000]) or ""):
            return match
        if len(self._index) > _MAX_SIMILARITY_CANDIDATES or len(folded_text) > 100 or self._searches >= _MAX_SEARCHES:
            return None
        self._searches += 1
        matches = close_matches(folded_text, self._index, most=1, cutoff=0.8)
        return next((self._index[match] for match in matches), None)

    def _build_index(self) -> dict[str, str]:
        folded: dict[str, str] = {}
        for name in self._candidates:
            folded.setdefault(fold_text(name), name)
            end = last_word(name)
            if end is not None:
                self._tails[end] = None if end in self._tails else name
        return folded
