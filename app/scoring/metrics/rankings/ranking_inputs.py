"""Shared parts of the ranking measures: the ranks of a case, common parameters, and means over instances."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from app.scoring.declaration.metric import (
    RANKING,
    Compute,
    ComputeDraws,
    Example,
    MetricCall,
    Param,
    Result,
    rounded_result,
)
from app.scoring.declaration.metric_syntax import pluralize
from app.scoring.draw_context import DrawContext, Floats, InstanceValues, NoDrawForm
from app.scoring.label_ranking import Int, LabelRanks, RelevantLabels, rank_by_order, rank_by_scores
from app.scoring.metrics.example_data import MULTILABEL_EXAMPLE
from app.scoring.metrics.labels.undefined_rules import Mask, UndefinedError
from app.scoring.metrics.scores.oriented_scores import scores_of
from app.scoring.metrics.shared_declarations import (
    MULTILABEL_TASKS,
    SCORE_PROPERTIES,
    SINGLE_LABEL_TASKS,
    UNIT_RANGE,
    choice_param,
    declare_metric,
    worked_example,
)
from app.scoring.numeric.correct_rounding import Real, weighted_sum
from app.scoring.numeric.exact import Integers, divide, total
from app.scoring.tally import EvaluationContext

RANKING_OPTIONS = ("score_direction", "unknown_label", "duplicates", "missing")
"""The options that matter where the ranking may come from a list of labels."""

declare_ranking_metric = partial(
    declare_metric,
    tasks=MULTILABEL_TASKS,
    needs=(RANKING,),
    direction="higher",
    range=UNIT_RANGE,
    options=RANKING_OPTIONS,
    properties=SCORE_PROPERTIES,
    hints=dict.fromkeys(SINGLE_LABEL_TASKS, "it ranks label sets; with one label per instance, use top_k_accuracy"),
)
"""For metrics of the ranked labels of an instance."""

COUNTED_INSTANCES_SYMBOLS = {"n": "number of instances that count"}
LABEL_SYMBOLS = {"y, z": "run over the labels"}
DEPTH_SYMBOLS = {"i": "runs over the instances", "k": "how many of the top-ranked labels count"}
TOP_K_SYMBOLS = {"top_k(i)": "the k labels ranked first for instance i", **DEPTH_SYMBOLS}

K_PARAM = Param(
    "k",
    "whole",
    "how many of the top-ranked labels count",
    bounds=(1, 1_000_000),
    required_for=MULTILABEL_TASKS,
)
TIE_RULE_MEANINGS = {
    "worst": "of labels with the same score, the wrong ones rank first",
    "best": "of labels with the same score, the relevant ones rank first",
    "declared": "of labels with the same score, the one declared earlier ranks first",
    "last": "of labels with the same score, the one declared later ranks first",
    "average": "the mean over all orders of the labels with the same score",
}


def ties_param(*values: str, default: str) -> Param:
    """The setting for ties, with these values."""
    choices = {value: TIE_RULE_MEANINGS[value] for value in values}
    return replace(choice_param("ties", "how labels with the same score are ordered", **choices), default=default)


TIES_PARAM = ties_param(*TIE_RULE_MEANINGS, default="worst")
PAD_PARAM = choice_param(
    "pad",
    "whether scores of fewer than k classes are accepted",
    false="the value is undefined if there are scores of fewer than k classes",
    true="if there are scores of fewer than k classes, wrong labels fill the ranking up to k",
)


def degenerate_param(best: str, undefined_for: str = "without relevant labels") -> Param:
    """The setting for instances without a value of their own.

    `undefined_for` says which instances these are, `best` what `best_value` counts for them.
    """
    return choice_param(
        "degenerate_instance",
        "how an instance for which the measure is undefined counts",
        skip=f"an instance {undefined_for} is left out",
        best_value=f"an instance {undefined_for} counts as {best}",
    )


def ranks_of_case(ws: EvaluationContext, call: MetricCall) -> LabelRanks:
    """The ranks of the relevant labels: by scores where the predictions have scores, else by the order of the labels.

    Raises UndefinedError where some instances have no scores.
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
    """The k of a call; raises UndefinedError where there are scores of fewer than k classes, unless pad=true."""
    k, scores = int(call.params["k"]), ws.case.scores
    if scores is not None and scores.shape[1] < k and call.params["pad"] == "false":
        raise UndefinedError(f"there are scores of {scores.shape[1]} classes, fewer than k={k}; pad=true allows it")
    return k


def submitted_order_note(ws: EvaluationContext) -> tuple[str, ...]:
    """The note for predictions without scores, whose label order is the ranking."""
    if ws.case.scores is not None:
        return ()
    return ("there are no scores: labels are ranked in the order in which they were sent",)


