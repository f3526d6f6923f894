"""What makes two names the same to a reader, and which names may be taken."""

import re
import unicodedata
from collections.abc import Iterable
from functools import cache

from app.text.unicode import UNKNOWN_SCRIPT, is_inherited_mark, mixed_scripts, script_extensions, skeleton

# What is not drawn, beyond the category Cf: fillers, joiners, variation selectors (Default_Ignorable_Code_Point of
# Unicode 15, DerivedCoreProperties.txt), and the blank Braille pattern.
_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u2800\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufff8\U000e0000-\U000e0fff]"
)

# What sounds as if the service or the organizers spoke, and the stand-ins of boards without names.
_RESERVED_WORDS = """
    admin admins administration administrator administrators anonymous assay baseline baselines host hosts judge judges
    jury moderator moderators official officials organiser organisers organising organizer organizers organizing owner
    owners referee root staff support sysadmin system
"""
_FILLER_WORDS = """
    and by challenge class committee competition contest entries entry for from group leaderboard majority of our random
    reference result results score scores submission submissions task team teams the
"""


def is_invisible(letter: str) -> bool:
    """Whether a character is not drawn, beyond those of the category Cf."""
    return _INVISIBLE.match(letter) is not None


def name_key(name: str) -> str:
    """A name without what readers pass over: compatibility form, case, spaces, invisible signs."""
    shown = _strip_invisible(unicodedata.normalize("NFKC", name))
    # once more: what stood between a letter and its accent is gone now
    return " ".join(unicodedata.normalize("NFKC", shown.casefold()).split())


def look_key(name: str) -> str:
    """What a name looks like: equal for names that are hard to tell apart (UTS #39), whatever their case.

    Accents that are part of a letter count, such as those of José; marks put on a letter that is not written with them
    do not, nor does what strikes a letter out. Case is folded between two skeletons, for what a capital looks like is
    not what its small letter looks like.
    """
    own = unicodedata.normalize("NFC", _strip_invisible(name))
    once = skeleton("".join(sign for sign in own if not is_inherited_mark(sign)))
    return " ".join(skeleton(unicodedata.normalize("NFKC", once.casefold())).split())


def _strip_invisible(text: str) -> str:
    return "".join(sign for sign in _INVISIBLE.sub("", text) if unicodedata.category(sign) != "Cf")


def is_reserved(name: str) -> bool:
    """Whether a name poses as the organizers, the service or a stand-in, with numbers and fillers or without.

    Spaces and punctuation do not count, so that words are looked for in what is left.
    """
    return _reserved_name_pattern().fullmatch(_comparable_letters(name)) is not None


def _comparable_letters(name: str) -> str:
    """What the letters and digits of a name look like, small and capital i and l as one."""
    return re.sub(r"[\W_]", "", look_key(unicodedata.normalize("NFKC", name))).replace("i", "l")


@cache
def _reserved_name_pattern() -> re.Pattern[str]:
    """Nothing but reserved words, fillers, digits and what looks like 0 and 1 (O, I, l), and one reserved word at least."""
    reserved, fillers = (
        "|".join(sorted(map(_comparable_letters, words.split()))) for words in (_RESERVED_WORDS, _FILLER_WORDS)
    )
    return re.compile(rf"(?:{fillers}|[\dlo])*(?:{reserved})(?:{reserved}|{fillers}|[\dlo])*")


def script_problem(name: str) -> str | None:
    """Why the signs of a name do not go together; None where they do (UTS #39, Highly Restrictive, scripts alone)."""
    for at, sign in enumerate(name, 1):
        if script_extensions(sign) == UNKNOWN_SCRIPT:
            return f"holds U+{ord(sign):04X} at character {at}, which is no character of Unicode 15"
    mixed = mixed_scripts(name)
    if mixed:
        return f"mixes scripts that look alike ({', '.join(mixed)}); write it in one script, which Latin may join only in Chinese, Japanese or Korean"
    return None


def group_confusable_names(names: Iterable[str]) -> list[list[str]]:
    """The names that look or read the same as another one, in groups."""
    groups: list[list[str]] = []
    at: dict[tuple[str, str], list[str]] = {}
    for name in names:
        keys = [("reads", name_key(name)), ("looks", look_key(name))]
        known = next((at[key] for key in keys if key in at), None)
        group = known if known is not None else []
        if known is None:
            groups.append(group)
        group.append(name)
        for key in keys:
            at.setdefault(key, group)
    return [group for group in groups if len(group) > 1]
