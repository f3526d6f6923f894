"""Whether correctness depends on the group of an instance: chi-squared and Cramér's V of outcome × group."""

from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from app.scoring.chi_squared import Association, association
from app.scoring.declaration.distinct_value_bounds import INSTANCE_PARTITION
from app.scoring.declaration.interval_method import NO_INTERVAL_OF_ASSOCIATION
from app.scoring.declaration.metric import GROUPS, LABELS, Example, MetricCall, Result
from app.scoring.declaration.task import TASK_KINDS
from app.scoring.metrics.labels.undefined_rules import UndefinedError
from app.scoring.metrics.shared_declarations import (
    LABEL_SET_OPTIONS,
    SYMMETRIC,
    UNBOUNDED_RANGE,
    UNIT_RANGE,
    declare_metric,
)
from app.scoring.tally import EvaluationContext


def _right_mask(ws: EvaluationContext, call: MetricCall) -> NDArray[np.bool_]:
    """Whether each instance is right: its label is the gold label or an acceptable one, or its label sets are equal."""
    if ws.spec.task == "multilabel":
        counts = ws.tally({**call.options, "duplicates": "set"}).instances.counts
        return np.asarray((counts.fp == 0) & (counts.fn == 0))
    gold, predicted = ws.case.gold.as_sets(), ws.case.predicted.codes
    assert gold.offsets is not None
    owner = np.repeat(np.arange(gold.n), np.diff(gold.offsets))
    hits = (gold.codes == predicted[owner]) & (gold.codes < len(ws.spec.classes))
    return np.bincount(owner[hits], minlength=gold.n) > 0


def _outcome_by_group(ws: EvaluationContext, call: MetricCall) -> Association:
    groups, correct = ws.case.groups, _right_mask(ws, call)
    assert groups is not None, "checked among the needs of the metric"
    weights = np.ones(ws.case.gold.n, dtype=np.int64) if ws.case.weights is None else ws.case.weights
    table = np.zeros((2, len(groups.names)), dtype=np.int64)
    np.add.at(table, (correct.astype(np.int64), groups.codes), weights)
    dependence = association(table.tolist())
    if dependence.rows < 2:
        raise UndefinedError(f"all instances are {'right' if correct.all() else 'wrong'}, so the outcome is constant")
    if dependence.columns < 2:
        raise UndefinedError("all instances are in one group")
    return dependence


def _note(dependence: Association) -> str:
    return f"right or wrong in {dependence.columns} groups, {dependence.degrees_of_freedom} degrees of freedom"


def chi_squared(ws: EvaluationContext, call: MetricCall) -> Result:
    """Pearson's chi-squared of right or wrong × group, without continuity correction."""
    dependence = _outcome_by_group(ws, call)
    return Result(dependence.chi_squared, None, (_note(dependence),))


def cramers_v(ws: EvaluationContext, call: MetricCall) -> Result:
    """Cramér's V of right or wrong × group: with two rows, the square root of chi-squared / n (Wenzel sec 4)."""
    dependence = _outcome_by_group(ws, call)
    return Result(dependence.cramers_v, None, (_note(dependence),))


_GROUPS_EXAMPLE = Example(
    task="multiclass",
    classes=("yes", "no", "unsure"),
    gold=("yes", "yes", "no", "no", "unsure", "yes"),
    predicted=("yes", "yes", "no", "yes", "no", "no"),
    value="",
    groups=("sport", "sport", "sport", "music", "music", "sport"),
)
_declare = partial(
    declare_metric,
    tasks=TASK_KINDS,
    needs=(LABELS, GROUPS),
    direction="none",
    granularity=INSTANCE_PARTITION,
    params=(),
    options=LABEL_SET_OPTIONS,
    properties=SYMMETRIC,
    source="Wenzel sec 4 (Usbeck et al., QALD-6: outcome × topic); Pearson 1900; Cramér 1946",
    acceptable=True,
    peers={
        "scipy": "chi2_contingency(correction=False), stats.contingency.association",
        "PyCM": "its Chi-Squared and Cramer's V are for gold × predicted",
    },
)

_declare(
    key="chi_squared",
    name="chi-squared of outcome and group",
    names=("Pearson's chi-squared", "chi-square"),
    equation=r"\chi^{2}=\sum_{r,g} \frac{(O_{r,g}-E_{r,g})^{2}}{E_{r,g}}",
    range=UNBOUNDED_RANGE,
    example=replace(_GROUPS_EXAMPLE, value="3"),
    compute=chi_squared,
    interval=NO_INTERVAL_OF_ASSOCIATION,
    supports_weights=False,
    symbols={
        "O_{r,g}": "instances of outcome r (right or wrong) and group g",
        "E_{r,g}": "row total × column total / n: the count expected if the outcome did not depend on the group",
    },
)
_declare(
    key="cramers_v",
    name="Cramér's V of outcome and group",
    names=("Cramer's V", "Cramér's phi"),
    equation=r"\sqrt{\frac{\chi^{2}}{n\,(\min(2,|G|)-1)}}",
    range=UNIT_RANGE,
    example=replace(_GROUPS_EXAMPLE, value="0.70710678118654757"),
    compute=cramers_v,
    interval=NO_INTERVAL_OF_ASSOCIATION,
    symbols={"χ²": "chi-squared of outcome and group", "G": "the groups"},
)
