"""What the measures of rankings share: the ranks of a case, their parameters, and means over instances."""

from dataclasses import replace

import numpy as np

from app.scoring.declaration.metric import Example, MetricCall, Param, Properties, Result, rounded_result
from app.scoring.declaration.task import TaskKind
from app.scoring.label_ranking import Int, LabelRanks, RelevantLabels, rank_by_order, rank_by_scores
from app.scoring.metrics.labels.undefined_rules import Mask, UndefinedError
from app.scoring.metrics.scores.oriented_scores import scores_of
from app.scoring.numeric.correct_rounding import Real, weighted_sum
from app.scoring.numeric.exact import Integers, total
from app.scoring.tally import EvaluationContext

MULTILABEL_TASKS: tuple[TaskKind, ...] = ("multilabel",)
UNIT_RANGE = (0.0, 1.0)
SCORE_OPTIONS = ("score_direction",)
RANKING_OPTIONS = ("score_direction", "unknown_label", "duplicates", "missing")
"""The conventions where a ranking may come from a list of labels."""
SCORE_PROPERTIES = Properties(symmetric=False, prevalence_sensitive=True, count_based=False)
ROUNDED_PROPERTIES = replace(SCORE_PROPERTIES, significant_digits=12)
RANKING_HINTS: dict[str, str] = dict.fromkeys(
    ("binary", "multiclass"), "it ranks the labels of label sets; with one label per instance say top_k_accuracy"
)
WITHOUT_RELEVANT_LABELS = "without relevant labels"
COUNTED_INSTANCES_SYMBOLS = {"n": "number of instances that count"}
LABEL_SYMBOLS = {"y, z": "run over the labels"}
DEPTH_SYMBOLS = {"i": "runs over the instances", "k": "how many of the labels ranked first count"}
TOP_K_SYMBOLS = {"top_k(i)": "the k labels ranked first for instance i", **DEPTH_SYMBOLS}

K_PARAM = Param(
    "k",
    "whole",
    "how many of the labels ranked first count",
    bounds=(1, 1_000_000),
    required_for=("multilabel",),
)
TIE_RULE_MEANINGS = {
    "worst": "labels with the same score count as ranked with the wrong ones first",
    "best": "labels with the same score count as ranked with the relevant ones first",
    "declared": "of labels with the same score the one declared earlier ranks ahead",
    "last": "of labels with the same score the one declared later ranks ahead",
    "average": "the mean over all orders of labels with the same score",
}


def ties_param(*values: str, default: str) -> Param:
    """The setting for ties, with these values."""
    meaning = "in which order labels with the same score count as ranked"
    meanings = tuple(TIE_RULE_MEANINGS[value] for value in values)
    return Param("ties", "choice", meaning, default, values=values, value_meanings=meanings)


TIES_PARAM = ties_param(*TIE_RULE_MEANINGS, default="worst")
PAD_PARAM = Param(
    "pad",
    "choice",
    "what happens where there are scores of fewer than k classes",
    "false",
    values=("false", "true"),
    value_meanings=(
        "scores of fewer than k classes have no value",
        "where there are scores of fewer than k classes, wrong labels fill the ranking up",
    ),
)


def degenerate(undefined_for: str, best: str) -> Param:
    """The setting for instances without a value of their own: what they lack, and what `best_value` counts there."""
    return Param(
        "degenerate_instance",
        "choice",
        "what an instance counts on which the measure says nothing",
        "skip",
        values=("skip", "best_value"),
        value_meanings=(f"an instance {undefined_for} is left out", f"an instance {undefined_for} counts {best}"),
    )


def ranks_of_case(ws: EvaluationContext, call: MetricCall) -> LabelRanks:
    """The ranks of the relevant labels: by the scores where there are some, else by the order of the labels sent.

    Raises UndefinedError where an instance has no scores.
    """
    m = len(ws.spec.classes)
    relevant = ws.shared("relevant labels", lambda: RelevantLabels.from_gold(ws.case.gold, m))
    if ws.case.scores is not None:
        key = ("ranks by scores", call.options["score_direction"])
        return ws.shared(key, lambda: rank_by_scores(scores_of(ws, call), relevant))
    lists, options = ws.case.predicted.as_sets(), call.options
    by_order = ("ranks by order", options["unknown_label"], options["duplicates"])
    return ws.shared(by_order, lambda: rank_by_order(lists, relevant, m, options))


