"""Measures of predicted probabilities: log loss and the two Brier scores."""

import math

import numpy as np
from numpy.typing import NDArray

from app.scoring.exact import over, rounded
from app.scoring.metric import PROBABILITIES, SCORES, Example, Metric, MetricCall, Properties, Result, register
from app.scoring.metrics.rules import UndefinedError
from app.scoring.metrics.whole import SINGLE
from app.scoring.probability import distributions, true_class
from app.scoring.tally import Workspace

Values = NDArray[np.float64]
SMALLEST = 2.0**-52
"""Probabilities below it count as it (catalogue, row 28)."""
NEEDS = (SCORES, PROBABILITIES)
PROPERTIES = Properties(symmetric=False, prevalence_sensitive=True, count_based=False)
THREE = Example(
    task="multiclass",
    classes=("cat", "dog", "mouse"),
    gold=("cat", "dog"),
    predicted=("cat", "cat"),
    value="",
    scores=((0.5, 0.25, 0.25), (0.5, 0.25, 0.25)),
)
TWO = Example(
    task="binary",
    classes=("spam", "ham"),
    gold=("spam", "ham"),
    predicted=("spam", "ham"),
    value="",
    positive_label="spam",
    scores=((0.5,), (0.25,)),
)


def _worked(data: Example, value: str) -> Example:
    return Example(
        data.task, data.classes, data.gold, data.predicted, value, {}, data.positive_label, None, data.scores
    )


def _given(ws: Workspace) -> tuple[Values, tuple[str, ...]]:
    """The probabilities of all instances, renormalised, and the note that says so; raises where some are missing."""
    scores = ws.case.scores
    assert scores is not None
    missing = int(np.isnan(scores).any(axis=1).sum())
    if missing:
        raise UndefinedError(f"{missing} instances have no scores")
    found, changed = distributions(scores)
    notes = (f"the scores of {changed} instances did not sum to exactly 1 and were divided by their sum",)
    return found, notes if changed else ()


def _positive(ws: Workspace) -> int | None:
    label = ws.spec.positive_label
    return None if label is None else ws.spec.classes.index(label)


def _mean(ws: Workspace, terms: list[float]) -> float:
    """The mean over instances, by their weights where they have some."""
    weights = ws.case.weights
    if weights is not None:
        terms = [weight * term for weight, term in zip(weights.tolist(), terms, strict=True)]
    return over(math.fsum(terms), ws.total)


def log_loss(ws: Workspace, _: MetricCall) -> Result:
    """The mean of -ln of the probability given to the gold class, at least 2^-52."""
    scores, notes = _given(ws)
    own = true_class(scores, ws.case.gold.codes, _positive(ws))
    value = _mean(ws, [-math.log(max(p, SMALLEST)) for p in own.tolist()])
    return Result(rounded(value), None, notes)


def brier(ws: Workspace, _: MetricCall) -> Result:
    """The mean squared difference of the positive label's probability from 0 or 1."""
    scores, notes = _given(ws)
    code = _positive(ws)
    assert code is not None, "a binary task has a positive label"
    own = scores[:, 0] if scores.shape[1] == 1 else scores[:, code]
    gaps = own - (ws.case.gold.codes == code)
    return Result(_mean(ws, (gaps * gaps).tolist()), None, notes)


def brier_multiclass_sum(ws: Workspace, _: MetricCall) -> Result:
    """The mean over instances of the squared differences of all classes, summed."""
    scores, notes = _given(ws)
    if scores.shape[1] == 1:
        scores = _both(scores, _positive(ws))
    gaps = scores.copy()
    gaps[np.arange(len(gaps)), ws.case.gold.codes] -= 1
    return Result(_mean(ws, [math.fsum(row) for row in (gaps * gaps).tolist()]), None, notes)


def _both(scores: Values, positive: int | None) -> Values:
    """The probabilities of both classes of a binary task from that of the positive one."""
    pair = (scores, 1 - scores) if positive == 0 else (1 - scores, scores)
    return np.hstack(pair)


register(
    Metric(
        key="log_loss",
        name="log loss",
        names=("cross-entropy", "logistic loss", "negative log-likelihood"),
        equation=r"-\frac{1}{n}\sum_{i=1}^{n} \ln\max(p_{i,y_{i}},2^{-52})",
        tasks=SINGLE,
        needs=NEEDS,
        direction="lower",
        range=(0.0, 52 * math.log(2)),
        params=(),
        options=("score_direction",),
        properties=PROPERTIES,
        source="Good 1952, Rational decisions; clipped as scikit-learn clips",
        example=_worked(THREE, "1.03972077084"),
        compute=log_loss,
        hints={"multilabel": "log loss is for exactly one label per instance"},
    )
)
register(
    Metric(
        key="brier",
        name="Brier score",
        names=("mean squared error of probabilities",),
        equation=r"\frac{1}{n}\sum_{i=1}^{n} (p_{i}-[y_{i}=+])^{2}",
        tasks=("binary",),
        needs=NEEDS,
        direction="lower",
        range=(0.0, 1.0),
        params=(),
        options=("score_direction",),
        properties=PROPERTIES,
        source="Brier 1950, Verification of forecasts expressed in terms of probability; halved for two classes",
        example=_worked(TWO, "0.15625"),
        compute=brier,
        hints=dict.fromkeys(("multiclass", "multilabel"), "with more than two classes say brier_multiclass_sum"),
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
        range=(0.0, 2.0),
        params=(),
        options=("score_direction",),
        properties=PROPERTIES,
        source="Brier 1950, Verification of forecasts expressed in terms of probability",
        example=_worked(THREE, "0.625"),
        compute=brier_multiclass_sum,
        hints={"multilabel": "the Brier score is for exactly one label per instance"},
    )
)
