"""The scores of a case as probabilities, and means of what they cost: what the measures of probabilities share."""

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from app.scoring.declaration.metric import PROBABILITIES, SCORES, Example, MetricCall, Properties
from app.scoring.metrics.scores.oriented_scores import positive_code, scores_of
from app.scoring.numeric.exact import Floats, over, repeated
from app.scoring.probability_rows import both_classes, distributions
from app.scoring.tally import Workspace

NEEDS = (SCORES, PROBABILITIES)
OPTIONS = ("score_direction",)
PROPERTIES = Properties(symmetric=False, prevalence_sensitive=True, count_based=False)
TO_12_DIGITS = replace(PROPERTIES, significant_digits=12)
THREE = Example(
    task="multiclass",
    classes=("cat", "dog", "mouse"),
    gold=("cat", "dog"),
    predicted=("cat", "cat"),
    value="",
    scores=((0.5, 0.25, 0.25), (0.5, 0.25, 0.25)),
)
TWO = Example(
    task="binary",
    classes=("spam", "ham"),
    gold=("spam", "ham"),
    predicted=("spam", "ham"),
    value="",
    positive_label="spam",
    scores=((0.5,), (0.25,)),
)
SETS = Example(
    task="multilabel",
    classes=("art", "law"),
    gold=(("art",), ("art", "law")),
    predicted=(("art",), ("art",)),
    value="",
    scores=((0.5, 0.25), (1.0, 0.25)),
)


def worked(data: Example, value: str) -> Example:
    """One of the small data sets with the value that a metric has on it."""
    return replace(data, value=value)


def probabilities(ws: Workspace, call: MetricCall) -> tuple[Floats, tuple[str, ...]]:
    """The n × m probabilities of all instances, and what there is to note.

    Those of exclusive classes are divided by their sum, which is noted; where those of the positive label were sent alone,
    the other one has 1 less them. Raises UndefinedError where an instance has none.
    """
    sent = scores_of(ws, call)
    if ws.spec.task == "multilabel":
        return sent, ()
    found, changed = ws.shared("probabilities", lambda: _distributions(ws, sent))
    notes = (f"the scores of {changed} instances did not sum to exactly 1 and were divided by their sum",)
    return found, notes if changed else ()


def _distributions(ws: Workspace, sent: Floats) -> tuple[Floats, int]:
    if ws.spec.task == "binary" and sent.shape[1] == 1:
        return both_classes(sent[:, 0], positive_code(ws)), 0
    return distributions(sent)


def has_class(ws: Workspace, code: int) -> NDArray[np.bool_]:
    """Whether the gold of each instance has the class; n."""
    if ws.spec.task == "multilabel":
        return ws.truths[:, code]
    return np.asarray(ws.case.gold.codes == code)


def mean(ws: Workspace, terms: Floats, parts: int = 1) -> float:
    """The mean of a term per instance, each as often as it weighs, or a `parts`-th of it."""
    return over(math.fsum(repeated(terms, ws.case.weights)), parts * ws.total)
