"""What makes two names the same to a reader."""

import re
import unicodedata

# What is not drawn, beyond the category Cf: fillers, joiners, variation selectors (Default_Ignorable_Code_Point of
# Unicode 15, DerivedCoreProperties.txt), and the blank Braille pattern.
_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u2800\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufff8\U000e0000-\U000e0fff]"
)


def is_unseen(letter: str) -> bool:
    """Whether a character is not drawn, beyond those of the category Cf."""
    return _UNSEEN.match(letter) is not None


def name_key(name: str) -> str:
    """What makes two names the same to a reader: compatibility form, case, spaces, no invisible signs."""
    drawn = _UNSEEN.sub("", unicodedata.normalize("NFKC", name))
    shown = "".join(sign for sign in drawn if unicodedata.category(sign) != "Cf")
    # once more: what stood between a letter and its accent is gone now
    return " ".join(unicodedata.normalize("NFKC", shown.casefold()).split())
