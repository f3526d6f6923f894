"""Log losses, the negative logarithm of probabilities, of single labels and of label sets."""

import math
from collections.abc import Iterator
from functools import partial

import numpy as np

from app.scoring.declaration.metric import MetricCall, Result
from app.scoring.draw_context import DrawContext, InstanceValues, NoDrawForm
from app.scoring.metrics.labels.undefined_rules import UndefinedError
from app.scoring.metrics.rankings.ranking_inputs import mean_draws
from app.scoring.metrics.scores.probability_inputs import (
    MULTICLASS_FORECASTS,
    MULTILABEL_FORECASTS,
    declare_probability_metric,
    has_class,
    probabilities,
)
from app.scoring.metrics.shared_declarations import (
    MULTILABEL_TASKS,
    ROUNDED_SCORE_PROPERTIES,
    SINGLE_LABEL_TASKS,
    choice_param,
    worked_example,
)
from app.scoring.numeric.exact import Floats, divide_sum, round_to_12_digits, weighted_terms
from app.scoring.tally import EvaluationContext

MEAN_OVER_CELLS = r"\frac{1}{n\,m}\sum_{i=1}^{n}\sum_{j=1}^{m}"
CAPPED_EQUATION = rf"{MEAN_OVER_CELLS} \min(-\ln q_{{i,j}},C)"
CELL_SYMBOLS = {
    "i": "runs over the instances",
    "j": "runs over the labels",
    "q_{i,j}": "the probability given to the true state: that of label j where instance i has it, else 1 minus it",
}
MIN_PROBABILITY = 2.0**-52
"""Lower probabilities are raised to this value (catalogue, row 28)."""
CAP_PARAM = choice_param(
    "cap",
    "the highest cost of one answer",
    labels="no answer costs more than the logarithm of the number of labels",
    instances="no answer costs more than the logarithm of the number of instances",
)


def log_loss(ws: EvaluationContext, call: MetricCall) -> Result:
    """The mean of -ln of the probability given to the gold class, at least 2^-52."""
    _, notes = probabilities(ws, call)
    costs = weighted_terms(_costs_of_gold(ws, call), ws.case.weights)
    return Result(round_to_12_digits(divide_sum(math.fsum(costs), ws.total)), None, notes)


def _costs_of_gold(ws: EvaluationContext, call: MetricCall) -> Floats:
    """-ln of the probability that each instance gives to its gold class."""
    forecasts, _ = probabilities(ws, call)
    return _negative_logs(forecasts[np.arange(len(forecasts)), ws.case.gold.codes])


def _negative_logs(forecasts: Floats, maximum: float = math.inf) -> Floats:
    """-ln of each probability, capped at `maximum`."""
    return np.array([min(-math.log(max(p, MIN_PROBABILITY)), maximum) for p in forecasts.tolist()])


def log_loss_multilabel(ws: EvaluationContext, call: MetricCall) -> Result:
    """The mean over instances and labels of -ln of the probability given to the true state, at least 2^-52."""
    return Result(_mean_over_cells(ws, call, math.inf))


def log_loss_meka(ws: EvaluationContext, call: MetricCall) -> Result:
    """The same with a cap: the logarithm of the number of labels or of instances (MEKA)."""
    cap = call.params["cap"]
    maximum = math.log(len(ws.spec.classes) if cap == "labels" else ws.case.gold.n)
    if maximum == 0:
        raise UndefinedError(f"the number of {cap} is 1, so the cap is ln 1 = 0 and every answer costs 0")
    return Result(_mean_over_cells(ws, call, maximum))


def _mean_over_cells(ws: EvaluationContext, call: MetricCall, maximum: float) -> float:
    costs = _costs_by_label(ws, call, maximum)
    sums = [math.fsum(weighted_terms(part, ws.case.weights)) for part in costs]
    return round_to_12_digits(divide_sum(math.fsum(sums), ws.total * len(sums)))


def _costs_by_label(ws: EvaluationContext, call: MetricCall, maximum: float) -> Iterator[Floats]:
    """-ln of the probability that each instance gives to the true state of a label, for one label after the other."""
    forecasts, _ = probabilities(ws, call)
    for code in range(len(ws.spec.classes)):
        right_forecasts = np.where(has_class(ws, code), forecasts[:, code], 1 - forecasts[:, code])
        yield _negative_logs(right_forecasts, maximum)


