"""Measures that weight errors: expected cost by a cost matrix, and distance between classes on an ordinal scale."""

import math
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np

from app.scoring.declaration.distinct_value_bounds import CONFUSION
from app.scoring.declaration.metric import COST_MATRIX, LABELS, Example, MetricCall, Properties, Result, rounded_result
from app.scoring.draw_context import DrawContext, Floats, InstanceValues, divide_draws
from app.scoring.metrics.labels.confusion_cells import class_distances, confusion_cells
from app.scoring.metrics.labels.undefined_rules import UndefinedError, excluded_mask, join_names, occurring_labels
from app.scoring.metrics.shared_declarations import (
    ASYMMETRIC,
    SINGLE_LABEL_OPTIONS,
    UNBOUNDED_RANGE,
    declare_single_label_metric,
    worked_example,
)
from app.scoring.numeric.correct_rounding import quotient_sum
from app.scoring.numeric.exact import multiply, to_fraction, total
from app.scoring.tally import EvaluationContext

COST_EXAMPLE = Example(
    task="multiclass",
    classes=("cat", "dog", "mouse"),
    gold=("cat", "cat", "dog", "mouse"),
    predicted=("cat", "dog", "mouse", "cat"),
    value="",
    cost_matrix={"cat": {"dog": 0.1, "mouse": 1}, "dog": {"cat": 0.2, "mouse": 2.5}, "mouse": {"cat": 4, "dog": 3}},
)
_SCALE = "position on the scale of classes"


def expected_cost(ws: EvaluationContext, call: MetricCall) -> Result:
    """The mean over instances of the cost of their cell: an exact sum of the decimal costs, divided once.

    Right answers without an entry in the matrix cost 0. The value is undefined where any other cost is missing for a
    class that occurs in gold.
    """
    tally = ws.tally(call.options)
    cells = confusion_cells(ws, tally, "cost")
    costs, names = ws.spec.cost_matrix or {}, ws.spec.classes
    _check_costs(costs, names, np.flatnonzero(tally.classes.support).tolist())
    sums = Fraction(0)
    columns = (column.tolist() for column in (cells.gold, cells.predicted, cells.counts))
    for gold, predicted, count in zip(*columns, strict=True):
        sums += count * to_fraction(costs.get(names[gold], {}).get(names[predicted], 0))
    return Result(float(sums / tally.n))


def _check_costs(costs: Mapping[str, Mapping[str, float]], names: tuple[str, ...], occurring: list[int]) -> None:
    """Raise UndefinedError where a cost that may be needed is missing or is not a finite number."""
    missing, not_finite = [], []
    for gold in (names[position] for position in occurring):
        row = costs.get(gold, {})
        missing += [f"{gold} predicted as {name}" for name in names if name not in row and name != gold]
        not_finite += [f"{gold} predicted as {name}" for name in names if not math.isfinite(row.get(name, 0))]
    if missing:
        raise UndefinedError(f"the cost matrix has no cost for {join_names(missing)}")
    if not_finite:
        raise UndefinedError(f"the cost matrix has no finite cost for {join_names(not_finite)}")


def mean_absolute_class_distance(ws: EvaluationContext, call: MetricCall) -> Result:
    """The mean distance between prediction and gold, in positions of the declared order."""
    tally = ws.tally(call.options)
    cells = confusion_cells(ws, tally, _SCALE)
    return Result(total(multiply(np.abs(cells.gold - cells.predicted), cells.counts)) / tally.n)


def mean_absolute_class_distance_macro(ws: EvaluationContext, call: MetricCall) -> Result:
    """The mean over the classes that occur in gold of the mean distance of their instances (Baccianella et al.)."""
    tally = ws.tally(call.options)
    cells = confusion_cells(ws, tally, _SCALE)
    mask, notes = occurring_labels(tally, call)
    distances = multiply(np.abs(cells.gold - cells.predicted), cells.counts)
    sums = np.zeros(len(tally.names), dtype=object if total(distances) >= 2**62 else np.int64)
    np.add.at(sums, cells.gold, distances)
    distance = quotient_sum(sums[mask], tally.classes.support[mask])
    return rounded_result(distance / int(mask.sum()), notes)


