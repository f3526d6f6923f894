"""One measure in each fold of a cross-validation, and the mean of its values."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from app.scoring.declaration.metric import MetricCall, Result, rounded_result
from app.scoring.draw_context import DrawContext, Floats, divide_draws
from app.scoring.metrics.labels.average_draws import Masks
from app.scoring.metrics.labels.averages import Average
from app.scoring.metrics.labels.base_measures import BASE_MEASURES
from app.scoring.metrics.labels.undefined_rules import (
    MAX_LISTED_NAMES,
    UndefinedError,
    excluded_mask,
    join_names,
    label_position,
    requested_label,
    table_of,
)
from app.scoring.metrics.shared_declarations import choice_param
from app.scoring.numeric.correct_rounding import Real, sum_reals, to_real
from app.scoring.numeric.exact import round_to_12_digits
from app.scoring.tally import EvaluationContext

F1 = next(base for base in BASE_MEASURES if base.key == "f1")
UNDEFINED_PARAM = choice_param(
    "undefined",
    "how a fold without a value counts, such as one whose gold has no positives",
    skip="it is left out and listed in a note",
    zero="it counts as 0",
)


@dataclass(frozen=True, slots=True)
class Fold:
    """The instances of one fold."""

    name: str
    positions: NDArray[np.intp]
    ws: EvaluationContext


@dataclass(frozen=True, slots=True)
class FoldValues:
    """One measure in each fold, None where it is undefined, with the reason and the notes of the folds.

    `refusal`: why there is no mean at all, under zero_division=error.
    """

    names: tuple[str, ...]
    by_fold: tuple[Real | None, ...]
    reason: str
    notes: tuple[str, ...] = ()
    refusal: str | None = None

    def averaged_values(self, call: MetricCall) -> list[Real]:
        """The values that enter the mean."""
        zero = call.params["undefined"] == "zero"
        return [to_real(0) if value is None else value for value in self.by_fold if zero or value is not None]

    @property
    def undefined(self) -> list[str]:
        """The folds without a value."""
        return [name for name, value in zip(self.names, self.by_fold, strict=True) if value is None]


def folds_of(ws: EvaluationContext) -> list[Fold]:
    """The folds that have instances, each with counts of its own, in the order of the fold names."""
    return ws.shared("folds", lambda: _split_into_folds(ws))


def _split_into_folds(ws: EvaluationContext) -> list[Fold]:
    folds = ws.case.folds
    assert folds is not None, "checked among the needs of the metric"
    order = np.argsort(folds.codes, kind="stable")
    ends = np.searchsorted(folds.codes[order], np.arange(len(folds.names) + 1))
    spans = zip(folds.names, ends[:-1].tolist(), ends[1:].tolist(), strict=True)
    return [
        Fold(name, order[start:end], EvaluationContext(ws.case.take(order[start:end])))
        for name, start, end in spans
        if end > start
    ]


def label_table(ws: EvaluationContext, call: MetricCall, label: str) -> tuple[int, int, int, int]:
    """tp, fp, fn, tn of one class; raises UndefinedError where it is not declared."""
    tally = ws.tally(call.options)
    return table_of(tally.classes, label_position(label, tally.names))


def fold_f1(table: tuple[int, int, int, int]) -> Real | None:
    """F1 of one table; None where gold has no positives, even if there are false positives (catalogue, row 33)."""
    tp, fp, fn, _ = table
    return to_real(Fraction(2 * tp, 2 * tp + fp + fn)) if tp + fn else None


def label_f1_by_fold(ws: EvaluationContext, call: MetricCall) -> FoldValues:
    """F1 of one class in each fold."""
    label = requested_label(ws, call)
    folds = folds_of(ws)
    values = tuple(fold_f1(label_table(fold.ws, call, label)) for fold in folds)
    return FoldValues(tuple(fold.name for fold in folds), values, f"none has gold instances of {label}")


def average_f1_by_fold(ws: EvaluationContext, call: MetricCall, average: Average) -> FoldValues:
    """The macro or micro F1 in each fold; None for a fold whose gold has none of the labels."""
    values: list[Real | None] = []
    notes: dict[str, list[str]] = {}
    reason, refusal = "none has gold labels", None
    folds = folds_of(ws)
    for fold in folds:
        tally = fold.ws.tally(call.options)
        value = None
        if tally.classes.support[~excluded_mask(tally.names, call)].any():
            try:
                result = average.compute(fold.ws, call, F1.ratio(call))
            except UndefinedError as error:
                reason = f"in fold {fold.name} {error}"
                refusal = reason if call.options["zero_division"] == "error" else None
            else:
                value = result.exact
                for note in result.notes:
                    notes.setdefault(note, []).append(fold.name)
        values.append(value)
    note_texts = [
        note if len(fold_names) == len(folds) else f"{note} (in folds {join_names(fold_names)})"
        for note, fold_names in notes.items()
    ]
    return FoldValues(tuple(fold.name for fold in folds), tuple(values), reason, _truncate_notes(note_texts), refusal)


def label_f1_draws(draws: DrawContext, call: MetricCall) -> Floats:
    """The mean over folds of `label_f1_by_fold` for many draws at once."""
    label = requested_label(draws.rows, call)

    def value(fold: DrawContext) -> tuple[Floats, Masks]:
        tally = fold.tally(call.options)
        at = label_position(label, tally.names)
        tp, fp, fn, _ = (column[at] for column in tally.classes.columns)
        return np.where(tp + fn > 0, divide_draws(2 * tp, 2 * tp + fp + fn), np.nan), np.zeros(len(tp), dtype=bool)

    return _mean_over_folds_of_draws(draws, call, value)


def average_f1_draws(draws: DrawContext, call: MetricCall, average: Average) -> Floats:
    """The mean over folds of `average_f1_by_fold` for many draws at once."""

    def value(fold: DrawContext) -> tuple[Floats, Masks]:
        tally = fold.tally(call.options)
        has_gold = (tally.classes.support[~excluded_mask(tally.names, call)] > 0).any(axis=0)
        try:
            values = average.compute_draws(fold, call, F1.ratio(call))
        except UndefinedError:
            values = np.full(fold.draws, np.nan)
        refused = has_gold & np.isnan(values) & (call.options["zero_division"] == "error")
        return np.where(has_gold, values, np.nan), refused

    return _mean_over_folds_of_draws(draws, call, value)


def _mean_over_folds_of_draws(
    draws: DrawContext, call: MetricCall, value: Callable[[DrawContext], tuple[Floats, Masks]]
) -> Floats:
    """`mean_over_folds` of each draw; a fold without instances in a draw is no fold of it."""
    sums, averaged, refused = np.zeros(draws.draws), np.zeros(draws.draws), np.zeros(draws.draws, dtype=bool)
    for of_fold in draws.shared("folds", lambda: _folds_of_draws(draws)):
        values, refused_here = value(of_fold)
        present, undefined = of_fold.total > 0, np.isnan(values)
        counted = present & (~undefined | (call.params["undefined"] == "zero"))
        sums = sums + np.where(counted & ~undefined, values, 0.0)
        averaged = averaged + counted
        refused = refused | (present & refused_here)
    return np.where(refused, np.nan, divide_draws(sums, averaged))


def _folds_of_draws(draws: DrawContext) -> list[DrawContext]:
    return [draws.part(fold.ws, fold.positions) for fold in folds_of(draws.rows)]


def _truncate_notes(notes: list[str]) -> tuple[str, ...]:
    more = (f"and {len(notes) - MAX_LISTED_NAMES} more notes on folds",) if len(notes) > MAX_LISTED_NAMES else ()
    return (*notes[:MAX_LISTED_NAMES], *more)


def mean_over_folds(values: FoldValues, call: MetricCall) -> Result:
    """The unweighted mean over folds (V eq 29)."""
    averaged = values.averaged_values(call)
    if values.refusal is not None:
        raise UndefinedError(values.refusal)
    if not averaged:
        raise UndefinedError(f"no fold has a value: {values.reason}")
    effect = "counted as 0" if call.params["undefined"] == "zero" else "left out"
    undefined = values.undefined
    note = f"folds without a value, {effect} (undefined={call.params['undefined']}): {join_names(undefined)}"
    return rounded_result(mean_of_values(averaged), ((note,) if undefined else ()) + values.notes)


def mean_of_values(values: Sequence[Real]) -> Real:
    """The mean of at least one value."""
    return sum_reals(values) / len(values)


def standard_deviations(values: Sequence[Real]) -> dict[str, float | None]:
    """The standard deviations of at least one value: of the sample (n - 1) and of the population (n), to 12 digits."""
    negated_mean = mean_of_values(values) * -1
    deviations = [value + negated_mean for value in values]
    squares = sum_reals(deviation * deviation for deviation in deviations)
    sample = round_to_12_digits(math.sqrt((squares / (len(values) - 1)).nearest())) if len(values) > 1 else None
    return {"sample": sample, "population": round_to_12_digits(math.sqrt((squares / len(values)).nearest()))}
