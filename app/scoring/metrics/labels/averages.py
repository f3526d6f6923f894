"""The averaging strategies: each turns a base measure on 2×2 tables into one number.

Sources: W = Wenzel, V = Van Asch 2013, Z = Zhang & Zhou 2014, S = Sefidian, D = Döring.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from app.scoring.declaration.distinct_value_bounds import CLASS_TABLES, INSTANCES, ONE_TABLE, POOLED_TABLE, Granularity
from app.scoring.declaration.metric import (
    LABELS,
    TRAIN_FREQUENCIES,
    UNKNOWN_CELLS,
    ClassWeighting,
    MetricCall,
    Result,
    rounded_result,
)
from app.scoring.declaration.metric_syntax import pluralize
from app.scoring.declaration.task import TASK_KINDS, TaskKind
from app.scoring.draw_context import DrawContext, InstanceValues, NoDrawForm
from app.scoring.metrics.labels.average_draws import (
    AverageDraws,
    lfb_train_draws,
    macro_draws,
    micro_draws,
    single_class_draws,
    weighted_by_predicted_draws,
    weighted_draws,
)
from app.scoring.metrics.labels.ratio_forms import ConfusionTable, RatioMeasure, single_table
from app.scoring.metrics.labels.undefined_rules import (
    Mask,
    UndefinedError,
    averaged_labels,
    class_names,
    excluded_mask,
    join_names,
    label_position,
    ratio_or_substitute,
    requested_label,
    table_of,
    train_weights,
    zero_division_value,
)
from app.scoring.metrics.shared_declarations import KNOWN_CELL_OPTIONS, LABEL_SET_OPTIONS, MULTILABEL_TASKS
from app.scoring.numeric.correct_rounding import Real, to_real, weighted_sum
from app.scoring.numeric.exact import Floats, Integers, divide, square_root, total
from app.scoring.tally import EvaluationContext, InstanceCounts, Tally

_LABEL_AVERAGE_OPTIONS = ("zero_division", "exclude_labels", *KNOWN_CELL_OPTIONS)


FixedInstances = tuple[Mask, float | None, str]
"""A mask of instances, the value that each of them gets (None: left out), and the option that decides it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Average:
    """One averaging strategy, declared once for every base measure; the defaults are those of a mean over classes.

    `equation` contains `{B}` in place of the measure, whose counts get the index `index`. `is_prevalence_sensitive`:
    replicating the instances of a class moves the value even if the measures of that class stay the same. `symmetric`:
    the average treats gold and predictions alike. `weights`: how it weighs the classes, if it is a mean over them.
    `compute_draws` is `compute` for many draws at once.
    """

    suffix: str
    name: str
    equation: str
    compute: Callable[[EvaluationContext, MetricCall, RatioMeasure], Result]
    compute_draws: AverageDraws
    source: str = ""
    names: tuple[str, ...] = ()
    index: str = "j"
    tasks: tuple[TaskKind, ...] = TASK_KINDS
    needs: tuple[str, ...] = (LABELS,)
    options: tuple[str, ...] = _LABEL_AVERAGE_OPTIONS
    is_prevalence_sensitive: bool = False
    symmetric: bool = True
    granularity: Granularity = CLASS_TABLES
    weights: ClassWeighting = ""
    hint: str = ""


def single_class(ws: EvaluationContext, call: MetricCall, ratio: RatioMeasure) -> Result:
    """The value of one class: of `label`, else of the positive label of a binary task. Raises UndefinedError."""
    label, tally = requested_label(ws, call), ws.tally(call.options)
    position = label_position(label, tally.names)
    if tally.unseen is not None and tally.unseen[position]:
        raise UndefinedError(f"the gold has no known cell of {label}")
    table = table_of(tally.classes, position)
    return _table_result(call, ratio, table, f"{ratio.name} of {label}")


def _table_result(call: MetricCall, ratio: RatioMeasure, table: ConfusionTable, subject: str) -> Result:
    """The measure of one table under the zero-division rule, with a note where the rule was applied."""
    numerator, denominator = (int(part[0]) for part in ratio.parts(single_table(table)))
    if not denominator and not ratio.replaceable:
        raise UndefinedError(f"{subject} is {'x' if numerator else '0'}/0")
    if denominator and ratio.root:
        return Result(square_root(Fraction(numerator, denominator)))
    value, notes = ratio_or_substitute(call, ratio.direction, numerator, denominator, subject, lowest=ratio.lowest)
    exact = Fraction(numerator, denominator) if denominator else Fraction(value)
    return Result(value, None, notes, exact=to_real(exact))


