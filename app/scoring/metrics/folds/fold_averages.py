"""Cross-validation: F pooled over folds, the mean over folds, and the table of folds.

All are declared here; `cross_validation_table` computes the table.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from app.scoring.declaration.distinct_value_bounds import INSTANCE_PARTITION
from app.scoring.declaration.metric import FOLDS, LABELS, ComputeDraws, MetricCall, Result
from app.scoring.declaration.task import TASK_KINDS
from app.scoring.draw_context import DrawContext, Floats
from app.scoring.metrics.example_data import BINARY_EXAMPLE, MULTILABEL_EXAMPLE
from app.scoring.metrics.folds.cross_validation_table import cv_table
from app.scoring.metrics.folds.fold_values import (
    F1,
    UNDEFINED_PARAM,
    average_f1_by_fold,
    average_f1_draws,
    label_f1_by_fold,
    label_f1_draws,
    mean_over_folds,
)
from app.scoring.metrics.labels.average_draws import single_class_draws
from app.scoring.metrics.labels.averages import MACRO, MICRO, SINGLE_CLASS, Average, single_class
from app.scoring.metrics.shared_declarations import (
    ASYMMETRIC,
    KNOWN_CELL_OPTIONS,
    LABEL_PARAM,
    SYMMETRIC,
    UNIT_RANGE,
    declare_metric,
)
from app.scoring.tally import EvaluationContext


def _mean_of_label(ws: EvaluationContext, call: MetricCall) -> Result:
    return mean_over_folds(label_f1_by_fold(ws, call), call)


def _mean_of_average(average: Average) -> Callable[[EvaluationContext, MetricCall], Result]:
    return lambda ws, call: mean_over_folds(average_f1_by_fold(ws, call, average), call)


def _mean_of_average_draws(average: Average) -> ComputeDraws:
    return lambda draws, call: average_f1_draws(draws, call, average)


def _pooled_f1_draws(draws: DrawContext, call: MetricCall) -> Floats:
    return single_class_draws(draws, call, F1.ratio(call))


def _pooled_f1(ws: EvaluationContext, call: MetricCall) -> Result:
    return single_class(ws, call, F1.ratio(call))


def _equation_with_zero_rule(equation: str) -> Callable[[MetricCall], str]:
    """The equation; under undefined=zero, with the value of a fold without gold positives."""
    return lambda call: equation + (_ZERO_RULE_EQUATION if call.params["undefined"] == "zero" else "")


def _f1_equation(index: str) -> str:
    tp, fp, fn = (rf"\mathrm{{{name}}}{index}^{{(k)}}" for name in ("TP", "FP", "FN"))
    return rf"\frac{{2\,{tp}}}{{2\,{tp}+{fp}+{fn}}}"


_FOLD_MEAN = r"\frac{1}{K}\sum_{k=1}^{K} "
_POOLED_EQUATION = r"\frac{2\,\sum_{k=1}^{K} \mathrm{TP}^{(k)}}{\sum_{k=1}^{K} (2\,\mathrm{TP}^{(k)}+\mathrm{FP}^{(k)}+\mathrm{FN}^{(k)})}"
_MACRO_EQUATION = _FOLD_MEAN + r"\frac{1}{m}\sum_{j=1}^{m} " + _f1_equation("_{j}")
_MICRO_EQUATION = (
    _FOLD_MEAN + r"\frac{2\,\sum_{j} \mathrm{TP}_{j}^{(k)}}"
    r"{\sum_{j} (2\,\mathrm{TP}_{j}^{(k)}+\mathrm{FP}_{j}^{(k)}+\mathrm{FN}_{j}^{(k)})}"
)
_TABLE_EQUATION = (
    _FOLD_MEAN + r"F^{(k)},\quad \sqrt{\frac{\sum_{k=1}^{K} (F^{(k)}-\bar{F})^{2}}{K-1}},\quad "
    r"\sqrt{\frac{\sum_{k=1}^{K} (F^{(k)}-\bar{F})^{2}}{K}}"
)
_SOURCE = "Van Asch 2013 sec 7"
_SYMBOLS = {"k": "runs over the folds", "K": "number of folds that have a value", "F^{(k)}": "F1 of fold k"}
_ZERO_RULE_EQUATION = r",\quad F^{(k)}:=0\text{ in a fold without gold positives}"
_BINARY_EXAMPLE = replace(
    BINARY_EXAMPLE,
    gold=("spam", "spam", "spam", "ham", "spam", "ham", "ham", "ham"),
    predicted=("spam", "spam", "ham", "ham", "spam", "spam", "spam", "ham"),
    folds=("1", "1", "1", "1", "2", "2", "3", "3"),
)
_MULTILABEL_EXAMPLE = replace(
    MULTILABEL_EXAMPLE,
    gold=(("art", "law"), ("law",), ("art", "law"), ("war",), (), ()),
    predicted=(("art", "law"), ("art", "law"), ("art", "law"), ("war",), (), ("law",)),
    folds=("1", "1", "2", "2", "3", "3"),
)


_declare = partial(
    declare_metric,
    tasks=TASK_KINDS,
    needs=(LABELS, FOLDS),
    direction="higher",
    granularity=INSTANCE_PARTITION,
    range=UNIT_RANGE,
    properties=ASYMMETRIC,
    symbols=_SYMBOLS,
)

_declare(
    key="f1_cv_pooled",
    name="F1 pooled over folds",
    names=("F_tp,fp", "micro-style cross-validated F1"),
    equation=_POOLED_EQUATION,
    params=(LABEL_PARAM,),
    options=SINGLE_CLASS.options,
    properties=SYMMETRIC,
    source=f"{_SOURCE} eq 27; Forman & Scholz 2010, Apples-to-apples in cross-validation studies",
    example=replace(_BINARY_EXAMPLE, value="2/3"),
    compute=_pooled_f1,
    compute_draws=_pooled_f1_draws,
    merges_cells=True,
    symbols={**_SYMBOLS, "K": "number of folds"},
    peers={"scikit-learn": "cross_val_predict, then f1_score; cross_val_score gives f1_cv_mean:undefined=zero"},
)
_declare(
    key="f1_cv_mean",
    name="mean F1 of folds",
    names=("F_avg", "macro-style cross-validated F1"),
    equation=_FOLD_MEAN + _f1_equation(""),
    params=(LABEL_PARAM, UNDEFINED_PARAM),
    options=KNOWN_CELL_OPTIONS,
    source=f"{_SOURCE} eq 29 (which writes tp_N for tp_B)",
    example=replace(_BINARY_EXAMPLE, value="11/15"),
    compute=_mean_of_label,
    compute_draws=label_f1_draws,
    equation_of_call=_equation_with_zero_rule(_FOLD_MEAN + _f1_equation("")),
    peers={"scikit-learn": "cross_val_score counts a fold without positives as 0: use undefined=zero"},
)
for _average, _equation, _value in ((MACRO, _MACRO_EQUATION, "7/9"), (MICRO, _MICRO_EQUATION, "13/14")):
    _declare(
        key=f"f1_cv_mean_{_average.suffix}",
        name=f"mean {_average.name} F1 of folds",
        names=(f"{_average.name} F1 averaged over folds",),
        equation=_equation,
        params=(UNDEFINED_PARAM,),
        options=_average.options,
        source=f"{_SOURCE} eq 29, of the {_average.name} F1",
        example=replace(_MULTILABEL_EXAMPLE, value=_value),
        compute=_mean_of_average(_average),
        compute_draws=_mean_of_average_draws(_average),
        equation_of_call=_equation_with_zero_rule(_equation),
        peers=(
            {"scikit-learn": "cross_val_score averages over the labels of each fold: use label_set=gold_or_predicted"}
            if _average is MACRO
            else {}
        ),
    )
_declare(
    key="cv_table",
    name="table of the cross-validation",
    names=("fold table",),
    equation=_TABLE_EQUATION,
    direction="none",
    params=(replace(LABEL_PARAM, required_for=()), UNDEFINED_PARAM),
    options=MACRO.options,
    source=f"{_SOURCE} eq 26-31",
    example=_BINARY_EXAMPLE,
    compute=cv_table,
    equation_of_call=_equation_with_zero_rule(_TABLE_EQUATION),
    scalar=False,
    symbols={
        **_SYMBOLS,
        "F^{(k)}": "F1 of fold k: of one class, macro, micro",
        "F̄": "mean over the folds; the first root is the sample standard deviation, the second that of the population",
    },
)