def ranking_depth(ws: EvaluationContext, call: MetricCall) -> int:
    """The k of a call; raises UndefinedError where scores of fewer classes were given, unless they are to be padded."""
    k, scores = int(call.params["k"]), ws.case.scores
    if scores is not None and scores.shape[1] < k and call.params["pad"] == "false":
        raise UndefinedError(
            f"there are scores of {scores.shape[1]} classes only, fewer than k={k}; pad=true allows it"
        )
    return k


def submitted_order_note(ws: EvaluationContext) -> tuple[str, ...]:
    """The note where the order of the labels is the ranking."""
    return (
        () if ws.case.scores is not None else ("there are no scores: labels rank in the order in which they were sent",)
    )


class InstanceMeans:
    """Means over the instances of a case, of which some may be degenerate: left out, or counted as a fixed value."""

    def __init__(self, ws: EvaluationContext, call: MetricCall, degenerate: Mask | None = None, best: int = 0) -> None:
        """`degenerate` marks instances without a value of their own, `best` is what the setting best_value counts."""
        n = ws.case.gold.n
        self._weights = ws.case.weights
        self._fixed = np.zeros(n, dtype=bool) if degenerate is None else degenerate
        self._best = best
        count, setting = int(self._fixed.sum()), call.params.get("degenerate_instance")
        self._kept = np.ones(n, dtype=bool) if setting == "best_value" else ~self._fixed
        done = f"counted as {best}" if setting == "best_value" else "left out"
        some = "1 instance" if count == 1 else f"{count} instances"
        left_out = (f"{some} {done} (degenerate_instance={setting})",) if count else ()
        self._notes = (*left_out, *submitted_order_note(ws))
        self._counted = self.total_weight(np.flatnonzero(self._fixed & self._kept))
        self._divisor = self.total_weight(np.flatnonzero(self._kept))
        if not self._divisor:
            raise UndefinedError("no instance is left to average over")

    def mean_of_ratios(self, numerator: Integers, denominator: Integers) -> Result:
        """The mean of integer quotients, one per instance."""
        below = np.maximum(denominator, 1)[self._kept]
        above = np.where(self._fixed[self._kept], self._best * below, numerator[self._kept])
        weights = None if self._weights is None else self._weights[self._kept]
        return rounded_result(weighted_sum(above, below, weights) / self._divisor, self._notes)

    def mean_of_terms(self, rows: Int, numerator: Integers, denominator: Integers) -> Result:
        """The mean of sums of integer quotients; each term is of the instance in `rows`, and one without terms has 0."""
        return self.mean_of_sum(self.sum_of_terms(rows, numerator, denominator))

    def sum_of_terms(self, rows: Int, numerator: Integers, denominator: Integers) -> Real:
        """The sum of such terms, each as often as its instance weighs; those of degenerate instances count nothing."""
        free = ~self._fixed[rows]
        weights = None if self._weights is None else self._weights[rows[free]]
        return weighted_sum(numerator[free], denominator[free], weights)

    def total_weight(self, rows: Int) -> int:
        """How much these instances weigh."""
        return len(rows) if self._weights is None else total(self._weights[rows])

    def mean_of_sum(self, found: Real) -> Result:
        """The mean of what the instances that are not degenerate sum up to, and of what the others count."""
        return rounded_result((found + self._best * self._counted) / self._divisor, self._notes)


RANKING_EXAMPLE = Example(
    task="multilabel",
    classes=("art", "law", "war"),
    gold=(("art", "law"), ("law",), ("war",)),
    predicted=(("art", "law"), ("art",), ("art",)),
    value="",
    train_frequencies={"art": 8, "law": 3, "war": 1},
    scores=((0.75, 0.5, 0.25), (0.5, 0.125, 0.25), (0.5, 0.125, 0.25)),
)
"""The relevant labels rank first and second; third; second."""


def ranking_example(value: str, **params: str) -> Example:
    """The example with the value that a metric has on it."""
    data = RANKING_EXAMPLE
    return Example(
        data.task,
        data.classes,
        data.gold,
        data.predicted,
        value,
        params,
        train_frequencies=data.train_frequencies,
        scores=data.scores,
    )
