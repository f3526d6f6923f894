"""Worked examples computed: what the number of an example comes from, class by class or instance by instance."""

import json
import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from app.scoring.declaration.metric import CATALOGUE, FOLDS, LABELS, TRAIN_FREQUENCIES, Example, Metric
from app.scoring.declaration.metric_parser import parse_metric
from app.scoring.declaration.options import DEFAULTS
from app.scoring.declaration.task import TaskSpec
from app.scoring.evaluate import Result, evaluate
from app.scoring.evaluation_input import NOTHING, Case, Grouping, Labels
from app.scoring.hierarchy.hierarchy import Hierarchy
from app.scoring.metrics.equation_symbols import letters
from app.scoring.metrics.equation_wording import general
from app.scoring.metrics.labels.averages import AVERAGES
from app.scoring.tally import Counts, Workspace

Rows = list[dict[str, Any]]
_COUNTS = {"TP": "tp", "FP": "fp", "FN": "fn", "TN": "tn"}
_SIZES = {"n": "support", "p": "predicted"}
_MEAN = re.compile(r"(1-|-)?\\frac\{1\}\{n(\\,m)?\}\\sum_\{i=1\}\^\{n\}")
_DIGITS = 6
_SUFFIXES = tuple(average.suffix for average in AVERAGES if average.suffix not in {"", "micro", "samples"})


def case_of(example: Example) -> Case:
    """The data of an example as metrics see them."""
    spec = TaskSpec(
        example.task,
        example.classes,
        example.positive_label,
        example.train_frequencies,
        hierarchy=None if example.hierarchy is None else Hierarchy.of(example.hierarchy),
        cost_matrix=example.cost_matrix,
        class_weights=example.class_weights,
    )
    return Case(
        spec,
        _labels(example.gold, example.classes),
        _labels(example.predicted, example.classes),
        None if example.scores is None else np.array(example.scores, dtype=np.float64),
        None,
        _grouping(example.folds),
        _grouping(example.groups),
    )


def _labels(rows: Sequence[Any], classes: Sequence[str]) -> Labels:
    code = {name: at for at, name in enumerate(classes)}
    outside = len(classes)
    if not any(isinstance(row, tuple) for row in rows):
        codes = [NOTHING if row is None else code.get(row, outside) for row in rows]
        return Labels(np.array(codes, dtype=np.int32))
    flat = [code.get(name, outside) for row in rows for name in row]
    sizes = np.array([0, *(len(row) for row in rows)], dtype=np.int64)
    return Labels(np.array(flat, dtype=np.int32), np.cumsum(sizes))


def _grouping(parts: Sequence[str] | None) -> Grouping | None:
    if parts is None:
        return None
    names = tuple(dict.fromkeys(parts))
    return Grouping(names, np.array([names.index(part) for part in parts], dtype=np.int32))


def shown(metric: Metric) -> dict[str, Any]:
    """What the number of the example comes from, by classes and by instances, as far as it comes from either.

    Of a metric that is no single number, its data.
    """
    if not metric.scalar:
        return {"data": _result(metric).data}
    case = case_of(metric.example)
    signs = {letter.sign for letter in letters(general(metric))}
    found = {"of_classes": _of_classes(case, metric, signs), "of_instances": _of_instances(case, metric, signs)}
    return {name: rows for name, rows in found.items() if rows}


def _of_classes(case: Case, metric: Metric, signs: set[str]) -> Rows:
    """For each class the counts that the equation names, and the measure that the metric averages."""
    names = _named(signs, metric, ("", "_j", "_k"), _COUNTS) + _named(signs, metric, ("_j", "_k"), _SIZES)
    columns = _columns(Workspace(case).tally(DEFAULTS).classes, names) if names else {}
    columns |= {key: _measured(case, metric, key) for key in _measures(metric, signs)}
    if not columns:
        return []
    return [
        {"class": label} | {name: values[at] for name, values in columns.items()}
        for at, label in enumerate(case.spec.classes)
    ]


def _of_instances(case: Case, metric: Metric, signs: set[str]) -> Rows:
    """For each instance the counts that the equation names; and its value alone, where the metric is the mean of those."""
    names = _named(signs, metric, ("_i",), _COUNTS)
    columns = _columns(Workspace(case).tally(DEFAULTS).instances.counts, names) if names else {}
    if _MEAN.match(general(metric)):
        columns["value"] = [_alone(case, metric, row) for row in range(case.gold.n)]
    return [{name: values[row] for name, values in columns.items()} for row in range(case.gold.n)] if columns else []


