"""The catalogue as JSON: every metric with its equation, and every call of one with its conventions filled in."""

import math
from collections.abc import Collection
from functools import cache, lru_cache
from typing import Any

from app.scoring.catalogue import worked_examples
from app.scoring.declaration.metric import CATALOGUE, Metric, MetricCall, Param
from app.scoring.declaration.options import DEFAULTS, OPTIONS, Option
from app.scoring.declaration.presets import PRESETS
from app.scoring.declaration.requirements import NEED_MEANINGS
from app.scoring.declaration.task import TaskKind
from app.scoring.metrics import FAMILY_BY_KEY
from app.scoring.metrics.equation_wording import (
    convention_sentences,
    equation_of,
    general_equation,
    symbols_of_call,
    symbols_of_metric,
)


def describe_metric(metric: Metric) -> dict[str, Any]:
    """Everything that is declared about a metric: the general equation, and the conventions that hold by default."""
    return _description(metric, default_call(metric)) | {
        "equation": render_equation(general_equation(metric)),
        "symbols": symbols_of_metric(metric),
    }


def explain_call(call: MetricCall) -> dict[str, Any]:
    """The same about a metric as it was asked for: the equation as used, each parameter and option with its value."""
    return _description(call.metric, call) | {
        "key": call.text,
        "equation": render_equation(equation_of(call)),
        "symbols": symbols_of_call(call),
    }


def default_call(metric: Metric) -> MetricCall:
    """A metric with nothing said: parameters that have no default are not there."""
    params = {param.name: param.default for param in metric.params if param.default is not None}
    return MetricCall(metric, params, DEFAULTS, metric.key, metric.key)


def _description(metric: Metric, call: MetricCall) -> dict[str, Any]:
    properties = metric.properties
    return {
        "key": metric.key,
        "metric": metric.key,
        "family": FAMILY_BY_KEY[metric.key].title,
        "name": metric.name,
        "names": list(metric.names),
        "equation": {},
        "symbols": {},
        "conventions": convention_sentences(call),
        "tasks": list(metric.tasks),
        "hints": dict(metric.hints),
        "needs": list(metric.needs),
        "needs_meanings": {need: NEED_MEANINGS[need] for need in metric.needs},
        "direction": metric.direction,
        "range": _finite_range(metric),
        "params": [_describe_param(param) | {"value": call.params.get(param.name)} for param in metric.params],
        "options": [describe_option(OPTIONS[name]) | {"value": call.options[name]} for name in metric.options],
        "properties": {
            "symmetric": properties.symmetric,
            "prevalence_sensitive": properties.prevalence_sensitive,
            "count_based": properties.count_based,
            "ordinal": properties.ordinal,
        },
        "significant_digits": properties.significant_digits,
        "granularity": {
            "name": metric.granularity.name,
            "meaning": metric.granularity.meaning,
            "separating": metric.granularity.separating,
        },
        "scalar": metric.scalar,
        "acceptable_sets": metric.acceptable,
        "weights": metric.supports_weights,
        "source": metric.source,
        "peers": dict(metric.peers),
        "presets": presets_of(metric),
        "example": _describe_example(metric.key),
    }


def describe_call(call: MetricCall) -> dict[str, Any]:
    """What a board shows beside a metric: the equation as used and the conventions behind it."""
    return {
        "key": call.text,
        "metric": call.metric.key,
        "name": call.title or call.metric.name,
        "equation": render_equation(equation_of(call)),
        "symbols": symbols_of_call(call),
        "direction": call.metric.direction,
        "range": _finite_range(call.metric),
        "params": dict(call.params),
        "options": {name: call.options[name] for name in call.metric.options},
        "conventions": convention_sentences(call),
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


def search_metrics(task: TaskKind | None = None, needs: Collection[str] = (), words: str = "") -> list[Metric]:
    """The metrics for a task that have these needs and all these words in key, names, family or source."""
    wanted = words.lower().split()
    return [
        metric
        for metric in CATALOGUE.values()
        if (task is None or task in metric.tasks)
        and set(needs) <= set(metric.needs)
        and all(word in _search_text(metric) for word in wanted)
    ]


def _search_text(metric: Metric) -> str:
    family = FAMILY_BY_KEY[metric.key].title
    return " ".join((metric.key, metric.name, *metric.names, family, metric.source)).lower()


def render_equation(latex: str) -> dict[str, str]:
    """An equation as LaTeX and as MathML."""
    return {"latex": latex, "mathml": _latex_to_mathml(latex)}


@lru_cache(maxsize=4096)  # the values of parameters are the askers', so there is no end to them
def _latex_to_mathml(latex: str) -> str:
    # imported when the first equation is shown: scoring and the command line's help do without it
    from latex2mathml.converter import convert  # noqa: PLC0415

    return str(convert(latex, display="block"))


def _finite_range(metric: Metric) -> list[float | None]:
    """The least and the greatest value; None where there is no bound."""
    return [None if math.isinf(end) else end for end in metric.range]


def _describe_param(param: Param) -> dict[str, Any]:
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


def task_hints(metric: Metric) -> dict[str, str]:
    """What is meant for other tasks, each hint once with the tasks that it is for."""
    found: dict[str, list[str]] = {}
    for task, hint in metric.hints.items():
        found.setdefault(hint, []).append(task)
    return {hint: ", ".join(tasks) for hint, tasks in found.items()}


def presets_of(metric: Metric) -> list[dict[str, Any]]:
    """The presets that say something about a metric: each with the options and parameters of it that it sets."""
    known = {*metric.options, *(param.name for param in metric.params)}
    found = []
    for preset in PRESETS.values():
        said = {name: value for name, value in preset.for_key(metric.key).items() if name in known}
        if said:
            found.append({"name": preset.name, "tool": preset.tool, "options": said})
    return found


@cache
def _describe_example(key: str) -> dict[str, Any]:
    metric = CATALOGUE[key]
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
    if example.class_weights is not None:
        shown["class_weights"] = dict(example.class_weights)
    if example.cost_matrix is not None:
        shown["cost_matrix"] = {label: dict(costs) for label, costs in example.cost_matrix.items()}
    return {
        **shown,
        "params": dict(example.params),
        "value": example.value,
        **worked_examples.explain_example_value(metric),
    }
