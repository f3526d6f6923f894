"""Metrics as they are asked for: strings and objects, checked against the catalogue, in canonical form."""

import re
from collections.abc import Collection, Mapping
from functools import cache
from itertools import takewhile
from typing import Any

from app.errors import InvalidMetric
from app.scoring.declaration import metric_syntax
from app.scoring.declaration.metric import (
    ACCEPTABLE_SETS,
    CATALOGUE,
    PROBABILITIES,
    RANKING,
    SCORES,
    Metric,
    MetricCall,
    Param,
)
from app.scoring.declaration.options import DEFAULTS, OPTIONS, excluded_labels
from app.scoring.declaration.presets import PRESET_OPTION, PRESETS
from app.scoring.declaration.task import TaskKind
from app.text.close_matches import did_you_mean, format_hint

METRIC_KEY_ALIASES = {"threat_score": "jaccard"}
"""Other first words of keys, each with the ones that the catalogue has: every average of the measure is found by both."""


def parse_metric(
    asked: str | Mapping[str, Any],
    *,
    options: Mapping[str, Any] | None = None,
    task: TaskKind | None = None,
    classes: Collection[str] | None = None,
) -> MetricCall:
    """The metric that a string or {"key", "params", "options", "name"} asks for.

    `options` are the recipe's: they hold where the metric does not say otherwise, and the canonical string leaves
    them out. With `task` the metric must be defined for it; with `classes` the labels it names must be among them.
    Raises InvalidMetric with what is wrong and what was probably meant.
    """
    key, given, title = _split_request(asked)
    metric = find_metric(key)
    _check_task(metric, task)
    shared = effective_options(metric, parse_shared_options(options or {}))
    own = {name: metric_syntax.canonical_option(name, value) for name, value in given.items() if name in OPTIONS}
    own = {name: value for name, value in own.items() if name in metric.options}
    _check_parameter_names(metric, given)
    params = _parse_params(metric, given, shared, task)
    if metric.check is not None and (fault := metric.check(params)):
        raise InvalidMetric(f"'{metric.key}' has no value: {fault}.")
    check_label_parameters(params, own, classes)
    conventions = {name: shared[name] for name in OPTIONS} | own
    if PROBABILITIES in metric.needs and conventions["score_direction"] == "lower":
        raise InvalidMetric(f"'{metric.key}' needs probabilities, and of those a lower one is never surer.")
    said = {param.name for param in metric.params if params.get(param.name) != _effective_default(param, shared)}
    text = metric_syntax.format_metric_string(
        metric.key,
        {name: value for name, value in params.items() if name in said},
        {name: value for name, value in own.items() if value != shared[name]},
    )
    return MetricCall(metric, params, conventions, text, asked if isinstance(asked, str) else text, title)


def find_metric(key: str) -> Metric:
    """The metric with this key; raises InvalidMetric naming the nearest ones."""
    if key in CATALOGUE:
        return CATALOGUE[key]
    for alias, meant in METRIC_KEY_ALIASES.items():
        other = meant + key.removeprefix(alias)
        if (key == alias or key.startswith(f"{alias}_")) and other in CATALOGUE:
            return CATALOGUE[other]
    words = _sorted_words(key)
    near = [
        metric.key
        for metric in CATALOGUE.values()
        if words in [_sorted_words(name) for name in (metric.key, *metric.names)]
    ]
    hint = format_hint(dict.fromkeys(near)) or did_you_mean(key, CATALOGUE)
    raise InvalidMetric(f"There is no metric '{key}'{hint}.")


def _sorted_words(name: str) -> list[str]:
    """The words of a key or name, in no order: macro_f1 means f1_macro."""
    return sorted(re.split(r"[\s_-]+", name.lower()))


def _split_request(asked: str | Mapping[str, Any]) -> tuple[str, dict[str, str], str | None]:
    """Key, encoded values by name, display name."""
    if isinstance(asked, str):
        return *metric_syntax.split_metric_string(asked), None
    key, title = asked.get("key"), asked.get("name")
    if not isinstance(key, str):
        raise InvalidMetric('A metric is a string or an object with "key".')
    if title is not None and not isinstance(title, str):
        raise InvalidMetric('The "name" of a metric must be a text.')
    unknown = [name for name in asked if name not in {"key", "params", "options", "name"}]
    if unknown:
        raise InvalidMetric(f"A metric has no field '{unknown[0]}': it has key, params, options and name.")
    given: dict[str, str] = {}
    for part in ("params", "options"):
        values = asked.get(part) or {}
        if not isinstance(values, Mapping):
            raise InvalidMetric(f'"{part}" of a metric must be an object.')
        for name, value in values.items():
            if name in given:
                raise InvalidMetric(f"'{name}' is given twice for '{key}'.")
            given[str(name)] = metric_syntax.encode_json_value(str(name), value)
    return key, given, title


def _check_task(metric: Metric, task: TaskKind | None) -> None:
    if task is None or task in metric.tasks:
        return
    hint = metric.hints.get(task)
    raise InvalidMetric(
        f"'{metric.key}' is not defined for {task} tasks" + (f": {hint}." if hint else "."),
    )


@cache
def setting_declarations(name: str) -> tuple[Param, ...]:
    """The declarations of a setting: the different parameters of this name that have a default, over all metrics."""
    every = (param for metric in CATALOGUE.values() for param in metric.params)
    return tuple(dict.fromkeys(param for param in every if param.name == name and param.default is not None))


