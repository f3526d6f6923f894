"""The α-score of Boutell et al.: a Jaccard index with separate weights for missed and added labels, raised to a power."""

import math
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np

from app.scoring.declaration.distinct_value_bounds import INSTANCES
from app.scoring.declaration.metric import MetricCall, Param, Result
from app.scoring.draw_context import DrawContext, Floats, InstanceValues, divide_draws
from app.scoring.metrics.example_data import MULTILABEL_EXAMPLE
from app.scoring.metrics.labels.averages import FixedInstances, average_instances, empty_set_values, instance_values
from app.scoring.metrics.labels.undefined_rules import Mask, UndefinedError
from app.scoring.metrics.shared_declarations import (
    ASYMMETRIC,
    KNOWN_CELL_OPTIONS,
    MULTILABEL_TASKS,
    SINGLE_LABEL_TASKS,
    choice_param,
    declare_label_set_metric,
    worked_example,
)
from app.scoring.numeric.correct_rounding import power_sum
from app.scoring.numeric.exact import (
    Integers,
    divide,
    divide_sum,
    linear_combination,
    multiply,
    round_to_12_digits,
    to_fraction,
    total,
)
from app.scoring.tally import EvaluationContext, InstanceCounts

_PER_INSTANCE = (
    r"\frac{1}{n}\sum_{i=1}^{n}"
    r"\left(1-\frac{\beta\,|Y_{i}\setminus P_{i}|+\gamma\,|P_{i}\setminus Y_{i}|}{|Y_{i}\cup P_{i}|}\right)^{\alpha}"
)
_POOLED = (
    r"\left(1-\frac{\beta\,\sum_{i=1}^{n}|Y_{i}\setminus P_{i}|+\gamma\,\sum_{i=1}^{n}|P_{i}\setminus Y_{i}|}"
    r"{\sum_{i=1}^{n}|Y_{i}\cup P_{i}|+\epsilon}\right)^{\alpha}"
)


def alpha_score(ws: EvaluationContext, call: MetricCall) -> Result:
    """The mean over instances; with pooled=true the ratio of the counts summed over all instances.

    Source: Boutell et al. 2004, Learning multi-label scene classification, sec 5.3; the pooled form with ε follows
    Sefidian's code.
    """
    alpha, beta, gamma, epsilon = (to_fraction(call.params[name]) for name in ("alpha", "beta", "gamma", "epsilon"))
    instances = ws.tally(call.options).instances
    fixed = _empty_set_values(instances, call)
    if epsilon and instances.weights is not None:
        raise UndefinedError("epsilon is added to counts, but instance weights have no defined unit")
    if call.params["pooled"] == "true":
        return _pooled_score(instances, fixed, (beta, gamma, epsilon), alpha)
    numerator, denominator = _ratio_terms(instances, beta, gamma)
    mean = average_instances(numerator, denominator, fixed, instances.weights)
    if alpha == 1:
        return mean
    if alpha.denominator == 1:  # rational values are summed exactly, so that equal scores compare equal
        sum_of_powers = partial(power_sum, power=int(alpha))
        value = average_instances(numerator, denominator, fixed, instances.weights, sum_of_powers).value
    else:
        value = _mean_of_powers(numerator, denominator, fixed, instances.weights, alpha=float(alpha))
    return Result(None if value is None else round_to_12_digits(value), None, mean.notes)


def alpha_score_draws(draws: DrawContext, call: MetricCall) -> Floats:
    """`alpha_score` for many draws at once."""
    alpha, beta, gamma, epsilon = (to_fraction(call.params[name]) for name in ("alpha", "beta", "gamma", "epsilon"))
    instances = draws.rows.tally(call.options).instances
    fixed = _empty_set_values(instances, call)
    if epsilon and instances.weights is not None:
        raise UndefinedError("epsilon is added to counts, but instance weights have no defined unit")
    if call.params["pooled"] == "true":
        return _pooled_draws(draws, instances, fixed, (float(beta), float(gamma), float(epsilon)), float(alpha))

    def make() -> InstanceValues:
        numerator, denominator = _ratio_terms(instances, beta, gamma)
        return instance_values(numerator, denominator, fixed, lambda a, b: _powers(divide(a, b), float(alpha)))

    return draws.mean_of_call(call.cache_key, make)


def _pooled_draws(
    draws: DrawContext,
    instances: InstanceCounts,
    fixed: list[FixedInstances],
    parts: tuple[float, float, float],
    alpha: float,
) -> Floats:
    beta, gamma, epsilon = parts
    included = _included(instances, fixed)
    tp, fp, fn, _ = (draws.sum_of(np.asarray(column) * included) for column in instances.counts.columns)
    denominator = tp + fp + fn + epsilon
    values = _powers(1 - divide_draws(beta * fn + gamma * fp, denominator), alpha)
    empty = fixed[0][1]
    substitute = np.where(draws.sum_rows(included) > 0, np.nan if empty is None else empty, np.nan)
    return np.where(denominator == 0, substitute, values)


def _powers(values: Floats, alpha: float) -> Floats:
    """Each value to the power, rounded so that it does not depend on the library of the machine."""
    return values if alpha == 1 else np.array([round_to_12_digits(value**alpha) for value in values.tolist()])


def _ratio_terms(instances: InstanceCounts, beta: Fraction, gamma: Fraction) -> tuple[Integers, Integers]:
    """Numerator and denominator of the ratio of each instance, scaled to integers."""
    scale = math.lcm(beta.denominator, gamma.denominator)
    coefficients = (scale, scale - int(scale * gamma), scale - int(scale * beta), 0)
    columns = instances.counts.columns
    return linear_combination(coefficients, columns), linear_combination((scale, scale, scale, 0), columns)


