"""Measures of label sets: single decisions, edit distance, how many labels there are, how far instances are right."""

import math
from typing import Any

import numpy as np

from app.scoring.declaration.granularity import CORRECT_DECISIONS, CORRECT_INSTANCES, INSTANCES
from app.scoring.declaration.metric import LABELS, Compute, Example, Metric, MetricCall, Properties, Result, register
from app.scoring.declaration.task import TASK_KINDS
from app.scoring.edit_distance import EditDistanceCostLimitError, edit_distances
from app.scoring.metrics.example_data import MULTILABEL_EXAMPLE, worked_example
from app.scoring.metrics.labels.averages import average_instances
from app.scoring.metrics.labels.undefined_rules import UndefinedError, zero_division_value
from app.scoring.metrics.labels.whole_task import (
    LABEL_SET_OPTIONS,
    SINGLE_LABEL_TASKS,
    UNIT_RANGE,
    capped_equation,
    unknown_label_note,
)
from app.scoring.numeric.exact import Integers, linear_combination, multiply, total
from app.scoring.tally import EvaluationContext, InstanceCounts, sorted_label_pairs

COUNT_RANGE = (0.0, math.inf)
_STATUS_EQUATION = r"\frac{1}{n}\sum_{i=1}^{n} [P_{i}=Y_{i}],\quad \frac{1}{n}\sum_{i=1}^{n} [P_{i}\cap Y_{i}\neq\emptyset\wedge P_{i}\neq Y_{i}]"
_STATUS_SOURCE = "Wenzel sec 2.3, where the three overlap; here the first that fits counts"
_STATUS_EXAMPLE = Example(
    task="multilabel",
    classes=("art", "law", "war"),
    gold=(("art", "law"), ("law",), ("art", "war"), ("war",)),
    predicted=(("art",), (), ("war",), ("war",)),
    value="",
)
_HARMONIC_EXAMPLE = Example(
    task="multilabel",
    classes=("a", "b", "c", "d"),
    gold=(("a",), ("a", "b")),
    predicted=(("a", "b"), ("a", "c")),
    value="",
)
_LEVENSHTEIN_EXAMPLE = Example(
    task="multilabel",
    classes=("a", "b", "c", "d"),
    gold=(("b", "d"), ("a",)),
    predicted=(("a", "c"), ("a", "b")),
    value="",
)


def hamming_score(ws: EvaluationContext, call: MetricCall) -> Result:
    """The share of right (instance, label) decisions: 1 less the Hamming loss, divided once."""
    tally = ws.tally(call.options)
    return Result((tally.cells - tally.wrong_cells) / tally.cells, None, unknown_label_note(tally))


def harmonic_accuracy(ws: EvaluationContext, call: MetricCall) -> Result:
    """The mean over instances of the harmonic mean of their recall and their specificity (MEKA, P_Harmonic).

    Where both are 0 so is their harmonic mean; where the gold set is empty or full one of them is 0/0.
    """
    instances = ws.tally(call.options).instances
    tp, fp, fn, tn = instances.counts.columns
    lacking = (tp + fn == 0) | (tn + fp == 0)
    fixed = []
    if lacking.any():
        value = zero_division_value(call, "higher", "recall or specificity is 0/0 for some instances")
        fixed.append((lacking, value, f"zero_division={call.options['zero_division']}"))
    numerator = 2 * multiply(tp, tn)
    denominator = linear_combination((1, 1), (multiply(tp, tn + fp), multiply(tn, tp + fn)))
    denominator[(denominator == 0) & ~lacking] = 1
    return average_instances(numerator, denominator, fixed, instances.weights)


def levenshtein(ws: EvaluationContext, call: MetricCall) -> Result:
    """The mean edit distance of the two label vectors, divided by their length (MEKA, L_LevenshteinDistance).

    A label outside the vocabulary is one more step, until there are as many as labels.
    """
    tally, weights = ws.tally(call.options), ws.case.weights
    distances = ws.shared(
        ("edit distances", call.options["empty_label"], call.options["unknown_label"]),
        lambda: _edit_distances(ws, call),
    )
    apart = total(distances) if weights is None else total(multiply(distances, weights))
    return Result(apart / tally.cells, None, unknown_label_note(tally))


def _edit_distances(ws: EvaluationContext, call: MetricCall) -> Integers:
    m, as_sets = len(ws.spec.classes), {**call.options, "duplicates": "set"}
    drop = call.options["unknown_label"] == "drop"
    gold = sorted_label_pairs(ws.case.gold, m, as_sets, drop_unknown=False)
    predicted = sorted_label_pairs(ws.case.predicted, m, as_sets, drop_unknown=drop)
    keys = [pairs.rows * (m + 1) + pairs.codes for pairs in (gold, predicted)]
    size = m + (call.options["empty_label"] == "as_class")
    try:
        apart = edit_distances(keys[0], keys[1], ws.case.gold.n, m + 1)
    except EditDistanceCostLimitError:
        raise UndefinedError("the sets differ in too many labels of too many to find the distances in time") from None
    found: Integers = np.minimum(apart + gold.outside + predicted.outside, size)
    return found


