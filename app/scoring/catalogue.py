"""The catalogue as JSON: every metric with its equation, and every call of one with its conventions filled in."""

from functools import cache
from typing import Any

from app.scoring.metric import CATALOGUE, Metric, MetricCall, Param
from app.scoring.metrics.wording import conventions, equation_of, symbols
from app.scoring.options import OPTIONS, Option


def describe(metric: Metric) -> dict[str, Any]:
    """Everything that is declared about a metric."""
    return {
        "key": metric.key,
        "name": metric.name,
        "names": list(metric.names),
        "equation": equation(metric.equation),
        "symbols": symbols(metric.equation),
        "tasks": list(metric.tasks),
        "needs": list(metric.needs),
        "direction": metric.direction,
        "range": list(metric.range),
        "params": [_param(param) for param in metric.params],
        "options": [describe_option(OPTIONS[name]) for name in metric.options],
        "properties": {
            "symmetric": metric.properties.symmetric,
            "prevalence_sensitive": metric.properties.prevalence_sensitive,
            "count_based": metric.properties.count_based,
        },
        "source": metric.source,
        "example": _example(metric),
    }


def describe_call(call: MetricCall) -> dict[str, Any]:
    """What a board shows beside a metric: the equation as used and the conventions behind it."""
    return {
        "key": call.text,
        "metric": call.metric.key,
        "name": call.title or call.metric.name,
        "equation": equation(equation_of(call)),
        "symbols": symbols(equation_of(call)),
        "direction": call.metric.direction,
        "range": list(call.metric.range),
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


def _param(param: Param) -> dict[str, Any]:
    return {
        "name": param.name,
        "default": param.default,
        "values": list(param.bounds) if param.bounds else param.kind,
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
    return {**shown, "params": dict(example.params), "value": example.value}
