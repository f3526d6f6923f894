"""The statistics that caret's confusionMatrix prints, including its tests."""

import json
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np

from app.scoring.declaration.distinct_value_bounds import CONFUSION
from app.scoring.declaration.interval_method import NO_INTERVAL_OF_BOUND, NO_INTERVAL_OF_TEST
from app.scoring.declaration.metric import Compute, MetricCall, Param, Properties, Result
from app.scoring.draw_context import DrawContext, Floats, divide_draws
from app.scoring.metrics.example_data import BINARY_EXAMPLE, MULTICLASS_EXAMPLE
from app.scoring.metrics.labels.agreement import unweighted_kappa
from app.scoring.metrics.labels.confusion_cells import confusion_cells
from app.scoring.metrics.labels.undefined_rules import UndefinedError, table_of
from app.scoring.metrics.shared_declarations import (
    ASYMMETRIC,
    SIGNED_RANGE,
    declare_single_label_metric,
    worked_example,
)
from app.scoring.numeric.exact import to_fraction
from app.scoring.numeric.exact_intervals import binomial_tail, bowker_test, clopper_pearson
from app.scoring.tally import EvaluationContext, Tally

BY_CLASS_NAMES = (
    "Sensitivity",
    "Specificity",
    "Pos Pred Value",
    "Neg Pred Value",
    "Precision",
    "Recall",
    "F1",
    "Prevalence",
    "Detection Rate",
    "Detection Prevalence",
    "Balanced Accuracy",
)
"""The names that caret prints, in its order."""
PREVALENCE_PARAM = Param(
    "prevalence",
    "number",
    "the prevalence used for Pos Pred Value and Neg Pred Value: of the positive label, or of each class in turn",
    default="data",
    bounds=(0, 1),
    values=("data",),
    value_meanings=("the share of the class in gold",),
)
_Table = tuple[int, int, int, int]


def no_information_rate(ws: EvaluationContext, call: MetricCall) -> Result:
    """The share of the most frequent gold class: the accuracy of always predicting that class."""
    tally = ws.tally(call.options)
    return Result(_most_frequent(tally) / tally.n)


def no_information_rate_draws(draws: DrawContext, call: MetricCall) -> Floats:
    """`no_information_rate` for many draws at once."""
    return divide_draws(draws.tally(call.options).classes.support.max(axis=0), draws.total)


def _most_frequent(tally: Tally) -> int:
    return max(int(count) for count in tally.classes.support)


def accuracy_lower(tally: Tally) -> float:
    """The lower end of the exact 95 % interval of the accuracy."""
    return clopper_pearson(tally.exact, tally.n)[0]


def accuracy_upper(tally: Tally) -> float:
    """The upper end of the exact 95 % interval of the accuracy."""
    return clopper_pearson(tally.exact, tally.n)[1]


def accuracy_p_value(tally: Tally) -> float:
    """The probability of at least as many right answers if each is right with the no-information rate."""
    return binomial_tail(tally.exact, tally.n, _most_frequent(tally))


def mcnemar_confusion(ws: EvaluationContext, call: MetricCall) -> Result:
    """The p-value of the test that gold × predicted is symmetric (McNemar 1947; Bowker 1948), as R's mcnemar.test.

    With two classes the continuity correction applies, unless both kinds of error are equally frequent. A pair of
    classes that were never confused gives 0/0 in the sum, so the value is undefined.
    """
    return Result(_mcnemar_p_value(ws, ws.tally(call.options)))


def _mcnemar_p_value(ws: EvaluationContext, tally: Tally) -> float:
    cells = confusion_cells(ws, tally, "cell in the square table of the test")
    m = len(tally.names)
    pairs = m * (m - 1) // 2
    if m < 2:
        raise UndefinedError("there is only one class, and the test compares two")
    lower, upper = np.minimum(cells.gold, cells.predicted), np.maximum(cells.gold, cells.predicted)
    observed = len(np.unique((lower * m + upper)[lower != upper]))
    if observed < pairs:  # checked before building the dictionary: with many classes this is the usual case
        raise UndefinedError(
            f"{pairs - observed} of {pairs} pairs of classes were never confused with each other (0/0)"
        )
    counts_by_pair: dict[tuple[int, int], list[int]] = {}
    for j, k, count in zip(*(side.tolist() for side in (cells.gold, cells.predicted, cells.counts)), strict=True):
        if j != k:
            counts_by_pair.setdefault((min(j, k), max(j, k)), [0, 0])[j > k] = count
    return bowker_test((forward, backward) for forward, backward in counts_by_pair.values())


