"""Parses numbers from text: one strict grammar for tables and weights, correctly rounded to binary64."""

import math
import re
from array import array
from collections.abc import Iterable
from itertools import chain

_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_NON_NUMBER_CHARACTER = re.compile(r"[^0-9eE+\-.\x1f]")
_SEPARATOR = "\x1f"


def parse_number(text: str) -> float | None:
    """The finite number that a text denotes: digits with an optional point, sign and exponent; None for all else.

    Python's float accepts more (spaces, underscores, nan, digits of other scripts), which is refused here.
    """
    if not _NUMBER.fullmatch(text):
        return None
    value = float(text)
    return value if math.isfinite(value) else None


def parse_numbers(rows: Iterable[Iterable[str]]) -> "array[float] | None":
    """All numbers of these rows of texts, concatenated; None if one of the texts is not a number."""
    cells = list(chain.from_iterable(rows))
    if _NON_NUMBER_CHARACTER.search(_SEPARATOR.join(cells)):
        return None
    try:
        numbers = array("d", map(float, cells))
    except ValueError:
        return None
    return numbers if math.inf not in {max(numbers, default=0.0), -min(numbers, default=0.0)} else None
