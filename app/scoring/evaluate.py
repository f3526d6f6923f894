"""Evaluates metrics on one input: shared counts are computed once, then each metric's last step."""

import math
from collections.abc import Hashable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from app.scoring import SCORER_VERSION
from app.scoring.declaration.metric import RANKING, SCORES, Metric, MetricCall, Result, undefined_result
from app.scoring.declaration.requirements import needs_met_by, unknown_cells_reason, unmet_need_reason
from app.scoring.evaluation_input import EvaluationInput, Labels
from app.scoring.metrics.labels.undefined_rules import UndefinedError
from app.scoring.numeric.unscaled_counts import scale_weighted_counts
from app.scoring.tally import EvaluationContext


class BestAttainableValues:
    """What a perfect prediction scores if the gold lacks some declared classes.

    The values depend on the gold alone, so one object serves all submissions against it.
    """

    def __init__(self, case: EvaluationInput) -> None:
        case = case.without_zero_weights()
        gold, spec = case.gold, case.spec
        self._case = replace(case, predicted=_perfect_prediction(case), scores=None, weight_unit=Fraction(1))
        self._values: dict[Hashable, float | None] = {}
        m = len(spec.classes)
        known = gold.codes[(gold.codes >= 0) & (gold.codes < m)]
        self.gold_lacks_classes = not np.bincount(known, minlength=m).all()

    def compute_missing(self, calls: Sequence[MetricCall]) -> None:
        """Compute the values that are not cached yet, on shared counts."""
        if not self.gold_lacks_classes:
            return
        ws = EvaluationContext(self._case)
        for call in calls:
            key = call.cache_key
            if key not in self._values:
                self._values[key] = evaluate_call(ws, call).value if _has_best_attainable_value(call) else None

    def note(self, call: MetricCall, value: float) -> tuple[str, ...]:
        """A note with the best attainable value, if this gold keeps a metric from reaching its best value."""
        best = self._values.get(call.cache_key) if self.gold_lacks_classes else None
        metric = call.metric
        if best is None or best == metric.range[metric.direction == "higher"]:
            return ()
        if best != value and (value > best) == (metric.direction == "higher"):
            return ()  # under unusual options another prediction can beat the perfect one
        return (
            f"the best attainable value with these gold labels is {best:.6g}, because they lack some of the classes",
        )


def _perfect_prediction(case: EvaluationInput) -> Labels:
    """The gold as a prediction; the first answer where several are acceptable."""
    gold = case.gold
    if not case.acceptable or gold.offsets is None:
        return gold
    return Labels(gold.codes[gold.offsets[:-1]])


def _has_best_attainable_value(call: MetricCall) -> bool:
    """Whether the metric has a finite best value that follows from the gold and from hard labels alone."""
    metric = call.metric
    unbounded = math.isinf(metric.range[metric.direction == "higher"])
    by_predicted = "label_set" in metric.options and call.options["label_set"] in {"predicted", "gold_or_predicted"}
    by_scores = SCORES in metric.needs or RANKING in metric.needs
    return metric.scalar and metric.direction != "none" and not (unbounded or by_predicted or by_scores)


def evaluate(
    case: EvaluationInput,
    calls: Sequence[MetricCall],
    ceilings: BestAttainableValues | None = None,
    common: dict[Hashable, Any] | None = None,
) -> dict[str, Result]:
    """The result of each metric by its canonical string; a value that the data do not define is None with a reason.

    Pass `ceilings` of the same gold to reuse the best attainable values, and the same `common` dict for all splits of a
    file to reuse what depends on the task alone.
    """
    ws = EvaluationContext(case.without_zero_weights(), common)
    ceilings = ceilings or BestAttainableValues(case)
    ceilings.compute_missing(calls)
    results = {}
    for call in calls:
        result = evaluate_call(ws, call)
        if result.data is not None:
            result = replace(result, data=scale_weighted_counts(result.data, case.weight_unit))
        note = () if result.value is None else ceilings.note(call, result.value)
        results[call.text] = replace(result, notes=(*result.notes, *note)) if note else result
    return results


def evaluate_call(ws: EvaluationContext, call: MetricCall) -> Result:
    """The result of one metric; a value that the data do not define is None with a reason."""
    reason = inapplicable_reason(ws, call.metric)
    if reason is None and ws.case.unknown is not None:
        reason = unknown_cells_reason(call)
    if reason is not None:
        return undefined_result(reason)
    try:
        return replace(call.metric.compute(ws, call), exact=None)
    except UndefinedError as problem:
        return undefined_result(str(problem))


def inapplicable_reason(ws: EvaluationContext, metric: Metric) -> str | None:
    """Why a metric does not apply to data of this kind, whatever the labels are."""
    if ws.spec.task not in metric.tasks:
        return f"{metric.key} is not defined for {ws.spec.task} tasks"
    if ws.case.gold.n == 0:
        return "there are no instances to score"
    if ws.case.acceptable and not metric.acceptable:
        return f"{metric.key} is not defined for gold with sets of acceptable answers"
    if ws.total == 0:
        return "all instances have weight 0"
    if ws.case.weights is not None and not metric.supports_weights:
        return f"{metric.key} depends on the number of instances, which weights do not give"
    return unmet_need_reason(metric, ws.shared("needs met", lambda: needs_met_by(ws.case)))


__all__ = ["SCORER_VERSION", "BestAttainableValues", "Result", "evaluate"]