def _included(instances: InstanceCounts, fixed: list[FixedInstances]) -> Mask:
    """The instances whose counts are pooled."""
    included = np.ones(len(instances.gold_size), dtype=bool)
    for mask, value, _ in fixed:
        included &= ~mask if value is None else True
    return included


def _parameter_error(params: Mapping[str, str]) -> str | None:
    """What is wrong with parameters that are each within their bounds; some may be missing where no task is known."""
    if {"beta", "gamma"} <= params.keys() and max(to_fraction(params["beta"]), to_fraction(params["gamma"])) != 1:
        return "beta or gamma must be 1: otherwise even a completely wrong answer scores above 0"
    if to_fraction(params["epsilon"]) and params["pooled"] == "false":
        return "epsilon applies to the pooled form only: add pooled=true"
    return None


def _empty_set_values(instances: InstanceCounts, call: MetricCall) -> list[FixedInstances]:
    """The instances with empty sets: two empty sets are 0/0; with one empty set the equation applies unless one_empty=skip."""
    # two empty sets add nothing to the pooled counts, like an instance that is left out
    pooled = call.params["pooled"] == "true"
    known = instances.predicted_size if pooled else instances.known_size
    fixed = empty_set_values(call, instances.gold_size, instances.predicted_size, known)
    return fixed if call.options["one_empty"] == "skip" else fixed[:1]


def _pooled_score(
    instances: InstanceCounts, fixed: list[FixedInstances], parts: tuple[Fraction, Fraction, Fraction], alpha: Fraction
) -> Result:
    beta, gamma, epsilon = parts
    included = _included(instances, fixed)
    weights = included.astype(np.int64) if instances.weights is None else instances.weights * included
    tp, fp, fn, _ = (total(multiply(column, weights)) for column in instances.counts.columns)
    denominator = tp + fp + fn + epsilon
    if not denominator:
        empty_value, setting = fixed[0][1], fixed[0][2]
        if empty_value is None or not included.any():
            raise UndefinedError(f"no instance with a label is left to count ({setting})")
        return Result(empty_value, None, (f"no instance has any label: 0/0 counted as {empty_value:g} ({setting})",))
    ratio = 1 - (beta * fn + gamma * fp) / denominator
    return Result(float(ratio) if alpha == 1 else round_to_12_digits(float(ratio) ** float(alpha)))


def _mean_of_powers(
    numerator: Integers, denominator: Integers, fixed: list[FixedInstances], weights: Integers | None, *, alpha: float
) -> float:
    """The mean of the powers of the ratios; equal ratios are raised to the power once."""
    instance_weights = np.ones(len(numerator), dtype=np.int64) if weights is None else weights
    regular = ~np.logical_or.reduce([mask for mask, _, _ in fixed])
    ratios, positions = np.unique(divide(numerator[regular], denominator[regular]), return_inverse=True)
    counts = np.zeros(len(ratios), dtype=np.int64)  # their sum stays below 2**53, so each converts to binary64 exactly
    np.add.at(counts, positions, instance_weights[regular])
    terms = [count * ratio**alpha for ratio, count in zip(ratios.tolist(), counts.tolist(), strict=True)]
    divisor = total(instance_weights[regular])
    for mask, value, _ in fixed:
        if value is not None:
            terms.append(value * total(instance_weights[mask]))
            divisor += total(instance_weights[mask])
    return divide_sum(math.fsum(terms), divisor)


def _alpha_equation(call: MetricCall) -> str:
    latex = _POOLED if call.params["pooled"] == "true" else _PER_INSTANCE
    if call.params["epsilon"] == "0":
        latex = latex.replace(r"+\epsilon", "")
    for name in ("alpha", "beta", "gamma", "epsilon"):
        latex = latex.replace(rf"\{name}", rf"\param{{{name}}}")
    return latex


def _number_param(name: str, meaning: str, maximum: float) -> Param:
    return Param(name, "number", meaning, bounds=(0, maximum), required_for=MULTILABEL_TASKS)


declare_label_set_metric(
    key="alpha_score",
    name="α-score",
    names=("alpha-evaluation", "α-evaluation score", "generalized Jaccard similarity of Boutell et al."),
    equation=_PER_INSTANCE,
    direction="higher",
    granularity=INSTANCES,
    params=(
        _number_param("alpha", "the exponent: the larger it is, the less a partly right answer counts", 1000),
        _number_param("beta", "the weight of a missed label, from 0 to 1", 1),
        _number_param("gamma", "the weight of an added label, from 0 to 1; it or beta is 1", 1),
        choice_param(
            "pooled",
            "whether counts are summed over all instances before the division",
            false="the mean of the instances' values",
            true="one ratio of the counts of all instances",
        ),
        Param("epsilon", "number", "a constant added to the pooled denominator", default="0", bounds=(0, 1)),
    ),
    options=("both_empty", "one_empty", *KNOWN_CELL_OPTIONS),
    properties=replace(ASYMMETRIC, significant_digits=12),
    source="Boutell et al. 2004, Learning multi-label scene classification, sec 5.3; Sefidian (the pooled form)",
    example=worked_example(MULTILABEL_EXAMPLE, "13/16", {"alpha": "1", "beta": "0.25", "gamma": "1"}),
    compute=alpha_score,
    compute_draws=alpha_score_draws,
    hints=dict.fromkeys(
        SINGLE_LABEL_TASKS, "with one label per instance, an answer is simply right or wrong: use accuracy"
    ),
    symbols={
        "α": "exponent: the larger it is, the less partly right answers count",
        "β": "weight of a missed label",
        "γ": "weight of an added label",
    },
    peers={"Sefidian's code": "pools all instances and adds 1e-5 to the denominator: pooled=true, epsilon=1e-5"},
    equation_of_call=_alpha_equation,
    check=_parameter_error,
)
