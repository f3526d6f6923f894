"""The counts and base measures of each class, as a part of the detailed report."""

from collections.abc import Mapping
from itertools import chain
from typing import Any

import numpy as np

from app.scoring.crosstab import confusion
from app.scoring.declaration.options import DEFAULTS
from app.scoring.evaluation_input import EvaluationInput
from app.scoring.metrics.labels.base_measures import BASE_MEASURES, BaseMeasure
from app.scoring.metrics.labels.more_base_measures import DERIVED_MEASURES
from app.scoring.numeric.unscaled_counts import scale_weighted_counts
from app.scoring.tally import ConfusionCounts, EvaluationContext, Mask

_BASE_MEASURES = tuple(base for base in (*BASE_MEASURES, *DERIVED_MEASURES) if not base.takes_beta)

PART_METRICS = {
    "cross_validation": ("cv_table",),
    "confusion": ("confusion_matrix", "confusion_split"),
    "roc_curve": ("roc_curve",),
    "pr_curve": ("pr_curve",),
    "calibration": ("calibration_bins",),
}
"""The metrics behind the parts of a report; a part uses the first of its metrics that is defined for the task."""
REPORTED_METRICS = frozenset({*chain.from_iterable(PART_METRICS.values()), "instance_status"})
"""The metrics that are not single numbers and that a report includes."""


def per_class_report(
    case: EvaluationInput, options: Mapping[str, str] | None = None
) -> dict[str, dict[str, float | int | None]]:
    """For each declared label tp, fp, fn, tn, support, predicted and the base measures.

    A measure that is 0/0 follows zero_division. Under `skip` and `error` it is None, and so is a measure without a
    worst value, and every measure of a label without a known gold cell.
    """
    if case.acceptable:
        return {}  # with several acceptable answers, an instance belongs to no single class
    options = {**DEFAULTS, **(options or {})}
    tally = EvaluationContext(case).tally(options)
    counts = tally.classes
    columns: dict[str, list[Any]] = {
        name: getattr(counts, name).tolist() for name in ("tp", "fp", "fn", "tn", "support", "predicted")
    }
    for base in _BASE_MEASURES:
        columns[base.key] = _measure_column(base, counts, options["zero_division"], tally.unseen)
    return {
        name: scale_weighted_counts(dict(zip(columns, row, strict=True)), case.weight_unit)
        for name, row in zip(tally.names, zip(*columns.values(), strict=True), strict=True)
    }


def _measure_column(base: BaseMeasure, counts: ConfusionCounts, rule: str, unseen: Mask | None) -> list[float | None]:
    ratio = base.ratio()
    numerator, denominator = ratio.parts(counts.columns)
    worst = base.range[0] if base.direction == "higher" else base.range[1]
    replacement = {"worst": worst, "0": 0.0, "1": 1.0}.get(rule) if base.replaceable else None
    values: list[float | None] = [replacement] * len(numerator)
    if unseen is not None:
        values = [None if hidden else value for value, hidden in zip(values, unseen.tolist(), strict=True)]
    defined = np.flatnonzero(denominator != 0)
    exact = ratio.values(numerator[defined], denominator[defined]).tolist()
    for position, value in zip(defined.tolist(), exact, strict=True):
        values[position] = value
    return values


__all__ = ["confusion", "per_class_report"]