def caret_overall(ws: EvaluationContext, call: MetricCall) -> Result:
    """The seven values of `overall`; a value is None where caret prints NA or NaN, with the reason among the notes."""
    tally = ws.tally(call.options)
    computations: dict[str, Callable[[], float]] = {
        "Accuracy": lambda: tally.exact / tally.n,
        "Kappa": lambda: unweighted_kappa(tally),
        "AccuracyLower": lambda: accuracy_lower(tally),
        "AccuracyUpper": lambda: accuracy_upper(tally),
        "AccuracyNull": lambda: _most_frequent(tally) / tally.n,
        "AccuracyPValue": lambda: accuracy_p_value(tally),
        "McnemarPValue": lambda: _mcnemar_p_value(ws, tally),
    }
    data: dict[str, float | None] = {}
    notes = []
    for name, compute in computations.items():
        try:
            data[name] = compute()
        except UndefinedError as error:
            data[name] = None
            notes.append(f"{name}: {error}")
    return Result(None, None, tuple(notes), data)


def caret_by_class(ws: EvaluationContext, call: MetricCall) -> Result:
    """The eleven values of `byClass` for each class against the rest; None where caret prints NA or NaN."""
    tally = ws.tally(call.options)
    data = {}
    for position, name in enumerate(tally.names):
        table = table_of(tally.classes, position)
        data[name] = _class_statistics(table, _class_prevalence(ws, call, name, table))
    return Result(None, None, (), data)


def _class_prevalence(ws: EvaluationContext, call: MetricCall, name: str, table: _Table) -> Fraction:
    text = call.params["prevalence"]
    if text == "data":
        return Fraction(table[0] + table[2], sum(table))
    prevalence = to_fraction(text)
    return 1 - prevalence if ws.spec.task == "binary" and name != ws.spec.positive_label else prevalence


def _class_statistics(table: _Table, prevalence: Fraction) -> dict[str, float | None]:
    tp, fp, fn, tn = table
    n = sum(table)
    recall, specificity = _quotient(tp, tp + fn), _quotient(tn, tn + fp)
    values = (
        recall,
        specificity,
        _predictive_value(recall, specificity, prevalence),
        _predictive_value(specificity, recall, 1 - prevalence),
        _quotient(tp, tp + fp),
        recall,
        Fraction(2 * tp, 2 * tp + fp + fn) if tp else None,  # caret prints NaN where precision and recall are 0
        prevalence,
        Fraction(tp, n),
        Fraction(tp + fp, n),
        None if recall is None or specificity is None else (recall + specificity) / 2,
    )
    return {name: None if value is None else float(value) for name, value in zip(BY_CLASS_NAMES, values, strict=True)}


def _quotient(numerator: int, denominator: int) -> Fraction | None:
    return Fraction(numerator, denominator) if denominator else None


def _predictive_value(recall: Fraction | None, specificity: Fraction | None, prevalence: Fraction) -> Fraction | None:
    """A predictive value by Bayes: recall·p / (recall·p + (1 - specificity)(1 - p)); None where an input is undefined."""
    if recall is None or specificity is None:
        return None
    denominator = recall * prevalence + (1 - specificity) * (1 - prevalence)
    return recall * prevalence / denominator if denominator else None


def _compute_from_tally(statistic: Callable[[Tally], float]) -> Compute:
    def value(ws: EvaluationContext, call: MetricCall) -> Result:
        return Result(statistic(ws.tally(call.options)))

    return value


