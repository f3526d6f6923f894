"""95 % intervals of scores: what they would be on all instances like these.

Each metric declares its method (app.scoring.declaration.interval_method). A share of instances has the exact binomial
interval, an AUC that of DeLong on the logit scale, both only without weights and groups; everything else has a
bias-corrected percentile bootstrap (app.scoring.uncertainty.bootstrap_interval).
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from app.scoring.declaration.metric import MetricCall
from app.scoring.evaluate import inapplicable_reason
from app.scoring.evaluation_input import EvaluationInput
from app.scoring.metrics.scores.score_columns import class_code, score_columns
from app.scoring.numeric.exact import round_to_12_digits
from app.scoring.numeric.exact_intervals import clopper_pearson
from app.scoring.tally import EvaluationContext
from app.scoring.uncertainty.bootstrap_interval import NO_WIDTH_NOTE, Interval, no_interval, percentile_interval
from app.scoring.uncertainty.delong import auc_interval
from app.scoring.uncertainty.draw_values import draw_values
from app.scoring.uncertainty.resampling import Content, Resampling, in_order_of
from app.scoring.uncertainty.seeds import derive_seed, random_source

RESAMPLES = 1_999
MIN_RESAMPLES = 199
MAX_ROW_RESAMPLES = 4 * 10**8
"""Rows × resamples of one metric; beyond it there are fewer resamples. Rows are cells where the metric merges them."""
RARE_INSTANCES = 5
"""A class with fewer gold instances is rare."""
RARE_CLASSES_NOTE = (
    "More than a tenth of the classes have fewer than 5 gold instances, so this interval may be too narrow."
)


def intervals(
    case: EvaluationInput,
    calls: Sequence[MetricCall],
    values: Mapping[str, float | None],
    ids: Sequence[str],
    *,
    draw_seed: str,
    split: str,
    resamples: int = RESAMPLES,
) -> dict[str, Interval]:
    """The interval of each metric by canonical string; without one, the reason.

    `values` are the scores by canonical string. `ids` names the rows of the case, in any order. The resamples follow
    from the draw seed, the split, the metric and what it sees of the predictions.
    """
    content = Content(case, ids)
    case = in_order_of(case, ids).without_zero_weights()
    rare = has_rare_classes(case)
    found = {}
    for call in calls:
        seed = derive_seed(draw_seed, "interval", split, call.text, content.seen_by(call))
        interval = _interval(case, call, values.get(call.text), seed, resamples)
        if rare and interval.low is not None and interval.method.endswith("bootstrap"):
            interval = replace(interval, notes=(*interval.notes, RARE_CLASSES_NOTE))
        found[call.text] = _rounded(interval)
    return found


def has_rare_classes(case: EvaluationInput) -> bool:
    """Whether more than a tenth of the classes have fewer than 5 gold instances."""
    m, gold = len(case.spec.classes), case.gold.as_sets()
    pairs = np.unique(gold.rows * (m + 2) + gold.codes) % (m + 2)
    counts = np.bincount(pairs, minlength=m)[:m]
    return bool(10 * int((counts < RARE_INSTANCES).sum()) > m)


def _interval(case: EvaluationInput, call: MetricCall, value: float | None, seed: bytes, resamples: int) -> Interval:
    method, rows = call.metric.interval, EvaluationContext(case)
    if value is None:
        return no_interval(_null_reason(rows, call))
    if method.kind == "none":
        return no_interval(method.reason)
    equal = case.weights is None or bool((case.weights == 1).all())  # weights of 0 and 1 leave instances out
    plain = equal and case.groups is None
    counted = call.params.get("ties") != "average"  # else the value is no whole number of instances
    if method.kind == "proportion" and plain and counted:
        n = case.gold.n
        low, high = clopper_pearson(round(value * n), n)
        return Interval(low, high, "exact binomial (Clopper-Pearson)")
    if method.kind == "auc" and plain and call.params["ties"] == "half":
        columns, code = score_columns(rows, call), class_code(rows, call)
        return auc_interval(columns.ranks(code), columns.steps(code))
    resampling = Resampling.of(case, [call])
    if resampling.units < 2:
        return no_interval(
            f"All instances are one {resampling.unit}, so there is nothing to resample."
            if resampling.unit == "group"
            else "One instance says nothing about others."
        )
    count = min(resamples, max(MIN_RESAMPLES, MAX_ROW_RESAMPLES // max(1, resampling.case.gold.n)))
    draws = draw_values(resampling.case, [call], resampling.blocks(random_source(seed), count))
    interval = percentile_interval(value, draws[call.text], call.metric.range)
    if count < resamples:
        note = f"{count:,} resamples instead of {resamples:,}, to limit the computation."
        interval = replace(interval, notes=(*interval.notes, note))
    return interval


def _null_reason(rows: EvaluationContext, call: MetricCall) -> str:
    reason = inapplicable_reason(rows, call.metric)
    return "The score is null." if reason is None else f"The score is null: {reason}."


def _rounded(interval: Interval) -> Interval:
    """The ends at 12 significant digits, which do not depend on the machine even where logarithms are involved."""
    parts: dict[str, Any] = {
        name: round_to_12_digits(number)
        for name in ("low", "high", "bias", "standard_error")
        if (number := getattr(interval, name)) is not None
    }
    if parts.get("low", 0) == parts.get("high", 1) and NO_WIDTH_NOTE not in interval.notes:
        parts["notes"] = (NO_WIDTH_NOTE, *interval.notes)
    return replace(interval, **parts)
