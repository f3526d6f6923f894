"""The table of a cross-validation: values per fold, pooled value, mean, and standard deviations."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

from app.scoring.declaration.metric import MetricCall, Result
from app.scoring.metrics.folds.fold_values import (
    F1,
    FoldValues,
    average_f1_by_fold,
    fold_f1,
    folds_of,
    label_f1_by_fold,
    label_table,
    mean_of_values,
    standard_deviations,
)
from app.scoring.metrics.labels.averages import MACRO, MICRO, single_class
from app.scoring.metrics.labels.ratio_forms import f_beta_of
from app.scoring.metrics.labels.undefined_rules import UndefinedError, zero_division_value
from app.scoring.numeric.correct_rounding import Real, to_real
from app.scoring.tally import EvaluationContext


def cv_table(ws: EvaluationContext, call: MetricCall) -> Result:
    """Counts, precision, recall and F of each fold, with their summaries (V sec 7)."""
    label = call.params.get("label") or (ws.spec.positive_label if ws.spec.task == "binary" else None)
    folds = folds_of(ws)
    rows: list[dict[str, Any]] = [{"fold": fold.name, "n": fold.ws.total} for fold in folds]
    data: dict[str, Any] = {"label": label, "folds": rows}
    notes: tuple[str, ...] = ()
    if label is not None:
        measures_by_fold = [_fold_measures(fold.ws, call, label) for fold in folds]
        for row, fields in zip(rows, measures_by_fold, strict=True):
            row.update({name: float(value) if isinstance(value, Fraction) else value for name, value in fields.items()})
            row["f1"] = _json_fold_value(fields["f1"], call)
        summary = _summary(label_f1_by_fold(ws, call), call, partial(single_class, ws, call, F1.ratio(call)))
        data["f1"] = {**summary, "of_mean_precision_and_recall": _f1_of_means(measures_by_fold, call)}
    for average in (MACRO, MICRO):
        key = f"f1_{average.suffix}"
        values = average_f1_by_fold(ws, call, average)
        for row, value in zip(rows, values.by_fold, strict=True):
            row[key] = _json_fold_value(value, call)
        data[key] = _summary(values, call, partial(average.compute, ws, call, F1.ratio(call)))
        notes += values.notes
    return Result(None, None, tuple(dict.fromkeys(notes)), data)


def _json_fold_value(value: Real | None, call: MetricCall) -> float | None:
    if value is None:
        return 0.0 if call.params["undefined"] == "zero" else None
    return value.nearest()


def _fold_measures(ws: EvaluationContext, call: MetricCall, label: str) -> dict[str, Any]:
    """Counts and measures of the label in one fold; without gold positives recall and F are None."""
    tp, fp, fn, tn = table = label_table(ws, call, label)
    substitute = _zero_division_value(call)
    precision = Fraction(tp, tp + fp) if tp + fp else None if substitute is None else Fraction(substitute)
    recall = Fraction(tp, tp + fn) if tp + fn else None
    return {"tp": tp, "fp": fp, "fn": fn, "tn": tn, "precision": precision, "recall": recall, "f1": fold_f1(table)}


def _f1_of_means(measures_by_fold: Sequence[dict[str, Any]], call: MetricCall) -> float | None:
    """F1 of mean precision and mean recall over the folds that enter the mean."""
    zero = call.params["undefined"] == "zero"
    zeros = {"precision": Fraction(0), "recall": Fraction(0)}
    used = [
        measures if measures["recall"] is not None else zeros
        for measures in measures_by_fold
        if zero or measures["recall"] is not None
    ]
    sides = [[measures[name] for measures in used if measures[name] is not None] for name in ("precision", "recall")]
    if not all(sides):
        return None
    precision, recall = (sum(values, Fraction(0)) / len(values) for values in sides)
    if not precision + recall:
        return _zero_division_value(call)
    return f_beta_of(to_real(precision), to_real(recall), Fraction(1)).nearest()


def _zero_division_value(call: MetricCall) -> float | None:
    """The value of 0/0 in the table; None where it is left out or an error."""
    return None if call.options["zero_division"] == "error" else zero_division_value(call, "higher", "0/0")


def _summary(values: FoldValues, call: MetricCall, pooled: Callable[[], Result]) -> dict[str, Any]:
    """Pooled value, mean and both standard deviations of one measure."""
    averaged = values.averaged_values(call)
    try:
        pooled_value = pooled().value
    except UndefinedError:
        pooled_value = None
    return {
        "pooled": pooled_value,
        "mean": mean_of_values(averaged).nearest() if averaged else None,
        "folds": len(averaged),
        "undefined": values.undefined,
        "standard_deviation": standard_deviations(averaged) if averaged else {"sample": None, "population": None},
    }
