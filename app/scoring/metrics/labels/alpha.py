"""The α-score of Boutell et al.: a Jaccard index that weighs missed and added labels apart, raised to a power."""

import math
from collections.abc import Mapping
from fractions import Fraction
from functools import partial

import numpy as np

from app.scoring.declaration.granularity import INSTANCES
from app.scoring.declaration.metric import LABELS, Metric, MetricCall, Param, Properties, Result, register
from app.scoring.metrics.example_data import MULTILABEL_EXAMPLE, worked_example
from app.scoring.metrics.labels.averages import FixedInstances, average_instances, empty_set_values
from app.scoring.metrics.labels.undefined_rules import UndefinedError
from app.scoring.metrics.labels.whole_task import LABEL_SET_OPTIONS, SINGLE_LABEL_TASKS, UNIT_RANGE
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
    """The mean over instances, or with pooled=true the ratio of the counts summed over all of them.

    Source: Boutell et al. 2004, Learning multi-label scene classification, sec 5.3; the pooled form with ε is Sefidian's
    code.
    """
    alpha, beta, gamma, epsilon = (to_fraction(call.params[name]) for name in ("alpha", "beta", "gamma", "epsilon"))
    instances = ws.tally(call.options).instances
    fixed = _empty_set_values(instances, call)
    if epsilon and instances.weights is not None:
        raise UndefinedError("epsilon is added to counts, and of weights nobody knows the unit")
    if call.params["pooled"] == "true":
        return _pooled_score(instances, fixed, (beta, gamma, epsilon), alpha)
    scale = math.lcm(beta.denominator, gamma.denominator)
    weighed = (scale, scale - int(scale * gamma), scale - int(scale * beta), 0)
    numerator = linear_combination(weighed, instances.counts.columns)
    denominator = linear_combination((scale, scale, scale, 0), instances.counts.columns)
    plain = average_instances(numerator, denominator, fixed, instances.weights)
    if alpha == 1:
        return plain
    if alpha.denominator == 1:  # rational, so that equal values have to be equal
        summed = partial(power_sum, power=int(alpha))
        value = average_instances(numerator, denominator, fixed, instances.weights, summed).value
    else:
        value = _mean_of_powers(numerator, denominator, fixed, instances.weights, alpha=float(alpha))
    return Result(None if value is None else round_to_12_digits(value), None, plain.notes)


def _parameter_error(params: Mapping[str, str]) -> str | None:
    """What is wrong with numbers that are each within their bounds; without a task there may be none."""
    if {"beta", "gamma"} <= params.keys() and max(to_fraction(params["beta"]), to_fraction(params["gamma"])) != 1:
        return "one of beta and gamma has to be 1, else no answer, however wrong, would score 0"
    if to_fraction(params["epsilon"]) and params["pooled"] == "false":
        return "epsilon belongs to the pooled form: say pooled=true too"
    return None


def _empty_set_values(instances: InstanceCounts, call: MetricCall) -> list[FixedInstances]:
    """Two empty sets are 0/0; where one is empty the equation has a value, which stays unless one_empty=skip."""
    pooled = call.params["pooled"] == "true"  # two empty sets add nothing there, as one that is left out
    known = instances.predicted_size if pooled else instances.known_size
    fixed = empty_set_values(call, instances.gold_size, instances.predicted_size, known)
    return fixed if call.options["one_empty"] == "skip" else fixed[:1]


def _pooled_score(
    instances: InstanceCounts, fixed: list[FixedInstances], parts: tuple[Fraction, Fraction, Fraction], alpha: Fraction
) -> Result:
    beta, gamma, epsilon = parts
    kept = np.ones(len(instances.gold_size), dtype=bool)
    for mask, value, _ in fixed:
        kept &= ~mask if value is None else True
    weights = kept.astype(np.int64) if instances.weights is None else instances.weights * kept
    tp, fp, fn, _ = (total(multiply(column, weights)) for column in instances.counts.columns)
    below = tp + fp + fn + epsilon
    if not below:
        nothing, setting = fixed[0][1], fixed[0][2]
        if nothing is None or not kept.any():
            raise UndefinedError(f"no instance with a label is left to count ({setting})")
        return Result(nothing, None, (f"no instance has any label: 0/0 counted as {nothing:g} ({setting})",))
    ratio = 1 - (beta * fn + gamma * fp) / below
    return Result(float(ratio) if alpha == 1 else round_to_12_digits(float(ratio) ** float(alpha)))


