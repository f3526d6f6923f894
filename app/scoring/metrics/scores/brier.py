"""Brier scores, the squared distance of probabilities from the outcome, and the skill relative to the gold shares."""

import math
from fractions import Fraction

import numpy as np

from app.scoring.declaration.metric import MetricCall, Result
from app.scoring.draw_context import DrawContext, InstanceValues, divide_draws
from app.scoring.metrics.labels.undefined_rules import UndefinedError
from app.scoring.metrics.rankings.ranking_inputs import mean_draws
from app.scoring.metrics.scores.oriented_scores import positive_code
from app.scoring.metrics.scores.probability_inputs import (
    BINARY_FORECASTS,
    MULTICLASS_FORECASTS,
    declare_probability_metric,
    has_class,
    probabilities,
)
from app.scoring.metrics.shared_declarations import worked_example
from app.scoring.numeric.exact import Floats, Integers, multiply, total
from app.scoring.numeric.float_sums import exact_square_sum, exact_sum
from app.scoring.tally import EvaluationContext


def brier(ws: EvaluationContext, call: MetricCall) -> Result:
    """The mean squared difference of the positive label's probability from 0 or 1."""
    forecasts, notes = probabilities(ws, call)
    return Result(float(_binary_squared_error(ws, forecasts) / ws.total), None, notes)


def _binary_squared_error(ws: EvaluationContext, forecasts: Floats) -> Fraction:
    """The sum of the squared differences of the positive label's probability from 0 or 1."""
    code = positive_code(ws)
    positive_forecasts, is_positive, weights = forecasts[:, code], has_class(ws, code), ws.case.weights
    return _squared_error(
        positive_forecasts, positive_forecasts[is_positive], weights, None if weights is None else weights[is_positive]
    )


def _squared_error(
    forecasts: Floats, right: Floats, weights: Integers | None, own_weights: Integers | None
) -> Fraction:
    """The exact sum of (p - 1)² over right and p² over wrong (instance, class) pairs, computed as Σp² - 2Σp + count.

    `forecasts` are the probabilities of all pairs, with `weights`; `right` those of the right pairs, with `own_weights`.
    """
    count = len(right) if own_weights is None else total(own_weights)
    return exact_square_sum(forecasts, weights) - 2 * exact_sum(right, own_weights) + count


def brier_multiclass_sum(ws: EvaluationContext, call: MetricCall) -> Result:
    """The mean over instances of the squared differences of all classes, summed."""
    forecasts, notes = probabilities(ws, call)
    return Result(float(_multiclass_squared_error(ws, forecasts) / ws.total), None, notes)


def squared_errors(ws: EvaluationContext, call: MetricCall) -> InstanceValues:
    """The squared difference of each instance, of the positive label or summed over all classes; rounded."""
    forecasts, _ = probabilities(ws, call)
    if ws.spec.task == "binary" and call.metric.key != "brier_multiclass_sum":
        code = positive_code(ws)
        errors = forecasts[:, code] - has_class(ws, code)
        return errors * errors, np.ones(len(errors), dtype=bool)
    sums = np.zeros(len(forecasts))
    for code in range(forecasts.shape[1]):
        errors = forecasts[:, code] - has_class(ws, code)
        sums += errors * errors
    return sums, np.ones(len(sums), dtype=bool)


_mean_squared_errors = mean_draws(squared_errors)


def brier_skill_draws(draws: DrawContext, call: MetricCall) -> Floats:
    """`brier_skill` for many draws at once."""
    errors = _mean_squared_errors(draws, call)
    support, n = draws.tally(call.options).classes.support, draws.total
    squares = n * n - np.add.reduce(support * support, axis=0)
    if draws.spec.task == "binary":
        squares = squares / 2
    return 1 - divide_draws(errors * n * n, squares)


def _multiclass_squared_error(ws: EvaluationContext, forecasts: Floats) -> Fraction:
    """The sum of the squared differences of all classes from 0 or 1."""
    weights = ws.case.weights
    cell_weights = None if weights is None else np.repeat(weights, forecasts.shape[1])
    right = forecasts[np.arange(len(forecasts)), ws.case.gold.codes]
    return _squared_error(forecasts.ravel(), right, cell_weights, weights)


def brier_skill(ws: EvaluationContext, call: MetricCall) -> Result:
    """1 - (Brier score) / (Brier score of always forecasting the gold shares of the classes), rounded once.

    The factor 2 between the binary form and the sum form cancels.
    """
    forecasts, notes = probabilities(ws, call)
    support = ws.tally(call.options).classes.support
    squares = ws.total**2 - total(multiply(support, support))  # n² times the sum form of the reference
    if ws.spec.task == "binary":
        squares //= 2
    if squares == 0:
        raise UndefinedError("gold has only one class: the reference forecast is perfect, so this is x/0")
    squared_error = _binary_squared_error if ws.spec.task == "binary" else _multiclass_squared_error
    return Result(float(1 - squared_error(ws, forecasts) * ws.total / squares), None, notes)


declare_probability_metric(
    key="brier",
    name="Brier score",
    names=("mean squared error of probabilities",),
    equation=r"\frac{1}{n}\sum_{i=1}^{n} (p_{i}-[y_{i}=+])^{2}",
    tasks=("binary",),
    source="Brier 1950, Verification of forecasts expressed in terms of probability; halved for two classes",
    example=worked_example(BINARY_FORECASTS, "0.15625"),
    compute=brier,
    compute_draws=_mean_squared_errors,
    hints=dict.fromkeys(("multiclass", "multilabel"), "with more than two classes use brier_multiclass_sum"),
    peers={
        "scikit-learn": "brier_score_loss for two classes (scale_by_half='auto')",
        "yardstick": "brier_class for two classes",
    },
)
declare_probability_metric(
    key="brier_multiclass_sum",
    name="Brier score, summed over classes",
    names=("multi-class Brier score", "quadratic score"),
    equation=r"\frac{1}{n}\sum_{i=1}^{n}\sum_{k=1}^{m} (p_{i,k}-[y_{i}=k])^{2}",
    range=(0.0, 2.0),
    source="Brier 1950, Verification of forecasts expressed in terms of probability",
    example=worked_example(MULTICLASS_FORECASTS, "0.625"),
    compute=brier_multiclass_sum,
    compute_draws=_mean_squared_errors,
    hints={"multilabel": "the Brier score requires exactly one label per instance"},
    symbols={"k": "runs over the classes"},
    peers={
        "scikit-learn": "brier_score_loss with scale_by_half=False; 'auto' is this for three classes and more, and "
        "half of it for two",
        "yardstick": "brier_class is half of it for any number of classes",
    },
)
declare_probability_metric(
    key="brier_skill",
    name="Brier skill score",
    names=("scaled Brier score", "index of prediction accuracy", "IPA"),
    equation=r"1-\frac{\sum_{i=1}^{n}\sum_{k=1}^{m} (p_{i,k}-[y_{i}=k])^{2}}{\sum_{i=1}^{n}\sum_{k=1}^{m} (\frac{n_{k}}{n}-[y_{i}=k])^{2}}",
    direction="higher",
    range=(-math.inf, 1.0),
    source="Murphy 1973, Hedging and skill scores for probability forecasts; the reference gives each class its gold share",
    example=worked_example(BINARY_FORECASTS, "0.375"),
    compute=brier_skill,
    compute_draws=brier_skill_draws,
    hints={"multilabel": "the Brier score requires exactly one label per instance"},
    peers={"scikit-learn": "d2_brier_score; nan for one instance, and infinite or nan if gold has only one class"},
)