def _mean_set_size(side: str, *, density: bool) -> Compute:
    """The mean size of the gold or predicted sets; as a share of the labels for the density."""

    def value(ws: EvaluationContext, call: MetricCall) -> Result:
        tally = ws.tally(call.options)
        sizes = getattr(tally.instances, f"{side}_size")
        divisor = tally.n * len(tally.names) if density else tally.n
        return Result(_weighted_sum(tally.instances, sizes) / divisor)

    return value


def _weighted_sum(instances: InstanceCounts, values: Integers) -> int:
    """The sum over instances, each as often as it weighs."""
    return total(values) if instances.weights is None else total(multiply(values, instances.weights))


def empty_predictions(ws: EvaluationContext, call: MetricCall) -> Result:
    """How many instances were given no label at all, whether the empty set is a class or not."""
    instances = ws.tally({**call.options, "empty_label": "not_a_label"}).instances
    return Result(float(_weighted_sum(instances, (instances.predicted_size == 0).astype(np.int64))))


def _status_counts(ws: EvaluationContext, call: MetricCall) -> dict[str, int]:
    """How many instances are right in full, else in part, else not at all."""
    tally = ws.tally(call.options)
    instances = tally.instances
    touched = _weighted_sum(instances, (instances.counts.tp > 0).astype(np.int64))
    both_empty = (instances.gold_size == 0) & (instances.predicted_size == 0)
    full = tally.exact
    partial = touched - (full - _weighted_sum(instances, both_empty.astype(np.int64)))
    return {"full": full, "partial": partial, "none": tally.n - full - partial}


def instance_status(ws: EvaluationContext, call: MetricCall) -> Result:
    """Counts and shares of instances that are fully, partly and not at all right."""
    counts = _status_counts(ws, call)
    return Result(None, data={name: {"count": count, "share": count / ws.total} for name, count in counts.items()})


def _status_share(status: str) -> Compute:
    def value(ws: EvaluationContext, call: MetricCall) -> Result:
        return Result(_status_counts(ws, call)[status] / ws.total)

    return value


_MULTILABEL_DEFAULTS: dict[str, Any] = {
    "tasks": ("multilabel",),
    "needs": (LABELS,),
    "params": (),
    "options": LABEL_SET_OPTIONS,
    "hints": dict.fromkeys(SINGLE_LABEL_TASKS, "it is about sets of labels, and here each instance has one"),
}

register(
    Metric(
        key="hamming_score",
        name="Hamming score",
        names=("label-wise accuracy over all decisions", "label accuracy of MEKA"),
        equation=r"1-\frac{1}{n\,m}\sum_{i=1}^{n} |P_{i}\,\triangle\,Y_{i}|",
        tasks=TASK_KINDS,
        needs=(LABELS,),
        direction="higher",
        granularity=CORRECT_DECISIONS,
        range=UNIT_RANGE,
        params=(),
        options=LABEL_SET_OPTIONS,
        properties=Properties(symmetric=True, prevalence_sensitive=True),
        source="MEKA, Metrics.P_Hamming; 1 less the Hamming loss of Zhang & Zhou 2014",
        example=worked_example(MULTILABEL_EXAMPLE, "3/4"),
        compute=hamming_score,
        equation_of_call=capped_equation,
        peers={"torchmetrics": "what it calls the accuracy of multi-label data, per label, is this for each label"},
    )
)
register(
    Metric(
        key="harmonic_accuracy",
        name="harmonic accuracy",
        names=("harmonic score", "harmonic mean of recall and specificity per instance"),
        equation=r"\frac{1}{n}\sum_{i=1}^{n} \frac{2\,r_{i}\,s_{i}}{r_{i}+s_{i}},\quad "
        r"r_{i}=\frac{\mathrm{TP}_{i}}{\mathrm{TP}_{i}+\mathrm{FN}_{i}},\;"
        r"s_{i}=\frac{\mathrm{TN}_{i}}{\mathrm{TN}_{i}+\mathrm{FP}_{i}}",
        direction="higher",
        granularity=INSTANCES,
        range=UNIT_RANGE,
        properties=Properties(symmetric=False, prevalence_sensitive=True),
        source="MEKA, Metrics.P_Harmonic",
        example=worked_example(_HARMONIC_EXAMPLE, "13/20"),
        compute=harmonic_accuracy,
        symbols={"r_i": "recall of instance i", "s_i": "specificity of instance i"},
        peers={"MEKA": "leaves out instances whose gold set is empty or holds every label: zero_division=skip"},
        **{**_MULTILABEL_DEFAULTS, "options": ("zero_division", *LABEL_SET_OPTIONS)},
    )
)
register(
    Metric(
        key="levenshtein",
        name="Levenshtein distance of label vectors",
        names=("edit distance", "Levenshtein loss"),
        equation=r"\frac{1}{n\,m}\sum_{i=1}^{n} \mathrm{lev}(p_{i},y_{i})",
        direction="lower",
        granularity=CORRECT_DECISIONS,
        range=UNIT_RANGE,
        properties=Properties(symmetric=True, prevalence_sensitive=True, ordinal=True),
        source="MEKA, Metrics.L_LevenshteinDistance; Levenshtein 1966",
        example=worked_example(_LEVENSHTEIN_EXAMPLE, "3/8"),
        compute=levenshtein,
        symbols={
            "lev": "fewest insertions, deletions and substitutions that make one vector of the other; a label outside "
            "the vocabulary is one more, as long as there are fewer than m",
            "p_i": "prediction for instance i as 0 or 1 for each label in declared order",
            "y_i": "gold of instance i as 0 or 1 for each label in declared order",
        },
        **_MULTILABEL_DEFAULTS,
    )
)
for _side, _letter in (("gold", "Y"), ("predicted", "P")):
    register(
        Metric(
            key=f"label_cardinality_{_side}",
            name=f"label cardinality, {_side}",
            names=(f"mean number of {_side} labels",),
            equation=rf"\frac{{1}}{{n}}\sum_{{i=1}}^{{n}} |{_letter}_{{i}}|",
            direction="none",
            granularity=CORRECT_DECISIONS,
            range=COUNT_RANGE,
            properties=Properties(symmetric=False, prevalence_sensitive=True),
            source="Tsoumakas & Katakis 2007, Multi-label classification: an overview; Zhang & Zhou 2014 sec 2.1; MEKA, LCard",
            example=worked_example(MULTILABEL_EXAMPLE, "3/2" if _side == "gold" else "5/4"),
            compute=_mean_set_size(_side, density=False),
            **_MULTILABEL_DEFAULTS,
        )
    )
    register(
        Metric(
            key=f"label_density_{_side}",
            name=f"label density, {_side}",
            names=(f"share of the labels that are {_side}",),
            equation=rf"\frac{{1}}{{n\,m}}\sum_{{i=1}}^{{n}} |{_letter}_{{i}}|",
            direction="none",
            granularity=CORRECT_DECISIONS,
            range=COUNT_RANGE,
            properties=Properties(symmetric=False, prevalence_sensitive=True),
            source="Tsoumakas & Katakis 2007, Multi-label classification: an overview; Zhang & Zhou 2014 sec 2.1",
            example=worked_example(MULTILABEL_EXAMPLE, "1/2" if _side == "gold" else "5/12"),
            compute=_mean_set_size(_side, density=True),
            **_MULTILABEL_DEFAULTS,
        )
    )
