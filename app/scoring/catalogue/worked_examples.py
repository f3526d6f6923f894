"""Computes worked examples: the value of a metric's example, with its counts by class or by instance."""

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
from app.scoring.evaluation_input import MISSING_CODE, EvaluationInput, Grouping, Labels
from app.scoring.hierarchy.hierarchy import Hierarchy
from app.scoring.metrics.call_equation import general_equation
from app.scoring.metrics.equation_symbols import find_symbols
from app.scoring.metrics.labels.averages import AVERAGES
from app.scoring.tally import ConfusionCounts, EvaluationContext

Rows = list[dict[str, Any]]
_COUNT_COLUMNS = {"TP": "tp", "FP": "fp", "FN": "fn", "TN": "tn"}
_SIZE_COLUMNS = {"n": "support", "p": "predicted"}
_MEAN_EQUATION = re.compile(r"(1-|-)?\\frac\{1\}\{n(\\,m)?\}\\sum_\{i=1\}\^\{n\}")
_DIGITS = 6
_AVERAGE_SUFFIXES = tuple(average.suffix for average in AVERAGES if average.suffix not in {"", "micro", "samples"})


def example_input(example: Example) -> EvaluationInput:
    """The data of an example as an evaluation input."""
    spec = TaskSpec(
        example.task,
        example.classes,
        example.positive_label,
        example.train_frequencies,
        hierarchy=None if example.hierarchy is None else Hierarchy.from_parents(example.hierarchy),
        cost_matrix=example.cost_matrix,
        class_weights=example.class_weights,
    )
    return EvaluationInput(
        spec,
        _example_labels(example.gold, example.classes),
        _example_labels(example.predicted, example.classes),
        None if example.scores is None else np.array(example.scores, dtype=np.float64),
        None,
        _example_grouping(example.folds),
        _example_grouping(example.groups),
    )


def _example_labels(rows: Sequence[Any], classes: Sequence[str]) -> Labels:
    code = {name: at for at, name in enumerate(classes)}
    outside = len(classes)
    if not any(isinstance(row, tuple) for row in rows):
        codes = [MISSING_CODE if row is None else code.get(row, outside) for row in rows]
        return Labels(np.array(codes, dtype=np.int32))
    flat = [code.get(name, outside) for row in rows for name in row]
    sizes = np.array([0, *(len(row) for row in rows)], dtype=np.int64)
    return Labels(np.array(flat, dtype=np.int32), np.cumsum(sizes))


def _example_grouping(parts: Sequence[str] | None) -> Grouping | None:
    if parts is None:
        return None
    names = tuple(dict.fromkeys(parts))
    return Grouping(names, np.array([names.index(part) for part in parts], dtype=np.int32))


def explain_example_value(metric: Metric) -> dict[str, Any]:
    """The counts and parts behind the value of the example, by class and by instance where the metric has them.

    For a metric that is not a single number, its data.
    """
    if not metric.scalar:
        return {"data": _example_result(metric).data}
    case = example_input(metric.example)
    signs = {letter.sign for letter in find_symbols(general_equation(metric))}
    rows_by_name = {"of_classes": _class_rows(case, metric, signs), "of_instances": _instance_rows(case, metric, signs)}
    return {name: rows for name, rows in rows_by_name.items() if rows}


def _class_rows(case: EvaluationInput, metric: Metric, signs: set[str]) -> Rows:
    """For each class, the counts that the equation names and the measure that the metric averages."""
    names = _columns_in_equation(signs, metric, ("", "_j", "_k"), _COUNT_COLUMNS) + _columns_in_equation(
        signs, metric, ("_j", "_k"), _SIZE_COLUMNS
    )
    columns = _count_columns(EvaluationContext(case).tally(DEFAULTS).classes, names) if names else {}
    columns |= {key: _measure_by_class(case, metric, key) for key in _averaged_measure_keys(metric, signs)}
    if not columns:
        return []
    return [
        {"class": label} | {name: values[at] for name, values in columns.items()}
        for at, label in enumerate(case.spec.classes)
    ]


