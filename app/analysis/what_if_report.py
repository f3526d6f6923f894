"""What-if reports as JSON values: costs of changed predictions, and metrics of hypothetical cases."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from app.analysis import scenarios
from app.analysis.prediction_changes import Amount, AveragedValues, PrecisionRecallAverages, WhatIfCounts
from app.errors import InvalidContent
from app.scoring.declaration.metric import MetricCall, Result
from app.scoring.evaluate import evaluate
from app.scoring.evaluation_input import EvaluationInput
from app.scoring.numeric.exact import total
from app.scoring.numeric.unscaled_counts import to_json_number

AVERAGE_NAMES = ("macro", "micro", "lfb_train")


@dataclass(frozen=True, slots=True)
class RelabelRule:
    """Which predictions change to the class at position `label`: by `threshold`, `share` or `expected_accuracy`.

    Those below the threshold, the least confident share, or those whose confidence lets expect a lower accuracy. With
    none of them, only the upper bound is reported, for which the wrong predictions change. `lower`: lower scores are
    more confident, so predictions above the threshold change.
    """

    label: int
    threshold: float | None = None
    share: Fraction | None = None
    lower: bool = False
    expected_accuracy: Fraction | None = None

    @property
    def selects_doubtful(self) -> bool:
        """Whether it selects predictions by their confidence."""
        return any(one is not None for one in (self.threshold, self.share, self.expected_accuracy))

    def doubtful(self, case: EvaluationInput) -> tuple[scenarios.Mask, float | None]:
        """The predictions to change, and the score at which they end; None where there are none. Raises InvalidContent."""
        confidence = scenarios.confidences(case, lower=self.lower)
        if self.share is not None:
            mask = scenarios.least_confident(confidence, self.share, case.weights)
        elif self.expected_accuracy is not None:
            mask = scenarios.expected_wrong(case, confidence, self.expected_accuracy, case.weights)
        else:
            threshold = self.threshold or 0.0
            mask = scenarios.below_threshold(confidence, -threshold if self.lower else threshold)
        last = float(confidence[mask].max()) if mask.any() else None
        return mask, -last if self.lower and last is not None else last


def costs_report(counts: WhatIfCounts, classes: Sequence[str], count: Amount = 1) -> dict[str, Any]:
    """The marginal costs of each label for `count` predictions, with its counts."""
    labels = {}
    for position, name in enumerate(classes):
        costs = counts.marginal_costs(position, count)
        labels[name] = {
            "tp": to_json_number(counts.tp[position]),
            "fp": to_json_number(counts.fp[position]),
            "fn": to_json_number(counts.fn[position]),
            "gives": costs.gives and _averages_json(costs.gives),
            "receives": _averages_json(costs.receives),
            "gains": costs.gains and change_report(costs.gains),
        }
    return {"count": to_json_number(count), "labels": labels}


def change_report(change: PrecisionRecallAverages) -> dict[str, Any]:
    """Averages of precision and recall, or their changes, each as a number and as an exact fraction."""
    return {"precision": _averages_json(change.precision), "recall": _averages_json(change.recall)}


def _averages_json(averages: AveragedValues) -> dict[str, Any]:
    return {name: _exact_json(getattr(averages, name)) for name in AVERAGE_NAMES}


def _exact_json(value: Fraction | None) -> dict[str, Any] | None:
    return None if value is None else {"value": float(value), "fraction": str(value)}


def relabel_report(
    case: EvaluationInput, calls: Sequence[MetricCall], before: Mapping[str, Result], rule: RelabelRule
) -> dict[str, Any]:
    """Metrics with doubtful predictions changed to one label, and with exactly the wrong ones changed (the upper bound).

    Raises InvalidContent for label sets, and where the rule needs scores that the predictions do not have.
    """
    if case.spec.task == "multilabel":
        remedy = "Use the costs of single labels: --move, --correct, --gain."
        raise InvalidContent("A prediction of several labels cannot be changed to one.", remedy=remedy)
    wrong = scenarios.wrong_predictions(case)
    others = {"upper": evaluate(scenarios.relabel(case, wrong, rule.label), calls)}
    report: dict[str, Any] = {
        "target_label": case.spec.classes[rule.label],
        "threshold": rule.threshold,
        "share": None if rule.share is None else float(rule.share),
        "expected_accuracy": None if rule.expected_accuracy is None else float(rule.expected_accuracy),
    }
    if rule.selects_doubtful:
        doubtful, last = rule.doubtful(case)
        after = scenarios.relabel(case, doubtful, rule.label)
        others = {"changed": evaluate(after, calls)} | others
        report |= {
            "last_score": last,
            "doubtful": _weight_of(case, doubtful),
            "moved": _weight_of(case, doubtful & (case.predicted.codes != rule.label)),
            "right_before": _weight_of(case, doubtful & ~wrong),
            "right_after": _weight_of(case, doubtful & ~scenarios.wrong_predictions(after)),
        }
    return report | {"metrics": _compare_metrics(calls, before, others)}


def _weight_of(case: EvaluationInput, mask: scenarios.Mask) -> int | float:
    """The number of these instances, or their total weight."""
    return int(mask.sum()) if case.weights is None else to_json_number(total(case.weights[mask]) * case.weight_unit)


def prevalence_report(
    case: EvaluationInput, calls: Sequence[MetricCall], before: Mapping[str, Result], share: Fraction
) -> dict[str, Any]:
    """Metrics of a binary case at another share of positive instances; raises InvalidContent where that is impossible."""
    after = evaluate(scenarios.reweight_to_prevalence(case, share), calls)
    current = scenarios.prevalence_of(case)
    metrics = _compare_metrics(calls, before, {"at_prevalence": after})
    return {"share": float(share), "share_now": None if current is None else float(current), "metrics": metrics}


def _compare_metrics(
    calls: Sequence[MetricCall], before: Mapping[str, Result], others: Mapping[str, Mapping[str, Result]]
) -> dict[str, Any]:
    """Each scalar metric now and under each scenario, with differences; `undefined` gives the reasons for null values."""
    report: dict[str, Any] = {}
    for call in calls:
        if not call.metric.scalar:
            continue
        now = before[call.text]
        row: dict[str, Any] = {"now": now.value}
        reasons = {"now": now.reason}
        for name, results in others.items():
            then = results[call.text]
            row[name] = then.value
            row[f"{name}_difference"] = None if then.value is None or now.value is None else then.value - now.value
            reasons[name] = then.reason
        undefined = {name: str(reason) for name, reason in reasons.items() if row[name] is None}
        report[call.requested] = row | ({"undefined": undefined} if undefined else {})
    return report
