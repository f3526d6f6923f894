"""Random cases for property tests: few classes and instances, odd labels, absent classes, empty sets, ties of scores."""

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from hypothesis import strategies as st

from app.scoring.declaration.metric import CATALOGUE, PROBABILITIES, Metric, MetricCall, Param
from app.scoring.declaration.metric_parser import parse_metric
from app.scoring.declaration.options import OPTIONS
from app.scoring.declaration.task import TaskKind
from app.scoring.evaluation_input import EvaluationInput
from tests.scoring.case_builder import case, labels

Pairs = tuple[tuple[str, str], ...]
NAMES = ("übel", "日本", "a b", "x|y", "é", "0", "none", "🙂")
INNER_NODES = ("inner", "other inner", "root")
# Values of the parameters that have no default; a number that is not named here takes the middle of its bounds.
PARAM_VALUES = {
    "beta": "0.5",
    "k": "2",
    "alpha": "1",
    "gamma": "1",
    "n_train": "100",
    "max_fpr": "0.5",
    "sensitivity": "0.5",
}


@st.composite
def hierarchies(draw: st.DrawFn, classes: tuple[str, ...]) -> dict[str, list[str]]:
    """Parents of classes: inner nodes, or classes that come later, so that there are no cycles."""
    nodes = [*classes, *INNER_NODES]
    found = {}
    for at, name in enumerate(nodes[:-1]):
        above = draw(st.lists(st.sampled_from(nodes[at + 1 :]), unique=True, max_size=2))
        found[name] = above
    found[nodes[-1]] = []
    return found


@st.composite
def cases(draw: st.DrawFn, task: TaskKind, *, most: int = 12) -> EvaluationInput:
    m = 2 if task == "binary" else draw(st.integers(1, 5))
    classes = draw(st.permutations(NAMES))[:m]
    n = draw(st.integers(1, most))
    one: st.SearchStrategy[Any] = st.sampled_from(classes)
    if task == "multilabel":
        one = st.lists(one, unique=True, max_size=m)
    rows = st.lists(one, min_size=n, max_size=n)
    frequencies = draw(st.lists(st.integers(0, 9), min_size=m, max_size=m))
    parts = draw(st.lists(st.lists(st.integers(1, 4), min_size=m, max_size=m), min_size=n, max_size=n))
    costs = draw(st.lists(st.lists(st.sampled_from([0, 1, 2.5, -1]), min_size=m, max_size=m), min_size=m, max_size=m))
    names = st.lists(st.sampled_from("xyz"), min_size=n, max_size=n)
    return case(
        task,
        classes,
        draw(rows),
        draw(rows),
        [[part / sum(row) for part in row] for row in parts],
        folds=draw(names),
        groups=draw(names),
        hierarchy=draw(hierarchies(tuple(classes))),
        cost_matrix={a: dict(zip(classes, row, strict=True)) for a, row in zip(classes, costs, strict=True)},
        train_frequencies=dict(zip(classes, frequencies, strict=True)),
    )


@st.composite
def cases_with_odd_predictions(draw: st.DrawFn, task: TaskKind) -> EvaluationInput:
    """A case whose predictions hold labels outside the vocabulary, nothing, and repetitions."""
    of = draw(cases(task))
    names = [*of.spec.classes, "beyond"]
    one: st.SearchStrategy[Any] = st.sampled_from([*names, None])
    if task == "multilabel":
        one = st.lists(st.sampled_from(names), max_size=6)
    rows = draw(st.lists(one, min_size=of.gold.n, max_size=of.gold.n))
    return replace(of, predicted=labels(rows, of.spec.classes, multilabel=task == "multilabel"))


def param_value(param: Param) -> str:
    """A value for a number that has no default."""
    low, high = param.bounds or (0, 2)
    return PARAM_VALUES.get(param.name, str((low + high) / 2))


def metric_object(metric: Metric, of: EvaluationInput) -> dict[str, Any]:
    """A metric with the parameters that it cannot do without."""
    params: dict[str, Any] = {}
    for param in metric.params:
        if param.default is None and of.spec.task in param.required_for:
            params[param.name] = of.spec.classes[-1] if param.kind == "label" else param_value(param)
    return {"key": metric.key, "params": params}


def calls(of: EvaluationInput, options: Mapping[str, str] | None = None) -> list[MetricCall]:
    """Every metric for a case, but for those that these options rule out."""
    lower = (options or {}).get("score_direction") == "lower"
    return [
        parsed_call(metric, of, options or {})
        for metric in CATALOGUE.values()
        if of.spec.task in metric.tasks and not (lower and PROBABILITIES in metric.needs)
    ]


def parsed_call(metric: Metric, of: EvaluationInput, options: Mapping[str, str]) -> MetricCall:
    """A metric with the parameters that it cannot do without, under shared options."""
    params = metric_object(metric, of)["params"]
    return _call(metric.key, tuple(params.items()), tuple(options.items()), of.spec.task)


@lru_cache(100_000)  # all metrics under all options, which a test takes for one input after the other
def _call(key: str, params: Pairs, options: Pairs, task: TaskKind) -> MetricCall:
    """Parsed once, for one example is often evaluated several times."""
    return parse_metric({"key": key, "params": dict(params)}, options=dict(options), task=task)


def _settings() -> dict[str, list[str]]:
    """Every setting of the catalogue with the values that any metric knows."""
    found: dict[str, list[str]] = {}
    for metric in CATALOGUE.values():
        for param in metric.params:
            if param.default is not None and param.kind in {"choice", "whole"}:
                found.setdefault(param.name, []).extend(value for value in param.values or ("1", "2"))
    return {name: sorted(set(values)) for name, values in found.items()}


CONVENTIONS = {name: option.values for name, option in OPTIONS.items() if option.values}
SETTINGS = _settings()
OPTION_VALUES = st.fixed_dictionaries(
    {}, optional={name: st.sampled_from(values) for name, values in {**CONVENTIONS, **SETTINGS}.items()}
)
METRIC_TASK_PAIRS = [(key, task) for key, metric in CATALOGUE.items() for task in metric.tasks]
