"""What Unicode says of signs that look alike and of scripts, from tables that travel with the package.

The tables are those of Unicode 15.0, made by `python -m app.text.unicode.derive`; their licence stands beside them.
"""

import unicodedata
from bisect import bisect_right
from functools import cache
from pathlib import Path

UNKNOWN_SCRIPT = frozenset({"Zzzz"})  # unassigned, private, or newer than the tables
_COMMON_SCRIPTS = frozenset({"Zyyy", "Zinh"})  # common, inherited: they go with every script
# UTS #39, section 5.1: the augmented script sets of East Asian writing
_AUGMENTED = {
    "Hani": {"Hanb", "Jpan", "Kore"},
    "Hira": {"Jpan"},
    "Kana": {"Jpan"},
    "Hang": {"Kore"},
    "Bopo": {"Hanb"},
}
_COMBINABLE_WITH_LATIN = frozenset({"Hanb", "Jpan", "Kore"})
_OVERLAY_CLASS = 1  # the combining class of marks that strike a letter out

_FOLDER = Path(__file__).parent


def _read_table(name: str) -> list[list[str]]:
    text = (_FOLDER / name).read_text(encoding="ascii")
    return [line.split() for line in text.splitlines() if line and not line.startswith("#")]


@cache
def _prototypes() -> dict[int, str]:
    """What each sign that looks like others stands for."""
    return {
        int(sign, 16): "".join(chr(int(one, 16)) for one in given) for sign, *given in _read_table("confusables.txt")
    }


@cache
def _script_ranges() -> tuple[list[int], list[int], list[str], list[frozenset[str]]]:
    """Ranges of signs in their order: first, last, script, and the scripts that it is used with."""
    first, last, own, used = [], [], [], []
    for begins, ends, script, *extended in _read_table("scripts.txt"):
        first.append(int(begins, 16))
        last.append(int(ends, 16))
        own.append(script)
        used.append(frozenset(extended or [script]))
    return first, last, own, used


def _range_of(sign: str) -> int | None:
    first, last, _, _ = _script_ranges()
    at = bisect_right(first, ord(sign)) - 1
    return at if at >= 0 and ord(sign) <= last[at] else None


def script_extensions(sign: str) -> frozenset[str]:
    """The scripts that a sign is used with (Script_Extensions), as four-letter codes."""
    at = _range_of(sign)
    return UNKNOWN_SCRIPT if at is None else _script_ranges()[3][at]


def is_inherited_mark(sign: str) -> bool:
    """Whether a sign is a mark that belongs to no script, and so can be put on any letter."""
    at = _range_of(sign)
    return unicodedata.category(sign) in {"Mn", "Me"} and at is not None and _script_ranges()[2][at] == "Zinh"


def skeleton(text: str) -> str:
    """What a text looks like (UTS #39, section 4), without marks that strike letters out.

    Texts with one skeleton are hard to tell apart. It is no text to be shown.
    """
    apart = unicodedata.normalize("NFD", text)
    drawn = unicodedata.normalize("NFD", apart.translate(_prototypes()))
    return "".join(sign for sign in drawn if unicodedata.combining(sign) != _OVERLAY_CLASS)


def mixed_scripts(text: str) -> list[str]:
    """The scripts of a text, sorted, where it mixes more than Highly Restrictive allows (UTS #39, section 5.2).

    Empty where all signs can be of one script, or of Latin with Chinese, Japanese or Korean. Signs of no script, such as
    spaces, digits, punctuation and emoji, go with all.
    """
    sets = [found for sign in text if not (found := script_extensions(sign)) & _COMMON_SCRIPTS]
    if (
        _resolved_scripts(sets)
        or _resolved_scripts([found for found in sets if "Latn" not in found]) & _COMBINABLE_WITH_LATIN
    ):
        return []
    return sorted(frozenset[str]().union(*sets))


def _resolved_scripts(sets: list[frozenset[str]]) -> frozenset[str]:
    """The scripts, augmented, that all signs can be of; every one of them where there are no signs."""
    augmented = [found.union(*(_AUGMENTED.get(name, ()) for name in found)) for found in sets]
    return frozenset.intersection(*augmented) if augmented else _COMBINABLE_WITH_LATIN
