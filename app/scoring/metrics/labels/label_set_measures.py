"""Measures of label sets: single decisions, edit distance, number of labels, and partial correctness."""

from dataclasses import replace
from functools import partial

import numpy as np

from app.scoring.declaration.distinct_value_bounds import CORRECT_DECISIONS, CORRECT_INSTANCES, INSTANCES
from app.scoring.declaration.interval_method import PROPORTION
from app.scoring.declaration.metric import (
    Compute,
    ComputeDraws,
    Example,
    MetricCall,
    Properties,
    ReportedCounts,
    Result,
)
from app.scoring.declaration.task import TASK_KINDS
from app.scoring.draw_context import DrawContext, Floats, InstanceValues, NoDrawForm, divide_draws
from app.scoring.label_set_edit_distance import EditDistanceCostLimitError, edit_distances
from app.scoring.metrics.example_data import MULTILABEL_EXAMPLE
from app.scoring.metrics.labels.averages import FixedInstances, average_instances, instance_values
from app.scoring.metrics.labels.undefined_rules import Mask, UndefinedError, zero_division_value
from app.scoring.metrics.labels.whole_task import capped_equation, hamming_score_draws, unknown_label_note
from app.scoring.metrics.shared_declarations import (
    ASYMMETRIC,
    KNOWN_CELL_OPTIONS,
    LABEL_SET_OPTIONS,
    SINGLE_LABEL_TASKS,
    SYMMETRIC,
    UNBOUNDED_RANGE,
    declare_label_set_metric,
    worked_example,
)
from app.scoring.numeric.exact import Integers, linear_combination, multiply, total
from app.scoring.tally import EvaluationContext, InstanceCounts, sorted_label_pairs

_STATUS_EQUATION = r"\frac{1}{n}\sum_{i=1}^{n} [P_{i}=Y_{i}],\quad \frac{1}{n}\sum_{i=1}^{n} [P_{i}\cap Y_{i}\neq\emptyset\wedge P_{i}\neq Y_{i}]"
_STATUS_SOURCE = "Wenzel sec 2.3, where the three categories overlap; here the first that applies counts"
_STATUS_EXAMPLE = replace(MULTILABEL_EXAMPLE, predicted=(("art",), (), ("war",), ("war",)))
_HARMONIC_EXAMPLE = Example(
    task="multilabel",
    classes=("a", "b", "c", "d"),
    gold=(("a",), ("a", "b")),
    predicted=(("a", "b"), ("a", "c")),
    value="",
)
_LEVENSHTEIN_EXAMPLE = replace(_HARMONIC_EXAMPLE, gold=(("b", "d"), ("a",)), predicted=(("a", "c"), ("a", "b")))


def hamming_score(ws: EvaluationContext, call: MetricCall) -> Result:
    """The share of right (instance, label) decisions: 1 - Hamming loss, computed with one division."""
    tally = ws.tally(call.options)
    return Result((tally.cells - tally.wrong_cells) / tally.cells, None, unknown_label_note(tally))


def harmonic_accuracy(ws: EvaluationContext, call: MetricCall) -> Result:
    """The mean over instances of the harmonic mean of their recall and their specificity (MEKA, P_Harmonic).

    Where both are 0, their harmonic mean is 0. Where the gold set is empty or contains every label, one of them is 0/0.
    """
    numerator, denominator, fixed = _harmonic_terms(ws, call)
    return average_instances(numerator, denominator, fixed, ws.tally(call.options).instances.weights)


def harmonic_accuracy_draws(draws: DrawContext, call: MetricCall) -> Floats:
    """`harmonic_accuracy` for many draws at once."""

    def make() -> InstanceValues:
        try:
            return instance_values(*_harmonic_terms(draws.rows, call))
        except UndefinedError:  # a draw without the instances that are 0/0 has a value
            raise NoDrawForm from None

    return draws.mean_of_call(call.cache_key, make)


def _harmonic_terms(ws: EvaluationContext, call: MetricCall) -> tuple[Integers, Integers, list[FixedInstances]]:
    """Numerator and denominator of each instance, and the instances whose value the options fix."""
    instances = ws.tally(call.options).instances
    tp, fp, fn, tn = instances.counts.columns
    undefined = (tp + fn == 0) | (tn + fp == 0)
    fixed: list[FixedInstances] = []
    if undefined.any():
        value = zero_division_value(call, "higher", "recall or specificity is 0/0 for some instances")
        fixed.append((undefined, value, f"zero_division={call.options['zero_division']}"))
    numerator = 2 * multiply(tp, tn)
    denominator = linear_combination((1, 1), (multiply(tp, tn + fp), multiply(tn, tp + fn)))
    denominator[(denominator == 0) & ~undefined] = 1
    return numerator, denominator, fixed


