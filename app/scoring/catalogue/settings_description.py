"""Describes settings and presets with the metrics that they affect, and the values that a parameter accepts."""

from collections.abc import Mapping, Sequence
from typing import Any

from app.scoring.declaration.convention_presets import Preset, key_matches
from app.scoring.declaration.metric import CATALOGUE, Metric, Param
from app.scoring.declaration.metric_parser import setting_declarations
from app.scoring.declaration.options import OPTIONS


def all_settings() -> dict[str, dict[Param, list[str]]]:
    """Every parameter with a default, by name: its distinct declarations, each with the keys of its metrics."""
    settings: dict[str, dict[Param, list[str]]] = {}
    for metric in CATALOGUE.values():
        for param in metric.params:
            if param.default is not None:
                settings.setdefault(param.name, {}).setdefault(param, []).append(metric.key)
    return dict(sorted(settings.items()))


def has_option(metric: Metric, name: str) -> bool:
    """Whether a metric has an option or a setting of this name."""
    return name in metric.options or any(param.name == name for param in metric.params)


def value_meaning(name: str, value: str) -> str:
    """The meaning of a value of a convention option or of a setting."""
    if name in OPTIONS:
        values = dict(zip(OPTIONS[name].values, OPTIONS[name].value_meanings, strict=True))
        return values.get(value, OPTIONS[name].meaning)
    for param in setting_declarations(name):
        meanings = dict(zip(param.values, param.value_meanings, strict=False))
        if value in meanings:
            return meanings[value]
    return next((param.meaning for param in setting_declarations(name)), "")


def describe_preset(preset: Preset) -> dict[str, Any]:
    """A preset with every option that it sets, for all metrics and for some keys, and the meaning of each value."""
    return {
        "name": preset.name,
        "tool": preset.tool,
        "options": _describe_options(preset.options),
        "by_key": [
            {"keys": keys, "options": _describe_options(options)}
            for pattern, options in preset.by_key
            if (keys := _matching_keys(pattern, options))
        ],
        "positive_first": preset.positive_first,
        "remark": preset.remark,
    }


def _describe_options(options: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"name": name, "value": value, "meaning": value_meaning(name, value)} for name, value in options.items()]


def _matching_keys(pattern: str, options: Mapping[str, str]) -> list[str]:
    """The keys that match a pattern and whose metrics have one of its options."""
    return [
        metric.key
        for metric in CATALOGUE.values()
        if key_matches(metric.key, pattern) and any(has_option(metric, name) for name in options)
    ]


def describe_bounds(bounds: Sequence[float | None]) -> str:
    """The words for a lowest and a highest value, None for an unbounded end."""
    low, high = bounds
    if low is None:
        return "any number" if high is None else f"up to {_format_bound(high)}"
    return f"from {_format_bound(low)}" if high is None else f"{_format_bound(low)} to {_format_bound(high)}"


def _format_bound(number: float) -> str:
    return f"{number:,.6g}" if abs(number) < 1e6 else f"{number:,.15g}"


def describe_accepted_values(param: Mapping[str, Any]) -> str:
    """What a described parameter accepts, with its default or the tasks that require it."""
    kind = {"number": "a number", "whole": "a whole number", "label": "a label"}.get(param["kind"], "")
    if param["bounds"] is not None and kind:
        kind += f" {'' if None in param['bounds'] else 'from '}{describe_bounds(param['bounds'])}"
    default = f"default {param['default']}"
    required = f"required for {', '.join(param['required_for'])}" if param["required_for"] else "optional"
    return "; ".join(filter(None, [kind, default if param["default"] is not None else required]))
