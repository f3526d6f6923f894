"""How large a part of a detailed report would be, told before it is made, and how large it may be."""

import numpy as np

from app.scoring.evaluation_input import Case, Labels
from app.scoring.tally import Int

POINTS = 200_000
"""The points of all curves of one part of a report."""
CELLS = 1_000_000
"""The cells of a confusion matrix in a report."""
ALONE = 10  # so many times the points where a curve is all that is asked for
CURVES = ("roc_curve", "pr_curve")


def too_large(case: Case, part: str, *, alone: bool) -> str | None:
    """Why a report leaves this part out; None where it is small enough."""
    if part == "confusion":
        cells = _cells(case, CELLS)
        return f"it may have {cells:,} cells; a report holds at most {CELLS:,}" if cells > CELLS else None
    if part not in CURVES or case.scores is None:
        return None
    most = POINTS * ALONE if alone else POINTS
    if not _more_points(case, most):
        return None
    more = "" if alone else f", and at most {POINTS * ALONE:,} where this part alone is asked for"
    return f"it has more than {POINTS * ALONE if alone else POINTS:,} points, as many as a report holds{more}"


def _more_points(case: Case, most: int) -> bool:
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


def _cells(case: Case, most: int) -> int:
    """At most how many cells are listed; exact for single labels where it matters."""
    m = len(case.spec.classes) + 2
    if (m - 2) ** 2 <= most:
        return (m - 2) ** 2
    if case.spec.task == "multilabel":
        pairs = np.maximum(_sizes(case.gold), 1) * np.maximum(_sizes(case.predicted), 1)
        return min(m * m, int(pairs.sum()))
    if case.gold.n <= most or case.acceptable:
        return min(m * m, case.gold.n)
    places = np.sort((case.gold.codes.astype(np.int64) + 1) * m + case.predicted.codes + 1)
    return 1 + int(np.count_nonzero(places[1:] != places[:-1]))


def _sizes(labels: Labels) -> Int:
    """How many labels each instance has."""
    offsets = labels.as_sets().offsets
    assert offsets is not None
    return np.diff(offsets)