@dataclass(frozen=True, slots=True)
class _AveragedLabels:
    """The classes that enter an average, their weights, and the notes collected so far."""

    mask: Mask
    weights: Integers
    notes: list[str]


def macro(ws: EvaluationContext, call: MetricCall, ratio: RatioMeasure) -> Result:
    """The plain mean over the label set (W eq 12, 15, 19; V eq 8)."""
    tally = ws.tally(call.options)
    mask, notes = averaged_labels(ws, tally, call, by_label_set=True)
    weights = np.ones(len(tally.names), dtype=np.int64)
    return _average_classes(tally, call, ratio, _AveragedLabels(mask, weights, notes))


def weighted(ws: EvaluationContext, call: MetricCall, ratio: RatioMeasure) -> Result:
    """The mean weighted by gold support (W eq 13, 21, Fig 10)."""
    tally = ws.tally(call.options)
    mask, notes = averaged_labels(ws, tally, call, by_label_set=False, absent_matters=False)
    return _average_classes(tally, call, ratio, _AveragedLabels(mask, tally.classes.support, notes))


def weighted_by_predicted(ws: EvaluationContext, call: MetricCall, ratio: RatioMeasure) -> Result:
    """The mean weighted by the number of predictions of each class (W eq 16 as printed)."""
    tally = ws.tally(call.options)
    mask, notes = averaged_labels(ws, tally, call, by_label_set=False)
    return _average_classes(tally, call, ratio, _AveragedLabels(mask, tally.classes.predicted, notes))


def lfb_train(ws: EvaluationContext, call: MetricCall, ratio: RatioMeasure) -> Result:
    """The mean weighted by training frequency (V eq 10); labels absent from the training data have weight 0."""
    tally = ws.tally(call.options)
    weights = train_weights(ws, tally.names)
    mask, notes = averaged_labels(ws, tally, call, by_label_set=False)
    if (mask & (weights == 0)).any():
        notes.append(
            f"absent from the training data, so their weight is 0: {class_names(tally, mask & (weights == 0))}"
        )
    undeclared = sorted(set(ws.spec.train_frequencies or ()) - set(ws.spec.classes))
    if undeclared:
        notes.append(f"in the training data but not declared, so they are ignored: {join_names(undeclared)}")
    return _average_classes(tally, call, ratio, _AveragedLabels(mask, weights, notes))


def _average_classes(tally: Tally, call: MetricCall, ratio: RatioMeasure, averaged: _AveragedLabels) -> Result:
    """The weighted mean over classes: exact sum of weight × numerator / denominator, divided by the sum of the weights."""
    mask, weights, notes = averaged.mask, averaged.weights, averaged.notes
    numerator, denominator = tally.part(ratio.numerator), tally.part(ratio.denominator)
    weighing = mask & (weights > 0)
    undefined = weighing & (denominator == 0)
    value = None
    if undefined.any():
        reason = f"{ratio.name} is 0/0 for {class_names(tally, undefined)}"
        value = zero_division_value(call, ratio.direction, reason, lowest=ratio.lowest)
        notes.append(zero_division_note(call, reason, value))
    defined = weighing & ~undefined
    divisor = total(weights[weighing if value is not None else defined])
    if divisor == 0:
        raise UndefinedError("no label with a defined value is left to average over")
    terms = ratio.summed(numerator[defined], denominator[defined], weights[defined])
    extra = int(value or 0) * total(weights[undefined])
    return rounded_result((terms + extra) / divisor, notes)


def zero_division_note(call: MetricCall, subject: str, value: float | None) -> str:
    """The note on where the zero-division rule was applied, and with what effect."""
    effect = "left out" if value is None else f"counted as {value:g}"
    return f"{subject}; {effect} (zero_division={call.options['zero_division']})"


def micro(ws: EvaluationContext, call: MetricCall, ratio: RatioMeasure) -> Result:
    """The measure of the summed counts (W eq 11, 14, 17, 18; V eq 9); summing over instances gives the same counts."""
    tally = ws.tally(call.options)
    left_out = excluded_mask(tally.names, call)
    included = ~left_out
    if not included.any():
        raise UndefinedError("no label is left to sum over")
    tp, fp, fn, tn = (total(column[included]) for column in tally.classes.columns)
    table = (tp, fp + tally.outside_fp, fn + tally.outside_fn, max(tn - tally.outside_tn, 0))
    pooled = _table_result(call, ratio, table, f"pooled {ratio.name}")
    notes = pooled.notes
    if left_out.any():
        notes = (*notes, f"left out by exclude_labels: {class_names(tally, left_out)}")
    elif ratio.is_accuracy_when_pooled and ws.spec.task != "multilabel" and not tally.without_prediction:
        notes = (*notes, "with one label per instance, micro precision, recall and F all equal accuracy")
    return Result(pooled.value, None, notes, exact=pooled.exact)


