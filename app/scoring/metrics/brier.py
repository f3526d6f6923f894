"""Brier scores: what a probability costs by its squared distance from what came true, and the skill over the gold shares."""

import math
from fractions import Fraction

import numpy as np

from app.scoring.exact import Floats, repeated, times, total
from app.scoring.granularity import NUMBERS
from app.scoring.metric import Metric, MetricCall, Result, register
from app.scoring.metrics.forecasts import (
    NEEDS,
    OPTIONS,
    PROPERTIES,
    THREE,
    TWO,
    has_class,
    mean,
    of_class,
    probabilities,
    worked,
)
from app.scoring.metrics.rules import UndefinedError
from app.scoring.metrics.scored import positive_code
from app.scoring.metrics.whole import SINGLE
from app.scoring.tally import Workspace


def brier(ws: Workspace, call: MetricCall) -> Result:
    """The mean squared difference of the positive label's probability from 0 or 1."""
    given, notes = probabilities(ws, call)
    return Result(mean(ws, _squares(ws, given)), None, notes)


def _squares(ws: Workspace, given: Floats) -> Floats:
    """The squared difference of the positive label's probability from 0 or 1; n."""
    code = positive_code(ws)
    gaps = of_class(ws, given, code) - has_class(ws, code)
    return gaps * gaps


def brier_multiclass_sum(ws: Workspace, call: MetricCall) -> Result:
    """The mean over instances of the squared differences of all classes, summed."""
    given, notes = probabilities(ws, call)
    return Result(mean(ws, _sums_of_squares(ws, given)), None, notes)


def _sums_of_squares(ws: Workspace, given: Floats) -> Floats:
    """The squared differences of all classes from 0 or 1, summed; n."""
    gaps = np.column_stack([of_class(ws, given, code) for code in range(len(ws.spec.classes))])
    gaps[np.arange(len(gaps)), ws.case.gold.codes] -= 1
    return np.array([math.fsum(row.tolist()) for row in gaps * gaps])


def brier_skill(ws: Workspace, call: MetricCall) -> Result:
    """1 less the Brier score over that of always forecasting the shares of the classes in gold; rounded once.

    Whether two classes are counted once or twice (binary and sum form) cancels.
    """
    given, notes = probabilities(ws, call)
    support = ws.tally(call.options).classes.support
    squares = ws.total**2 - total(times(support, support))  # n² times the sum form of the reference
    if ws.spec.task == "binary":
        squares //= 2
    if squares == 0:
        raise UndefinedError("gold is all one class: the forecast that it is compared with is perfect, so this is x/0")
    own = _squares(ws, given) if ws.spec.task == "binary" else _sums_of_squares(ws, given)
    cost = Fraction(math.fsum(repeated(own, ws.case.weights)))
    return Result(float(1 - cost * ws.total / squares), None, notes)


register(
    Metric(
        key="brier",
        name="Brier score",
        names=("mean squared error of probabilities",),
        equation=r"\frac{1}{n}\sum_{i=1}^{n} (p_{i}-[y_{i}=+])^{2}",
        tasks=("binary",),
        needs=NEEDS,
        direction="lower",
        granularity=NUMBERS,
        range=(0.0, 1.0),
        params=(),
        options=OPTIONS,
        properties=PROPERTIES,
        source="Brier 1950, Verification of forecasts expressed in terms of probability; halved for two classes",
        example=worked(TWO, "0.15625"),
        compute=brier,
        hints=dict.fromkeys(("multiclass", "multilabel"), "with more than two classes say brier_multiclass_sum"),
        peers={
            "scikit-learn": "brier_score_loss of two classes (scale_by_half='auto')",
            "yardstick": "brier_class of two classes",
        },
    )
)
register(
    Metric(
        key="brier_multiclass_sum",
        name="Brier score, summed over classes",
        names=("multi-class Brier score", "quadratic score"),
        equation=r"\frac{1}{n}\sum_{i=1}^{n}\sum_{k=1}^{m} (p_{i,k}-[y_{i}=k])^{2}",
        tasks=SINGLE,
        needs=NEEDS,
        direction="lower",
        granularity=NUMBERS,
        range=(0.0, 2.0),
        params=(),
        options=OPTIONS,
        properties=PROPERTIES,
        source="Brier 1950, Verification of forecasts expressed in terms of probability",
        example=worked(THREE, "0.625"),
        compute=brier_multiclass_sum,
        hints={"multilabel": "the Brier score is for exactly one label per instance"},
        symbols={"k": "runs over the classes"},
        peers={
            "scikit-learn": "brier_score_loss with scale_by_half=False; 'auto' is this for three classes and more, and "
            "half of it for two",
            "yardstick": "brier_class is half of it for any number of classes",
        },
    )
)
register(
    Metric(
        key="brier_skill",
        name="Brier skill score",
        names=("scaled Brier score", "index of prediction accuracy", "IPA"),
        equation=r"1-\frac{\sum_{i=1}^{n}\sum_{k=1}^{m} (p_{i,k}-[y_{i}=k])^{2}}{\sum_{i=1}^{n}\sum_{k=1}^{m} (\frac{n_{k}}{n}-[y_{i}=k])^{2}}",
        tasks=SINGLE,
        needs=NEEDS,
        direction="higher",
        granularity=NUMBERS,
        range=(-math.inf, 1.0),
        params=(),
        options=OPTIONS,
        properties=PROPERTIES,
        source="Murphy 1973, Hedging and skill scores for probability forecasts; the forecast that it is held against "
        "gives each class its share in gold",
        example=worked(TWO, "0.375"),
        compute=brier_skill,
        hints={"multilabel": "the Brier score is for exactly one label per instance"},
        peers={
            "scikit-learn": "d2_brier_score; it is nan for one instance, and infinite or nan where all gold is one class",
        },
    )
)
