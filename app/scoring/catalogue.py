"""The catalogue as JSON: every metric with its equation, and every call of one with its conventions filled in."""

import math
from functools import cache
from typing import Any

from app.scoring.metric import CATALOGUE, Metric, MetricCall, Param
from app.scoring.metrics.wording import conventions, equation_of, general, symbols
from app.scoring.options import OPTIONS, Option


def describe(metric: Metric) -> dict[str, Any]:
    """Everything that is declared about a metric."""
    return {
        "key": metric.key,
        "name": metric.name,
        "names": list(metric.names),
        "equation": equation(general(metric)),
        "symbols": symbols(general(metric)) | dict(metric.symbols),
        "tasks": list(metric.tasks),
        "needs": list(metric.needs),
        "direction": metric.direction,
        "range": _range(metric),
        "params": [_param(param) for param in metric.params],
        "options": [describe_option(OPTIONS[name]) for name in metric.options],
        "properties": {
            "symmetric": metric.properties.symmetric,
            "prevalence_sensitive": metric.properties.prevalence_sensitive,
            "count_based": metric.properties.count_based,
            "ordinal": metric.properties.ordinal,
        },
        "scalar": metric.scalar,
        "acceptable_sets": metric.acceptable,
        "weights": metric.weighable,
        "source": metric.source,
        "peers": dict(metric.peers),
        "example": _example(metric),
    }


def describe_call(call: MetricCall) -> dict[str, Any]:
    """What a board shows beside a metric: the equation as used and the conventions behind it."""
    return {
        "key": call.text,
        "metric": call.metric.key,
        "name": call.title or call.metric.name,
        "equation": equation(equation_of(call)),
        "symbols": symbols(equation_of(call)) | dict(call.metric.symbols),
        "direction": call.metric.direction,
        "range": _range(call.metric),
        "params": dict(call.params),
        "options": {name: call.options[name] for name in call.metric.options},
        "conventions": conventions(call),
    }


def describe_option(option: Option) -> dict[str, Any]:
    """A convention option with the meaning of each of its values."""
    return {
        "name": option.name,
        "default": option.default,
        "values": [
            {"value": value, "meaning": meaning}
            for value, meaning in zip(option.values, option.value_meanings, strict=True)
        ],
        "meaning": option.meaning,
    }


def describe_all() -> list[dict[str, Any]]:
    """The whole catalogue in its order."""
    return [describe(metric) for metric in CATALOGUE.values()]


def equation(latex: str) -> dict[str, str]:
    """An equation as LaTeX and as MathML."""
    return {"latex": latex, "mathml": _mathml(latex)}


@cache
def _mathml(latex: str) -> str:
    # imported when the first equation is shown: scoring and the command line's help do without it
    from latex2mathml.converter import convert  # noqa: PLC0415

    return str(convert(latex, display="block"))


def _range(metric: Metric) -> list[float | None]:
    """The least and the greatest value; None where there is no bound."""
    return [None if math.isinf(end) else end for end in metric.range]


def _param(param: Param) -> dict[str, Any]:
    bounds = None if param.bounds is None else [None if math.isinf(end) else end for end in param.bounds]
    meanings = dict(zip(param.values, param.value_meanings, strict=False))
    return {
        "name": param.name,
        "kind": param.kind,
        "default": param.default,
        "bounds": bounds,
        "values": [{"value": value, "meaning": meanings.get(value, "")} for value in param.values],
        "meaning": param.meaning,
        "required_for": list(param.required_for),
    }


def _example(metric: Metric) -> dict[str, Any]:
    example = metric.example
    shown: dict[str, Any] = {
        "task": example.task,
        "classes": list(example.classes),
        "gold": [list(labels) if isinstance(labels, tuple) else labels for labels in example.gold],
        "predicted": [list(labels) if isinstance(labels, tuple) else labels for labels in example.predicted],
    }
    if example.positive_label is not None:
        shown["positive_label"] = example.positive_label
    if example.train_frequencies is not None:
        shown["train_frequencies"] = dict(example.train_frequencies)
    if example.scores is not None:
        shown["scores"] = [list(row) for row in example.scores]
    if example.hierarchy is not None:
        shown["hierarchy"] = {child: list(parents) for child, parents in example.hierarchy.items()}
    for name in ("folds", "groups"):
        if getattr(example, name) is not None:
            shown[name] = list(getattr(example, name))
    if example.cost_matrix is not None:
        shown["cost_matrix"] = {label: dict(costs) for label, costs in example.cost_matrix.items()}
    return {**shown, "params": dict(example.params), "value": example.value}
