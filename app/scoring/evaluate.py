"""Metrics of a case: counts once, then each metric's last step."""

import math
from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from app.scoring import SCORER_VERSION
from app.scoring.declaration.metric import RANKING, SCORES, Metric, MetricCall, Result, undefined_result
from app.scoring.declaration.requirements import needs_met_by, unmet_need_reason
from app.scoring.evaluation_input import EvaluationInput, Labels
from app.scoring.metrics.labels.undefined_rules import UndefinedError
from app.scoring.numeric.weight_scaling import scale_weighted_counts
from app.scoring.tally import EvaluationContext

_CallKey = tuple[str, tuple[tuple[str, str], ...], tuple[tuple[str, str], ...]]


class BestAttainableValues:
    """What a perfect prediction scores where gold lacks some of the declared classes; it depends on the gold alone."""

    def __init__(self, case: EvaluationInput) -> None:
        case = case.without_zero_weights()
        gold, spec = case.gold, case.spec
        self._case = EvaluationInput(spec, gold, _perfect_prediction(case), None, case.weights, case.folds, case.groups)
        self._values: dict[_CallKey, float | None] = {}
        m = len(spec.classes)
        known = gold.codes[(gold.codes >= 0) & (gold.codes < m)]
        self.lacking = not np.bincount(known, minlength=m).all()

    def compute_missing(self, calls: Sequence[MetricCall]) -> None:
        """Compute those that are not known yet, on counts that they share."""
        if not self.lacking:
            return
        ws = EvaluationContext(self._case)
        for call in calls:
            key = _call_key(call)
            if key not in self._values:
                self._values[key] = _evaluate_call(ws, call).value if _has_best_attainable_value(call) else None

    def note(self, call: MetricCall, value: float) -> tuple[str, ...]:
        """The sentence for a metric whose best value is out of reach with this gold."""
        ceiling = self._values.get(_call_key(call)) if self.lacking else None
        metric = call.metric
        if ceiling is None or ceiling == metric.range[metric.direction == "higher"]:
            return ()
        if ceiling != value and (value > ceiling) == (metric.direction == "higher"):
            return ()  # under unusual options something else beats a perfect prediction
        return (f"the best attainable value with these gold labels is {ceiling:.6g}: they lack some of the classes",)


def _perfect_prediction(case: EvaluationInput) -> Labels:
    """The gold as a prediction; of several acceptable answers the first."""
    gold = case.gold
    if not case.acceptable or gold.offsets is None:
        return gold
    return Labels(gold.codes[gold.offsets[:-1]])


def _call_key(call: MetricCall) -> _CallKey:
    return call.text, tuple(call.params.items()), tuple(sorted(call.options.items()))


def _has_best_attainable_value(call: MetricCall) -> bool:
    """Whether it can be ranked, up to some best value, over labels that do not depend on what was predicted."""
    metric = call.metric
    endless = math.isinf(metric.range[metric.direction == "higher"])
    moving = "label_set" in metric.options and call.options["label_set"] in {"predicted", "gold_or_predicted"}
    ranks = SCORES in metric.needs or RANKING in metric.needs
    return metric.scalar and metric.direction != "none" and not (endless or moving or ranks)


def evaluate(
    case: EvaluationInput,
    calls: Sequence[MetricCall],
    ceilings: BestAttainableValues | None = None,
    common: dict[Hashable, Any] | None = None,
) -> dict[str, Result]:
    """The value of each metric by its canonical string; what the data do not define is None with the reason.

    `ceilings` of the same gold spare computing them again; `common` spares all splits of a file what they share.
    """
    ws = EvaluationContext(case.without_zero_weights(), common)
    ceilings = ceilings or BestAttainableValues(case)
    ceilings.compute_missing(calls)
    found = {}
    for call in calls:
        result = _evaluate_call(ws, call)
        if result.data is not None:
            result = replace(result, data=scale_weighted_counts(result.data, case.weight_unit))
        note = () if result.value is None else ceilings.note(call, result.value)
        found[call.text] = replace(result, notes=(*result.notes, *note)) if note else result
    return found


def _evaluate_call(ws: EvaluationContext, call: MetricCall) -> Result:
    reason = _inapplicable_reason(ws, call.metric)
    if reason is not None:
        return undefined_result(reason)
    try:
        return replace(call.metric.compute(ws, call), exact=None)
    except UndefinedError as problem:
        return undefined_result(str(problem))


def _inapplicable_reason(ws: EvaluationContext, metric: Metric) -> str | None:
    """Why a metric has no value on data like these, whatever they say."""
    if ws.spec.task not in metric.tasks:
        return f"{metric.key} is not defined for {ws.spec.task} tasks"
    if ws.case.gold.n == 0:
        return "there are no instances to score"
    if ws.case.acceptable and not metric.acceptable:
        return f"{metric.key} is not defined for gold that gives sets of acceptable answers"
    if ws.total == 0:
        return "all instances weigh 0"
    if ws.case.weights is not None and not metric.supports_weights:
        return f"{metric.key} depends on how many instances there are, and weights do not say"
    return unmet_need_reason(metric, ws.shared("needs met", lambda: needs_met_by(ws.case)))


__all__ = ["SCORER_VERSION", "BestAttainableValues", "Result", "evaluate"]