def levenshtein(ws: EvaluationContext, call: MetricCall) -> Result:
    """The mean edit distance of the two label vectors, divided by their length (MEKA, L_LevenshteinDistance).

    Each label outside the vocabulary adds one step, up to the length of the vector.
    """
    tally, weights, distances = ws.tally(call.options), ws.case.weights, _shared_distances(ws, call)
    distance = total(distances) if weights is None else total(multiply(distances, weights))
    return Result(distance / tally.cells, None, unknown_label_note(tally))


def levenshtein_draws(draws: DrawContext, call: MetricCall) -> Floats:
    """`levenshtein` for many draws at once."""
    size = len(draws.rows.tally(call.options).names)
    return divide_draws(draws.sum_of(_shared_distances(draws.rows, call)), draws.total * size)


def _shared_distances(ws: EvaluationContext, call: MetricCall) -> Integers:
    """The edit distances of all instances, computed once."""
    return ws.shared(
        ("edit distances", call.options["empty_label"], call.options["unknown_label"]),
        lambda: _edit_distances(ws, call),
    )


def _edit_distances(ws: EvaluationContext, call: MetricCall) -> Integers:
    m, as_sets = len(ws.spec.classes), {**call.options, "duplicates": "set"}
    drop = call.options["unknown_label"] == "drop"
    gold = sorted_label_pairs(ws.case.gold, m, as_sets, drop_unknown=False)
    predicted = sorted_label_pairs(ws.case.predicted, m, as_sets, drop_unknown=drop)
    keys = [pairs.rows * (m + 1) + pairs.codes for pairs in (gold, predicted)]
    size = m + (call.options["empty_label"] == "as_class")
    try:
        distances = edit_distances(keys[0], keys[1], ws.case.gold.n, m + 1)
    except EditDistanceCostLimitError:
        raise UndefinedError(
            "the sets differ in too many labels: computing the edit distances would take too long"
        ) from None
    capped: Integers = np.minimum(distances + gold.outside + predicted.outside, size)
    return capped


def _mean_set_size(side: str, *, density: bool) -> Compute:
    """The mean size of the gold or predicted sets; for the density, as a share of the labels."""

    def value(ws: EvaluationContext, call: MetricCall) -> Result:
        tally = ws.tally(call.options)
        sizes = getattr(tally.instances, f"{side}_size")
        divisor = tally.cells if density else tally.n
        return Result(_weighted_sum(tally.instances, sizes) / divisor)

    return value


def _mean_set_size_draws(side: str, *, density: bool) -> ComputeDraws:
    """`_mean_set_size` for many draws at once."""

    def values(draws: DrawContext, call: MetricCall) -> Floats:
        tally = draws.rows.tally(call.options)
        sizes = draws.sum_of(getattr(tally.instances, f"{side}_size"))
        return divide_draws(sizes, draws.total * len(tally.names) if density else draws.total)

    return values


def _weighted_sum(instances: InstanceCounts, values: Integers) -> int:
    """The weighted sum over instances."""
    return total(values) if instances.weights is None else total(multiply(values, instances.weights))


def empty_predictions(ws: EvaluationContext, call: MetricCall) -> Result:
    """The number of instances without a predicted label, whether or not the empty set is a class."""
    instances = ws.tally({**call.options, "empty_label": "not_a_label"}).instances
    return Result(float(_weighted_sum(instances, (instances.predicted_size == 0).astype(np.int64))))


def empty_predictions_draws(draws: DrawContext, call: MetricCall) -> Floats:
    """`empty_predictions` for many draws at once."""
    instances = draws.rows.tally({**call.options, "empty_label": "not_a_label"}).instances
    return draws.sum_rows(instances.predicted_size == 0)


def _status_counts(ws: EvaluationContext, call: MetricCall) -> dict[str, int]:
    """The number of instances of each status."""
    instances = ws.tally(call.options).instances
    masks = _status_masks(ws, call)
    return {status: _weighted_sum(instances, mask.astype(np.int64)) for status, mask in masks.items()}


