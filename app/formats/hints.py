"""Did you mean: the known text that a mistyped one most likely stands for."""

import re
import unicodedata
from collections.abc import Collection
from difflib import get_close_matches

_SEPARATORS = re.compile(r"[\s_\-]+")
_PADDING = re.compile(r"(?<!\d)0+(?=\d)")
_COMPARED = 300
"""Up to so many known texts, similar ones are looked for."""
_FOLDED = 200_000
"""Up to so many known texts, folded forms are looked for."""


def folded(text: str) -> str:
    """A text without what people mix up: case, spaces and joiners, zero padding, compatibility forms."""
    flat = unicodedata.normalize("NFKC", text).casefold()
    return _PADDING.sub("", _SEPARATORS.sub("", flat))


class Near:
    """Finds a known text near a given one; its table is made when first asked."""

    def __init__(self, known: Collection[str]) -> None:
        self._known = known
        self._folded: dict[str, str] | None = None

    def of(self, text: str) -> str | None:
        """The first known text with the same folded form, or, among few, the most similar one."""
        if len(self._known) > _FOLDED:
            return None
        if self._folded is None:
            self._folded = {}
            for name in self._known:
                self._folded.setdefault(folded(name), name)
        flat = folded(text[:1000])
        if flat in self._folded:
            return self._folded[flat]
        if len(self._folded) > _COMPARED or len(flat) > 100:
            return None
        found = get_close_matches(flat, self._folded, n=1, cutoff=0.8)
        return self._folded[found[0]] if found else None
