"""The table of a cross-validation: each fold, the pooled value, the mean, both deviations."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

from app.scoring.declaration.metric import MetricCall, Result
from app.scoring.metrics.folds.fold_values import (
    F1,
    Values,
    deviations,
    fold_f1,
    folds_of,
    label_of,
    label_table,
    middle,
    of_average,
    of_label,
)
from app.scoring.metrics.labels.averages import MACRO, MICRO, bare, harmonic
from app.scoring.metrics.labels.undefined_rules import UndefinedError, substitute
from app.scoring.numeric.correct_rounding import Real, real
from app.scoring.tally import Workspace


def cv_table(ws: Workspace, call: MetricCall) -> Result:
    """Counts, precision, recall and F of each fold, and what follows from them all (V sec 7)."""
    label, folds = label_of(ws, call), folds_of(ws)
    rows: list[dict[str, Any]] = [{"fold": fold.name, "n": fold.ws.total} for fold in folds]
    data: dict[str, Any] = {"label": label, "folds": rows}
    notes: tuple[str, ...] = ()
    if label is not None:
        parts = [_part(fold.ws, call, label) for fold in folds]
        for row, part in zip(rows, parts, strict=True):
            row.update({name: float(value) if isinstance(value, Fraction) else value for name, value in part.items()})
            row["f1"] = _counted(part["f1"], call)
        summary = _summary(of_label(ws, call), call, partial(bare, ws, call, F1.ratio(call)))
        data["f1"] = {**summary, "of_mean_precision_and_recall": _of_means(parts, call)}
    for average in (MACRO, MICRO):
        key = f"f1_{average.suffix}"
        values = of_average(ws, call, average)
        for row, value in zip(rows, values.found, strict=True):
            row[key] = _counted(value, call)
        data[key] = _summary(values, call, partial(average.compute, ws, call, F1.ratio(call)))
        notes += values.notes
    return Result(None, None, tuple(dict.fromkeys(notes)), data)


def _counted(value: Real | None, call: MetricCall) -> float | None:
    if value is None:
        return 0.0 if call.params["undefined"] == "zero" else None
    return value.nearest()


def _part(ws: Workspace, call: MetricCall, label: str) -> dict[str, Any]:
    """One fold's counts and measures of the label; without gold positives it has no recall and no F."""
    tp, fp, fn, tn = table = label_table(ws, call, label)
    replaced = _replaced(call)
    precision = Fraction(tp, tp + fp) if tp + fp else None if replaced is None else Fraction(replaced)
    recall = Fraction(tp, tp + fn) if tp + fn else None
    return {"tp": tp, "fp": fp, "fn": fn, "tn": tn, "precision": precision, "recall": recall, "f1": fold_f1(table)}


def _of_means(parts: Sequence[dict[str, Any]], call: MetricCall) -> float | None:
    """F1 of mean precision and mean recall over the folds that enter the mean."""
    zero = call.params["undefined"] == "zero"
    nothing = {"precision": Fraction(0), "recall": Fraction(0)}
    used = [part if part["recall"] is not None else nothing for part in parts if zero or part["recall"] is not None]
    sides = [[part[name] for part in used if part[name] is not None] for name in ("precision", "recall")]
    if not all(sides):
        return None
    precision, recall = (sum(values, Fraction(0)) / len(values) for values in sides)
    if not precision + recall:
        return _replaced(call)
    return harmonic(real(precision), real(recall), Fraction(1)).nearest()


def _replaced(call: MetricCall) -> float | None:
    """What 0/0 counts as in the table; None where it is to be left out or is an error."""
    return None if call.options["zero_division"] == "error" else substitute(call, "higher", "0/0")


def _summary(values: Values, call: MetricCall, pooled: Callable[[], Result]) -> dict[str, Any]:
    """Pooled value, mean and both deviations of one measure."""
    entering = values.entering(call)
    try:
        whole = pooled().value
    except UndefinedError:
        whole = None
    return {
        "pooled": whole,
        "mean": middle(entering).nearest() if entering else None,
        "folds": len(entering),
        "undefined": values.undefined,
        "standard_deviation": deviations(entering) if entering else {"sample": None, "population": None},
    }
