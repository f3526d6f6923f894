"""Texts as cells of a CSV file that somebody may open in a spreadsheet."""

import re
import unicodedata

_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?\Z")
_FORMULA_SIGNS = frozenset("=+-@")
_SKIPPED_CATEGORIES = frozenset({"Zs", "Zl", "Zp", "Cc", "Cf"})


def escape_formula(text: str) -> str:
    """A text that a spreadsheet takes for a text: it would run what begins like a formula.

    Some look past blanks and signs that are not drawn, and take the full-width and small forms of a sign for it. What is
    just a number, such as the label -1, runs nothing and stays as it is.
    """
    if _NUMBER.match(text):
        return text
    begins = next((sign for sign in text if unicodedata.category(sign) not in _SKIPPED_CATEGORIES), "")
    risky = text.startswith(("\t", "\r")) or unicodedata.normalize("NFKC", begins)[:1] in _FORMULA_SIGNS
    return f"'{text}" if risky else text
