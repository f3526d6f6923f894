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
_BLOCK_SCORES = 2**18


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
        both = _negated_pair(scores, case.spec) if single else scores
        return np.ascontiguousarray(_mid_ranks(np.ascontiguousarray(both.T), case.weights).T)
    if seen == "pooled ranks":
        both = _both(scores, case.spec) if single else scores
        weights = None if case.weights is None else np.repeat(case.weights, both.shape[1])
        return _mid_ranks(both.reshape(1, -1), weights).reshape(both.shape)
    if single and columns > 1:
        scores = _both(scores, case.spec)
    if seen == "ranks of labels" and scores.shape[1] > 1:
        return _mid_ranks(scores)
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


def _mid_ranks(rows: Floats, weights: NDArray[np.int64] | None = None) -> Floats:
    """The mid-rank of each score within its row, from 1; with weights as if a column occurred so many times."""
    ranks = np.empty_like(rows)
    step = max(1, _BLOCK_SCORES // max(1, rows.shape[1]))
    for start in range(0, len(rows), step):
        part = rows[start : start + step]
        order = np.argsort(part, axis=1, kind="stable")
        mass = np.ones(part.shape) if weights is None else weights[order].astype(np.float64)
        in_order = _ranks_in_order(np.take_along_axis(part, order, axis=1), mass)
        np.put_along_axis(ranks[start : start + step], order, in_order, axis=1)
    return ranks


def _ranks_in_order(in_order: Floats, mass: Floats) -> Floats:
    """The mid-ranks of rows that are sorted already."""
    reached = np.cumsum(mass, axis=1)
    new = np.ones(in_order.shape, dtype=bool)
    np.not_equal(in_order[:, 1:], in_order[:, :-1], out=new[:, 1:])
    ends = np.ones(in_order.shape, dtype=bool)
    ends[:, :-1] = new[:, 1:]
    before = np.maximum.accumulate(np.where(new, reached - mass, 0.0), axis=1)
    after = np.minimum.accumulate(np.where(ends, reached, np.inf)[:, ::-1], axis=1)[:, ::-1]
    return np.asarray((before + after + 1) / 2)
