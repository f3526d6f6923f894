"""Shared parts of the hierarchical metrics: label sets as nodes, and shares of extended sets averaged over instances."""

from collections.abc import Callable
from functools import partial

import numpy as np

from app.scoring.declaration.distinct_value_bounds import CONFUSION
from app.scoring.declaration.metric import HIERARCHY, LABELS, MetricCall, Result
from app.scoring.declaration.metric_syntax import pluralize
from app.scoring.declaration.task import TASK_KINDS
from app.scoring.draw_context import DrawContext, Floats, InstanceValues, divide_draws
from app.scoring.evaluation_input import Labels
from app.scoring.hierarchy.ancestor_paths import Ancestry
from app.scoring.hierarchy.augmented_sets import AugmentedOverlap, LabelSets
from app.scoring.hierarchy.cost_limit import HierarchyCostEstimate
from app.scoring.metrics.labels.average_draws import zero_division_of_draws
from app.scoring.metrics.labels.averages import FixedInstances, average_instances, empty_set_values, instance_values
from app.scoring.metrics.labels.undefined_rules import UndefinedError, join_names, ratio_or_substitute
from app.scoring.metrics.shared_declarations import (
    LABEL_SET_OPTIONS,
    SYMMETRIC,
    UNIT_RANGE,
    choice_param,
    declare_metric,
)
from app.scoring.numeric.exact import Integers, multiply, total
from app.scoring.tally import TALLY_OPTIONS, EvaluationContext, distinct_keys

EMPTY_SET_OPTIONS = ("both_empty", "one_empty")
COUNT_ROOT_PARAM = choice_param(
    "count_root",
    "whether there is a virtual root above all roots",
    false="only nodes of the hierarchy count, and labels of different trees share no ancestor",
    true="a virtual root above all roots joins all trees, and counts",
)

declare_hierarchy_metric = partial(
    declare_metric,
    tasks=TASK_KINDS,
    needs=(LABELS, HIERARCHY),
    direction="higher",
    granularity=CONFUSION,
    range=UNIT_RANGE,
    options=(*EMPTY_SET_OPTIONS, *LABEL_SET_OPTIONS),
    properties=SYMMETRIC,
)
"""For metrics of labels in a hierarchy."""


def has_virtual_root(call: MetricCall) -> bool:
    """Whether a virtual root joins all trees."""
    return call.params["count_root"] == "true"


def ancestry(ws: EvaluationContext, *, joined: bool) -> Ancestry:
    """The hierarchy over the classes of the task; raises UndefinedError if classes are missing from it."""
    hierarchy, classes = ws.spec.hierarchy, ws.spec.classes
    assert hierarchy is not None, "checked among the needs of the metric"
    missing = hierarchy.unknown(classes)
    if len(missing) > 1:
        raise UndefinedError(
            f"{pluralize(len(missing), 'class is not a node', 'classes are not nodes')} of the hierarchy: {join_names(missing)}; list them as roots"
        )
    if missing:
        raise UndefinedError(
            f'class {missing[0]} is not a node of the hierarchy; list it as a root: "{missing[0]}": []'
        )
    return ws.common(("ancestry", joined), lambda: Ancestry(hierarchy, classes, joined=joined))


def label_set_key(call: MetricCall) -> tuple[str, ...]:
    """The options that decide which labels an instance has."""
    return tuple(call.options[name] for name in TALLY_OPTIONS)


def label_sets(ws: EvaluationContext, call: MetricCall) -> tuple[LabelSets, LabelSets]:
    """The label sets of gold and predictions under the options of the call; a repeated label counts once."""
    as_class = ws.spec.task == "multilabel" and call.options["empty_label"] == "as_class"
    drop = call.options["unknown_label"] == "drop"
    m = len(ws.spec.classes)

    def make() -> tuple[LabelSets, LabelSets]:
        return (
            _to_label_sets(ws.case.gold, m, drop=False, as_class=as_class),
            _to_label_sets(ws.case.predicted, m, drop=drop, as_class=as_class),
        )

    return ws.shared(("label sets", *label_set_key(call)), make)


TOO_LARGE_REASON = (
    "linking the label sets would take too long: there are many more predicted labels than gold labels, or a label has "
    "too many equally near counterparts"
)
TOO_DEEP_REASON = "the sets are so large, or so deep in the hierarchy, that adding all ancestors would take too long"
TOO_FAR_REASON = (
    "computing the distances of this many instances over a hierarchy this deep, with this many nodes that have several "
    "parents, would take too long, whatever the labels"
)