def _status_masks(ws: EvaluationContext, call: MetricCall) -> dict[str, Mask]:
    """The instances that are fully right, else partly right, else not right at all; repetitions do not matter."""
    counts = ws.tally({**call.options, "duplicates": "set"}).instances.counts
    full = np.asarray((counts.fp == 0) & (counts.fn == 0))
    partial = np.asarray((counts.tp > 0) & ~full)
    return {"full": full, "partial": partial, "none": ~full & ~partial}


def instance_status(ws: EvaluationContext, call: MetricCall) -> Result:
    """Counts and shares of instances that are fully, partly and not at all right."""
    counts = _status_counts(ws, call)
    return Result(None, data={name: {"count": count, "share": count / ws.total} for name, count in counts.items()})


def _status_share(status: str) -> Compute:
    def value(ws: EvaluationContext, call: MetricCall) -> Result:
        return Result(_status_counts(ws, call)[status] / ws.total)

    return value


def _status_share_draws(status: str) -> ComputeDraws:
    """`_status_share` for many draws at once."""
    return lambda draws, call: divide_draws(draws.sum_rows(_status_masks(draws.rows, call)[status]), draws.total)


_declare = partial(
    declare_label_set_metric,
    direction="none",
    properties=ASYMMETRIC,
    hints=dict.fromkeys(SINGLE_LABEL_TASKS, "it is defined for label sets only"),
)

declare_label_set_metric(
    key="hamming_score",
    name="Hamming score",
    names=("label-wise accuracy over all decisions", "label accuracy of MEKA"),
    equation=r"1-\frac{1}{n\,m}\sum_{i=1}^{n} |P_{i}\,\triangle\,Y_{i}|",
    tasks=TASK_KINDS,
    direction="higher",
    granularity=CORRECT_DECISIONS,
    properties=SYMMETRIC,
    source="MEKA, Metrics.P_Hamming; 1 minus the Hamming loss of Zhang & Zhou 2014",
    example=worked_example(MULTILABEL_EXAMPLE, "3/4"),
    compute=hamming_score,
    compute_draws=hamming_score_draws,
    merges_cells=True,
    counted=ReportedCounts(sums=("fp", "fn"), divisor="decisions", complement=True),
    equation_of_call=capped_equation,
    peers={"torchmetrics": "its accuracy of multi-label data is this value for each label"},
    instance_mean=True,
)
_declare(
    key="harmonic_accuracy",
    name="harmonic accuracy",
    names=("harmonic score", "harmonic mean of recall and specificity per instance"),
    equation=r"\frac{1}{n}\sum_{i=1}^{n} \frac{2\,r_{i}\,s_{i}}{r_{i}+s_{i}},\quad "
    r"r_{i}=\frac{\mathrm{TP}_{i}}{\mathrm{TP}_{i}+\mathrm{FN}_{i}},\;"
    r"s_{i}=\frac{\mathrm{TN}_{i}}{\mathrm{TN}_{i}+\mathrm{FP}_{i}}",
    direction="higher",
    granularity=INSTANCES,
    source="MEKA, Metrics.P_Harmonic",
    example=worked_example(_HARMONIC_EXAMPLE, "13/20"),
    compute=harmonic_accuracy,
    compute_draws=harmonic_accuracy_draws,
    symbols={"r_i": "recall of instance i", "s_i": "specificity of instance i"},
    peers={"MEKA": "leaves out instances whose gold set is empty or holds every label: use zero_division=skip"},
    options=("zero_division", *KNOWN_CELL_OPTIONS),
)
_declare(
    key="levenshtein",
    name="Levenshtein distance of label vectors",
    names=("edit distance", "Levenshtein loss"),
    equation=r"\frac{1}{n\,m}\sum_{i=1}^{n} \mathrm{lev}(p_{i},y_{i})",
    direction="lower",
    granularity=CORRECT_DECISIONS,
    options=LABEL_SET_OPTIONS,
    properties=Properties(symmetric=True, prevalence_sensitive=True, ordinal=True),
    source="MEKA, Metrics.L_LevenshteinDistance; Levenshtein 1966",
    example=worked_example(_LEVENSHTEIN_EXAMPLE, "3/8"),
    compute=levenshtein,
    compute_draws=levenshtein_draws,
    symbols={
        "lev": "fewest insertions, deletions and substitutions that turn one vector into the other; each label outside "
        "the vocabulary adds one, up to m in total",
        "p_i": "prediction for instance i as 0 or 1 for each label in declared order",
        "y_i": "gold of instance i as 0 or 1 for each label in declared order",
    },
)
_SIZE_COUNTS = {"gold": ("support",), "predicted": ("predicted",)}
for _side, _letter in (("gold", "Y"), ("predicted", "P")):
    _declare(
        key=f"label_cardinality_{_side}",
        name=f"label cardinality, {_side}",
        names=(f"mean number of {_side} labels",),
        equation=rf"\frac{{1}}{{n}}\sum_{{i=1}}^{{n}} |{_letter}_{{i}}|",
        granularity=CORRECT_DECISIONS,
        range=UNBOUNDED_RANGE,
        source="Tsoumakas & Katakis 2007, Multi-label classification: an overview; Zhang & Zhou 2014 sec 2.1; MEKA, LCard",
        example=worked_example(MULTILABEL_EXAMPLE, "3/2" if _side == "gold" else "5/4"),
        compute=_mean_set_size(_side, density=False),
        compute_draws=_mean_set_size_draws(_side, density=False),
        counted=ReportedCounts(sums=_SIZE_COUNTS[_side], divisor="instances"),
    )
    _declare(
        key=f"label_density_{_side}",
        name=f"label density, {_side}",
        names=(f"share of the labels that are {_side}",),
        equation=rf"\frac{{1}}{{n\,m}}\sum_{{i=1}}^{{n}} |{_letter}_{{i}}|",
        granularity=CORRECT_DECISIONS,
        range=UNBOUNDED_RANGE,
        source="Tsoumakas & Katakis 2007, Multi-label classification: an overview; Zhang & Zhou 2014 sec 2.1",
        example=worked_example(MULTILABEL_EXAMPLE, "1/2" if _side == "gold" else "5/12"),
        compute=_mean_set_size(_side, density=True),
        compute_draws=_mean_set_size_draws(_side, density=True),
        counted=ReportedCounts(sums=_SIZE_COUNTS[_side], divisor="decisions"),
    )
