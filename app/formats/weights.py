"""Instance weights of gold: exact, as they are written, so that scoring with them can be exact too."""

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np

from app.formats.columns import Cell, Columns
from app.formats.numbers import number
from app.formats.problems import problem, show
from app.formats.readers.strict_json import LongNumber

_MOST, _LEAST = 1e12, 1e-12
_LONGEST = 200
"""Characters of a weight: the whole decimal text of any binary64 in these bounds has fewer."""
_MEND = "Give each row a number from 0 to 1e12, on all rows or on none."


class Weights:
    """Takes the weights of a gold file row by row; `values` is None where the file has none."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self.values: list[Fraction] | None = None if columns.weights is None else []

    def take(self, row: int, position: int, owner: str | None) -> None:
        """Read the weight of a row; a problem where it is none, and 0 in its place."""
        if self._columns.weights is None or self.values is None:
            return
        value = self._columns.weights[position]
        meant = type(value) is not str or not self._columns.typed
        found = Fraction(0) if value is Cell.FAULT else exact(value) if meant else None
        if found is None:
            missing = value is Cell.ABSENT or value == ""
            message = "Other rows have a weight, this one has none." if missing else "This is no weight."
            place = self._columns.layout.place(row, None if value is Cell.ABSENT else "weight")
            got = "nothing" if missing else show(value)
            self._columns.reading.problems.add(
                problem("wrong_shape", f"{message} {_MEND}", place, instance_id=owner, expected="a number", got=got),
                row,
            )
        self.values.append(found or Fraction(0))


def exact(value: object) -> Fraction | None:
    """The rational number that a weight is: the decimal that is written, or that is the shortest to mean it.

    None for what is no number, negative, or not 0 and outside 1e-12 … 1e12.
    """
    text = str(value) if type(value) in {str, int, float, LongNumber} else ""
    size = number(text) if len(text) <= _LONGEST else None
    if size is None or size > _MOST:
        return None
    if size < _LEAST:  # a huge exponent must not be computed with
        return None if text.lower().partition("e")[0].strip("+-0.") else Fraction(0)
    return Fraction(text)


def shortest(values: Iterable[Any], kind: type[np.generic]) -> list[Any]:
    """Numbers of a binary file as they were meant: of float16 and float32 the shortest decimals that give them, not widened."""
    if not issubclass(kind, np.float16 | np.float32):
        return list(values)
    return [None if value is None else float(str(kind(value))) for value in values]
