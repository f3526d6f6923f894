"""The scores of a case for score-based metrics: complete, and oriented so that higher means more confidence."""

import numpy as np
from numpy.typing import NDArray

from app.scoring.declaration.metric import MetricCall
from app.scoring.declaration.metric_syntax import pluralize
from app.scoring.metrics.labels.undefined_rules import UndefinedError
from app.scoring.tally import EvaluationContext

Scores = NDArray[np.float64]


def scores_of(ws: EvaluationContext, call: MetricCall) -> Scores:
    """All scores: n × m in the order of the classes, or n × 1 for the positive label; negated under score_direction=lower.

    Raises UndefinedError where an instance has no scores.
    """
    direction = call.options["score_direction"]
    return ws.shared(("scores", direction), lambda: _oriented_scores(ws, direction))


def _oriented_scores(ws: EvaluationContext, direction: str) -> Scores:
    scores = ws.case.scores
    assert scores is not None, "checked among the needs of the metric"
    if np.isnan(scores.min()):  # the minimum is NaN if any score is: one pass without a copy of a large matrix
        missing = int(np.isnan(scores).any(axis=1).sum())
        raise UndefinedError(f"{pluralize(missing, 'instance has', 'instances have')} no scores")
    return 0.0 - scores if direction == "lower" else scores


def positive_code(ws: EvaluationContext) -> int:
    """The position of the positive label of a binary task."""
    assert ws.spec.positive_label is not None, "a binary task has a positive label"
    return ws.spec.classes.index(ws.spec.positive_label)
