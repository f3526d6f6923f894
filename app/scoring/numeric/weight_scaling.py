"""Counts of weighted instances as sums of the weights that gold gives, in place of the whole numbers that are counted."""

from fractions import Fraction
from typing import Any

_COUNT_KEYS = frozenset(
    (
        *("matrix", "outside", "nothing", "row_counts", "column_counts", "row_totals", "column_totals"),
        *("by_rows", "by_columns", "tp", "fp", "fn", "tn", "support", "predicted", "n", "positives", "negatives"),
        *("weight", "count"),
    )
)
"""The keys in the data of metrics and reports under which sums of weights stand."""


def scale_weighted_counts(data: Any, unit: Fraction) -> Any:
    """JSON data with each sum of weights in the unit of gold: a whole number that was counted stands for so many units.

    What is no whole number has the unit already, so that it is rounded once.
    """
    if unit == 1 or not isinstance(data, (dict, list)):
        return data
    if isinstance(data, list):
        return [scale_weighted_counts(item, unit) for item in data]
    found = {}
    for key, item in data.items():
        if isinstance(item, dict):  # its key may be the name of a class, whatever it says
            found[key] = scale_weighted_counts(item, unit)
        elif key in _COUNT_KEYS:
            found[key] = _scale_count(item, unit)
        elif key == "cells":
            found[key] = [[*cell[:2], *_scale_count(cell[2:], unit)] for cell in item]
        else:
            found[key] = scale_weighted_counts(item, unit)
    return found


def _scale_count(item: Any, unit: Fraction) -> Any:
    """A number of units, or lists of them, each rounded once."""
    if isinstance(item, list):
        return [_scale_count(one, unit) for one in item]
    return item if isinstance(item, float) else to_json_number(item * unit)


def to_json_number(weight: int | Fraction) -> int | float:
    """A sum of weights as a number of JSON: whole, or rounded once."""
    return weight.numerator if weight.denominator == 1 else float(weight)
