"""Gold against itself: vocabulary, splits, and what makes a gold file unusable."""

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from app.formats.columns import Table
from app.formats.problem import FILE, Place, Problems, problem, quote
from app.formats.tidy import SPLITS
from app.scoring.task import TaskSpec


def label_set(table: Table, void: Collection[str] = ()) -> tuple[str, ...]:
    """The sorted labels of all rows that are not void (order of code points)."""
    if not void:
        return tuple(sorted({label for label in table.labels if label is not None}))
    found: set[str] = set()
    start = 0
    for number, name in enumerate(table.ids):
        size = 1 if table.counts is None else table.counts[number]
        if name not in void:
            found.update(label for label in table.labels[start : start + size] if label is not None)
        start += size
    return tuple(sorted(found))


def kept_ids(table: Table, void: Collection[str]) -> list[str]:
    """Each id that is scored, once, in file order."""
    return [name for name in dict.fromkeys(table.ids) if name is not None and name not in void]


def split_codes(table: Table, void: Collection[str]) -> NDArray[np.int8] | None:
    """0 for public, 1 for private, in the order of kept_ids; None without splits. Only for tables without faults."""
    if table.splits is None:
        return None
    pairs = zip(table.ids, table.splits, strict=True)
    return np.array([SPLITS.index(split or "") for name, split in pairs if name not in void], dtype=np.int8)


def check_not_empty(table: Table, void: Collection[str], problems: Problems) -> None:
    """Gold must hold at least one instance that is scored."""
    scored = any(name is not None and name not in void for name in table.ids)
    if not scored and not table.unreadable and not problems:
        message = "The gold holds no instance that is scored. Give at least one."
        problems.add(problem("wrong_shape", message, Place(), expected="at least one instance", got="none"), FILE)


def check_vocabulary(table: Table, spec: TaskSpec, *, declared: bool, problems: Problems) -> None:
    """Binary tasks have two classes, one of them positive; every task has at least one class.

    `declared`: the classes of `spec` were named beside the file; else they are the labels found in it.
    """
    classes, task, positive_label = spec.classes, spec.task, spec.positive_label
    if not classes and not problems:
        message = "The gold holds no label at all, and no classes are declared. Declare the classes."
        problems.add(problem("wrong_shape", message, Place()), FILE)
    if task != "binary":
        return
    if len(classes) > 2 and not declared:
        _report_third_label(table, classes, problems)
    elif len(classes) != 2 and declared:
        message = f"A binary task has exactly two classes; {len(classes)} are declared."
        problems.add(problem("wrong_shape", message, Place(), expected="2 classes", got=f"{len(classes)}"), FILE)
    elif len(classes) == 1 and not problems:
        message = f"The gold holds only {quote(classes[0])}, so the other class is unknown. Declare both classes."
        problems.add(problem("wrong_shape", message, Place(), expected="2 classes", got="1"), FILE)
    elif len(classes) == 2 and positive_label not in classes:
        message = f"The positive label {quote(positive_label or '')} is not among the classes. Name one of them."
        expected = " or ".join(quote(label) for label in classes)
        problems.add(problem("wrong_shape", message, Place(), expected=expected), FILE)


def _report_third_label(table: Table, classes: Sequence[str], problems: Problems) -> None:
    """Report each row whose label is neither of the first two that the file gives."""
    first: list[str] = []
    for row, name, label in zip(table.rows, table.ids, table.labels, strict=True):
        if label is None or label not in classes or label in first:
            continue
        if len(first) < 2:
            first.append(label)
            continue
        message = f"A binary task has two labels, here {quote(first[0])} and {quote(first[1])}; this is another."
        expected = " or ".join(quote(known) for known in first)
        place = table.layout.place(row, "label")
        found = problem("wrong_shape", message, place, instance_id=name, expected=expected, got=quote(label))
        problems.add(found, row)