_OVERALL_EXAMPLE = {
    "Accuracy": 5 / 9,
    "Kappa": 4 / 13,
    "AccuracyLower": 0.212008506779,
    "AccuracyUpper": 0.863004337735,
    "AccuracyNull": 4 / 9,
    "AccuracyPValue": 0.365506905341,
    "McnemarPValue": None,
}
_BY_CLASS_EXAMPLE = {
    "spam": (3 / 4, 2 / 3, 3 / 5, 4 / 5, 3 / 5, 3 / 4, 2 / 3, 2 / 5, 3 / 10, 1 / 2, 17 / 24),
    "ham": (2 / 3, 3 / 4, 4 / 5, 3 / 5, 4 / 5, 2 / 3, 8 / 11, 3 / 5, 2 / 5, 1 / 2, 17 / 24),
}
_MCNEMAR_EXAMPLE = replace(
    BINARY_EXAMPLE,
    gold=("spam",) * 6 + ("ham",) * 4,
    predicted=("spam",) + ("ham",) * 5 + ("spam",) + ("ham",) * 3,
    value="0.220671361920",
)
_DROPPED_NOTE = "instances without a prediction are left out there and count as wrong here"
_TEST_PROPERTIES = Properties(symmetric=True, prevalence_sensitive=True, count_based=False, significant_digits=12)
_RIGHT_ANSWER_SYMBOLS = {"x": "number of right answers", "k": "numbers of right answers"}
_BINOMIAL_SYMBOLS = {
    **_RIGHT_ANSWER_SYMBOLS,
    "θ": "an accuracy at which so few, or so many, right answers would be rare",
}
_OVERALL_SYMBOLS = {
    "p_o": "observed agreement",
    "p_e": "agreement expected by chance",
    "…": "the other values, by their names in caret",
}


_declare = partial(
    declare_single_label_metric,
    direction="none",  # no single one of these values ranks systems
    granularity=CONFUSION,
    properties=_TEST_PROPERTIES,
    source="Kuhn 2008, Building predictive models in R using the caret package",
    hints={"multilabel": "caret's confusionMatrix requires one label per instance"},
)