class InstanceMeans:
    """Means over the instances of a case; degenerate instances are left out or count as a fixed value."""

    def __init__(self, ws: EvaluationContext, call: MetricCall, degenerate: Mask | None = None, best: int = 0) -> None:
        """`degenerate` marks the instances for which the measure is undefined; `best` is their value under best_value."""
        n = ws.case.gold.n
        self._weights = ws.case.weights
        self._fixed = np.zeros(n, dtype=bool) if degenerate is None else degenerate
        self._best = best
        count, setting = int(self._fixed.sum()), call.params.get("degenerate_instance")
        self._included = np.ones(n, dtype=bool) if setting == "best_value" else ~self._fixed
        effect = f"counted as {best}" if setting == "best_value" else "left out"
        left_out = (f"{pluralize(count, 'instance')} {effect} (degenerate_instance={setting})",) if count else ()
        self._notes = (*left_out, *submitted_order_note(ws))
        self._counted = self.total_weight(np.flatnonzero(self._fixed & self._included))
        self._divisor = self.total_weight(np.flatnonzero(self._included))
        if not self._divisor:
            raise UndefinedError("no instance is left to average over")

    def mean_of_ratios(self, numerator: Integers, denominator: Integers) -> Result:
        """The mean of integer quotients, one per instance."""
        denominators = np.maximum(denominator, 1)[self._included]
        numerators = np.where(self._fixed[self._included], self._best * denominators, numerator[self._included])
        weights = None if self._weights is None else self._weights[self._included]
        return rounded_result(weighted_sum(numerators, denominators, weights) / self._divisor, self._notes)

    def mean_of_terms(self, rows: Int, numerator: Integers, denominator: Integers) -> Result:
        """The mean of sums of integer quotients; each term belongs to the instance in `rows`, without terms the sum is 0."""
        return self.mean_of_sum(self.sum_of_terms(rows, numerator, denominator))

    def sum_of_terms(self, rows: Int, numerator: Integers, denominator: Integers) -> Real:
        """The weighted sum of such terms; terms of degenerate instances are ignored."""
        regular = ~self._fixed[rows]
        weights = None if self._weights is None else self._weights[rows[regular]]
        return weighted_sum(numerator[regular], denominator[regular], weights)

    def total_weight(self, rows: Int) -> int:
        """The total weight of these instances."""
        return len(rows) if self._weights is None else total(self._weights[rows])

    def mean_of_sum(self, total_value: Real) -> Result:
        """The mean, given the sum over the regular instances; the fixed values of degenerate ones are added."""
        return rounded_result((total_value + self._best * self._counted) / self._divisor, self._notes)


@dataclass(frozen=True, slots=True)
class InstanceRatios:
    """A measure of single instances: an integer quotient for each, undefined for the `degenerate` ones.

    `best` is the value of these under degenerate_instance=best_value.
    """

    numerator: Integers
    denominator: Integers
    degenerate: Mask | None = None
    best: int = 0


Ratios = Callable[[EvaluationContext, MetricCall], InstanceRatios]


def mean_ratio(ratios: Ratios) -> Compute:
    """The mean over instances of a quotient."""

    def compute(ws: EvaluationContext, call: MetricCall) -> Result:
        of = ratios(ws, call)
        return InstanceMeans(ws, call, of.degenerate, of.best).mean_of_ratios(of.numerator, of.denominator)

    return compute


def mean_ratio_draws(ratios: Ratios) -> ComputeDraws:
    """`mean_ratio` for many draws at once."""

    def values(ws: EvaluationContext, call: MetricCall) -> InstanceValues:
        of = ratios(ws, call)
        quotients = divide(of.numerator, np.maximum(of.denominator, 1))
        return values_with_degenerate(call, quotients, of.degenerate, of.best)

    return mean_draws(values)


def values_with_degenerate(call: MetricCall, values: Floats, degenerate: Mask | None, best: int = 0) -> InstanceValues:
    """The value of each instance and which ones a mean takes in, with `InstanceMeans`' rule for degenerate ones."""
    if degenerate is None:
        return values, np.ones(len(values), dtype=bool)
    counted = call.params.get("degenerate_instance") == "best_value" or ~degenerate
    return np.where(degenerate, float(best), values), np.broadcast_to(counted, len(values))


def sum_by_instance(rows: Int, terms: Floats, n: int) -> Floats:
    """The sum of the terms of each of n instances, in their order; `rows` has the instance of each term."""
    return np.asarray(np.bincount(rows, terms, n), dtype=np.float64)


def mean_draws(values: Callable[[EvaluationContext, MetricCall], InstanceValues]) -> ComputeDraws:
    """The mean in each draw of values of single instances.

    Where an instance makes the measure undefined, a draw without it may have a value: there is no form for that.
    """

    def compute(draws: DrawContext, call: MetricCall) -> Floats:
        try:
            return draws.mean_of_call(call.cache_key, lambda: values(draws.rows, call))
        except UndefinedError:
            raise NoDrawForm from None

    return compute


RANKING_EXAMPLE = replace(
    MULTILABEL_EXAMPLE,
    gold=(("art", "law"), ("law",), ("war",)),
    predicted=(("art", "law"), ("art",), ("art",)),
    train_frequencies={"art": 8, "law": 3, "war": 1},
    scores=((0.75, 0.5, 0.25), (0.5, 0.125, 0.25), (0.5, 0.125, 0.25)),
)
"""The relevant labels of the three instances rank first and second; third; second."""


def ranking_example(value: str, **params: str) -> Example:
    """The example with the value of one metric."""
    return worked_example(RANKING_EXAMPLE, value, params)
