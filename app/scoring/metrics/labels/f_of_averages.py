"""The F of averaged precision and recall, which differs from the average of F values and has names of its own."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from app.scoring.declaration.metric import (
    Metric,
    MetricCall,
    Properties,
    ReportedCounts,
    Result,
    register,
    rounded_result,
)
from app.scoring.draw_context import DrawContext, Floats, divide_draws
from app.scoring.metrics.example_data import average_example
from app.scoring.metrics.labels.averages import LFB_TEST, LFB_TRAIN, MACRO, SAMPLES, WEIGHTED, Average
from app.scoring.metrics.labels.base_measures import BETA_PARAM, PRECISION, RECALL
from app.scoring.metrics.labels.ratio_forms import f_beta_of
from app.scoring.metrics.shared_declarations import SINGLE_LABEL_TASKS, UNIT_RANGE
from app.scoring.numeric.exact import to_fraction
from app.scoring.tally import EvaluationContext


@dataclass(frozen=True, slots=True)
class _FMeasure:
    """One choice of β: fixed, or the parameter `beta` (None); `average_names`: names that it has under one average."""

    prefix: str
    name: str
    beta: Fraction | None
    equation: str
    average_names: dict[str, tuple[str, ...]]
    examples: dict[str, str]


def _example_values(macro: str, weighted: str, lfb_train: str, samples: str) -> dict[str, str]:
    """The exact value under each average; weights from test data are the support's."""
    return {"macro": macro, "weighted": weighted, "lfb_train": lfb_train, "lfb_test": weighted, "samples": samples}


_F_MEASURES = (
    _FMeasure(
        "f1",
        "F1",
        Fraction(1),
        r"\frac{2\,\bar{P}\,\bar{R}}{\bar{P}+\bar{R}}",
        {"macro": ("CF1", "macro F1 of Sokolova & Lapalme")},
        _example_values("155/252", "880/1467", "533/882", "21/26"),
    ),
    _FMeasure(
        "f0_5",
        "F0.5",
        Fraction(1, 2),
        r"\frac{1.25\,\bar{P}\,\bar{R}}{0.25\,\bar{P}+\bar{R}}",
        {},
        _example_values("775/1179", "550/873", "2665/4104", "105/124"),
    ),
    _FMeasure(
        "f2",
        "F2",
        Fraction(2),
        r"\frac{5\,\bar{P}\,\bar{R}}{4\,\bar{P}+\bar{R}}",
        {},
        _example_values("775/1341", "2200/3843", "2665/4716", "105/136"),
    ),
    _FMeasure(
        "f_beta",
        "F-beta",
        None,
        r"\frac{(1+\beta^{2})\,\bar{P}\,\bar{R}}{\beta^{2}\,\bar{P}+\bar{R}}",
        {"samples": ("example-based F-beta of Zhang & Zhou",)},
        _example_values("775/1179", "550/873", "2665/4104", "105/124"),
    ),
)


def compute_f_of_averages(ws: EvaluationContext, call: MetricCall, average: Average, beta: Fraction) -> Result:
    """F_beta of the averaged precision and recall (W eq 20, 29; D; Z), computed exactly and rounded once."""
    precision = average.compute(ws, call, PRECISION.ratio(call))
    recall = average.compute(ws, call, RECALL.ratio(call))
    notes = tuple(dict.fromkeys((*precision.notes, *recall.notes)))
    assert precision.exact is not None
    assert recall.exact is not None
    if recall.value or (precision.value and beta):
        return rounded_result(f_beta_of(precision.exact, recall.exact, beta), notes)
    # recall 0 means that every answer is wrong, whatever the option for 0/0: F from counts is 0 too
    zero = "average recall is" if precision.value else "average precision and recall are both"
    return Result(0.0, None, (*notes, f"{zero} 0, and so is their F"))


def f_of_averages_draws(draws: DrawContext, call: MetricCall, average: Average, beta: Fraction) -> Floats:
    """`compute_f_of_averages` for many draws at once."""
    precision = average.compute_draws(draws, call, PRECISION.ratio(call))
    recall = average.compute_draws(draws, call, RECALL.ratio(call))
    square = float(beta * beta)
    denominator = square * precision + recall
    values = divide_draws((1 + square) * precision * recall, denominator)
    return np.where((recall == 0) & ((precision == 0) | (not beta)), 0.0, values)


