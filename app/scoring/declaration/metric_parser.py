"""Parses requested metrics, strings or objects, and checks them against the catalogue."""

import re
from collections.abc import Collection, Mapping
from functools import cache
from itertools import takewhile
from typing import Any

from app.errors import InvalidMetric
from app.scoring.declaration import metric_syntax
from app.scoring.declaration.convention_presets import PRESET_OPTION, PRESETS
from app.scoring.declaration.metric import (
    ACCEPTABLE_SETS,
    CATALOGUE,
    PROBABILITIES,
    RANKING,
    SCORES,
    UNKNOWN_CELLS,
    Metric,
    MetricCall,
    Param,
)
from app.scoring.declaration.options import DEFAULTS, OPTIONS, excluded_labels
from app.scoring.declaration.task import TaskKind
from app.text.close_matches import did_you_mean, format_hint

METRIC_KEY_ALIASES = {"threat_score": "jaccard"}
"""Alternative beginnings of keys with those of the catalogue; they work for every average of the measure."""


def parse_metric(
    request: str | Mapping[str, Any],
    *,
    options: Mapping[str, Any] | None = None,
    task: TaskKind | None = None,
    classes: Collection[str] | None = None,
) -> MetricCall:
    """The metric requested by a string or by an object {"key", "params", "options", "name"}.

    `options` are those of the recipe. They apply unless the metric overrides them, and the canonical string omits them.
    With `task`, the metric must be defined for it; with `classes`, the labels that it names must be among them. Raises
    InvalidMetric with the fault and a suggestion.
    """
    key, values, title = _split_request(request)
    metric = find_metric(key)
    _check_task(metric, task)
    shared = effective_options(metric, parse_shared_options(options or {}))
    own = {name: metric_syntax.canonical_option(name, value) for name, value in values.items() if name in OPTIONS}
    own = {name: value for name, value in own.items() if name in metric.options}
    _check_parameter_names(metric, values)
    params = _parse_params(metric, values, shared, task)
    if metric.check is not None and (fault := metric.check(params)):
        raise InvalidMetric(f"'{metric.key}' has no value: {fault}.")
    check_label_parameters(params, own, classes)
    conventions = {name: shared[name] for name in OPTIONS} | own
    if PROBABILITIES in metric.needs and conventions["score_direction"] == "lower":
        raise InvalidMetric(f"'{metric.key}' needs probabilities, which do not allow score_direction=lower.")
    text = metric_syntax.format_metric_string(
        metric.key,
        {p.name: params[p.name] for p in metric.params if params.get(p.name) != _effective_default(p, shared)},
        {name: value for name, value in own.items() if value != shared[name]},
    )
    return MetricCall(metric, params, conventions, text, request if isinstance(request, str) else text, title)


def find_metric(key: str) -> Metric:
    """The metric with this key or alias; raises InvalidMetric with the most similar keys."""
    if key in CATALOGUE:
        return CATALOGUE[key]
    for alias, catalogue_key in METRIC_KEY_ALIASES.items():
        other = catalogue_key + key.removeprefix(alias)
        if (key == alias or key.startswith(f"{alias}_")) and other in CATALOGUE:
            return CATALOGUE[other]
    hint = format_hint(dict.fromkeys(_keys_by_words().get(_sorted_words(key), ()))) or did_you_mean(key, CATALOGUE)
    raise InvalidMetric(f"There is no metric '{key}'{hint}.")


@cache
def _keys_by_words() -> dict[tuple[str, ...], list[str]]:
    """The keys of the metrics that have a key or name of these words."""
    keys: dict[tuple[str, ...], list[str]] = {}
    for metric in CATALOGUE.values():
        for name in (metric.key, *metric.names):
            keys.setdefault(_sorted_words(name), []).append(metric.key)
    return keys


def _sorted_words(name: str) -> tuple[str, ...]:
    """The words of a key or name in alphabetical order, so that macro_f1 matches f1_macro."""
    return tuple(sorted(re.split(r"[\s_-]+", name.lower())))