register(
    Metric(
        key="empty_predictions",
        name="empty predictions",
        names=("instances without a predicted label",),
        equation=r"\sum_{i=1}^{n} [P_{i}=\emptyset]",
        direction="none",
        granularity=CORRECT_INSTANCES,
        range=COUNT_RANGE,
        properties=Properties(symmetric=False, prevalence_sensitive=True),
        source="MEKA, MLEvalUtils, percent no-labels (there a share)",
        example=worked_example(_STATUS_EXAMPLE, "1"),
        compute=empty_predictions,
        supports_weights=False,
        **_MULTILABEL_DEFAULTS,
    )
)
register(
    Metric(
        key="instance_status",
        name="status of instances",
        names=("fully, partially and not at all correct instances",),
        equation=_STATUS_EQUATION,
        direction="none",
        granularity=INSTANCES,
        range=UNIT_RANGE,
        properties=Properties(symmetric=True, prevalence_sensitive=True),
        source=_STATUS_SOURCE,
        example=worked_example(_STATUS_EXAMPLE, ""),
        compute=instance_status,
        scalar=False,
        **_MULTILABEL_DEFAULTS,
    )
)
register(
    Metric(
        key="instance_status_partial",
        name="share of partly right instances",
        names=("partially correct instances",),
        equation=r"\frac{1}{n}\sum_{i=1}^{n} [P_{i}\cap Y_{i}\neq\emptyset\wedge P_{i}\neq Y_{i}]",
        direction="none",
        granularity=CORRECT_INSTANCES,
        range=UNIT_RANGE,
        properties=Properties(symmetric=True, prevalence_sensitive=True),
        source=_STATUS_SOURCE,
        example=worked_example(_STATUS_EXAMPLE, "1/2"),
        compute=_status_share("partial"),
        **_MULTILABEL_DEFAULTS,
    )
)
register(
    Metric(
        key="instance_status_none",
        name="share of instances without any right label",
        names=("wrong instances",),
        equation=r"\frac{1}{n}\sum_{i=1}^{n} [P_{i}\cap Y_{i}=\emptyset\wedge P_{i}\neq Y_{i}]",
        direction="lower",
        granularity=CORRECT_INSTANCES,
        range=UNIT_RANGE,
        properties=Properties(symmetric=True, prevalence_sensitive=True),
        source=_STATUS_SOURCE,
        example=worked_example(_STATUS_EXAMPLE, "1/4"),
        compute=_status_share("none"),
        **_MULTILABEL_DEFAULTS,
    )
)