_declare(
    key="empty_predictions",
    name="empty predictions",
    names=("instances without a predicted label",),
    equation=r"\sum_{i=1}^{n} [P_{i}=\emptyset]",
    granularity=CORRECT_INSTANCES,
    range=UNBOUNDED_RANGE,
    source="MEKA, MLEvalUtils, percent no-labels (there a share)",
    example=worked_example(_STATUS_EXAMPLE, "1"),
    compute=empty_predictions,
    compute_draws=empty_predictions_draws,
    counted=ReportedCounts(path=("label_sets", "empty", "predicted")),
    supports_weights=False,
)
_declare(
    key="instance_status",
    name="status of instances",
    names=("fully, partially and not at all correct instances",),
    equation=_STATUS_EQUATION,
    granularity=INSTANCES,
    properties=SYMMETRIC,
    source=_STATUS_SOURCE,
    example=worked_example(_STATUS_EXAMPLE, ""),
    compute=instance_status,
    scalar=False,
)
_declare(
    key="instance_status_partial",
    name="share of partly right instances",
    names=("partially correct instances",),
    equation=r"\frac{1}{n}\sum_{i=1}^{n} [P_{i}\cap Y_{i}\neq\emptyset\wedge P_{i}\neq Y_{i}]",
    granularity=CORRECT_INSTANCES,
    properties=SYMMETRIC,
    source=_STATUS_SOURCE,
    example=worked_example(_STATUS_EXAMPLE, "1/2"),
    compute=_status_share("partial"),
    compute_draws=_status_share_draws("partial"),
    interval=PROPORTION,
    counted=ReportedCounts(path=("label_sets", "status", "partial", "count"), divisor="instances"),
)
_declare(
    key="instance_status_none",
    name="share of instances without any right label",
    names=("wrong instances",),
    equation=r"\frac{1}{n}\sum_{i=1}^{n} [P_{i}\cap Y_{i}=\emptyset\wedge P_{i}\neq Y_{i}]",
    direction="lower",
    granularity=CORRECT_INSTANCES,
    properties=SYMMETRIC,
    source=_STATUS_SOURCE,
    example=worked_example(_STATUS_EXAMPLE, "1/4"),
    compute=_status_share("none"),
    compute_draws=_status_share_draws("none"),
    interval=PROPORTION,
    counted=ReportedCounts(path=("label_sets", "status", "none", "count"), divisor="instances"),
)
