"""The catalogue as JSON: metrics with their equations, and calls of metrics with their parameters and conventions."""

import math
from collections.abc import Collection, Mapping
from functools import cache, lru_cache
from typing import Any

from app.scoring.catalogue import worked_examples
from app.scoring.declaration.convention_presets import PRESETS
from app.scoring.declaration.metric import CATALOGUE, Metric, MetricCall, Param
from app.scoring.declaration.options import DEFAULTS, OPTIONS, Option
from app.scoring.declaration.requirements import NEED_MEANINGS
from app.scoring.declaration.task import TaskKind
from app.scoring.metrics import FAMILY_BY_KEY
from app.scoring.metrics.call_equation import (
    convention_sentences,
    equation_of,
    general_equation,
    symbols_of_call,
    symbols_of_metric,
)

_EXAMPLE_FIELDS = (
    "task", "classes", "gold", "predicted", "positive_label", "train_frequencies", "scores", "hierarchy", "folds",
    "groups", "class_weights", "cost_matrix",
)  # fmt: skip
"""The fields of an example in the order of its description; those that are None are left out."""


def describe_metric(metric: Metric) -> dict[str, Any]:
    """The full declaration of a metric, with the general equation and the default conventions."""
    return _description(metric, default_call(metric)) | {
        "equation": render_equation(general_equation(metric)),
        "symbols": symbols_of_metric(metric),
    }


def explain_call(call: MetricCall) -> dict[str, Any]:
    """The full declaration of a call's metric, with the equation as used and the values of parameters and options."""
    return _description(call.metric, call) | {
        "key": call.text,
        "equation": render_equation(equation_of(call)),
        "symbols": symbols_of_call(call),
    }


def default_call(metric: Metric) -> MetricCall:
    """The call of a metric with defaults only; parameters without a default are absent."""
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
        "range": _finite_bounds(metric.range),
        "params": [_describe_param(param) | {"value": call.params.get(param.name)} for param in metric.params],
        "options": [describe_option(OPTIONS[name]) | {"value": call.options[name]} for name in metric.options],
        "properties": {
            name: getattr(properties, name) for name in ("symmetric", "prevalence_sensitive", "count_based", "ordinal")
        },
        "significant_digits": properties.significant_digits,
        "granularity": {name: getattr(metric.granularity, name) for name in ("name", "meaning", "separating")},
        "interval": {"kind": metric.interval.kind, "meaning": metric.interval.sentence} if metric.scalar else None,
        "scalar": metric.scalar,
        "acceptable_sets": metric.acceptable,
        "weights": metric.supports_weights,
        "source": metric.source,
        "peers": dict(metric.peers),
        "presets": presets_of(metric),
        "example": _describe_example(metric.key),
    }


def describe_call(call: MetricCall) -> dict[str, Any]:
    """The description of a call on a leaderboard: the equation as used and its conventions."""
    return {
        "key": call.text,
        "metric": call.metric.key,
        "name": call.title or call.metric.name,
        "equation": render_equation(equation_of(call)),
        "symbols": symbols_of_call(call),
        "direction": call.metric.direction,
        "range": _finite_bounds(call.metric.range),
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
    """The metrics for a task that have all these needs, and all these words in key, names, family or source."""
    search_words = words.lower().split()
    return [
        metric
        for metric in CATALOGUE.values()
        if (task is None or task in metric.tasks)
        and set(needs) <= set(metric.needs)
        and all(word in _search_text(metric) for word in search_words)
    ]


def _search_text(metric: Metric) -> str:
    family = FAMILY_BY_KEY[metric.key].title
    return " ".join((metric.key, metric.name, *metric.names, family, metric.source)).lower()


def render_equation(latex: str) -> dict[str, str]:
    """An equation as LaTeX and as MathML."""
    return {"latex": latex, "mathml": _latex_to_mathml(latex)}


@lru_cache(maxsize=4096)  # bounded, because users choose the values of parameters in equations
def _latex_to_mathml(latex: str) -> str:
    # Imported for the first equation only: scoring and the command line's help do not need it.
    from latex2mathml.converter import convert  # noqa: PLC0415

    # The converter takes the colon of ":=" for an identifier, which a browser sets apart from the equals sign.
    return str(convert(latex, display="block")).replace("<mi>:</mi><mo>&#x0003D;</mo>", "<mo>:=</mo>")


def _finite_bounds(ends: tuple[float, float]) -> list[float | None]:
    """The lowest and the highest value; None for an unbounded end."""
    return [None if math.isinf(end) else end for end in ends]


def _describe_param(param: Param) -> dict[str, Any]:
    bounds = None if param.bounds is None else _finite_bounds(param.bounds)
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
    """The hints on what to use for other tasks, each with the tasks that it is for."""
    tasks_by_hint: dict[str, list[str]] = {}
    for task, hint in metric.hints.items():
        tasks_by_hint.setdefault(hint, []).append(task)
    return {hint: ", ".join(tasks) for hint, tasks in tasks_by_hint.items()}


def presets_of(metric: Metric) -> list[dict[str, Any]]:
    """The presets that set an option or parameter of a metric, each with what it sets."""
    known = {*metric.options, *(param.name for param in metric.params)}
    described = []
    for preset in PRESETS.values():
        options = {name: value for name, value in preset.for_key(metric.key).items() if name in known}
        if options:
            described.append({"name": preset.name, "tool": preset.tool, "options": options})
    return described


@cache
def _describe_example(key: str) -> dict[str, Any]:
    metric = CATALOGUE[key]
    example = metric.example
    fields = {name: _to_json(getattr(example, name)) for name in _EXAMPLE_FIELDS}
    return {
        **{name: value for name, value in fields.items() if value is not None},
        "params": dict(example.params),
        "value": example.value,
        **worked_examples.explain_example_value(metric),
    }


def _to_json(value: Any) -> Any:
    """A declared value as JSON: tuples become lists and mappings objects, at every level."""
    if isinstance(value, Mapping):
        return {key: _to_json(item) for key, item in value.items()}
    return [_to_json(item) for item in value] if isinstance(value, tuple) else value