def samples(ws: EvaluationContext, call: MetricCall, ratio: RatioMeasure) -> Result:
    """The mean over instances (W eq 23-28; Z), with separate options for empty sets."""
    instances = ws.tally(call.options).instances
    numerator, denominator, fixed = _sample_terms(instances, call, ratio)
    return average_instances(numerator, denominator, fixed, instances.weights, summed=ratio.summed)


def samples_draws(draws: DrawContext, call: MetricCall, ratio: RatioMeasure) -> Floats:
    """`samples` for many draws at once."""

    def values() -> InstanceValues:
        try:
            numerator, denominator, fixed = _sample_terms(draws.rows.tally(call.options).instances, call, ratio)
        except UndefinedError:  # a draw without the instances that are 0/0 has a value
            raise NoDrawForm from None
        return instance_values(numerator, denominator, fixed, ratio.values)

    return draws.mean_of_call((call.cache_key, ratio.name), values)


def _sample_terms(
    instances: InstanceCounts, call: MetricCall, ratio: RatioMeasure
) -> tuple[Integers, Integers, list[FixedInstances]]:
    """Numerator and denominator of each instance, and the instances whose value the options fix."""
    numerator, denominator = ratio.parts(instances.counts.columns)
    fixed: list[FixedInstances] = []
    if ratio.set_like:
        fixed = empty_set_values(call, instances.gold_size, instances.predicted_size, instances.known_size)
    elif (denominator == 0).any():
        setting = f"zero_division={call.options['zero_division']}"
        reason = f"{ratio.name} is 0/0 for some instances"
        value = zero_division_value(call, ratio.direction, reason, lowest=ratio.lowest)
        fixed.append((np.asarray(denominator == 0), value, setting))
    return numerator, denominator, fixed


def empty_set_values(call: MetricCall, gold: Integers, predicted: Integers, known: Integers) -> list[FixedInstances]:
    """The instances with empty sets, with their values under both_empty and one_empty, by the sizes of their sets.

    `known` counts the predicted labels within the vocabulary. With both_empty=0, a prediction of unknown labels only
    for an empty gold set counts 0 too: adding unknown labels must not remove an instance from the average or raise its
    value.
    """
    no_gold, no_prediction = gold == 0, predicted == 0
    both = no_gold & (known == 0 if call.options["both_empty"] == "0" else no_prediction)
    fixed: list[FixedInstances] = []
    for rule, mask in (("both_empty", both), ("one_empty", (no_gold ^ no_prediction) & ~both)):
        setting = call.options[rule]
        fixed.append((np.asarray(mask), None if setting == "skip" else float(setting), f"{rule}={setting}"))
    return fixed


def average_instances(
    numerator: Integers,
    denominator: Integers,
    fixed: list[FixedInstances],
    weights: Integers | None,
    summed: Callable[[Integers, Integers, Integers | None], Real] = weighted_sum,
) -> Result:
    """The mean over instances of numerator / denominator, except for instances in `fixed`.

    `numerator` and `denominator` are integers of length n, `weights` holds one integer per instance. Each entry of
    `fixed` sets the value of the instances in its mask, or leaves them out (None). `summed` computes the exact sum of
    weight × value. Raises UndefinedError where no instance is left.
    """
    regular = np.ones(len(numerator), dtype=bool)
    extra = divisor = 0
    notes = []
    for mask, value, setting in fixed:
        count = int(mask.sum())
        regular &= ~mask
        if count and value is not None:
            weight = count if weights is None else total(weights[mask])
            extra, divisor = extra + int(value) * weight, divisor + weight
            notes.append(f"{pluralize(count, 'instance')} counted as {value:g} ({setting})")
        elif count:
            notes.append(f"{pluralize(count, 'instance')} left out ({setting})")
    regular_weights = None if weights is None else weights[regular]
    divisor += int(regular.sum()) if regular_weights is None else total(regular_weights)
    if not divisor:
        raise UndefinedError("no instance is left to average over")
    return rounded_result((summed(numerator[regular], denominator[regular], regular_weights) + extra) / divisor, notes)