def effort(ws: EvaluationContext, call: MetricCall) -> HierarchyCostEstimate:
    """The estimated cost of walking from the labels of the sets to their ancestors."""
    tree = ancestry(ws, joined=has_virtual_root(call))
    step_counts: dict[int, float] = ws.common(("climbed", has_virtual_root(call)), dict)

    def make() -> HierarchyCostEstimate:
        gold, predicted = label_sets(ws, call)
        return HierarchyCostEstimate(tree, np.concatenate([gold.nodes, predicted.nodes]), step_counts)

    return ws.shared(("effort", has_virtual_root(call), *label_set_key(call)), make)


def _to_label_sets(labels: Labels, m: int, *, drop: bool, as_class: bool) -> LabelSets:
    labels = labels.as_sets()
    assert labels.offsets is not None
    n = labels.n
    rows = np.repeat(np.arange(n, dtype=np.int64), np.diff(labels.offsets))
    codes = labels.codes.astype(np.int64)
    known = (codes >= 0) & (codes < m)
    outside = np.zeros(n, dtype=np.int64) if drop else np.bincount(rows[codes == m], minlength=n).astype(np.int64)
    rows, codes = rows[known], codes[known]
    if as_class:
        empty = np.flatnonzero((np.bincount(rows, minlength=n) == 0) & (outside == 0))
        rows = np.concatenate([rows, empty])
        codes = np.concatenate([codes, np.full(len(empty), m, dtype=np.int64)])
    keys, _ = distinct_keys(rows * (m + 1) + codes, counted=False)
    return LabelSets(keys // (m + 1), keys % (m + 1) + 1, outside)


OverlapTerms = Callable[[AugmentedOverlap], tuple[Integers, Integers]]


def precision_terms(overlap: AugmentedOverlap) -> tuple[Integers, Integers]:
    """The share of the predicted nodes that gold has too."""
    return overlap.shared, overlap.predicted


def recall_terms(overlap: AugmentedOverlap) -> tuple[Integers, Integers]:
    """The share of the gold nodes that were predicted."""
    return overlap.shared, overlap.gold


def f1_terms(overlap: AugmentedOverlap) -> tuple[Integers, Integers]:
    """The harmonic mean of the two, by counts."""
    return 2 * overlap.shared, overlap.gold + overlap.predicted


def empty_set_instances(ws: EvaluationContext, call: MetricCall, overlap: AugmentedOverlap) -> list[FixedInstances]:
    """The instances with empty sets, with their values under the options both_empty and one_empty."""
    return empty_set_values(call, overlap.gold, overlap.predicted, overlap.predicted - label_sets(ws, call)[1].outside)


def average_share(ws: EvaluationContext, call: MetricCall, overlap: AugmentedOverlap, terms: OverlapTerms) -> Result:
    """The mean over instances of a share of nodes."""
    numerator, denominator = terms(overlap)
    mean = average_instances(numerator, denominator, empty_set_instances(ws, call, overlap), ws.case.weights)
    return Result(mean.value, mean.reason, (*overlap.notes, *mean.notes))


def pooled_share(ws: EvaluationContext, call: MetricCall, overlap: AugmentedOverlap, terms: OverlapTerms) -> Result:
    """The share of the nodes of all instances together."""
    numerator, denominator = (weighted_total(ws, column) for column in terms(overlap))
    value, notes = ratio_or_substitute(call, "higher", numerator, denominator, f"pooled {call.metric.name}")
    return Result(value, None, (*overlap.notes, *notes))


def average_share_draws(
    draws: DrawContext, call: MetricCall, overlap: Callable[[], AugmentedOverlap], terms: OverlapTerms
) -> Floats:
    """`average_share` for many draws at once."""

    def make() -> InstanceValues:
        numbers = overlap()
        return instance_values(*terms(numbers), empty_set_instances(draws.rows, call, numbers))

    return draws.mean_of_call(call.cache_key, make)


def pooled_share_draws(draws: DrawContext, call: MetricCall, overlap: AugmentedOverlap, terms: OverlapTerms) -> Floats:
    """`pooled_share` for many draws at once."""
    numerator, denominator = (draws.sum_of(column) for column in terms(overlap))
    return np.where(denominator == 0, zero_division_of_draws(call, "higher"), divide_draws(numerator, denominator))


def weighted_total(ws: EvaluationContext, counts: Integers) -> int:
    """The weighted sum of counts per instance."""
    return total(counts if ws.case.weights is None else multiply(counts, ws.case.weights))
