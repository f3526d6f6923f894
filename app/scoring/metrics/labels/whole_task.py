"""Measures of a whole task: accuracy and its variants, exact match and Hamming loss."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Context, Decimal, localcontext
from functools import partial, reduce
from operator import mul

import numpy as np

from app.scoring.declaration.distinct_value_bounds import CLASS_TABLES, CORRECT_DECISIONS, CORRECT_INSTANCES
from app.scoring.declaration.interval_method import PROPORTION
from app.scoring.declaration.metric import MetricCall, Properties, ReportedCounts, Result, rounded_result
from app.scoring.declaration.task import TASK_KINDS
from app.scoring.draw_context import DrawContext, DrawTally, Floats, divide_draws
from app.scoring.metrics.example_data import MULTICLASS_EXAMPLE, MULTILABEL_EXAMPLE
from app.scoring.metrics.labels.undefined_rules import (
    Mask,
    UndefinedError,
    excluded_mask,
    join_names,
    occurring_labels,
)
from app.scoring.metrics.shared_declarations import (
    SIGNED_RANGE,
    SINGLE_LABEL_OPTIONS,
    SINGLE_LABEL_TASKS,
    choice_param,
    declare_label_set_metric,
    declare_single_label_metric,
    worked_example,
)
from app.scoring.numeric.correct_rounding import quotient_sum, weighted_sum
from app.scoring.numeric.exact import Integers, integer_weights, round_to_12_digits, total
from app.scoring.tally import EvaluationContext, Tally

DECIMAL_CONTEXT = Context(prec=40)
MAX_CLASS_WEIGHT = 10**150  # so that products with counts stay within the range of binary64


def _right_weight(ws: EvaluationContext, call: MetricCall) -> int:
    """The weight of the instances whose answer is right."""
    return ws.accepted_weight if ws.case.acceptable else ws.tally(call.options).exact


def accuracy(ws: EvaluationContext, call: MetricCall) -> Result:
    """The share of instances whose label is right, or one of the acceptable answers (V eq 6; D)."""
    return Result(_right_weight(ws, call) / ws.total)


def error_rate(ws: EvaluationContext, call: MetricCall) -> Result:
    """The share of instances whose label is wrong, divided once rather than subtracted from 1 (W sec 3.2.3)."""
    return Result((ws.total - _right_weight(ws, call)) / ws.total)


def hamming_loss(ws: EvaluationContext, call: MetricCall) -> Result:
    """The share of wrong (instance, label) decisions; single labels are read as sets of one (W eq 27; S; Z)."""
    tally = ws.tally(call.options)
    return Result(tally.wrong_cells / tally.cells, None, unknown_label_note(tally))


def _right_draws(draws: DrawContext, call: MetricCall) -> Floats:
    """`_right_weight` of each draw."""
    return draws.sum_rows(draws.rows.is_accepted) if draws.case.acceptable else draws.tally(call.options).exact


def accuracy_draws(draws: DrawContext, call: MetricCall) -> Floats:
    """`accuracy`, or the share of right sets, for many draws at once."""
    return divide_draws(_right_draws(draws, call), draws.total)


def error_rate_draws(draws: DrawContext, call: MetricCall) -> Floats:
    """`error_rate` for many draws at once."""
    return divide_draws(draws.total - _right_draws(draws, call), draws.total)


def hamming_loss_draws(draws: DrawContext, call: MetricCall) -> Floats:
    """`hamming_loss` for many draws at once."""
    tally = draws.tally(call.options)
    return divide_draws(tally.wrong_cells, tally.cells)


def hamming_score_draws(draws: DrawContext, call: MetricCall) -> Floats:
    """The share of right decisions for many draws at once."""
    tally = draws.tally(call.options)
    return divide_draws(tally.cells - tally.wrong_cells, tally.cells)


def _recall_draws(draws: DrawContext, call: MetricCall) -> tuple[Floats, Mask, DrawTally]:
    """The recall of each class and draw, 0 where the class does not count, and which classes count."""
    tally = draws.tally(call.options)
    support = tally.classes.support
    mask = np.asarray((support > 0) & ~excluded_mask(tally.names, call)[:, None])
    return np.where(mask, divide_draws(tally.classes.tp, support), 0.0), mask, tally


def balanced_accuracy_draws(draws: DrawContext, call: MetricCall) -> Floats:
    """`balanced_accuracy` for many draws at once."""
    recalls, mask, _ = _recall_draws(draws, call)
    k, recall = np.add.reduce(mask, axis=0, dtype=np.float64), np.add.reduce(recalls, axis=0)
    if call.params["adjusted"] == "false":
        return divide_draws(recall, k)
    return np.where(k > 0, divide_draws(recall - 1, k - 1), np.nan)


def weighted_accuracy_draws(draws: DrawContext, call: MetricCall) -> Floats:
    """`weighted_accuracy` for many draws at once."""
    recalls, mask, tally = _recall_draws(draws, call)
    occurs = np.asarray(mask.any(axis=1))
    weights = _class_weights(draws.rows, tally, occurs)
    spread, largest = np.zeros((len(mask), 1)), max(map(int, weights), default=1) or 1
    spread[occurs, 0] = [int(weight) / largest for weight in weights]
    return divide_draws(np.add.reduce(recalls * spread, axis=0), np.add.reduce(mask * spread, axis=0))


def gmean_recall_draws(draws: DrawContext, call: MetricCall) -> Floats:
    """`gmean_recall` for many draws at once."""
    recalls, mask, _ = _recall_draws(draws, call)
    k = np.add.reduce(mask, axis=0, dtype=np.float64)
    logs = np.add.reduce(np.log(np.where(mask & (recalls > 0), recalls, 1.0)), axis=0)
    values = np.exp(divide_draws(logs, k))
    return np.where((mask & (recalls == 0)).any(axis=0), 0.0, values)


def unknown_label_note(tally: Tally) -> tuple[str, ...]:
    """The note on labels outside the vocabulary, where there are any."""
    if not tally.unknown_labels:
        return ()
    return (
        "each label outside the vocabulary counts as one more wrong decision, at most as many per instance as there are labels",
    )


def capped_equation(call: MetricCall) -> str:
    """The equation, with the cap of m wrong decisions per instance where labels outside the vocabulary count as wrong."""
    if call.options["unknown_label"] != "count_as_fp":
        return call.metric.equation
    wrong = r"|P_{i}\,\triangle\,Y_{i}|"
    return call.metric.equation.replace(wrong, rf"\min(m,\,{wrong})")


@dataclass(frozen=True, slots=True)
class _Recalls:
    """The recalls of the classes that occur in gold and are not excluded: `correct` of `support` instances each."""

    tally: Tally
    mask: Mask
    correct: Integers
    support: Integers
    notes: tuple[str, ...]


def _recalls(ws: EvaluationContext, call: MetricCall) -> _Recalls:
    """The numerators and denominators of the recalls, with notes on the classes that are absent or excluded."""
    tally = ws.tally(call.options)
    mask, notes = occurring_labels(tally, call)
    return _Recalls(tally, mask, tally.classes.tp[mask], tally.classes.support[mask], tuple(notes))


def _class_weights(ws: EvaluationContext, tally: Tally | DrawTally, mask: Mask) -> Integers:
    class_weights = ws.spec.class_weights
    names = [tally.names[position] for position in np.flatnonzero(mask)]
    if class_weights is None:
        return np.ones(len(names), dtype=np.int64)
    missing = [name for name in names if name not in class_weights]
    if missing:
        raise UndefinedError(f"the class weights lack {join_names(missing)}")
    if any(not 0 <= class_weights[name] < math.inf for name in names):
        raise UndefinedError("a class weight is negative or not a finite number")
    weights = integer_weights(class_weights[name] for name in names)
    if max(weights, default=0) > MAX_CLASS_WEIGHT:
        raise UndefinedError("the class weights differ too much: the largest is more than 10^150 times the unit")
    return np.array(weights, dtype=object)


def balanced_accuracy(ws: EvaluationContext, call: MetricCall) -> Result:
    """The mean recall of the classes that occur in gold; if adjusted, scaled so that predicting one class for all is 0."""
    recalls = _recalls(ws, call)
    k = len(recalls.correct)
    recall = quotient_sum(recalls.correct, recalls.support)
    if call.params["adjusted"] == "false":
        return rounded_result(recall / k, recalls.notes)
    if k == 1:
        raise UndefinedError("only one class is averaged, so chance is always right and the adjusted value is 0/0")
    return rounded_result((recall + -1) / (k - 1), recalls.notes)


def weighted_accuracy(ws: EvaluationContext, call: MetricCall) -> Result:
    """The mean recall by class weights, uniform where none are given; D's printed form lacks the factor 1/n_k."""
    recalls = _recalls(ws, call)
    weights = _class_weights(ws, recalls.tally, recalls.mask)
    divisor = total(weights)
    if divisor == 0:
        raise UndefinedError("the class weights of the labels that occur in gold sum to 0")
    return rounded_result(weighted_sum(recalls.correct, recalls.support, weights) / divisor, recalls.notes)


