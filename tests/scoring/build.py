"""Cases from plain Python labels, as the tests write them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from app.scoring.align import Case, Labels
from app.scoring.evaluate import Result, evaluate
from app.scoring.recipe import parse_metric
from app.scoring.task import Task, TaskSpec


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
    task: Task,
    classes: Sequence[str],
    gold: Sequence[Any],
    predicted: Sequence[Any],
    scores: Sequence[Sequence[float]] | None = None,
    **spec: Any,
) -> Case:
    """A case; binary ones take the first class as the positive label unless told otherwise."""
    if task == "binary":
        spec.setdefault("positive_label", classes[0])
    multilabel = task == "multilabel"
    return Case(
        TaskSpec(task, tuple(classes), **spec),
        labels(gold, classes, multilabel=multilabel),
        labels(predicted, classes, multilabel=multilabel),
        None if scores is None else np.array(scores, dtype=np.float64),
    )


def results(of: Case, asked: Sequence[str], options: Mapping[str, str] | None = None) -> dict[str, Result]:
    """Results by the string asked."""
    calls = {text: parse_metric(text, options=options, task=of.spec.task) for text in asked}
    found = evaluate(of, list(calls.values()))
    return {text: found[call.text] for text, call in calls.items()}


def value(of: Case, asked: str, **options: str) -> float | None:
    """The value of one metric."""
    return results(of, [asked], options)[asked].value