def _named(signs: set[str], metric: Metric, indices: Sequence[str], columns: Mapping[str, str]) -> list[str]:
    """Which columns of counts stand in the equation with one of these indices."""
    if LABELS not in metric.needs:
        return []
    return [column for sign, column in columns.items() if any(sign + index in signs for index in indices)]


def _columns(counts: Counts, names: Sequence[str]) -> dict[str, list[Any]]:
    return {name: getattr(counts, name).tolist() for name in names}


def _measures(metric: Metric, signs: set[str]) -> list[str]:
    """The keys of what the metric averages over the classes."""
    if {"P_j", "R_j"} <= signs:
        return ["precision", "recall"]
    for suffix in _SUFFIXES:
        base = CATALOGUE.get(metric.key.removesuffix(f"_{suffix}"))
        if base is not None and base is not metric and _same_needs(base, metric):
            return [base.key] if any(param.name == "label" for param in base.params) else []
    return []


def _same_needs(one: Metric, other: Metric) -> bool:
    """Whether one may be the measure that the other averages; a mean of folds is taken fold by fold."""
    return set(one.needs) == set(other.needs) - {TRAIN_FREQUENCIES} and FOLDS not in one.needs


def _measured(case: Case, metric: Metric, key: str) -> list[float | None]:
    """The measure of each class."""
    names = {param.name for param in CATALOGUE[key].params}
    params = {name: value for name, value in metric.example.params.items() if name in names}
    calls = [
        parse_metric({"key": key, "params": params | {"label": label}}, task=case.spec.task)
        for label in case.spec.classes
    ]
    found = evaluate(case, calls)
    return [_rounded(found[call.text].value) for call in calls]


def _alone(case: Case, metric: Metric, row: int) -> float | None:
    """The metric of one instance."""
    call = parse_metric({"key": metric.key, "params": dict(metric.example.params)}, task=case.spec.task)
    return _rounded(evaluate(case.take(np.array([row])), [call])[call.text].value)


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.{_DIGITS}g}")


def data(metric: Metric) -> Rows:
    """The data of the example as a table: labels, scores and parts of each instance, as far as the metric uses them."""
    example = metric.example
    columns: dict[str, Sequence[Any]] = {"gold": [_set(row) for row in example.gold]}
    if LABELS in metric.needs or example.scores is None:
        columns["predicted"] = [_set(row) for row in example.predicted]
    if example.scores is not None:
        single = len(example.scores[0]) == 1
        names = (example.positive_label,) if single else example.classes
        columns |= {f"score of {name}": [row[at] for row in example.scores] for at, name in enumerate(names)}
    parts = {"fold": example.folds, "group": example.groups}
    columns |= {name: values for name, values in parts.items() if values is not None}
    return [
        {"instance": row + 1} | {name: values[row] for name, values in columns.items()}
        for row in range(len(example.gold))
    ]


def _set(row: Any) -> str:
    """A label, or labels side by side; a dash where there are none."""
    return (", ".join(row) or "–") if isinstance(row, tuple) else "–" if row is None else str(row)


def value_text(metric: Metric) -> str:
    """The value of the example: a fraction with its decimal, a decimal, or JSON where the metric is no single number."""
    text = metric.example.value
    if not metric.scalar:
        return _json(_result(metric).data)
    return f"{text} = {float(Fraction(text)):.6g}" if "/" in text else text


def _json(data: Any) -> str:
    """JSON with each field, or each item of a list, on a line of its own."""
    if isinstance(data, dict):
        rows, ends = [f"{json.dumps(name)}: {_line(value)}" for name, value in data.items()], "{}"
    elif isinstance(data, list):
        rows, ends = [_line(value) for value in data], "[]"
    else:
        return _line(data)
    inner = ",\n  ".join(rows)
    return f"{ends[0]}\n  {inner}\n{ends[1]}"


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _result(metric: Metric) -> Result:
    example = metric.example
    call = parse_metric({"key": metric.key, "params": dict(example.params)}, task=example.task)
    return evaluate(case_of(example), [call])[call.text]