def instance_values(
    numerator: Integers,
    denominator: Integers,
    fixed: list[FixedInstances],
    divided: Callable[[Integers, Integers], Floats] = divide,
) -> InstanceValues:
    """The value of each instance whose mean `average_instances` gives, and which instances the mean takes in."""
    regular = np.ones(len(numerator), dtype=bool)
    counted = regular.copy()
    values = np.zeros(len(numerator))
    for mask, value, _ in fixed:
        regular &= ~mask
        counted &= ~mask if value is None else True
        values[mask] = value or 0.0
    values[regular] = divided(numerator[regular], denominator[regular])
    return values, counted


SINGLE_CLASS = Average(
    suffix="",
    name="",
    equation="{B}",
    index="",
    options=("zero_division", *LABEL_SET_OPTIONS[:3], UNKNOWN_CELLS),
    granularity=ONE_TABLE,
    compute=single_class,
    compute_draws=single_class_draws,
)
MACRO = Average(
    suffix="macro",
    name="macro",
    names=("macro-averaged", "label-macro", "unweighted mean over classes"),
    equation=r"\frac{1}{m}\sum_{j=1}^{m} {B}",
    options=("label_set", "absent_gold", *_LABEL_AVERAGE_OPTIONS),
    source="Wenzel eq 12, 15, 19; Van Asch 2013 eq 8",
    weights="equal",
    compute=macro,
    compute_draws=macro_draws,
)
MICRO = Average(
    suffix="micro",
    name="micro",
    names=("micro-averaged", "pooled"),
    equation="{B}",
    index="",
    is_prevalence_sensitive=True,
    source="Wenzel eq 11, 14, 17, 18; Van Asch 2013 eq 9",
    granularity=POOLED_TABLE,
    compute=micro,
    compute_draws=micro_draws,
)
WEIGHTED = Average(
    suffix="weighted",
    name="support-weighted",
    names=("weighted", "macro_weighted"),
    equation=r"\frac{1}{\sum_{j} n_{j}}\sum_{j} n_{j}\,{B}",
    is_prevalence_sensitive=True,
    symmetric=False,
    source="Wenzel eq 13, 21, Fig 10",
    weights="support",
    compute=weighted,
    compute_draws=weighted_draws,
)
WEIGHTED_BY_PREDICTED = Average(
    suffix="weighted_by_predicted",
    name="prediction-weighted",
    names=("weighted by predictions",),
    equation=r"\frac{1}{\sum_{j} p_{j}}\sum_{j} p_{j}\,{B}",
    options=("absent_gold", *_LABEL_AVERAGE_OPTIONS),
    is_prevalence_sensitive=True,
    symmetric=False,
    source="Wenzel eq 16 as printed (its example weights by support, as _weighted does)",
    weights="predicted",
    compute=weighted_by_predicted,
    compute_draws=weighted_by_predicted_draws,
)
LFB_TRAIN = Average(
    suffix="lfb_train",
    name="training-frequency-weighted",
    names=("label-frequency-based micro", "TiMBL micro", "Daelemans micro"),
    equation=r"\sum_{j} f_{j}\,{B},\quad f_{j}=\frac{c_{j}}{\sum_{k} c_{k}}",
    needs=(LABELS, TRAIN_FREQUENCIES),
    options=("absent_gold", *_LABEL_AVERAGE_OPTIONS),
    source="Van Asch 2013 eq 10",
    weights="training",
    compute=lfb_train,
    compute_draws=lfb_train_draws,
)
LFB_TEST = replace(
    WEIGHTED,
    suffix="lfb_test",
    name="test-frequency-weighted",
    names=("label-frequency-based micro with test frequencies",),
    equation=r"\sum_{j} f_{j}\,{B},\quad f_{j}=\frac{n_{j}}{\sum_{k} n_{k}}",
    source="Van Asch 2013 sec 3.3.2; the same number as _weighted",
)
SAMPLES = Average(
    suffix="samples",
    name="per-instance",
    names=("example-based", "instance-averaged"),
    equation=r"\frac{1}{n}\sum_{i=1}^{n} {B}",
    index="i",
    tasks=MULTILABEL_TASKS,
    options=("zero_division", "both_empty", "one_empty", *KNOWN_CELL_OPTIONS),
    is_prevalence_sensitive=True,
    source="Wenzel eq 23-28; Zhang & Zhou 2014 sec 2.2.2",
    granularity=INSTANCES,
    compute=samples,
    compute_draws=samples_draws,
    hint="the mean over instances is for multi-label tasks; with one label per instance, use the _micro key",
)
AVERAGES = (SINGLE_CLASS, MACRO, MICRO, WEIGHTED, WEIGHTED_BY_PREDICTED, LFB_TRAIN, LFB_TEST, SAMPLES)
