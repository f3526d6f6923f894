"""Escapes text for cells of a CSV file that may be opened in a spreadsheet."""

import re
import unicodedata

_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?\Z")
_FORMULA_SIGNS = frozenset("=+-@")
_SKIPPED_CATEGORIES = frozenset({"Zs", "Zl", "Zp", "Cc", "Cf"})


def escape_formula(text: str) -> str:
    """A text that no spreadsheet runs as a formula.

    Some spreadsheets skip blanks and invisible characters, and accept full-width and small forms of the first sign. A
    plain number, such as the label -1, is harmless and stays as it is.
    """
    if _NUMBER.match(text):
        return text
    first = next((char for char in text if unicodedata.category(char) not in _SKIPPED_CATEGORIES), "")
    risky = text.startswith(("\t", "\r")) or unicodedata.normalize("NFKC", first)[:1] in _FORMULA_SIGNS
    return f"'{text}" if risky else text
