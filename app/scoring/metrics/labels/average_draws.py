"""The averages of `averages.py` for many draws at once, in binary64."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from app.scoring.declaration.metric import Direction, MetricCall
from app.scoring.draw_context import DrawContext, DrawTally, Floats, divide_draws
from app.scoring.metrics.labels.ratio_forms import RatioMeasure, TableColumns
from app.scoring.metrics.labels.undefined_rules import (
    UndefinedError,
    excluded_mask,
    label_position,
    requested_label,
    train_weights,
    zero_division_value,
)

Masks = NDArray[np.bool_]
AverageDraws = Callable[[DrawContext, MetricCall, RatioMeasure], Floats]


def single_class_draws(draws: DrawContext, call: MetricCall, ratio: RatioMeasure) -> Floats:
    """`single_class` for each draw."""
    tally = draws.tally(call.options)
    at = label_position(requested_label(draws.rows, call), tally.names)
    tp, fp, fn, tn = (column[at : at + 1] for column in tally.classes.columns)
    return _table_draws(call, ratio, (tp, fp, fn, tn))


def micro_draws(draws: DrawContext, call: MetricCall, ratio: RatioMeasure) -> Floats:
    """`micro` for each draw."""
    tally = draws.tally(call.options)
    included = ~excluded_mask(tally.names, call)
    if not included.any():
        return _nothing(draws)
    tp, fp, fn, tn = (np.add.reduce(column[included], axis=0) for column in tally.classes.columns)
    tn = np.maximum(tn - tally.outside_tn, 0)
    fp, fn = fp + tally.outside_fp, fn + tally.outside_fn
    return _table_draws(call, ratio, (tp[None, :], fp[None, :], fn[None, :], tn[None, :]))


def _table_draws(call: MetricCall, ratio: RatioMeasure, table: TableColumns) -> Floats:
    """The measure of one table per draw under the zero-division rule."""
    numerator, denominator = (part[0] for part in ratio.parts(table))
    values = divide_draws(numerator, denominator)
    if ratio.root:
        values = np.sqrt(values)
    if not ratio.replaceable:
        return values
    return np.where(denominator == 0, _substitute(call, ratio), values)


def _substitute(call: MetricCall, ratio: RatioMeasure) -> float:
    return zero_division_of_draws(call, ratio.direction, lowest=ratio.lowest)


def zero_division_of_draws(call: MetricCall, direction: Direction, *, lowest: float = 0.0) -> float:
    """The value that stands for 0/0, NaN where the draw has none."""
    try:
        value = zero_division_value(call, direction, "", lowest=lowest)
    except UndefinedError:
        value = None
    return np.nan if value is None else value


def macro_draws(draws: DrawContext, call: MetricCall, ratio: RatioMeasure) -> Floats:
    """`macro` for each draw."""
    tally = draws.tally(call.options)
    mask = averaged_masks(draws, tally, call, by_label_set=True)
    return _mean_over_classes(tally, call, ratio, mask, np.ones_like(tally.classes.tp))


def weighted_draws(draws: DrawContext, call: MetricCall, ratio: RatioMeasure) -> Floats:
    """`weighted` for each draw."""
    tally = draws.tally(call.options)
    mask = averaged_masks(draws, tally, call, by_label_set=False, absent_matters=False)
    return _mean_over_classes(tally, call, ratio, mask, tally.classes.support)


def weighted_by_predicted_draws(draws: DrawContext, call: MetricCall, ratio: RatioMeasure) -> Floats:
    """`weighted_by_predicted` for each draw."""
    tally = draws.tally(call.options)
    mask = averaged_masks(draws, tally, call, by_label_set=False)
    return _mean_over_classes(tally, call, ratio, mask, tally.classes.predicted)


def lfb_train_draws(draws: DrawContext, call: MetricCall, ratio: RatioMeasure) -> Floats:
    """`lfb_train` for each draw."""
    tally = draws.tally(call.options)
    weights = train_weights(draws.rows, tally.names).astype(np.float64)
    mask = averaged_masks(draws, tally, call, by_label_set=False)
    return _mean_over_classes(tally, call, ratio, mask, np.broadcast_to(weights[:, None], mask.shape))


def averaged_masks(
    draws: DrawContext, tally: DrawTally, call: MetricCall, *, by_label_set: bool, absent_matters: bool = True
) -> Masks:
    """The classes that enter an average, per draw: `averaged_labels`."""
    counts = tally.classes
    mask = np.broadcast_to(~excluded_mask(tally.names, call)[:, None], counts.tp.shape)
    rule = call.options["label_set"] if by_label_set else "declared"
    if rule == "training":
        mask = mask & (train_weights(draws.rows, tally.names) > 0)[:, None]
    elif rule != "declared":
        mask = mask & _occurring(counts.support, counts.predicted, rule)
    if absent_matters and call.options["absent_gold"] == "skip":
        mask = mask & (counts.support > 0)
    return np.asarray(mask)


def _occurring(support: Floats, predicted: Floats, rule: str) -> Masks:
    if rule == "gold":
        return np.asarray(support > 0)
    if rule == "predicted":
        return np.asarray(predicted > 0)
    return np.asarray((support > 0) | (predicted > 0))


def _mean_over_classes(tally: DrawTally, call: MetricCall, ratio: RatioMeasure, mask: Masks, weights: Floats) -> Floats:
    """The weighted mean over classes of each draw; classes are added one by one, so the digits are the same everywhere."""
    numerator, denominator = ratio.parts(tally.classes.columns)
    weighing = mask & (weights > 0)
    undefined = weighing & (denominator == 0)
    defined = weighing & ~undefined
    values = divide_draws(numerator, denominator)
    if ratio.root:
        values = np.sqrt(values)
    terms = np.where(defined, values * weights, 0.0)
    divisor = np.add.reduce(np.where(defined, weights, 0.0), axis=0)
    sums = np.add.reduce(terms, axis=0)
    if not undefined.any() or call.options["zero_division"] == "skip":
        return divide_draws(sums, divisor)
    substitute = _substitute(call, ratio)
    left = np.add.reduce(np.where(undefined, weights, 0.0), axis=0)
    if np.isnan(substitute):  # zero_division=error
        return np.where(left > 0, np.nan, divide_draws(sums, divisor))
    return divide_draws(sums + substitute * left, divisor + left)


def _nothing(draws: DrawContext) -> Floats:
    return np.full(draws.draws, np.nan)
