"""Shared parts of the probability measures: scores as probabilities, and small data sets for examples."""

from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from app.scoring.declaration.distinct_value_bounds import SCORE_VALUES
from app.scoring.declaration.metric import PROBABILITIES, SCORES, Example, MetricCall
from app.scoring.metrics.example_data import BINARY_EXAMPLE
from app.scoring.metrics.scores.oriented_scores import positive_code, scores_of
from app.scoring.metrics.shared_declarations import (
    SCORE_DIRECTION_OPTION,
    SCORE_PROPERTIES,
    SINGLE_LABEL_TASKS,
    UNIT_RANGE,
    declare_metric,
)
from app.scoring.numeric.exact import Floats
from app.scoring.probability_rows import normalize_rows, scores_of_both_classes
from app.scoring.tally import EvaluationContext

declare_probability_metric = partial(
    declare_metric,
    tasks=SINGLE_LABEL_TASKS,
    needs=(SCORES, PROBABILITIES),
    direction="lower",
    granularity=SCORE_VALUES,
    range=UNIT_RANGE,
    params=(),
    options=(SCORE_DIRECTION_OPTION,),
    properties=SCORE_PROPERTIES,
)
"""For metrics of predicted probabilities."""

MULTICLASS_FORECASTS = Example(
    task="multiclass",
    classes=("cat", "dog", "mouse"),
    gold=("cat", "dog"),
    predicted=("cat", "cat"),
    value="",
    scores=((0.5, 0.25, 0.25), (0.5, 0.25, 0.25)),
)
BINARY_FORECASTS = replace(
    BINARY_EXAMPLE,
    gold=("spam", "ham"),
    predicted=("spam", "ham"),
    scores=((0.5,), (0.25,)),
)
MULTILABEL_FORECASTS = Example(
    task="multilabel",
    classes=("art", "law"),
    gold=(("art",), ("art", "law")),
    predicted=(("art",), ("art",)),
    value="",
    scores=((0.5, 0.25), (1.0, 0.25)),
)


def probabilities(ws: EvaluationContext, call: MetricCall) -> tuple[Floats, tuple[str, ...]]:
    """The n × m probabilities of all instances, with notes.

    Scores of exclusive classes are divided by their sum, with a note where that changes them. A single score s of the
    positive label gives the other class 1 - s. Raises UndefinedError where an instance has no scores.
    """
    scores = scores_of(ws, call)
    if ws.spec.task == "multilabel":
        return scores, ()
    forecasts, changed = ws.shared("probabilities", lambda: _class_probabilities(ws, scores))
    notes = (f"the scores of {changed} instances did not sum to exactly 1 and were divided by their sum",)
    return forecasts, notes if changed else ()


def _class_probabilities(ws: EvaluationContext, scores: Floats) -> tuple[Floats, int]:
    if ws.spec.task == "binary" and scores.shape[1] == 1:
        return scores_of_both_classes(scores[:, 0], positive_code(ws)), 0
    return normalize_rows(scores)


def has_class(ws: EvaluationContext, code: int) -> NDArray[np.bool_]:
    """Whether the gold of each instance has the class; shape (n,)."""
    if ws.spec.task == "multilabel":
        return ws.gold_matrix[:, code]
    return np.asarray(ws.case.gold.codes == code)
