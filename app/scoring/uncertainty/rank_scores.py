"""Scores as the ranks that a metric sees, so that a test does not depend on the scale of either system's scores.

A metric of a class's ranking over the instances, such as an AUC, sees mid-ranks per class. A metric of each instance's
ranking of the labels sees mid-ranks within the instance. A pooled ranking has mid-ranks over all scores. Equal scores
share the mean of their ranks, so ties stay ties and no metric of rankings changes its value.
"""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from app.scoring.declaration.metric import PROBABILITIES, RANKING, SCORES, MetricCall
from app.scoring.declaration.task import TaskSpec
from app.scoring.evaluation_input import EvaluationInput
from app.scoring.probability_rows import scores_of_both_classes

Floats = NDArray[np.float64]
Seen = Literal["labels", "lists", "scores", "ranks of instances", "ranks of labels", "pooled ranks"]
"""What a metric sees of predictions: sets of labels, their order, scores as numbers, or one of three kinds of ranks."""
_WITHIN_INSTANCES = frozenset(
    {"top_k_accuracy", "one_error", "coverage", "coverage_plus_one", "ranking_loss", "average_precision_samples"}
)
_POOLED_SUFFIX = "_micro"


def seen_by(call: MetricCall, case: EvaluationInput) -> Seen:
    """What a metric sees of the predictions of this input."""
    needs = call.metric.needs
    if RANKING in needs:
        return "lists" if case.scores is None else "ranks of labels"
    if SCORES not in needs:
        return "labels"
    if PROBABILITIES in needs:
        return "scores"
    if call.metric.key in _WITHIN_INSTANCES:
        return "ranks of labels"
    return "pooled ranks" if call.metric.key.endswith(_POOLED_SUFFIX) else "ranks of instances"


def as_seen(case: EvaluationInput, seen: Seen, *, columns: int) -> Floats:
    """The scores as a metric sees them; `columns`: of the system that has more columns."""
    scores = case.scores
    assert scores is not None
    single = case.spec.task == "binary" and scores.shape[1] == 1
    if seen == "ranks of instances":
        return _mid_ranks(_negated_pair(scores, case.spec) if single else scores, axis=0)
    if seen == "pooled ranks":
        both = _both(scores, case.spec) if single else scores
        return _mid_ranks(both.reshape(-1, 1), axis=0).reshape(both.shape)
    if single and columns > 1:
        scores = _both(scores, case.spec)
    if seen == "ranks of labels" and scores.shape[1] > 1:
        return _mid_ranks(scores, axis=1)
    return scores + 0.0  # no negative zeros


def _both(scores: Floats, spec: TaskSpec) -> Floats:
    """The scores of both classes, where the other one has 1 - s."""
    return scores_of_both_classes(scores[:, 0], _positive(spec))


def _negated_pair(scores: Floats, spec: TaskSpec) -> Floats:
    """The scores of both classes, where the other one has -s."""
    both = np.repeat(scores, 2, axis=1)
    both[:, 1 - _positive(spec)] *= -1
    return both


def _positive(spec: TaskSpec) -> int:
    assert spec.positive_label is not None
    return spec.classes.index(spec.positive_label)


def _mid_ranks(scores: Floats, *, axis: int) -> Floats:
    """The mid-rank of each score along an axis, from 1; whole or half numbers."""
    rows = np.ascontiguousarray(np.moveaxis(scores, axis, -1))
    ranks = np.empty_like(rows)
    step = max(1, 2**18 // max(1, rows.shape[1]))
    for start in range(0, len(rows), step):
        part = rows[start : start + step]
        order = np.argsort(part, axis=1, kind="stable")
        in_order = np.take_along_axis(part, order, axis=1)
        np.put_along_axis(ranks[start : start + step], order, _ranks_in_order(in_order), axis=1)
    return np.ascontiguousarray(np.moveaxis(ranks, -1, axis))


def _ranks_in_order(in_order: Floats) -> Floats:
    """The mid-ranks of rows that are sorted already."""
    positions = np.broadcast_to(np.arange(in_order.shape[1], dtype=np.float64), in_order.shape)
    new = np.ones(in_order.shape, dtype=bool)
    np.not_equal(in_order[:, 1:], in_order[:, :-1], out=new[:, 1:])
    first = np.maximum.accumulate(np.where(new, positions, 0.0), axis=1)
    ends = np.ones(in_order.shape, dtype=bool)
    ends[:, :-1] = new[:, 1:]
    last = np.where(ends, positions, np.inf)[:, ::-1]
    last = np.minimum.accumulate(last, axis=1)[:, ::-1]
    return np.asarray((first + last) / 2 + 1)
