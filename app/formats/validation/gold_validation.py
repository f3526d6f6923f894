"""Validates gold: vocabulary, splits, weights, and whether anything is left to score."""

import math
import operator
from collections.abc import Collection, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.formats.column_data import NormalizedTable
from app.formats.normalize import IGNORED_SPLIT, SPLITS
from app.formats.problems import Problems, quote
from app.formats.reading_rules import DEFAULT_LIMITS, Limits
from app.formats.validation.score_matrix import named_classes
from app.scoring.declaration.task import TaskKind, TaskSpec
from app.scoring.evaluation_input import IdIndex

_MAX_WEIGHT_SUM = 2**52
"""Sums of weights up to this are exact in binary64."""
_ROUNDING_TOLERANCE_PARTS = 1 << 24


def label_set(table: NormalizedTable, void: Collection[str] = ()) -> tuple[str, ...]:
    """The sorted labels of all rows that are not void (by code points), and the classes that scores are for."""
    labels = table.labels or ()
    label_names = {label for label in labels if label is not None}
    if void and label_names:
        label_names = set()
        start = 0
        for number, name in enumerate(table.ids):
            size = 1 if table.counts is None else table.counts[number]
            if name not in void:
                label_names.update(label for label in labels[start : start + size] if label is not None)
            start += size
    if table.scores is not None:
        label_names.update(named_classes(table.scores))
    return tuple(sorted(label_names))


def unscored_ids(table: NormalizedTable, task: TaskKind) -> dict[str, list[str]]:
    """The ids that the gold file itself excludes from scoring, by the reason."""
    by_reason: dict[str, list[str]] = {}
    if table.splits is not None:
        ignored_ids = [
            name for name, split in zip(table.ids, table.splits, strict=True) if split == IGNORED_SPLIT and name
        ]
        by_reason["their Usage is Ignored"] = ignored_ids
    if table.counts is not None and task != "multilabel":
        empty = [name for name, count in zip(table.ids, table.counts, strict=True) if not count and name]
        by_reason["their set of acceptable answers is empty"] = empty
    return {reason: names for reason, names in by_reason.items() if names}


def check_void_ids_distinct(table: NormalizedTable, void: Collection[str], problems: Problems) -> None:
    """Report repeated void ids: otherwise one row could exclude another row with the same id from scoring."""
    known_ids: dict[str, int] = {}
    for row, name in zip(table.rows, table.ids, strict=True):
        if name is None or name not in void:
            continue
        if name in known_ids:
            location = table.layout.locate(row, "id")
            message = f"{quote(name)} occurs on another row. Give each id once, whether it is scored or not."
            problems.add_new("duplicate_id", message, location, row=row, instance_id=name, got=quote(name))
        known_ids[name] = row


