"""Log losses: what a probability costs by its logarithm, of single labels and of label sets."""

import math

import numpy as np

from app.scoring.declaration.granularity import SCORE_VALUES
from app.scoring.declaration.metric import Metric, MetricCall, Param, Result, register
from app.scoring.metrics.labels.undefined_rules import UndefinedError
from app.scoring.metrics.labels.whole_task import SINGLE_LABEL_TASKS
from app.scoring.metrics.scores.probability_forecasts import (
    MULTICLASS_FORECASTS,
    MULTILABEL_FORECASTS,
    PROBABILITY_NEEDS,
    ROUNDED_PROPERTIES,
    SCORE_OPTIONS,
    forecast_example,
    has_class,
    mean_per_instance,
    probabilities,
)
from app.scoring.numeric.exact import Floats, divide_sum, round_to_12_digits, weighted_terms
from app.scoring.tally import EvaluationContext

MEAN_OVER_CELLS = r"\frac{1}{n\,m}\sum_{i=1}^{n}\sum_{j=1}^{m}"
CAPPED_EQUATION = rf"{MEAN_OVER_CELLS} \min(-\ln q_{{i,j}},C)"
CELL_SYMBOLS = {
    "i": "runs over the instances",
    "j": "runs over the labels",
    "q_{i,j}": "the probability given to what holds: that of label j where instance i has it, else 1 less it",
}
MIN_PROBABILITY = 2.0**-52
"""Probabilities below it count as it (catalogue, row 28)."""
CAP_PARAM = Param(
    "cap",
    "choice",
    "how much one answer can cost at most",
    default="labels",
    values=("labels", "instances"),
    value_meanings=(
        "no answer costs more than the logarithm of the number of labels",
        "no answer costs more than the logarithm of the number of instances",
    ),
)


def log_loss(ws: EvaluationContext, call: MetricCall) -> Result:
    """The mean of -ln of the probability given to the gold class, at least 2^-52."""
    given, notes = probabilities(ws, call)
    own = given[np.arange(len(given)), ws.case.gold.codes]
    return Result(round_to_12_digits(mean_per_instance(ws, _negative_logs(own))), None, notes)


def _negative_logs(own: Floats, most: float = math.inf) -> Floats:
    """-ln of each probability, and `most` at most."""
    return np.array([min(-math.log(max(p, MIN_PROBABILITY)), most) for p in own.tolist()])


def log_loss_multilabel(ws: EvaluationContext, call: MetricCall) -> Result:
    """The mean over all instances and labels of -ln of the probability given to what holds, at least 2^-52."""
    return Result(_mean_over_cells(ws, call, math.inf))


def log_loss_meka(ws: EvaluationContext, call: MetricCall) -> Result:
    """The same under a cap, the logarithm of the number of labels or of instances (MEKA)."""
    cap = call.params["cap"]
    most = math.log(len(ws.spec.classes) if cap == "labels" else ws.case.gold.n)
    if most == 0:
        raise UndefinedError(f"with one of the {cap} the cap is ln 1 = 0, under which everything costs nothing")
    return Result(_mean_over_cells(ws, call, most))


def _mean_over_cells(ws: EvaluationContext, call: MetricCall, most: float) -> float:
    given, _ = probabilities(ws, call)
    sums = []
    for k in range(len(ws.spec.classes)):
        own = np.where(has_class(ws, k), given[:, k], 1 - given[:, k])
        sums.append(math.fsum(weighted_terms(_negative_logs(own, most), ws.case.weights)))
    return round_to_12_digits(divide_sum(math.fsum(sums), ws.total * len(sums)))


def _capped_equation(call: MetricCall) -> str:
    """MEKA's log loss with its cap."""
    return CAPPED_EQUATION.replace("C", r"\ln m" if call.params["cap"] == "labels" else r"\ln n")


register(
    Metric(
        key="log_loss",
        name="log loss",
        names=("cross-entropy", "logistic loss", "negative log-likelihood"),
        equation=r"-\frac{1}{n}\sum_{i=1}^{n} \ln\max(p_{i,y_{i}},2^{-52})",
        tasks=SINGLE_LABEL_TASKS,
        needs=PROBABILITY_NEEDS,
        direction="lower",
        granularity=SCORE_VALUES,
        range=(0.0, 52 * math.log(2)),
        params=(),
        options=SCORE_OPTIONS,
        properties=ROUNDED_PROPERTIES,
        source="Good 1952, Rational decisions; clipped as scikit-learn clips",
        example=forecast_example(MULTICLASS_FORECASTS, "1.03972077084"),
        compute=log_loss,
        hints={"multilabel": "for label sets say log_loss_multilabel"},
        peers={
            "scikit-learn": "log_loss; it clips to [2^-52, 1 - 2^-52], and warns of rows that do not sum to 1 instead of "
            "dividing them by their sum",
            "MEKA": "its two log losses are log_loss_meka",
        },
    )
)
register(
    Metric(
        key="log_loss_multilabel",
        name="log loss of label sets",
        names=("binary cross-entropy", "multi-label cross-entropy"),
        equation=rf"-{MEAN_OVER_CELLS} \ln\max(q_{{i,j}},2^{{-52}})",
        tasks=("multilabel",),
        needs=PROBABILITY_NEEDS,
        direction="lower",
        granularity=SCORE_VALUES,
        range=(0.0, 52 * math.log(2)),
        params=(),
        options=SCORE_OPTIONS,
        properties=ROUNDED_PROPERTIES,
        source="Good 1952, Rational decisions, label by label; clipped as log_loss",
        example=forecast_example(MULTILABEL_FORECASTS, "0.591780903533"),
        compute=log_loss_multilabel,
        hints=dict.fromkeys(SINGLE_LABEL_TASKS, "with one label per instance say log_loss"),
        symbols=CELL_SYMBOLS,
        peers={
            "scikit-learn": "log_loss takes an indicator matrix, but adds up only the labels that an instance has; the "
            "mean of its values for each label alone is this",
            "MEKA": "caps what one answer can cost: log_loss_meka",
        },
    )
)
register(
    Metric(
        key="log_loss_meka",
        name="capped log loss of label sets",
        names=("MEKA's log loss", "log loss lim. L", "log loss lim. D"),
        equation=CAPPED_EQUATION,
        tasks=("multilabel",),
        needs=PROBABILITY_NEEDS,
        direction="lower",
        granularity=SCORE_VALUES,
        range=(0.0, 52 * math.log(2)),
        params=(CAP_PARAM,),
        options=SCORE_OPTIONS,
        properties=ROUNDED_PROPERTIES,
        source="Read 2010, Scalable multi-label classification (thesis, Waikato), as in MEKA",
        example=forecast_example(MULTILABEL_FORECASTS, "0.418494108393"),
        compute=log_loss_meka,
        hints=dict.fromkeys(SINGLE_LABEL_TASKS, "with one label per instance say log_loss"),
        supports_weights=False,
        symbols=CELL_SYMBOLS
        | {"C": "the most that one answer can cost: ln m, or the logarithm of the number of instances"},
        peers={
            "MEKA": "L_LogLossL is cap=labels, L_LogLossD cap=instances; early versions divided by n only, and what is "
            "within 1e-6 of the truth costs nothing there",
        },
        equation_of_call=_capped_equation,
    )
)