def _instance_rows(case: EvaluationInput, metric: Metric, signs: set[str]) -> Rows:
    """For each instance, the counts that the equation names, and its own value if the metric is the mean of these."""
    names = _columns_in_equation(signs, metric, ("_i",), _COUNT_COLUMNS)
    columns = _count_columns(EvaluationContext(case).tally(DEFAULTS).instances.counts, names) if names else {}
    if _MEAN_EQUATION.match(general_equation(metric)):
        columns["value"] = [_value_of_instance(case, metric, row) for row in range(case.gold.n)]
    return [{name: values[row] for name, values in columns.items()} for row in range(case.gold.n)] if columns else []


def _columns_in_equation(
    signs: set[str], metric: Metric, indices: Sequence[str], columns: Mapping[str, str]
) -> list[str]:
    """The columns of counts that occur in the equation with one of these indices."""
    if LABELS not in metric.needs:
        return []
    return [column for sign, column in columns.items() if any(sign + index in signs for index in indices)]


def _count_columns(counts: ConfusionCounts, names: Sequence[str]) -> dict[str, list[Any]]:
    return {name: getattr(counts, name).tolist() for name in names}


def _averaged_measure_keys(metric: Metric, signs: set[str]) -> list[str]:
    """The keys of the measures that the metric averages over the classes."""
    if {"P_j", "R_j"} <= signs:
        return ["precision", "recall"]
    for suffix in _AVERAGE_SUFFIXES:
        base = CATALOGUE.get(metric.key.removesuffix(f"_{suffix}"))
        if base is not None and base is not metric and _is_averaged_measure(base, metric):
            return [base.key] if any(param.name == "label" for param in base.params) else []
    return []


def _is_averaged_measure(measure: Metric, average: Metric) -> bool:
    """Whether the second metric may average the first over the classes; averages over folds are taken fold by fold."""
    return set(measure.needs) == set(average.needs) - {TRAIN_FREQUENCIES} and FOLDS not in measure.needs


def _measure_by_class(case: EvaluationInput, metric: Metric, key: str) -> list[float | None]:
    """The value of a measure for each class."""
    names = {param.name for param in CATALOGUE[key].params}
    params = {name: value for name, value in metric.example.params.items() if name in names}
    calls = [
        parse_metric({"key": key, "params": params | {"label": label}}, task=case.spec.task)
        for label in case.spec.classes
    ]
    results = evaluate(case, calls)
    return [_round_value(results[call.text].value) for call in calls]


def _value_of_instance(case: EvaluationInput, metric: Metric, row: int) -> float | None:
    """The value of the metric on a single instance."""
    call = parse_metric({"key": metric.key, "params": dict(metric.example.params)}, task=case.spec.task)
    return _round_value(evaluate(case.take(np.array([row])), [call])[call.text].value)


def _round_value(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.{_DIGITS}g}")


def example_data_rows(metric: Metric) -> Rows:
    """The data of the example as a table: the labels, scores and parts of each instance that the metric uses."""
    example = metric.example
    columns: dict[str, Sequence[Any]] = {"gold": [_format_labels(row) for row in example.gold]}
    if LABELS in metric.needs or example.scores is None:
        columns["predicted"] = [_format_labels(row) for row in example.predicted]
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


def _format_labels(row: Any) -> str:
    """A label, or several joined by commas; a dash if there are none."""
    return (", ".join(row) or "–") if isinstance(row, tuple) else "–" if row is None else str(row)


def format_example_value(metric: Metric) -> str:
    """The value of the example: a fraction with its decimal, a decimal, or JSON if it is not a single number."""
    text = metric.example.value
    if not metric.scalar:
        return _format_json(_example_result(metric).data)
    return f"{text} = {float(Fraction(text)):.6g}" if "/" in text else text


def _format_json(content: Any) -> str:
    """JSON with each field, or each item of a list, on a line of its own."""
    if isinstance(content, dict):
        rows, ends = [f"{json.dumps(name)}: {_format_json_line(value)}" for name, value in content.items()], "{}"
    elif isinstance(content, list):
        rows, ends = [_format_json_line(value) for value in content], "[]"
    else:
        return _format_json_line(content)
    inner = ",\n  ".join(rows)
    return f"{ends[0]}\n  {inner}\n{ends[1]}"


def _format_json_line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _example_result(metric: Metric) -> Result:
    example = metric.example
    call = parse_metric({"key": metric.key, "params": dict(example.params)}, task=example.task)
    return evaluate(example_input(example), [call])[call.text]