def integer_weights(
    table: NormalizedTable, void: Collection[str], problems: Problems
) -> tuple[NDArray[np.int64], Fraction] | None:
    """The weights in file order as integers, and the unit that they count; None where all weights are the same.

    The proportions are exact if binary64 can count the sum; otherwise they are rounded to 52 binary digits of it
    (noted). It is a problem if all weights are 0, if rounding would make a weight 0, or if it would distort a split.
    """
    if table.weights is None or problems:
        return None
    pairs = zip(table.ids, table.weights, strict=True)
    exact_weights = [weight for name, weight in pairs if name not in void]
    integers, unit = _scale_to_integers(exact_weights)
    is_distorted = False
    # Metrics sum the weights in binary64, which holds every integer up to this bound exactly.
    if sum(integers) > _MAX_WEIGHT_SUM:
        step = 1 << (sum(integers) // _MAX_WEIGHT_SUM).bit_length()
        integers, factor = _scale_to_integers([Fraction(round(Fraction(weight, step))) for weight in integers])
        unit *= step * factor
        splits = table.splits or [None] * len(table.ids)
        scored_splits = [split for name, split in zip(table.ids, splits, strict=True) if name not in void]
        is_distorted = _is_distorted(exact_weights, [weight * unit for weight in integers], scored_splits)
        table.notes.append("the weights have too many digits: they are rounded to 52 binary digits of their sum")
    if not any(integers) or is_distorted or any(map(operator.ne, map(bool, integers), map(bool, exact_weights))):
        far = "The weights are too far apart. Keep them, and those of each split, within 15 digits of each other."
        message = far if any(integers) else "All weights are 0. Give at least one instance a positive weight."
        problems.add_new("wrong_shape", message, expected="weights")
        return None
    weights = np.array(integers, dtype=np.int64)
    return None if (weights == 1).all() else (weights, unit)


def _is_distorted(exact_weights: Sequence[Fraction], rounded: Sequence[Fraction], splits: Sequence[str | None]) -> bool:
    """Whether rounding moves the weights of any split by more than one part in _ROUNDING_TOLERANCE_PARTS.

    Each split is checked by itself, as heavy weights of one split must not determine the values of another.
    """
    by_split: dict[str | None, tuple[list[float], list[float]]] = {}
    for weight, rounded_weight, split in zip(map(float, exact_weights), map(float, rounded), splits, strict=True):
        weights, errors = by_split.setdefault(split, ([], []))
        weights.append(weight)
        errors.append(abs(weight - rounded_weight))
    parts = _ROUNDING_TOLERANCE_PARTS
    return any(math.fsum(errors) * parts > math.fsum(weights) for weights, errors in by_split.values())


def scale_distinct_weights(weights: Sequence[Fraction], counts: Sequence[int]) -> tuple[list[int], Fraction] | None:
    """The distinct weights of a file, each with how often it occurs, as `integer_weights` scales them.

    None where it would round them or report a problem.
    """
    integers, unit = _scale_to_integers(weights)
    total = sum(map(operator.mul, integers, counts))
    return (integers, unit) if 0 < total <= _MAX_WEIGHT_SUM else None


def _scale_to_integers(weights: Sequence[Fraction]) -> tuple[list[int], Fraction]:
    """Weights as integers without a common factor, the same for any unit, and the weight of a 1."""
    scale = math.lcm(*{weight.denominator for weight in weights})
    integers = [int(weight * scale) for weight in weights]
    common = math.gcd(*integers) or 1
    return [weight // common for weight in integers], Fraction(common, scale)


def scored_ids(table: NormalizedTable, void: Collection[str]) -> list[str]:
    """The scored ids, each once, by code points: the order of the file may depend on labels or splits."""
    return sorted(name for name in set(table.ids) if name is not None and name not in void)


def align_to_index(values: NDArray[Any], table: NormalizedTable, void: Collection[str], index: IdIndex) -> NDArray[Any]:
    """Values of the scored ids in file order, rearranged to the order of `index`."""
    aligned = np.empty_like(values)
    aligned[index.rows([name for name in table.ids if name is not None and name not in void])] = values
    return aligned


def split_codes(table: NormalizedTable, void: Collection[str]) -> NDArray[np.int8] | None:
    """0 for public, 1 for private, in file order; None without splits. Only for tables without problems."""
    if table.splits is None:
        return None
    pairs = zip(table.ids, table.splits, strict=True)
    return np.array([SPLITS.index(split or "") for name, split in pairs if name not in void], dtype=np.int8)


def check_not_empty(table: NormalizedTable, void: Collection[str], problems: Problems) -> None:
    """Report gold without any scored instance."""
    has_scored_ids = any(name is not None and name not in void for name in table.ids)
    if not has_scored_ids and not table.unreadable_rows and not problems:
        message = "The gold has no instance that is scored. Add at least one."
        problems.add_new("wrong_shape", message, expected="at least one instance", got="none")


def check_vocabulary(
    table: NormalizedTable, spec: TaskSpec, *, declared: bool, limits: Limits = DEFAULT_LIMITS, problems: Problems
) -> None:
    """Check the classes: every task has at least one and not too many, a binary task two, one of them positive.

    `declared`: the classes of `spec` were declared separately; otherwise they are the labels of the file.
    """
    classes, task, positive_label = spec.classes, spec.task, spec.positive_label
    if len(classes) > limits.classes:
        message = f"There are {len(classes)} classes; at most {limits.classes} are allowed. Merge rare classes."
        problems.add_new("too_large", message, expected=f"at most {limits.classes} classes")
        return
    if not classes and not problems:
        message = "The gold has no labels, and no classes are declared. Declare the classes."
        problems.add_new("wrong_shape", message)
    if task != "binary":
        return
    if len(classes) > 2 and not declared:
        _report_third_label(table, classes, problems)
    elif len(classes) != 2 and declared:
        message = f"A binary task has exactly two classes; {len(classes)} are declared."
        problems.add_new("wrong_shape", message, expected="2 classes", got=f"{len(classes)}")
    elif len(classes) == 1 and not problems:
        message = (
            f"The gold has only the label {quote(classes[0])}, so the other class is unknown. Declare both classes."
        )
        problems.add_new("wrong_shape", message, expected="2 classes", got="1")
    elif len(classes) == 2 and positive_label not in classes:
        message = f"The positive label {quote(positive_label or '')} is not among the classes. Use one of them."
        expected = " or ".join(quote(label) for label in classes)
        problems.add_new("wrong_shape", message, expected=expected)


def is_valid_vocabulary(spec: TaskSpec, limits: Limits) -> bool:
    """Whether `check_vocabulary` finds no problem with the classes of gold that has no other problem."""
    is_complete = spec.task != "binary" or (len(spec.classes) == 2 and spec.positive_label in spec.classes)
    return 0 < len(spec.classes) <= limits.classes and is_complete


def _report_third_label(table: NormalizedTable, classes: Sequence[str], problems: Problems) -> None:
    """Report each row whose label is neither of the first two labels of the file."""
    first: list[str] = []
    for row, name, label in zip(table.rows, table.ids, table.labels or (), strict=True):
        if label is None or label not in classes or label in first:
            continue
        if len(first) < 2:
            first.append(label)
            continue
        message = f"A binary task has two labels, here {quote(first[0])} and {quote(first[1])}. Use one of them."
        expected = " or ".join(quote(label) for label in first)
        location, got = table.layout.locate(row, "label"), quote(label)
        problems.add_new("wrong_shape", message, location, row=row, instance_id=name, expected=expected, got=got)