def _split_request(request: str | Mapping[str, Any]) -> tuple[str, dict[str, str], str | None]:
    """Key, encoded values by name, display name."""
    if isinstance(request, str):
        return *metric_syntax.split_metric_string(request), None
    key, title = request.get("key"), request.get("name")
    if not isinstance(key, str):
        raise InvalidMetric('A metric is a string or an object with "key".')
    if title is not None and not isinstance(title, str):
        raise InvalidMetric('The "name" of a metric must be a string.')
    unknown = [name for name in request if name not in {"key", "params", "options", "name"}]
    if unknown:
        raise InvalidMetric(f"A metric has no field '{unknown[0]}': it has key, params, options and name.")
    values: dict[str, str] = {}
    for field in ("params", "options"):
        items = request.get(field) or {}
        if not isinstance(items, Mapping):
            raise InvalidMetric(f'"{field}" of a metric must be an object.')
        for name, value in items.items():
            if name in values:
                raise InvalidMetric(f"'{name}' is given twice for '{key}'.")
            values[str(name)] = metric_syntax.encode_json_value(str(name), value)
    return key, values, title


def _check_task(metric: Metric, task: TaskKind | None) -> None:
    if task is None or task in metric.tasks:
        return
    hint = f": {metric.hints[task]}" if task in metric.hints else ""
    raise InvalidMetric(f"'{metric.key}' is not defined for {task} tasks{hint}.")


@cache
def setting_declarations(name: str) -> tuple[Param, ...]:
    """The declarations of a setting: all distinct parameters of this name with a default, over all metrics."""
    params = (param for metric in CATALOGUE.values() for param in metric.params)
    return tuple(dict.fromkeys(param for param in params if param.name == name and param.default is not None))


def parse_shared_options(options: Mapping[str, Any]) -> dict[str, str]:
    """Options for all metrics in canonical form: conventions, settings, a preset; raises InvalidMetric."""
    canonical = {}
    for name, value in options.items():
        text = metric_syntax.encode_json_value(str(name), value)
        if name == PRESET_OPTION:
            canonical[name] = metric_syntax.canonical_choice(name, text, tuple(PRESETS))
        elif name in OPTIONS:
            canonical[name] = metric_syntax.canonical_option(name, text)
        else:
            canonical[name] = _parse_setting(name, text)
    return canonical


@metric_syntax.cache_short_texts
def _parse_setting(name: str, text: str) -> str:
    """The canonical value of a setting that at least one metric accepts."""
    declared = setting_declarations(name)
    if not declared:
        known = {param.name for metric in CATALOGUE.values() for param in metric.params if param.default is not None}
        raise InvalidMetric(f"There is no option '{name}'{did_you_mean(name, [*OPTIONS, *sorted(known)])}.")
    first_problem = None
    for param in declared:
        try:
            return _parse_value(param, text)
        except InvalidMetric as problem:
            first_problem = first_problem or problem
    values = sorted({value for param in declared for value in param.values})
    if values:
        raise InvalidMetric(f"'{name}' must be one of {', '.join(values)}, not '{text}'.")
    raise first_problem or InvalidMetric()


def effective_options(metric: Metric, shared: Mapping[str, str]) -> dict[str, str]:
    """The options of a metric that sets none itself: defaults, overridden by the preset, overridden by the others."""
    preset = PRESETS.get(shared.get(PRESET_OPTION, ""))
    return DEFAULTS | (preset.for_key(metric.key) if preset else {}) | dict(shared)


def _effective_default(param: Param, shared: Mapping[str, str]) -> str | None:
    """The value of a setting that the metric does not set: the shared one, if this metric accepts that value."""
    if param.default is None or param.name not in shared:
        return param.default
    return _value_or_default(param, shared[param.name])


@metric_syntax.cache_short_texts
def _value_or_default(param: Param, text: str) -> str | None:
    """The canonical value of a setting, or its default if it does not accept the value."""
    try:
        return _parse_value(param, text)
    except InvalidMetric:
        return param.default


