"""Converts counts of weighted instances back to the unit of the weights in the gold."""

from fractions import Fraction
from typing import Any

_COUNT_KEYS = frozenset(
    (
        *("matrix", "outside", "nothing", "row_counts", "column_counts", "row_totals", "column_totals"),
        *("by_rows", "by_columns", "tp", "fp", "fn", "tn", "support", "predicted", "n", "positives", "negatives"),
        *("weight", "count"),
    )
)
"""The keys of metric data and reports whose values are sums of weights."""


def scale_weighted_counts(data: Any, unit: Fraction) -> Any:
    """JSON data with each sum of weights multiplied by the unit.

    Only integers are scaled. A float was computed with the unit already, so that it is rounded once.
    """
    if unit == 1 or not isinstance(data, (dict, list)):
        return data
    if isinstance(data, list):
        return [scale_weighted_counts(item, unit) for item in data]
    scaled = {}
    for key, item in data.items():
        if key in _COUNT_KEYS and not isinstance(item, dict):  # the key of an object may be the name of a class
            scaled[key] = _scale_count(item, unit)
        elif key == "cells" and isinstance(item, list):
            scaled[key] = [[*cell[:2], *_scale_count(cell[2:], unit)] for cell in item]
        else:
            scaled[key] = scale_weighted_counts(item, unit)
    return scaled


def _scale_count(item: Any, unit: Fraction) -> Any:
    """A count or nested lists of counts in the unit of the gold, each rounded once."""
    if isinstance(item, list):
        return [_scale_count(part, unit) for part in item]
    return item if isinstance(item, float) else to_json_number(item * unit)


def to_json_number(weight: int | Fraction) -> int | float:
    """A sum of weights as a JSON number: an integer if it is one, else rounded once to binary64."""
    return weight.numerator if weight.denominator == 1 else float(weight)
