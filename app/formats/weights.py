"""Instance weights of gold: exact rational numbers, as written, so that scoring with them can be exact."""

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np

from app.formats.column_data import MissingValue, RawColumns
from app.formats.numbers import parse_number
from app.formats.problems import describe_value
from app.formats.readers.strict_json import LongNumber

_MAX_WEIGHT, _MIN_WEIGHT = 1e12, 1e-12
_MAX_WEIGHT_LENGTH = 200
"""Characters of a weight: the exact decimal expansion of any binary64 within these bounds is shorter."""
_REMEDY = "Give a number from 0 to 1e12 on all rows, or on none."


class WeightReader:
    """Reads the weights of a gold file row by row; `values` is None where the file has no weights."""

    def __init__(self, columns: RawColumns) -> None:
        self._columns = columns
        self.values: list[Fraction] | None = None if columns.weights is None else []

    def take(self, row: int, position: int, owner: str | None) -> None:
        """Read the weight of a row; an invalid one is a problem and counts as 0."""
        if self._columns.weights is None or self.values is None:
            return
        value = self._columns.weights[position]
        is_typed = type(value) is not str or not self._columns.has_typed_values
        weight = Fraction(0) if value is MissingValue.FAULT else parse_exact_weight(value) if is_typed else None
        if weight is None:
            missing = value is MissingValue.ABSENT or value == ""
            message = "This row has no weight, but other rows do." if missing else "This is not a valid weight."
            location = self._columns.layout.locate(row, None if value is MissingValue.ABSENT else "weight")
            got = "nothing" if missing else describe_value(value)
            self._columns.context.problems.add_new(
                "wrong_shape",
                f"{message} {_REMEDY}",
                location,
                row=row,
                instance_id=owner,
                expected="a number",
                got=got,
            )
        self.values.append(weight or Fraction(0))


def parse_exact_weight(value: object) -> Fraction | None:
    """The exact value of a weight: the decimal as written, or the shortest decimal of a binary number.

    None for what is not a number, for negative numbers, and for numbers other than 0 outside 1e-12 … 1e12.
    """
    text = str(value) if type(value) in {str, int, float, LongNumber} else ""
    size = parse_number(text) if len(text) <= _MAX_WEIGHT_LENGTH else None
    if size is None or size > _MAX_WEIGHT:
        return None
    if size < _MIN_WEIGHT:  # a Fraction with a huge exponent would take too long to compute
        return None if text.lower().partition("e")[0].strip("+-0.") else Fraction(0)
    return Fraction(text)


def to_shortest_decimals(values: Iterable[Any], kind: type[np.generic]) -> list[Any]:
    """The intended numbers of a binary file: float16 and float32 as their shortest decimals, not widened."""
    if not issubclass(kind, np.float16 | np.float32):
        return list(values)
    return [None if value is None else float(str(kind(value))) for value in values]