def gmean_recall(ws: EvaluationContext, call: MetricCall) -> Result:
    """The geometric mean of the recalls of the classes that occur in gold; 0 where one of them is never found."""
    recalls = _recalls(ws, call)
    pairs = sorted(Counter(zip(recalls.correct.tolist(), recalls.support.tolist(), strict=True)).items())
    # decimal arithmetic: the same digits on every machine and in any order of classes
    with localcontext(DECIMAL_CONTEXT):
        # computed even where the result is 0, so that the response time does not reveal whether the last class was found
        factors = [(Decimal(correct) / Decimal(support)) ** times for (correct, support), times in pairs if correct]
        mean = (_product(factors).ln() / len(recalls.correct)).exp()
        return Result(round_to_12_digits(float(mean)) if recalls.correct.all() else 0.0, None, recalls.notes)


def _product(factors: Sequence[Decimal]) -> Decimal:
    """The product, which the precision of the context rounds once per factor; 1 without factors."""
    return reduce(mul, factors, Decimal(1))


def subset_accuracy(ws: EvaluationContext, call: MetricCall) -> Result:
    """The share of instances whose predicted set equals the gold set, repetitions aside (W eq 25; S; Z)."""
    tally = ws.tally(call.options)
    return Result(tally.exact / tally.n)


