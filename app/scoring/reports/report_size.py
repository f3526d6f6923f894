"""Computes the size of a part of a detailed report before it is built, and limits it."""

import numpy as np

from app.scoring.evaluation_input import EvaluationInput

MAX_CURVE_POINTS = 200_000
"""The maximum number of points of all curves in one part of a report."""
MAX_CONFUSION_CELLS = 1_000_000
"""The maximum number of cells of a confusion matrix in a report."""
SINGLE_PART_FACTOR = 10  # a report of a single curve part may have this many times the points
CURVE_PARTS = ("roc_curve", "pr_curve")


def reason_too_large(case: EvaluationInput, part: str, *, alone: bool) -> str | None:
    """Why a report leaves this part out because of its size; None if it is small enough."""
    if part == "confusion":
        cells = _count_cells(case, MAX_CONFUSION_CELLS)
        too_large = f"it may have {cells:,} cells; a report holds at most {MAX_CONFUSION_CELLS:,}"
        return too_large if cells > MAX_CONFUSION_CELLS else None
    if part not in CURVE_PARTS or case.scores is None:
        return None
    single_limit = MAX_CURVE_POINTS * SINGLE_PART_FACTOR
    limit = single_limit if alone else MAX_CURVE_POINTS
    if not _exceeds_points(case, limit):
        return None
    hint = "" if alone else f", and at most {single_limit:,} if this part is requested alone"
    return f"it has more than {limit:,} points, the maximum of a report{hint}"


def _exceeds_points(case: EvaluationInput, most: int) -> bool:
    """Whether the curves of all classes (in binary tasks: of the positive label) have more than `most` points."""
    assert case.scores is not None
    n, m = case.scores.shape
    alone = case.spec.task == "binary"
    if (n + 1) * (1 if alone else m) <= most:
        return False
    columns = range(m)
    if alone and m > 1 and case.spec.positive_label is not None:
        columns = range(at := case.spec.classes.index(case.spec.positive_label), at + 1)
    points = 0
    for column in columns:
        values = np.sort(case.scores[:, column])
        points += 2 + int(np.count_nonzero(values[1:] != values[:-1]))
        if points > most:
            return True
    return False


def _count_cells(case: EvaluationInput, most: int) -> int:
    """An upper bound of the number of listed cells; exact for single labels if it decides about the limit."""
    m = len(case.spec.classes) + 2
    if (m - 2) ** 2 <= most:
        return (m - 2) ** 2
    if case.spec.task == "multilabel":
        pairs = np.maximum(case.gold.sizes, 1) * np.maximum(case.predicted.sizes, 1)
        return min(m * m, int(pairs.sum()))
    if case.gold.n <= most or case.acceptable:
        return min(m * m, case.gold.n)
    keys = np.sort((case.gold.codes.astype(np.int64) + 1) * m + case.predicted.codes + 1)
    return 1 + int(np.count_nonzero(keys[1:] != keys[:-1]))
