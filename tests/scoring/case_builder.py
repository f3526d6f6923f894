"""Evaluation inputs from plain Python labels, and the results of metrics on them."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from app.scoring.declaration.metric import MetricCall
from app.scoring.declaration.metric_parser import parse_metric
from app.scoring.declaration.task import TaskKind, TaskSpec
from app.scoring.evaluate import Result, evaluate
from app.scoring.evaluation_input import EvaluationInput, Grouping, Labels
from app.scoring.hierarchy.hierarchy import Hierarchy


def labels(rows: Sequence[Any], classes: Sequence[str], *, multilabel: bool) -> Labels:
    """Codes of label names; None is nothing, a name that is no class is a label outside the vocabulary."""
    code = {name: at for at, name in enumerate(classes)}
    if not multilabel:
        codes = [-1 if row is None else code.get(row, len(classes)) for row in rows]
        return Labels(np.array(codes, dtype=np.int32))
    flat = [code.get(name, len(classes)) for row in rows for name in row]
    sizes = np.array([0, *(len(row) for row in rows)], dtype=np.int64)
    return Labels(np.array(flat, dtype=np.int32), np.cumsum(sizes))


def case(
    task: TaskKind,
    classes: Sequence[str],
    gold: Sequence[Any],
    predicted: Sequence[Any],
    scores: Sequence[Sequence[float]] | None = None,
    *,
    weights: Sequence[int] | None = None,
    folds: Sequence[str] | None = None,
    groups: Sequence[str] | None = None,
    hierarchy: Mapping[str, Sequence[str]] | None = None,
    **spec: Any,
) -> EvaluationInput:
    """An evaluation input; of a binary task the first class is the positive label unless `positive_label` is given."""
    if task == "binary":
        spec.setdefault("positive_label", classes[0])
    multilabel = task == "multilabel"
    return EvaluationInput(
        TaskSpec(
            task, tuple(classes), hierarchy=None if hierarchy is None else Hierarchy.from_parents(hierarchy), **spec
        ),
        labels(gold, classes, multilabel=multilabel),
        labels(predicted, classes, multilabel=multilabel),
        None if scores is None else np.array(scores, dtype=np.float64),
        None if weights is None else np.array(weights, dtype=np.int64),
        grouping(folds),
        grouping(groups),
    )


def case_of_counts(tp: int, fp: int, fn: int, tn: int, *, classes: Sequence[str] = ("y", "n")) -> EvaluationInput:
    """A binary evaluation input with these counts of the first class."""
    yes, no = classes
    pairs = [*[(yes, yes)] * tp, *[(no, yes)] * fp, *[(yes, no)] * fn, *[(no, no)] * tn]
    return case("binary", classes, *map(list, zip(*pairs, strict=True)))


def grouping(parts: Sequence[str] | None) -> Grouping | None:
    """The parts of instances, named in the order in which they come."""
    if parts is None:
        return None
    names = tuple(dict.fromkeys(parts))
    return Grouping(names, np.array([names.index(part) for part in parts], dtype=np.int32))


def results(of: EvaluationInput, metrics: Sequence[str], options: Mapping[str, str] | None = None) -> dict[str, Result]:
    """Results by the metric strings that were given."""
    shared = tuple((options or {}).items())
    calls = {text: _parse(text, shared, of.spec.task) for text in metrics}
    by_text = evaluate(of, list(calls.values()))
    return {text: by_text[call.text] for text, call in calls.items()}


@lru_cache(100_000)
def _parse(text: str, options: tuple[tuple[str, str], ...], task: TaskKind) -> MetricCall:
    """Parsed once: property tests evaluate the same metrics for many inputs."""
    return parse_metric(text, options=dict(options), task=task)


def evaluate_metric(of: EvaluationInput, metric: str, **options: str) -> Result:
    """The result of one metric."""
    return results(of, [metric], options)[metric]


def value(of: EvaluationInput, metric: str, **options: str) -> float | None:
    """The value of one metric."""
    return evaluate_metric(of, metric, **options).value


def reason(of: EvaluationInput, metric: str, **options: str) -> str | None:
    """Why one metric has no value."""
    return evaluate_metric(of, metric, **options).reason