ADJUSTED_PARAM = choice_param(
    "adjusted",
    "whether the value is rescaled so that chance is 0",
    false="the mean recall itself: 1/K where one of K classes is always predicted",
    true="(b - 1/K) / (1 - 1/K) of the mean recall b of K classes: chance is 0",
)


def _balanced_accuracy_equation(call: MetricCall) -> str:
    """The equation, with the adjustment where the call has adjusted=true."""
    latex = call.metric.equation
    if call.params["adjusted"] == "false":
        return latex
    value, _, where = latex.partition(r",\quad ")
    return rf"\frac{{{value}-\frac{{1}}{{|G|}}}}{{1-\frac{{1}}{{|G|}}}},\quad {where}"


_ACCURACY_HINTS = {
    "multilabel": "'accuracy' has several meanings for label sets: use subset_accuracy, jaccard_samples, "
    "hamming_loss or accuracy_ovr_micro"
}
_RECALL_PROPERTIES = Properties(symmetric=False, prevalence_sensitive=False)
_declare_mean_recall = partial(
    declare_single_label_metric,
    direction="higher",
    granularity=CLASS_TABLES,
    options=("exclude_labels", *SINGLE_LABEL_OPTIONS),
    properties=_RECALL_PROPERTIES,
    hints={"multilabel": "for label sets use recall_macro, the mean recall over labels"},
)
_LABEL_SET_HINTS: dict[str, str] = dict.fromkeys(
    SINGLE_LABEL_TASKS, "with one label per instance, use accuracy (or error_rate)"
)

