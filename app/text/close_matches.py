"""Suggestions for a mistyped word: the known words that are most similar to it."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

_MAX_COMPARED_WORDS = 500
"""The search compares each known word, so that a longer list would take too long; it gets no suggestions."""


def close_matches(word: str, known: Iterable[str], *, most: int = 3, cutoff: float = 0.6) -> list[str]:
    """Up to `most` known words whose similarity (0 to 1, as difflib defines it) is at least `cutoff`, best first."""
    words = list(known)
    return get_close_matches(word, words, n=most, cutoff=cutoff) if len(words) <= _MAX_COMPARED_WORDS else []


def did_you_mean(word: str, known: Iterable[str], *, most: int = 3, cutoff: float = 0.6) -> str:
    """A hint for the middle of a sentence, such as ` (did you mean recall?)`; empty where no known word is close."""
    return format_hint(close_matches(word, known, most=most, cutoff=cutoff))


def format_hint(suggestions: Iterable[str]) -> str:
    """The hint that names these suggestions; empty where there is none."""
    text = " or ".join(suggestions)
    return f" (did you mean {text}?)" if text else ""


def near_names(name: str, known: Sequence[str], *, most: int = 10) -> str:
    """A sentence for a name that is not known: the names that are most similar, in any case, or else the first ones."""
    folded = {each.casefold(): each for each in reversed(known)}
    near = [f"'{folded[match]}'" for match in close_matches(name.casefold(), folded)]
    if near:
        return f"Did you mean {' or '.join(near)}?"
    listed = ", ".join(f"'{each}'" for each in known[:most])
    return (
        f"There are: {listed}{f', … ({len(known)} in all)' if len(known) > most else ''}."
        if known
        else "There is none."
    )