def f_of_averages_metric(kind: _FMeasure, average: Average) -> Metric:
    """The metric for this average and this β."""

    def value(ws: EvaluationContext, call: MetricCall) -> Result:
        beta = to_fraction(call.params["beta"]) if kind.beta is None else kind.beta
        return compute_f_of_averages(ws, call, average, beta)

    def values_of_draws(draws: DrawContext, call: MetricCall) -> Floats:
        return f_of_averages_draws(
            draws, call, average, to_fraction(call.params["beta"]) if kind.beta is None else kind.beta
        )

    excluded = {"zero_division"} if average is SAMPLES else set()  # empty sets have options of their own there
    options = [name for name in average.options if name not in excluded]
    return Metric(
        key=f"{kind.prefix}_of_averages_{average.suffix}",
        name=f"{kind.name} of {average.name} precision and recall",
        names=(*kind.average_names.get(average.suffix, ()), f"{kind.name} of {average.name} averages"),
        equation=kind.equation + r",\quad " + _averages_equation(average),
        tasks=average.tasks,
        needs=average.needs,
        direction="higher",
        granularity=average.granularity,
        range=UNIT_RANGE,
        params=(BETA_PARAM,) if kind.beta is None else (),
        options=tuple(dict.fromkeys(options)),
        properties=Properties(
            symmetric=kind.beta == 1 and average.symmetric,
            prevalence_sensitive=True,
        ),
        source="Wenzel eq 20, 29, Fig 10; Döring; Zhang & Zhou 2014 sec 2.2.2",
        example=average_example(average.suffix, kind.examples, {"beta": "0.5"} if kind.beta is None else {}),
        compute=value,
        compute_draws=values_of_draws,
        merges_cells=average is not SAMPLES,
        hints=dict.fromkeys(SINGLE_LABEL_TASKS, average.hint) if average.hint else {},
        floor=0 if average is LFB_TRAIN else 3,
        equation_of_call=_equation_of_call(kind, average),
        states_zero_division=True,
        counted=ReportedCounts((PRECISION.key, RECALL.key), average.weights),
    )


def _averages_equation(average: Average) -> str:
    """The definitions of the barred symbols under this average, in LaTeX."""
    return r",\;".join(_bar_equations(average).values())


def _bar_equations(average: Average) -> dict[str, str]:
    mean = average.equation.split(r",\quad")[0]
    return {letter: rf"\bar{{{letter}}}=" + mean.replace("{B}", rf"{letter}_{{{average.index}}}") for letter in "PR"}


def _equation_of_call(kind: _FMeasure, average: Average) -> Callable[[MetricCall], str]:
    """The equation of a call, with the value of 0/0.

    The rule for 0/0 applies to precision and recall, each of which may leave out different classes. It does not apply to
    F, which is 0 where both averages are 0.
    """

    def written(call: MetricCall) -> str:
        bars = {letter: _narrow_average(letter, bar, call) for letter, bar in _bar_equations(average).items()}
        rules = [kind.equation, r",\;".join(bars.values()), *_zero_division_equations(average, call), _ZERO_F_EQUATION]
        return r",\quad ".join(rules)

    return written


def _narrow_average(letter: str, bar: str, call: MetricCall) -> str:
    """The average of precision or recall, restricted to the classes that enter it, with the matching divisor."""
    if any(
        call.options.get(name, usual) != usual
        for name, usual in _ALL_LABELS_OPTIONS.items()
        if name in call.metric.options
    ):
        bar = bar.replace(r"=\sum_{j} f_{j}", r"=\frac{1}{\sum_{j} f_{j}}\sum_{j} f_{j}")
    if "both_empty" in call.metric.options or call.options["zero_division"] != "skip":
        return bar
    bar = bar.replace(r"=\sum_{j} f_{j}", r"=\frac{1}{\sum_{j} f_{j}}\sum_{j} f_{j}")
    bar = bar.replace(r"\frac{1}{m}\sum_{j=1}^{m}", rf"\frac{{1}}{{|L_{{{letter}}}|}}\sum_{{j}}")
    return bar.replace(r"\sum_{j}", rf"\sum_{{j\in L_{{{letter}}}}}")


def _zero_division_equations(average: Average, call: MetricCall) -> list[str]:
    """The values used for a precision or recall that is 0/0."""
    if average is not SAMPLES:
        value = {"worst": "0", "0": "0", "1": "1"}.get(call.options["zero_division"])
        return [] if value is None else [rf"\tfrac{{0}}{{0}}:={value}\text{{ in }}P_{{j}},R_{{j}}"]
    empty = {"both_empty": r"\text{ for two empty sets}", "one_empty": r"\text{ for one empty set}"}
    values = {text: call.options[name] for name, text in empty.items()}
    return [rf"P_{{i}}=R_{{i}}:={value}{text}" for text, value in values.items() if value != "skip"]


_ZERO_F_EQUATION = r"0\text{ for }\bar{P}=\bar{R}=0"
_ALL_LABELS_OPTIONS = {"absent_gold": "include", "exclude_labels": "", "unknown_cells": "reject"}

for _kind in _F_MEASURES:
    for _average in (MACRO, WEIGHTED, SAMPLES, LFB_TRAIN, LFB_TEST):
        register(f_of_averages_metric(_kind, _average))