declare_single_label_metric(
    key="accuracy",
    name="accuracy",
    names=("overall accuracy", "trace accuracy"),
    equation=r"\frac{1}{n}\sum_{j=1}^{m} \mathrm{TP}_{j}",
    direction="higher",
    granularity=CORRECT_INSTANCES,
    floor=3,
    source="Van Asch 2013 eq 6; Döring",
    example=worked_example(MULTICLASS_EXAMPLE, "5/9"),
    compute=accuracy,
    compute_draws=accuracy_draws,
    interval=PROPORTION,
    merges_cells=True,
    counted=ReportedCounts(sums=("tp",), divisor="instances"),
    hints=_ACCURACY_HINTS,
    acceptable=True,
    instance_mean=True,
)
declare_single_label_metric(
    key="error_rate",
    name="error rate",
    names=("misclassification rate",),
    equation=r"1-\frac{1}{n}\sum_{j=1}^{m} \mathrm{TP}_{j}",
    direction="lower",
    granularity=CORRECT_INSTANCES,
    floor=3,
    source="Wenzel sec 3.2.3",
    example=worked_example(MULTICLASS_EXAMPLE, "4/9"),
    compute=error_rate,
    compute_draws=error_rate_draws,
    interval=PROPORTION,
    merges_cells=True,
    counted=ReportedCounts(sums=("tp",), divisor="instances", complement=True),
    hints={"multilabel": "for label sets use zero_one_loss or hamming_loss"},
    acceptable=True,
    instance_mean=True,
)
_declare_mean_recall(
    key="balanced_accuracy",
    name="balanced accuracy",
    names=("mean recall", "mean per-class accuracy", "unweighted average recall", "UAR"),
    equation=r"\frac{1}{|G|}\sum_{j\in G} \frac{\mathrm{TP}_{j}}{\mathrm{TP}_{j}+\mathrm{FN}_{j}},\quad G=\{j: \mathrm{TP}_{j}+\mathrm{FN}_{j}>0\}",
    range=SIGNED_RANGE,
    params=(ADJUSTED_PARAM,),
    source="Döring; Brodersen et al. 2010, The balanced accuracy and its posterior distribution",
    example=worked_example(MULTICLASS_EXAMPLE, "5/9"),
    compute=balanced_accuracy,
    compute_draws=balanced_accuracy_draws,
    merges_cells=True,
    counted=ReportedCounts(("recall",), "present"),
    symbols={"G": "the classes that occur in gold"},
    peers={
        "scikit-learn": "balanced_accuracy_score; for gold with only one class its adjusted value is nan or -inf",
        "caret": "Balanced Accuracy is for one class: use balanced_accuracy_ovr",
    },
    equation_of_call=_balanced_accuracy_equation,
)
_declare_mean_recall(
    key="gmean_recall",
    name="geometric mean of recalls",
    names=("G-mean", "geometric mean score"),
    equation=r"\left(\prod_{j\in G} \frac{\mathrm{TP}_{j}}{\mathrm{TP}_{j}+\mathrm{FN}_{j}}\right)^{1/|G|},\quad G=\{j: \mathrm{TP}_{j}+\mathrm{FN}_{j}>0\}",
    properties=replace(_RECALL_PROPERTIES, significant_digits=12),
    source="Kubat & Matwin 1997, Addressing the curse of imbalanced training sets",
    example=worked_example(MULTICLASS_EXAMPLE, "0.550321208149"),
    compute=gmean_recall,
    compute_draws=gmean_recall_draws,
    merges_cells=True,
    counted=ReportedCounts(("recall",), "present"),
    symbols={"G": "the classes that occur in gold"},
    peers={
        "imbalanced-learn": 'geometric_mean_score with average="multiclass"; a class that occurs only in the predictions makes it 0',
        "PyCM": "GM is a different measure: the root of recall × specificity of one class",
    },
)
_declare_mean_recall(
    key="weighted_accuracy",
    name="class-weighted accuracy",
    names=("weighted accuracy",),
    equation=r"\frac{\sum_{k\in G} w_{k}\,\frac{\mathrm{TP}_{k}}{n_{k}}}{\sum_{k\in G} w_{k}},\quad G=\{k: n_{k}>0\}",
    source="Döring (its printed form lacks the factor 1/n_k)",
    example=worked_example(
        replace(MULTICLASS_EXAMPLE, train_frequencies=None, class_weights={"cat": 1, "dog": 3, "mouse": 2}), "7/12"
    ),
    compute=weighted_accuracy,
    compute_draws=weighted_accuracy_draws,
    merges_cells=True,
    counted=ReportedCounts(("recall",), "given"),
)
declare_label_set_metric(
    key="subset_accuracy",
    name="subset accuracy",
    names=("exact match ratio", "EMR", "exact match"),
    equation=r"\frac{1}{n}\sum_{i=1}^{n} [P_{i}=Y_{i}]",
    direction="higher",
    granularity=CORRECT_INSTANCES,
    floor=3,
    source="Wenzel eq 25; Sefidian; Zhang & Zhou 2014",
    example=worked_example(MULTILABEL_EXAMPLE, "1/4"),
    compute=subset_accuracy,
    compute_draws=accuracy_draws,
    interval=PROPORTION,
    merges_cells=True,
    counted=ReportedCounts(path=("label_sets", "status", "full", "count"), divisor="instances"),
    hints=_LABEL_SET_HINTS,
    instance_mean=True,
)
declare_label_set_metric(
    key="zero_one_loss",
    name="zero-one loss",
    names=("subset 0/1 loss", "1/0 loss"),
    equation=r"1-\frac{1}{n}\sum_{i=1}^{n} [P_{i}=Y_{i}]",
    direction="lower",
    granularity=CORRECT_INSTANCES,
    floor=3,
    source="Sefidian",
    example=worked_example(MULTILABEL_EXAMPLE, "3/4"),
    compute=error_rate,
    compute_draws=error_rate_draws,
    interval=PROPORTION,
    merges_cells=True,
    counted=ReportedCounts(path=("label_sets", "status", "full", "count"), divisor="instances", complement=True),
    hints=_LABEL_SET_HINTS,
    instance_mean=True,
)
declare_label_set_metric(
    key="hamming_loss",
    name="Hamming loss",
    names=("label-wise error rate",),
    equation=r"\frac{1}{n\,m}\sum_{i=1}^{n} |P_{i}\,\triangle\,Y_{i}|",
    tasks=TASK_KINDS,
    direction="lower",
    granularity=CORRECT_DECISIONS,
    floor=3,
    source="Wenzel eq 27; Sefidian; Zhang & Zhou 2014",
    example=worked_example(MULTILABEL_EXAMPLE, "1/4"),
    compute=hamming_loss,
    compute_draws=hamming_loss_draws,
    merges_cells=True,
    counted=ReportedCounts(sums=("fp", "fn"), divisor="decisions"),
    equation_of_call=capped_equation,
    instance_mean=True,
)