def parse_shared_options(given: Mapping[str, Any]) -> dict[str, str]:
    """Options that hold for all metrics, in canonical form: conventions, settings, a preset; raises InvalidMetric."""
    found = {}
    for name, value in given.items():
        text = metric_syntax.encode_json_value(str(name), value)
        if name == PRESET_OPTION:
            found[name] = metric_syntax.canonical_choice(name, text, tuple(PRESETS))
        elif name in OPTIONS:
            found[name] = metric_syntax.canonical_option(name, text)
        else:
            found[name] = _parse_setting(name, text)
    return found


@metric_syntax.cache_short_texts
def _parse_setting(name: str, text: str) -> str:
    """The canonical value of a setting that any metric knows."""
    declared = setting_declarations(name)
    if not declared:
        known = {param.name for metric in CATALOGUE.values() for param in metric.params if param.default is not None}
        raise InvalidMetric(f"There is no option '{name}'{did_you_mean(name, [*OPTIONS, *sorted(known)])}.")
    refused = None
    for param in declared:
        try:
            return _parse_value(param, text)
        except InvalidMetric as problem:
            refused = refused or problem
    values = sorted({value for param in declared for value in param.values})
    raise (
        InvalidMetric(f"'{name}' must be one of {', '.join(values)}, not '{text}'.")
        if values
        else refused or InvalidMetric()
    )


def effective_options(metric: Metric, shared: Mapping[str, str]) -> dict[str, str]:
    """What holds for a metric that says nothing itself: defaults, then the preset, then the other options."""
    preset = PRESETS.get(shared.get(PRESET_OPTION, ""))
    own = dict(DEFAULTS)
    return own | (preset.for_key(metric.key) if preset else {}) | dict(shared)


def _effective_default(param: Param, shared: Mapping[str, str]) -> str | None:
    """The value of a setting where the metric does not say it: the shared one, if this metric knows that value."""
    if param.default is None or param.name not in shared:
        return param.default
    return _value_or_default(param, shared[param.name])


@metric_syntax.cache_short_texts
def _value_or_default(param: Param, text: str) -> str | None:
    """The canonical value of a setting; its default where it has no such value."""
    try:
        return _parse_value(param, text)
    except InvalidMetric:
        return param.default


def _check_parameter_names(metric: Metric, given: Mapping[str, str]) -> None:
    """Refuse what is neither a parameter of the metric nor a known option; options of other metrics are ignored."""
    declared = [param.name for param in metric.params]
    for name, text in given.items():
        if name in declared or name in OPTIONS:
            continue
        if setting_declarations(name):
            _parse_setting(name, text)
            continue
        others = [key for key, other in CATALOGUE.items() if name in {param.name for param in other.params}]
        near = max(others, key=lambda other: _key_similarity(other, metric.key), default=None)
        hint = f" ({near} has)" if near else did_you_mean(name, [*declared, *OPTIONS])
        raise InvalidMetric(f"'{metric.key}' has no parameter or option '{name}'{hint}.")


def _parse_params(
    metric: Metric, given: Mapping[str, str], shared: Mapping[str, str], task: TaskKind | None
) -> dict[str, str]:
    """The parameters in catalogue order, checked."""
    params = {}
    for param in metric.params:
        text = given.get(param.name)
        value = _effective_default(param, shared) if text is None else _parse_value(param, text)
        if value is not None:
            params[param.name] = value
        elif len(param.required_for) == 3 or task in param.required_for or set(metric.tasks) == set(param.required_for):
            raise InvalidMetric(
                f"'{metric.key}' needs {param.name}=…: {param.meaning}{_average_hint(metric, param.name)}."
            )
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


def _key_similarity(one: str, other: str) -> tuple[int, bool, int]:
    """How much a key has in common with another: the first words, then whether the last is the same, then shortness."""
    words = one.split("_")
    same = len(list(takewhile(lambda pair: pair[0] == pair[1], zip(words, other.split("_"), strict=False))))
    return same, words[-1] == other.rpartition("_")[2], -len(words)


def _average_hint(metric: Metric, param: str) -> str:
    macro = f"{metric.key}_macro"
    return f"; or say {macro} for the mean over classes" if param == "label" and macro in CATALOGUE else ""


def check_label_parameters(params: Mapping[str, str], own: Mapping[str, str], classes: Collection[str] | None) -> None:
    """Raise InvalidMetric where parameters or exclude_labels name labels that are not among the classes."""
    if classes is None:
        return
    named = [params["label"]] if "label" in params else []
    left_out = excluded_labels(own.get("exclude_labels", ""), classes)
    for name in (*named, *left_out):
        if name not in classes:
            raise InvalidMetric(f"'{name}' is not one of the classes{did_you_mean(name, classes)}.")
    if left_out and set(left_out) >= set(classes):
        raise InvalidMetric("'exclude_labels' leaves no class to average over.")


def check_options(options: Mapping[str, Any], classes: Collection[str]) -> None:
    """Raise InvalidMetric where options that hold for all metrics name labels that are not among the classes."""
    check_label_parameters({}, parse_shared_options(options), classes)


def applicable_metrics(task: TaskKind, options: Mapping[str, Any] | None, has: Collection[str]) -> list[MetricCall]:
    """Every scalar metric that the data allow without a choice of the asker's: what a bare `assay score` computes.

    `has` are the needs that the data meet. Probabilities are a choice, as is the order of labels in a list: not all
    scores and not all lists are meant so. ACCEPTABLE among them says that the gold gives sets of acceptable answers.
    """
    met = set(has) - {PROBABILITIES, ACCEPTABLE_SETS}
    if SCORES not in met:
        met.discard(RANKING)
    return [
        parse_metric(metric.key, options=options, task=task)
        for metric in CATALOGUE.values()
        if metric.scalar
        and task in metric.tasks
        and (metric.acceptable or ACCEPTABLE_SETS not in has)
        and set(metric.needs) <= met
        and not any(task in param.required_for and param.default is None for param in metric.params)
    ]