def expected_cost_draws(draws: DrawContext, _call: MetricCall) -> Floats:
    """`expected_cost` for many draws at once."""
    costs, names, m = draws.spec.cost_matrix or {}, draws.spec.classes, len(draws.spec.classes)
    gold, predicted = draws.case.gold.codes.astype(np.int64), draws.case.predicted.codes
    _, undefined = class_distances(draws.rows)

    def make() -> InstanceValues:
        cells, at = np.unique(np.where(undefined, -1, gold * m + predicted), return_inverse=True)
        found = [costs.get(names[cell // m], {}).get(names[cell % m], 0) if cell >= 0 else 0 for cell in cells.tolist()]
        finite = [float(cost) if math.isfinite(cost) else 0.0 for cost in found]
        return np.array(finite)[at], np.ones(len(gold), dtype=bool)

    values = draws.mean_of_call("costs", make)
    lacking = [code for code in np.unique(gold).tolist() if 0 <= code < m and not _has_costs(costs, names, code)]
    return np.where(draws.sum_rows(undefined | np.isin(gold, lacking)) > 0, np.nan, values)


def _has_costs(costs: Mapping[str, Mapping[str, float]], names: tuple[str, ...], code: int) -> bool:
    """Whether every cost of a gold class is there and finite."""
    try:
        _check_costs(costs, names, [code])
    except UndefinedError:
        return False
    return True


def mean_absolute_class_distance_draws(draws: DrawContext, _call: MetricCall) -> Floats:
    """`mean_absolute_class_distance` for many draws at once."""
    distances, undefined = class_distances(draws.rows)
    values = divide_draws(draws.sum_of(distances), draws.total)
    return np.where(draws.sum_rows(undefined) > 0, np.nan, values)


def mean_absolute_class_distance_macro_draws(draws: DrawContext, call: MetricCall) -> Floats:
    """`mean_absolute_class_distance_macro` for many draws at once."""
    tally = draws.tally(call.options)
    distances, undefined = class_distances(draws.rows)
    gold, support = draws.case.gold.codes, tally.classes.support
    included = ~excluded_mask(tally.names, call)
    means = np.zeros(support.shape)
    for code in np.unique(gold[~undefined]).tolist():
        of_class = np.flatnonzero((gold == code) & (distances > 0))
        sums = distances[of_class].astype(np.float64) @ draws.weights[of_class].astype(np.float64)
        means[code] = np.where(included[code], np.nan_to_num(divide_draws(sums, support[code])), 0.0)
    occurring = np.add.reduce((support > 0) & included[:, None], axis=0, dtype=np.float64)
    values = divide_draws(np.add.reduce(means, axis=0), occurring)
    return np.where(draws.sum_rows(undefined) > 0, np.nan, values)


_declare = partial(
    declare_single_label_metric,
    direction="lower",
    granularity=CONFUSION,
    hints={"multilabel": "it requires one label per instance"},
)

_declare(
    key="expected_cost",
    name="expected cost",
    names=("mean cost", "cost-sensitive error"),
    equation=r"\frac{1}{n}\sum_{i=1}^{n} C(y_{i},\hat{y}_{i})",
    needs=(LABELS, COST_MATRIX),
    range=(-math.inf, math.inf),
    properties=ASYMMETRIC,
    source="Elkan 2001, The foundations of cost-sensitive learning; undefined if a prediction is not a class",
    example=worked_example(COST_EXAMPLE, "33/20"),
    compute=expected_cost,
    compute_draws=expected_cost_draws,
    symbols={
        "C(y, ŷ)": "cost of predicting the second class if the first is right",
        "ŷ_i": "predicted class of instance i",
    },
    peers={"yardstick": "classification_cost takes probabilities; the same for probabilities of 0 and 1"},
)
for _macro in (False, True):
    _declare(
        key="mean_absolute_class_distance_macro" if _macro else "mean_absolute_class_distance",
        name=f"{'macro ' if _macro else ''}mean absolute class distance",
        names=("macro-averaged MAE", "MAE^M") if _macro else ("ordinal MAE", "mean absolute error of ranks"),
        equation=(
            r"\frac{1}{|G|}\sum_{j\in G} \frac{1}{n_{j}}\sum_{i:y_{i}=j} |c(y_{i})-c(\hat{y}_{i})|,\quad G=\{j: n_{j}>0\}"
            if _macro
            else r"\frac{1}{n}\sum_{i=1}^{n} |c(y_{i})-c(\hat{y}_{i})|"
        ),
        range=UNBOUNDED_RANGE,
        options=("exclude_labels", *SINGLE_LABEL_OPTIONS) if _macro else SINGLE_LABEL_OPTIONS,
        properties=Properties(symmetric=not _macro, prevalence_sensitive=not _macro, ordinal=True),
        source="Baccianella, Esuli & Sebastiani 2009, Evaluation measures for ordinal regression; classes in declared order",
        example=worked_example(replace(COST_EXAMPLE, cost_matrix=None), "7/6" if _macro else "1"),
        compute=mean_absolute_class_distance_macro if _macro else mean_absolute_class_distance,
        compute_draws=(mean_absolute_class_distance_macro_draws if _macro else mean_absolute_class_distance_draws),
        symbols={
            "c(y)": "position of a class in the declared order",
            "ŷ_i": "predicted class of instance i",
            **({"G": "the classes that occur in gold"} if _macro else {}),
        },
        peers=(
            {"imbalanced-learn": "macro_averaged_mean_absolute_error; fails if a class occurs only in the predictions"}
            if _macro
            else {"scikit-learn": "mean_absolute_error of positions"}
        ),
    )
