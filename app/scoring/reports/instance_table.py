"""The predicted and actual classes of every instance as JSON, one instance on each line."""

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from app.scoring.evaluation_input import EvaluationInput, Labels

BLOCK_ROWS = 4096
SPLIT_NAMES = ("public", "private")


def write_instances(
    target: IO[str],
    head: Mapping[str, Any],
    case: EvaluationInput,
    ids: Sequence[str],
    splits: NDArray[np.int8] | None = None,
) -> None:
    """Write one JSON object: the members of `head`, the task, and `instances` in the order of the ids.

    Each instance has its id and the lists of predicted and actual classes; where the gold or the file has them, also
    its split, its weight, the classes that the gold leaves open, and the scores in the order of the classes.
    """
    spec = case.spec
    about = {"task": spec.task, "positive_label": spec.positive_label, "classes": list(spec.classes)}
    target.write(_dump(dict(head) | about)[:-1] + ', "instances": [')
    for start in range(0, case.gold.n, BLOCK_ROWS):
        rows = np.arange(start, min(start + BLOCK_ROWS, case.gold.n))
        lines = (
            _dump(instance) for instance in _instances(case.take(rows), ids[start : start + BLOCK_ROWS], splits, rows)
        )
        target.write(("," if start else "") + "\n" + ",\n".join(lines))
    target.write("\n]}\n")


def _instances(
    case: EvaluationInput, ids: Sequence[str], splits: NDArray[np.int8] | None, rows: NDArray[np.int64]
) -> Iterator[dict[str, Any]]:
    classes = case.spec.classes
    columns: dict[str, Sequence[Any]] = {"id": ids}
    if splits is not None:
        columns["split"] = [SPLIT_NAMES[code] for code in splits[rows]]
    if case.weights is not None:
        columns["weight"] = [float(int(weight) * case.weight_unit) for weight in case.weights]
    columns |= {"predicted": _names(case.predicted, classes), "actual": _names(case.gold, classes)}
    if case.unknown is not None:
        columns["unknown"] = _names(case.unknown, classes)
    if case.scores is not None:
        columns["scores"] = [[None if np.isnan(score) else score for score in row] for row in case.scores.tolist()]
    for values in zip(*columns.values(), strict=True):
        yield dict(zip(columns, values, strict=True))


def _names(labels: Labels, classes: Sequence[str]) -> list[list[str | None]]:
    """The classes of each instance; null for a label outside the vocabulary, without repetitions."""
    sets = labels.as_sets()
    assert sets.offsets is not None
    names = [*classes, None]
    codes, offsets = sets.codes.tolist(), sets.offsets.tolist()
    return [[names[code] for code in codes[start:end] if code <= len(classes)] for start, end in pairwise(offsets)]


def _dump(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