def _check_parameter_names(metric: Metric, values: Mapping[str, str]) -> None:
    """Refuse a name that is neither a parameter of the metric nor a known option; ignore options of other metrics."""
    declared = [param.name for param in metric.params]
    for name, text in values.items():
        if name in declared or name in OPTIONS:
            continue
        if setting_declarations(name):
            _parse_setting(name, text)
            continue
        others = [key for key, other in CATALOGUE.items() if name in {param.name for param in other.params}]
        similar = max(others, key=lambda other: _key_similarity(other, metric.key), default=None)
        hint = f" ({similar} has one)" if similar else did_you_mean(name, [*declared, *OPTIONS])
        raise InvalidMetric(f"'{metric.key}' has no parameter or option '{name}'{hint}.")


def _parse_params(
    metric: Metric, values: Mapping[str, str], shared: Mapping[str, str], task: TaskKind | None
) -> dict[str, str]:
    """The checked parameters in the order of the catalogue."""
    params = {}
    for param in metric.params:
        text = values.get(param.name)
        value = _effective_default(param, shared) if text is None else _parse_value(param, text)
        if value is not None:
            params[param.name] = value
        elif len(param.required_for) == 3 or task in param.required_for or set(metric.tasks) == set(param.required_for):
            macro = f"{metric.key}_macro"
            hint = f"; or use {macro} for the mean over classes" if param.name == "label" and macro in CATALOGUE else ""
            raise InvalidMetric(f"'{metric.key}' needs {param.name}=…: {param.meaning}{hint}.")
    return params


def _parse_value(param: Param, text: str) -> str:
    """The canonical value of a parameter; raises InvalidMetric."""
    if param.kind == "label":
        return metric_syntax.canonical_label(param.name, text)
    if param.kind == "choice" or text in param.values:
        return metric_syntax.canonical_choice(param.name, text, param.values)
    return metric_syntax.canonical_number(
        param.name, text, param.bounds, whole=param.kind == "whole", words=param.values
    )


def _key_similarity(key: str, other: str) -> tuple[int, bool, int]:
    """A sort key: the number of equal first words, then whether the last word is equal, then shortness."""
    words = key.split("_")
    same = len(list(takewhile(lambda pair: pair[0] == pair[1], zip(words, other.split("_"), strict=False))))
    return same, words[-1] == other.rpartition("_")[2], -len(words)


def check_label_parameters(params: Mapping[str, str], own: Mapping[str, str], classes: Collection[str] | None) -> None:
    """Raise InvalidMetric if the `label` parameter or exclude_labels name labels that are not among the classes."""
    if classes is None:
        return
    label_names = [params["label"]] if "label" in params else []
    excluded = excluded_labels(own.get("exclude_labels", ""), classes)
    for name in (*label_names, *excluded):
        if name not in classes:
            raise InvalidMetric(f"'{name}' is not one of the classes{did_you_mean(name, classes)}.")
    if excluded and set(excluded) >= set(classes):
        raise InvalidMetric("'exclude_labels' leaves no class to average over.")


def check_options(options: Mapping[str, Any], classes: Collection[str]) -> None:
    """Raise InvalidMetric if options for all metrics name labels that are not among the classes."""
    check_label_parameters({}, parse_shared_options(options), classes)


def applicable_metrics(task: TaskKind, options: Mapping[str, Any] | None, has: Collection[str]) -> list[MetricCall]:
    """Every scalar metric that the data allow and that needs no choice by the user: what a bare `assay score` computes.

    `has` are the needs that the data meet. Metrics of probabilities or of the order of labels are left out, because not
    all scores are probabilities and not all lists are ordered. ACCEPTABLE_SETS in `has` means that the gold has sets of
    acceptable answers, UNKNOWN_CELLS that it has unknown cells.
    """
    met_needs = set(has) - {PROBABILITIES, ACCEPTABLE_SETS, UNKNOWN_CELLS}
    if SCORES not in met_needs:
        met_needs.discard(RANKING)
    return [
        parse_metric(metric.key, options=options, task=task)
        for metric in CATALOGUE.values()
        if metric.scalar
        and task in metric.tasks
        and (metric.acceptable or ACCEPTABLE_SETS not in has)
        and (UNKNOWN_CELLS in metric.options or UNKNOWN_CELLS not in has)
        and set(metric.needs) <= met_needs
        and not any(task in param.required_for and param.default is None for param in metric.params)
    ]
