"""The score columns of a case, one per class, and their ranks, shared by all score-based metrics."""

from collections.abc import Sequence

import numpy as np

from app.scoring.curves import ThresholdCounts, threshold_counts
from app.scoring.declaration.metric import MetricCall
from app.scoring.declaration.options import excluded_labels
from app.scoring.metrics.labels.undefined_rules import UndefinedError, join_names, label_position, requested_label
from app.scoring.metrics.scores.oriented_scores import positive_code, scores_of
from app.scoring.numeric.exact import Floats
from app.scoring.probability_rows import scores_of_both_classes
from app.scoring.score_ranks import Mask, ScoreRanks, rank_positives
from app.scoring.tally import EvaluationContext

_MAX_INT64_WEIGHT = 2**61  # twice this sum of weights still fits into int64


class ScoreColumns:
    """The scores (higher means more confidence) and the gold mask of each class; a column is sorted on first use.

    Where a binary task has one score per instance, for the class `single`, the other class is ranked by the negated
    scores.
    """

    def __init__(self, ws: EvaluationContext, scores: Floats, *, lower: bool) -> None:
        self.names = ws.spec.classes
        self._lower = lower
        self.single = positive_code(ws) if ws.spec.task == "binary" and scores.shape[1] == 1 else None
        self._scores = scores
        self._ws = ws
        self._weights = ws.case.weights
        self._ranks: dict[int, ScoreRanks] = {}

    def values(self, code: int) -> Floats:
        """The scores of a class, one per instance."""
        if self.single is None:
            return np.ascontiguousarray(self._scores[:, code])
        return self._scores[:, 0] if code == self.single else 0.0 - self._scores[:, 0]

    def own(self, code: int) -> Mask:
        """The instances that have this class in gold."""
        gold = self._ws.case.gold
        return np.asarray(gold.codes == code if gold.offsets is None else self._ws.gold_matrix[:, code])

    def sent(self, code: int, scores: Floats) -> Floats:
        """Scores of a class as they stood in the file, before orientation."""
        reversed_ = self._lower != (self.single not in {None, code})
        return 0.0 - scores if reversed_ else scores + 0.0  # adding 0.0 turns -0.0 into 0.0, which is the same score

    def ranks(self, code: int) -> ScoreRanks:
        """The ranks of the instances of a class among all instances."""
        if code not in self._ranks:
            self._ranks[code] = rank_positives(self.values(code), self.own(code), self._weights)
        return self._ranks[code]

    def steps(self, code: int) -> ThresholdCounts:
        """The counts of a class at each threshold."""
        return threshold_counts(self.values(code), self.own(code), self._weights)

    def pooled(self, codes: Sequence[int]) -> ScoreRanks:
        """The ranks of the right (instance, class) pairs among all pairs of these classes.

        A binary task with one score s per instance uses 1 - s for the other class; raises UndefinedError where scores
        lie outside [0, 1].
        """
        values, own = self.pooled_pairs(codes)
        weights = None if self._weights is None else np.repeat(self._weights, len(codes))
        if weights is not None and self._ws.total * len(codes) >= _MAX_INT64_WEIGHT:
            weights = weights.astype(object)
        return rank_positives(values, own, weights)

    def pooled_pairs(self, codes: Sequence[int]) -> tuple[Floats, Mask]:
        """The scores of all (instance, class) pairs, instance by instance, and which are right. Raises UndefinedError."""
        all_classes = len(codes) == len(self.names)
        scores = self._scores if self.single is None else self._both()
        values = (scores if all_classes else scores[:, codes]).ravel()
        own = (self._ws.gold_matrix if all_classes else self._ws.gold_matrix[:, codes]).ravel()
        return values, own

    def _both(self) -> Floats:
        """The scores of both classes where one score s was sent: the other class has 1 - s. Raises UndefinedError."""
        positive_scores = 0.0 - self._scores[:, 0] if self._lower else self._scores[:, 0]
        if len(positive_scores) and not (positive_scores.min() >= 0 and positive_scores.max() <= 1):
            raise UndefinedError("only the positive label has scores, some outside [0, 1]: pooling needs both classes")
        both = scores_of_both_classes(positive_scores, positive_code(self._ws))
        return 0.0 - both if self._lower else both


def score_columns(ws: EvaluationContext, call: MetricCall) -> ScoreColumns:
    """The columns of a case, cached per score_direction; raises UndefinedError where an instance has no scores."""
    scores, direction = scores_of(ws, call), call.options["score_direction"]
    return ws.shared(("columns", direction), lambda: ScoreColumns(ws, scores, lower=direction == "lower"))


def class_code(ws: EvaluationContext, call: MetricCall) -> int:
    """The position of the requested class: `label`, else the positive label. Raises UndefinedError."""
    return label_position(requested_label(ws, call), ws.spec.classes)


def averaged_codes(ws: EvaluationContext, call: MetricCall) -> tuple[list[int], tuple[str, ...]]:
    """The classes that exclude_labels leaves, and a note on the excluded ones. Raises UndefinedError."""
    excluded = excluded_labels(call.options["exclude_labels"], ws.spec.classes)
    undeclared = [name for name in excluded if name not in ws.spec.classes]
    if undeclared:
        raise UndefinedError(f"exclude_labels names labels that are not declared: {join_names(undeclared)}")
    codes = [code for code, name in enumerate(ws.spec.classes) if name not in excluded]
    if not codes:
        raise UndefinedError("no label is left to average over")
    left_out = [name for name in ws.spec.classes if name in excluded]
    return codes, (f"left out by exclude_labels: {join_names(left_out)}",) if left_out else ()