def _mean_of_powers(
    numerator: Integers, denominator: Integers, fixed: list[FixedInstances], weights: Integers | None, *, alpha: float
) -> float:
    """The mean of the ratios' powers; equal ratios are raised once."""
    heavy = np.ones(len(numerator), dtype=np.int64) if weights is None else weights
    free = ~np.logical_or.reduce([mask for mask, _, _ in fixed])
    ratios, places = np.unique(divide(numerator[free], denominator[free]), return_inverse=True)
    often = np.zeros(len(ratios), dtype=np.int64)  # below 2**53 together
    np.add.at(often, places, heavy[free])
    terms = [count * ratio**alpha for ratio, count in zip(ratios.tolist(), often.tolist(), strict=True)]
    counted = total(heavy[free])
    for mask, value, _ in fixed:
        if value is not None:
            terms.append(value * total(heavy[mask]))
            counted += total(heavy[mask])
    return divide_sum(math.fsum(terms), counted)


def _alpha_equation(call: MetricCall) -> str:
    latex = _POOLED if call.params["pooled"] == "true" else _PER_INSTANCE
    if call.params["epsilon"] == "0":
        latex = latex.replace(r"+\epsilon", "")
    for name in ("alpha", "beta", "gamma", "epsilon"):
        latex = latex.replace(rf"\{name}", rf"\param{{{name}}}")
    return latex


def _number_param(name: str, meaning: str, most: float) -> Param:
    return Param(name, "number", meaning, bounds=(0, most), required_for=("multilabel",))


register(
    Metric(
        key="alpha_score",
        name="α-score",
        names=("alpha-evaluation", "α-evaluation score", "generalized Jaccard similarity of Boutell et al."),
        equation=_PER_INSTANCE,
        tasks=("multilabel",),
        needs=(LABELS,),
        direction="higher",
        granularity=INSTANCES,
        range=UNIT_RANGE,
        params=(
            _number_param(
                "alpha", "how little an answer that is only partly right counts: with a large α, nothing", 1000
            ),
            _number_param("beta", "the weight of a missed label, from 0 to 1", 1),
            _number_param("gamma", "the weight of an added label, from 0 to 1; it or beta is 1", 1),
            Param(
                "pooled",
                "choice",
                "whether counts are summed over instances before they are divided",
                default="false",
                values=("false", "true"),
                value_meanings=("the mean of the instances' values", "one ratio of the counts of all instances"),
            ),
            Param("epsilon", "number", "what is added to the divisor of the pooled form", default="0", bounds=(0, 1)),
        ),
        options=("both_empty", "one_empty", *LABEL_SET_OPTIONS),
        properties=Properties(symmetric=False, prevalence_sensitive=True, significant_digits=12),  # unless alpha is 1
        source="Boutell et al. 2004, Learning multi-label scene classification, sec 5.3; Sefidian (the pooled form)",
        example=worked_example(MULTILABEL_EXAMPLE, "13/16", {"alpha": "1", "beta": "0.25", "gamma": "1"}),
        compute=alpha_score,
        hints=dict.fromkeys(
            SINGLE_LABEL_TASKS, "with one label per instance an answer is right or wrong: say accuracy"
        ),
        symbols={
            "α": "how little partly right answers count",
            "β": "weight of a missed label",
            "γ": "weight of an added label",
        },
        peers={"Sefidian's code": "pools all instances and adds 1e-5 to the divisor: pooled=true, epsilon=1e-5"},
        equation_of_call=_alpha_equation,
        check=_parameter_error,
    )
)
