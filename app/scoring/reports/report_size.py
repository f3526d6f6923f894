"""How large a part of a detailed report would be, told before it is made, and how large it may be."""

import numpy as np

from app.scoring.evaluation_input import EvaluationInput, Labels
from app.scoring.tally import Int

MAX_CURVE_POINTS = 200_000
"""The points of all curves of one part of a report."""
MAX_CONFUSION_CELLS = 1_000_000
"""The cells of a confusion matrix in a report."""
SINGLE_PART_FACTOR = 10  # so many times the points where a curve is all that is asked for
CURVE_PARTS = ("roc_curve", "pr_curve")


def reason_too_large(case: EvaluationInput, part: str, *, alone: bool) -> str | None:
    """Why a report leaves this part out; None where it is small enough."""
    if part == "confusion":
        cells = _count_cells(case, MAX_CONFUSION_CELLS)
        return (
            f"it may have {cells:,} cells; a report holds at most {MAX_CONFUSION_CELLS:,}"
            if cells > MAX_CONFUSION_CELLS
            else None
        )
    if part not in CURVE_PARTS or case.scores is None:
        return None
    most = MAX_CURVE_POINTS * SINGLE_PART_FACTOR if alone else MAX_CURVE_POINTS
    if not _exceeds_points(case, most):
        return None
    more = (
        "" if alone else f", and at most {MAX_CURVE_POINTS * SINGLE_PART_FACTOR:,} where this part alone is asked for"
    )
    return f"it has more than {MAX_CURVE_POINTS * SINGLE_PART_FACTOR if alone else MAX_CURVE_POINTS:,} points, as many as a report holds{more}"


def _exceeds_points(case: EvaluationInput, most: int) -> bool:
    """Whether the curves of all classes (of a binary task: of the positive label) have more points than that."""
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
    """At most how many cells are listed; exact for single labels where it matters."""
    m = len(case.spec.classes) + 2
    if (m - 2) ** 2 <= most:
        return (m - 2) ** 2
    if case.spec.task == "multilabel":
        pairs = np.maximum(_label_set_sizes(case.gold), 1) * np.maximum(_label_set_sizes(case.predicted), 1)
        return min(m * m, int(pairs.sum()))
    if case.gold.n <= most or case.acceptable:
        return min(m * m, case.gold.n)
    places = np.sort((case.gold.codes.astype(np.int64) + 1) * m + case.predicted.codes + 1)
    return 1 + int(np.count_nonzero(places[1:] != places[:-1]))


def _label_set_sizes(labels: Labels) -> Int:
    """How many labels each instance has."""
    offsets = labels.as_sets().offsets
    assert offsets is not None
    return np.diff(offsets)
