"""The count of each (gold class, predicted class) pair, for measures that need single cells."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.scoring.crosstab import sum_by_key
from app.scoring.metrics.labels.undefined_rules import UndefinedError
from app.scoring.tally import EvaluationContext, Tally

Int = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ConfusionCells:
    """The nonzero cells of the confusion matrix: positions of the gold and the predicted class, and the count."""

    gold: Int
    predicted: Int
    counts: Int


def confusion_cells(ws: EvaluationContext, tally: Tally, missing: str) -> ConfusionCells:
    """The weighted cells of single-label data, ordered by gold class, then predicted class.

    Raises UndefinedError if gold or prediction of an instance is not a declared class. `missing` completes its message:
    what such an instance does not have.
    """
    if tally.without_prediction or tally.outside_fp or tally.outside_fn:
        raise UndefinedError(f"some instances have no label among the declared classes, and so no {missing}")
    return ws.shared("cells", lambda: _count_cells(ws))


def class_distances(ws: EvaluationContext) -> tuple[Int, NDArray[np.bool_]]:
    """The distance of the two classes of each instance in declared order, and the instances without two classes."""

    def make() -> tuple[Int, NDArray[np.bool_]]:
        m, gold, predicted = len(ws.spec.classes), ws.case.gold.codes, ws.case.predicted.codes
        outside = (gold < 0) | (gold >= m) | (predicted < 0) | (predicted >= m)
        return np.where(outside, 0, np.abs(gold.astype(np.int64) - predicted)), outside

    return ws.shared("class distances", make)


def _count_cells(ws: EvaluationContext) -> ConfusionCells:
    m = len(ws.spec.classes)
    keys = ws.case.gold.codes.astype(np.int64)
    keys *= m
    keys += ws.case.predicted.codes
    cells, counts = sum_by_key(keys, ws.case.weights)
    return ConfusionCells(cells // m, cells % m, counts)
