"""Log losses, the negative logarithm of probabilities, of single labels and of label sets."""

import math
from functools import partial

import numpy as np

from app.scoring.declaration.metric import MetricCall, Result
from app.scoring.metrics.labels.undefined_rules import UndefinedError
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
    forecasts, notes = probabilities(ws, call)
    gold_forecasts = forecasts[np.arange(len(forecasts)), ws.case.gold.codes]
    costs = weighted_terms(_negative_logs(gold_forecasts), ws.case.weights)
    return Result(round_to_12_digits(divide_sum(math.fsum(costs), ws.total)), None, notes)


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
    forecasts, _ = probabilities(ws, call)
    sums = []
    for code in range(len(ws.spec.classes)):
        right_forecasts = np.where(has_class(ws, code), forecasts[:, code], 1 - forecasts[:, code])
        sums.append(math.fsum(weighted_terms(_negative_logs(right_forecasts, maximum), ws.case.weights)))
    return round_to_12_digits(divide_sum(math.fsum(sums), ws.total * len(sums)))


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
    hints=dict.fromkeys(SINGLE_LABEL_TASKS, "with one label per instance, use log_loss"),
    supports_weights=False,
    symbols=(CELL_SYMBOLS | {"C": "the highest cost of one answer: ln m, or the logarithm of the number of instances"}),
    peers={
        "MEKA": "L_LogLossL is cap=labels, L_LogLossD cap=instances; early versions divide by n only, and a "
        "probability within 1e-6 of the truth costs nothing there",
    },
    equation_of_call=_capped_equation,
)