def _costs_of_sets(ws: EvaluationContext, call: MetricCall, maximum: float) -> InstanceValues:
    """The mean cost over the labels of each instance."""
    sums = np.zeros(ws.case.gold.n)
    for costs in _costs_by_label(ws, call, maximum):
        sums += costs
    return sums / len(ws.spec.classes), np.ones(len(sums), dtype=bool)


def log_loss_meka_draws(draws: DrawContext, call: MetricCall) -> Floats:
    """`log_loss_meka` for many draws at once; with cap=instances only where all draws have the same size."""
    count = float(len(draws.spec.classes))
    if call.params["cap"] == "instances":
        count = float(draws.total[0])
        if (draws.total != count).any():
            raise NoDrawForm
    if count <= 1:
        return np.full(draws.draws, np.nan)

    def values() -> InstanceValues:
        return _costs_of_sets(draws.rows, call, math.log(count))

    try:
        return draws.mean_of_call((count, *call.cache_key), values)
    except UndefinedError:
        raise NoDrawForm from None


def _capped_equation(call: MetricCall) -> str:
    """MEKA's log loss with its cap."""
    return CAPPED_EQUATION.replace("C", r"\ln m" if call.params["cap"] == "labels" else r"\ln n")


_declare = partial(
    declare_probability_metric,
    tasks=MULTILABEL_TASKS,
    range=(0.0, 52 * math.log(2)),
    properties=ROUNDED_SCORE_PROPERTIES,
)

_declare(
    key="log_loss",
    name="log loss",
    names=("cross-entropy", "logistic loss", "negative log-likelihood"),
    equation=r"-\frac{1}{n}\sum_{i=1}^{n} \ln\max(p_{i,y_{i}},2^{-52})",
    tasks=SINGLE_LABEL_TASKS,
    source="Good 1952, Rational decisions; clipped as scikit-learn clips",
    example=worked_example(MULTICLASS_FORECASTS, "1.03972077084"),
    compute=log_loss,
    compute_draws=mean_draws(lambda ws, call: (_costs_of_gold(ws, call), np.ones(ws.case.gold.n, dtype=bool))),
    hints={"multilabel": "for label sets use log_loss_multilabel"},
    peers={
        "scikit-learn": "log_loss; it clips to [2^-52, 1 - 2^-52], and warns about rows that do not sum to 1 instead of "
        "dividing them by their sum",
        "MEKA": "its two log losses are log_loss_meka",
    },
)
_declare(
    key="log_loss_multilabel",
    name="log loss of label sets",
    names=("binary cross-entropy", "multi-label cross-entropy"),
    equation=rf"-{MEAN_OVER_CELLS} \ln\max(q_{{i,j}},2^{{-52}})",
    source="Good 1952, Rational decisions, label by label; clipped as log_loss",
    example=worked_example(MULTILABEL_FORECASTS, "0.591780903533"),
    compute=log_loss_multilabel,
    compute_draws=mean_draws(lambda ws, call: _costs_of_sets(ws, call, math.inf)),
    hints=dict.fromkeys(SINGLE_LABEL_TASKS, "with one label per instance, use log_loss"),
    symbols=CELL_SYMBOLS,
    peers={
        "scikit-learn": "log_loss takes an indicator matrix, but adds up only the labels that an instance has; this is "
        "the mean of its values for each label alone",
        "MEKA": "caps the cost of one answer: use log_loss_meka",
    },
)
_declare(
    key="log_loss_meka",
    name="capped log loss of label sets",
    names=("MEKA's log loss", "log loss lim. L", "log loss lim. D"),
    equation=CAPPED_EQUATION,
    params=(CAP_PARAM,),
    source="Read 2010, Scalable multi-label classification (thesis, Waikato), as in MEKA",
    example=worked_example(MULTILABEL_FORECASTS, "0.418494108393"),
    compute=log_loss_meka,
    compute_draws=log_loss_meka_draws,
    hints=dict.fromkeys(SINGLE_LABEL_TASKS, "with one label per instance, use log_loss"),
    supports_weights=False,
    symbols=(CELL_SYMBOLS | {"C": "the highest cost of one answer: ln m, or the logarithm of the number of instances"}),
    peers={
        "MEKA": "L_LogLossL is cap=labels, L_LogLossD cap=instances; early versions divide by n only, and a "
        "probability within 1e-6 of the truth costs nothing there",
    },
    equation_of_call=_capped_equation,
)
