"""Which names look the same to a reader, and which names may be used."""

import re
import unicodedata
from collections.abc import Iterable
from functools import cache

from app.text.unicode import UNKNOWN_SCRIPT, is_inherited_mark, mixed_scripts, script_extensions, skeleton

# Invisible characters beyond the category Cf: fillers, joiners, variation selectors (Default_Ignorable_Code_Point of
# Unicode 15, DerivedCoreProperties.txt), and the blank Braille pattern.
_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u2800\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufff8\U000e0000-\U000e0fff]"
)

# Words that suggest the service or the organizers, the placeholders of anonymous boards, and "Test entries", the team
# of the organizers' tests.
_RESERVED_WORDS = """
    admin admins administration administrator administrators anonymous assay baseline baselines host hosts judge judges
    jury moderator moderators official officials organiser organisers organising organizer organizers organizing owner
    owners referee root staff support sysadmin system testentries testentry
"""
_FILLER_WORDS = """
    and by challenge class committee competition contest entries entry for from group leaderboard majority of our random
    reference result results score scores submission submissions task team teams the
"""


def is_invisible(letter: str) -> bool:
    """Whether a character is invisible, beyond those of the category Cf."""
    return _INVISIBLE.match(letter) is not None


def name_key(name: str) -> str:
    """A name without differences that readers overlook: compatibility forms, case, spaces, invisible characters."""
    shown = _strip_invisible(unicodedata.normalize("NFKC", name))
    # again: the removed characters may have separated a letter from its accent
    return " ".join(unicodedata.normalize("NFKC", shown.casefold()).split())


def look_key(name: str) -> str:
    """The visual key of a name: equal for names that are hard to tell apart (UTS #39), whatever their case.

    Accents that belong to a letter count, such as in José. Marks on a letter that is not written with them do not
    count, nor do overlays that strike a letter out. Case is folded between two skeletons, because a capital letter
    resembles other characters than its small letter does.
    """
    visible = unicodedata.normalize("NFC", _strip_invisible(name))
    first_skeleton = skeleton("".join(char for char in visible if not is_inherited_mark(char)))
    return " ".join(skeleton(unicodedata.normalize("NFKC", first_skeleton.casefold())).split())


def _strip_invisible(text: str) -> str:
    return "".join(char for char in _INVISIBLE.sub("", text) if unicodedata.category(char) != "Cf")


def is_reserved(name: str) -> bool:
    """Whether a name imitates the organizers, the service or a placeholder, with or without numbers and filler words.

    Spaces and punctuation are removed first, so the words are matched in the remaining letters.
    """
    return _reserved_name_pattern().fullmatch(_comparable_letters(name)) is not None


def _comparable_letters(name: str) -> str:
    """The letters and digits of a name by their look; capital and small I and L are all the same."""
    return re.sub(r"[\W_]", "", look_key(unicodedata.normalize("NFKC", name))).replace("i", "l")


@cache
def _reserved_name_pattern() -> re.Pattern[str]:
    """Matches reserved words, fillers, digits and lookalikes of 0 and 1 (O, I, l), with at least one reserved word."""
    reserved, fillers = (
        "|".join(sorted(map(_comparable_letters, words.split()))) for words in (_RESERVED_WORDS, _FILLER_WORDS)
    )
    return re.compile(rf"(?:{fillers}|[\dlo])*(?:{reserved})(?:{reserved}|{fillers}|[\dlo])*")


def script_problem(name: str) -> str | None:
    """Why the characters of a name do not fit together, or None (UTS #39, Highly Restrictive, scripts only)."""
    for position, char in enumerate(name, 1):
        if script_extensions(char) == UNKNOWN_SCRIPT:
            return f"holds U+{ord(char):04X} at character {position}, which is no character of Unicode 15"
    mixed = mixed_scripts(name)
    if mixed:
        return f"mixes scripts that look alike ({', '.join(mixed)}); write it in one script, which Latin may join only in Chinese, Japanese or Korean"
    return None


def group_confusable_names(names: Iterable[str]) -> list[list[str]]:
    """Groups of names that look or read the same."""
    groups: list[list[str]] = []
    group_by_key: dict[tuple[str, str], list[str]] = {}
    for name in names:
        keys = [("reads", name_key(name)), ("looks", look_key(name))]
        group = next((group_by_key[key] for key in keys if key in group_by_key), None)
        if group is None:
            group = []
            groups.append(group)
        group.append(name)
        for key in keys:
            group_by_key.setdefault(key, group)
    return [group for group in groups if len(group) > 1]
