"""Log losses: what a probability costs by its logarithm, of single labels and of label sets."""

import math

import numpy as np

from app.scoring.declaration.granularity import NUMBERS
from app.scoring.declaration.metric import Metric, MetricCall, Param, Result, register
from app.scoring.metrics.labels.undefined_rules import UndefinedError
from app.scoring.metrics.labels.whole_task import SINGLE
from app.scoring.metrics.scores.probability_forecasts import (
    NEEDS,
    OPTIONS,
    SETS,
    THREE,
    TO_12_DIGITS,
    has_class,
    mean,
    probabilities,
    worked,
)
from app.scoring.numeric.exact import Floats, over, repeated, rounded
from app.scoring.tally import Workspace

CELLS = r"\frac{1}{n\,m}\sum_{i=1}^{n}\sum_{j=1}^{m}"
CAPPED = rf"{CELLS} \min(-\ln q_{{i,j}},C)"
OF_CELLS = {
    "i": "runs over the instances",
    "j": "runs over the labels",
    "q_{i,j}": "the probability given to what holds: that of label j where instance i has it, else 1 less it",
}
SMALLEST = 2.0**-52
"""Probabilities below it count as it (catalogue, row 28)."""
CAP = Param(
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


def log_loss(ws: Workspace, call: MetricCall) -> Result:
    """The mean of -ln of the probability given to the gold class, at least 2^-52."""
    given, notes = probabilities(ws, call)
    own = given[np.arange(len(given)), ws.case.gold.codes]
    return Result(rounded(mean(ws, _surprise(own))), None, notes)


def _surprise(own: Floats, most: float = math.inf) -> Floats:
    """-ln of each probability, and `most` at most."""
    return np.array([min(-math.log(max(p, SMALLEST)), most) for p in own.tolist()])


def log_loss_multilabel(ws: Workspace, call: MetricCall) -> Result:
    """The mean over all instances and labels of -ln of the probability given to what holds, at least 2^-52."""
    return Result(_over_cells(ws, call, math.inf))


def log_loss_meka(ws: Workspace, call: MetricCall) -> Result:
    """The same under a cap, the logarithm of the number of labels or of instances (MEKA)."""
    cap = call.params["cap"]
    most = math.log(len(ws.spec.classes) if cap == "labels" else ws.case.gold.n)
    if most == 0:
        raise UndefinedError(f"with one of the {cap} the cap is ln 1 = 0, under which everything costs nothing")
    return Result(_over_cells(ws, call, most))


def _over_cells(ws: Workspace, call: MetricCall, most: float) -> float:
    given, _ = probabilities(ws, call)
    sums = []
    for k in range(len(ws.spec.classes)):
        own = np.where(has_class(ws, k), given[:, k], 1 - given[:, k])
        sums.append(math.fsum(repeated(_surprise(own, most), ws.case.weights)))
    return rounded(over(math.fsum(sums), ws.total * len(sums)))


def _capped(call: MetricCall) -> str:
    """MEKA's log loss with its cap."""
    return CAPPED.replace("C", r"\ln m" if call.params["cap"] == "labels" else r"\ln n")


register(
    Metric(
        key="log_loss",
        name="log loss",
        names=("cross-entropy", "logistic loss", "negative log-likelihood"),
        equation=r"-\frac{1}{n}\sum_{i=1}^{n} \ln\max(p_{i,y_{i}},2^{-52})",
        tasks=SINGLE,
        needs=NEEDS,
        direction="lower",
        granularity=NUMBERS,
        range=(0.0, 52 * math.log(2)),
        params=(),
        options=OPTIONS,
        properties=TO_12_DIGITS,
        source="Good 1952, Rational decisions; clipped as scikit-learn clips",
        example=worked(THREE, "1.03972077084"),
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
        equation=rf"-{CELLS} \ln\max(q_{{i,j}},2^{{-52}})",
        tasks=("multilabel",),
        needs=NEEDS,
        direction="lower",
        granularity=NUMBERS,
        range=(0.0, 52 * math.log(2)),
        params=(),
        options=OPTIONS,
        properties=TO_12_DIGITS,
        source="Good 1952, Rational decisions, label by label; clipped as log_loss",
        example=worked(SETS, "0.591780903533"),
        compute=log_loss_multilabel,
        hints=dict.fromkeys(SINGLE, "with one label per instance say log_loss"),
        symbols=OF_CELLS,
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
        equation=CAPPED,
        tasks=("multilabel",),
        needs=NEEDS,
        direction="lower",
        granularity=NUMBERS,
        range=(0.0, 52 * math.log(2)),
        params=(CAP,),
        options=OPTIONS,
        properties=TO_12_DIGITS,
        source="Read 2010, Scalable multi-label classification (thesis, Waikato), as in MEKA",
        example=worked(SETS, "0.418494108393"),
        compute=log_loss_meka,
        hints=dict.fromkeys(SINGLE, "with one label per instance say log_loss"),
        weighable=False,
        symbols=OF_CELLS
        | {"C": "the most that one answer can cost: ln m, or the logarithm of the number of instances"},
        peers={
            "MEKA": "L_LogLossL is cap=labels, L_LogLossD cap=instances; early versions divided by n only, and what is "
            "within 1e-6 of the truth costs nothing there",
        },
        shown=_capped,
    )
)