_declare(
    key="no_information_rate",
    equation=r"\frac{1}{n}\max_{j} n_{j}",
    example=worked_example(MULTICLASS_EXAMPLE, "4/9"),
    compute=no_information_rate,
    compute_draws=no_information_rate_draws,
    merges_cells=True,
    name="no-information rate",
    names=("NIR", "AccuracyNull", "majority class baseline"),
    properties=ASYMMETRIC,
    peers={"caret": "AccuracyNull", "PyCM": "NIR"},
)
_declare(
    key="accuracy_lower",
    equation=r"\sup\{\theta: \sum_{k=x}^{n} \binom{n}{k}\theta^{k}(1-\theta)^{n-k}\leq 0.025\}",
    example=worked_example(MULTICLASS_EXAMPLE, "0.212008506779"),
    compute=_compute_from_tally(accuracy_lower),
    interval=NO_INTERVAL_OF_BOUND,
    merges_cells=True,
    name="lower end of the exact 95 % interval of the accuracy",
    names=("AccuracyLower", "Clopper-Pearson lower bound"),
    source="Clopper & Pearson 1934, The use of confidence or fiducial limits",
    symbols=_BINOMIAL_SYMBOLS,
    supports_weights=False,
    peers={
        "caret": f"AccuracyLower; {_DROPPED_NOTE}",
        "PyCM": "95% CI is a different interval: the normal approximation",
    },
)
_declare(
    key="accuracy_upper",
    equation=r"\inf\{\theta: \sum_{k=0}^{x} \binom{n}{k}\theta^{k}(1-\theta)^{n-k}\leq 0.025\}",
    example=worked_example(MULTICLASS_EXAMPLE, "0.863004337735"),
    compute=_compute_from_tally(accuracy_upper),
    interval=NO_INTERVAL_OF_BOUND,
    merges_cells=True,
    name="upper end of the exact 95 % interval of the accuracy",
    names=("AccuracyUpper", "Clopper-Pearson upper bound"),
    source="Clopper & Pearson 1934, The use of confidence or fiducial limits",
    symbols=_BINOMIAL_SYMBOLS,
    supports_weights=False,
    peers={
        "caret": f"AccuracyUpper; {_DROPPED_NOTE}",
        "PyCM": "95% CI is a different interval: the normal approximation",
    },
)
_declare(
    key="accuracy_p_value",
    equation=r"\sum_{k=x}^{n} \binom{n}{k}\theta_{0}^{k}(1-\theta_{0})^{n-k},\quad \theta_{0}=\frac{1}{n}\max_{j} n_{j}",
    example=worked_example(MULTICLASS_EXAMPLE, "0.365506905341"),
    compute=_compute_from_tally(accuracy_p_value),
    interval=NO_INTERVAL_OF_TEST,
    merges_cells=True,
    name="p-value of the accuracy against the no-information rate",
    names=("AccuracyPValue", "P-Value [Acc > NIR]"),
    properties=replace(_TEST_PROPERTIES, symmetric=False),
    symbols={**_RIGHT_ANSWER_SYMBOLS, "θ_0": "the no-information rate"},
    supports_weights=False,
    peers={
        "caret": f"AccuracyPValue; {_DROPPED_NOTE}",
        "PyCM": "P-Value; computed as a difference from 1, so it has only 16 decimals",
    },
)
_declare(
    key="mcnemar_confusion",
    equation=r"P(\chi^{2}_{d}\geq s),\quad s=\sum_{j<k} \frac{(n_{jk}-n_{kj})^{2}}{n_{jk}+n_{kj}},\;d=\frac{m\,(m-1)}{2}",
    example=_MCNEMAR_EXAMPLE,
    compute=mcnemar_confusion,
    interval=NO_INTERVAL_OF_TEST,
    name="McNemar's test of gold × predicted",
    names=("McnemarPValue", "Bowker's test of symmetry"),
    source="McNemar 1947; Bowker 1948, A test for symmetry in contingency tables; R's mcnemar.test",
    symbols={
        "s": "with two classes and continuity correction, the numerator is (|n_12 - n_21| - 1)²",
        "n_jk": "instances of class j predicted as k",
        "j, k": "run over the classes",
        "m": "number of declared labels",
        "d": "degrees of freedom",
    },
    supports_weights=False,
    peers={
        "caret": f"McnemarPValue; NaN where it is null here, as for classes never confused with each other; {_DROPPED_NOTE}",
        "statsmodels": "SquareTable.symmetry has no continuity correction, and adds 0.5 to every cell where one is 0",
    },
)
_declare(
    key="caret_overall",
    equation=r"\frac{1}{n}\sum_{j} \mathrm{TP}_{j},\;\frac{p_{o}-p_{e}}{1-p_{e}},\;\ldots",
    example=worked_example(MULTICLASS_EXAMPLE, json.dumps(_OVERALL_EXAMPLE)),
    compute=caret_overall,
    name="caret's overall statistics",
    names=("confusionMatrix overall",),
    properties=replace(_TEST_PROPERTIES, symmetric=False),
    range=SIGNED_RANGE,
    scalar=False,
    supports_weights=False,
    symbols=_OVERALL_SYMBOLS,
    peers={"caret": f"confusionMatrix()$overall; NA and NaN are null here; {_DROPPED_NOTE}"},
)
_declare(
    key="caret_by_class",
    equation=r"\frac{\mathrm{TP}_{j}}{\mathrm{TP}_{j}+\mathrm{FN}_{j}},\;\frac{\mathrm{TN}_{j}}{\mathrm{TN}_{j}+\mathrm{FP}_{j}},\;\ldots",
    example=worked_example(
        BINARY_EXAMPLE,
        json.dumps({name: dict(zip(BY_CLASS_NAMES, row, strict=True)) for name, row in _BY_CLASS_EXAMPLE.items()}),
    ),
    compute=caret_by_class,
    name="caret's statistics by class",
    names=("confusionMatrix byClass",),
    properties=ASYMMETRIC,
    params=(PREVALENCE_PARAM,),
    scalar=False,
    symbols={"…": "the other values, by their names in caret"},
    peers={
        "caret": "confusionMatrix()$byClass; for two classes it shows only the positive one; NA and NaN are null here, also F1 "
        f"if precision and recall are 0; with more than two classes it takes a prevalence for each; {_DROPPED_NOTE}"
    },
)
