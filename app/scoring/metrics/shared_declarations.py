"""What the declarations of several metric families share: tasks, ranges, options, parameters and helpers.

This module registers nothing, so every family may import it (see the rule on the import order of families).
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import ParamSpec

from app.scoring.declaration.metric import LABELS, UNKNOWN_CELLS, Example, Metric, Param, Properties, register
from app.scoring.declaration.task import TaskKind

_Arguments = ParamSpec("_Arguments")

SINGLE_LABEL_TASKS: tuple[TaskKind, ...] = ("binary", "multiclass")
MULTILABEL_TASKS: tuple[TaskKind, ...] = ("multilabel",)

UNIT_RANGE = (0.0, 1.0)
SIGNED_RANGE = (-1.0, 1.0)
UNBOUNDED_RANGE = (0.0, math.inf)

SINGLE_LABEL_OPTIONS = ("unknown_label", "missing")
LABEL_SET_OPTIONS = (*SINGLE_LABEL_OPTIONS, "duplicates", "empty_label")
"""The options that decide which labels an instance has."""
KNOWN_CELL_OPTIONS = (*LABEL_SET_OPTIONS, UNKNOWN_CELLS)
"""The same for metrics that can leave out the cells that the gold does not know."""
SCORE_DIRECTION_OPTION = "score_direction"
EXCLUDE_LABELS_OPTION = "exclude_labels"

SYMMETRIC = Properties(symmetric=True, prevalence_sensitive=True)
ASYMMETRIC = Properties(symmetric=False, prevalence_sensitive=True)
SCORE_PROPERTIES = Properties(symmetric=False, prevalence_sensitive=True, count_based=False)
ROUNDED_SCORE_PROPERTIES = replace(SCORE_PROPERTIES, significant_digits=12)

LABEL_PARAM = Param("label", "label", "the class to evaluate", required_for=("multiclass", "multilabel"))


def choice_param(name: str, meaning: str, **choices: str) -> Param:
    """A parameter with a fixed set of values, each with its meaning; the first one is the default."""
    values = tuple(choices)
    return Param(name, "choice", meaning, values[0], values=values, value_meanings=tuple(choices.values()))


def worked_example(data: Example, value: str, params: Mapping[str, str] | None = None) -> Example:
    """The example data set with the value of one metric and the parameters that it was computed with."""
    return replace(data, value=value, params=params or {})


def _registering(build: Callable[_Arguments, Metric]) -> Callable[_Arguments, Metric]:
    """The same constructor, which also registers the metric."""

    def declare(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> Metric:
        return register(build(*args, **kwargs))

    return declare


declare_metric = _registering(Metric)
"""Build a metric and register it. Families bind their common fields with `functools.partial`; a field may be overridden."""

declare_single_label_metric = partial(
    declare_metric,
    tasks=SINGLE_LABEL_TASKS,
    needs=(LABELS,),
    range=UNIT_RANGE,
    params=(),
    options=SINGLE_LABEL_OPTIONS,
    properties=SYMMETRIC,
)
"""For metrics of hard labels, one label per instance."""

declare_label_set_metric = partial(
    declare_metric,
    tasks=MULTILABEL_TASKS,
    needs=(LABELS,),
    range=UNIT_RANGE,
    params=(),
    options=KNOWN_CELL_OPTIONS,
    properties=SYMMETRIC,
)
"""For metrics of hard labels, a set of labels per instance."""
